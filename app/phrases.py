"""What a game and the engine's thoughts are in words: how it ended, what repeats, who is likely to win."""

from __future__ import annotations

from arena.players import Thought
from env import Game
from env.rules import SIDES

_REASONS = {
    "king_escaped": "the king has reached his goal",
    "king_captured": "the king has been taken",
    "no_moves": "the side to move has no legal move",
    "repetition": "the position has come about for the {limit} time",
    "agreement": "the players agreed a draw",
    "resignation": "the {loser} resigned",
    "forfeit": "the {loser} forfeited",
}


def ending(game: Game, side: str) -> tuple[str, str]:
    """How a game ended, told to the person who played `side`, and the style to show it in."""
    outcome = game.outcome
    assert outcome is not None
    loser = None if outcome.winner is None else SIDES[1 - SIDES.index(outcome.winner)]
    reason = _REASONS[outcome.reason].format(loser=loser, limit=ordinal(game.rules.repetition_limit))
    if outcome.reason == "repetition" and loser is not None:
        reason += f", brought about by the {loser}"
    if outcome.winner is None:
        result, style = "A draw", "bold yellow"
    else:
        won = outcome.winner == side
        result = f"{'You win' if won else 'You lose'} ({outcome.winner} win)"
        style = "bold green" if won else "bold red"
    return f"{result}: {reason}, after {game.ply} plies.", style


def repetition_warning(game: Game) -> str:
    """How often the position has come about, and what follows when it goes on."""
    loses = game.rules.repetition == "loss"
    fate = "loses for the side that brings it about" if loses else "is a draw"
    limit = ordinal(game.rules.repetition_limit)
    return f"This position has come about {game.occurrences()} times; the {limit} time {fate}."


def view(thought: Thought, to_play: str, engine: str) -> list[str]:
    """What the engine of this name thinks of a position with `to_play` to play, line by line."""
    lines, other = [], SIDES[1 - SIDES.index(to_play)]
    if thought.outlook is not None:
        chances = dict(zip((to_play, "draw", other), thought.outlook))
        shown = [f"attackers win {chances['attackers']:.0%}", f"defenders win {chances['defenders']:.0%}"]
        if chances["draw"] >= 0.005:
            shown.insert(1, f"draw {chances['draw']:.0%}")
        lines.append("Chances: " + ", ".join(shown))
    elif thought.score and not thought.proven:
        lines.append(f"Score for the {to_play}: {thought.score}")
    elif not thought.proven:
        lines.append(f"{engine} has no view.")
    if thought.proven:
        within = f" in {thought.plies} plies" if thought.plies else ""
        fate = {"win": f"the {to_play} win", "loss": f"the {other} win"}.get(thought.proven, "a draw")
        lines.append(f"Certain: {fate}{within} with best play")
    if thought.line:
        lines.append("Likely: " + " ".join(str(move) for move in thought.line))
    if thought.effort:
        lines.append(f"({thought.effort})")
    return lines


def taking(squares: list[str]) -> str:
    """What a move that took soldiers on `squares` has added to it; the empty text where it took none."""
    return f", taking {', '.join(squares)}" if squares else ""


def ordinal(number: int) -> str:
    """A number as it counts times: first, second, third, 4th and so on."""
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
