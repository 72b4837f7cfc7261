"""What is shown of games, as plain JSON; chances and values always in the attackers' view."""

from __future__ import annotations

from typing import Any

from arena.players import Thought
from env import Game, Outcome
from env.rules import SIDES, Rules


def legal_view(game: Game) -> list[dict[str, Any]]:
    """The legal moves as JSON, with what each takes, how often its position has been, and how it would end the game."""
    rows = []
    for move in game.legal_moves():
        trial = game.copy()
        captured = trial.play(move)
        ends = outcome_view(trial.outcome)
        rows.append({"move": str(move), "captured": captured, "occurrences": trial.occurrences(), "ends": ends})
    return rows


def outcome_view(outcome: Outcome | None) -> dict[str, Any] | None:
    """How a game ended, as JSON."""
    if outcome is None:
        return None
    loser = None if outcome.winner is None else SIDES[1 - SIDES.index(outcome.winner)]
    return {"winner": outcome.winner, "loser": loser, "reason": outcome.reason}


def attackers_chances(thought: Thought, to_play: str) -> tuple[float, float, float] | None:
    """Chances of (attackers, draw, defenders) as a thought has them, or None."""
    if thought.proven is not None:
        win, draw, loss = {"win": (1.0, 0.0, 0.0), "draw": (0.0, 1.0, 0.0), "loss": (0.0, 0.0, 1.0)}[thought.proven]
    elif thought.outlook is not None:
        win, draw, loss = thought.outlook
    else:
        return None
    return (win, draw, loss) if to_play == SIDES[0] else (loss, draw, win)


def move_row(game: Game) -> dict[str, Any]:
    """The last move of a game, as a row of the move list."""
    return {
        "ply": game.ply,
        "side": SIDES[(SIDES.index(game.start[1]) + game.ply - 1) % 2],
        "move": str(game.moves[-1]),
        "captured": game.captured,
        "position": game.position,
        "occurrences": game.occurrences(),
    }


def rules_view(rules: Rules) -> dict[str, Any]:
    """A game's rules as JSON."""
    squares = ("goal", "king_only", "closed", "hostile", "hostile_while_empty", "hostile_to_king")
    plain = ("title", "size", "first", "throne", "king_armed", "edge_hostile", "no_moves", "repetition")
    return {
        "game": rules.name,
        **{name: getattr(rules, name) for name in (*plain, "repetition_limit", "agreement")},
        **{name: sorted(getattr(rules, name)) for name in (*squares, "king_surrounded", "king_walls")},
        "layouts": [
            {"layout": name, "position": position, "default": name == rules.default_layout}
            for name, position in rules.layouts.items()
        ],
    }
