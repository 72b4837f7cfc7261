"""One game of the ladder, looked at again: what its network thought at every ply, and where it turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.ladder import Ladder, Rung
from arena.ladder_games import Batch, LadderGame
from arena.players import Player, Thought
from env import Game
from env.rules import SIDES

SWING = 0.08
"""Fall of the mover's chances, of 1, from which on a move is worth a word."""

MOMENTS = 3

ENDS = {
    "king_escaped": "the king is out: the defenders win",
    "king_captured": "the king is taken: the attackers win",
    "no_moves": "{loser} cannot move",
    "repetition": "the position has come about once too often",
    "agreement": "a draw is agreed",
    "resignation": "{loser} resign",
    "forfeit": "{loser} forfeit the game",
    "unfinished": "nobody has won at the limit of plies",
}


@dataclass(frozen=True)
class Moment:
    """A position worth showing: the game after a move, and what there is to say of it."""

    game: Game
    words: str


@dataclass(frozen=True)
class SampleGame:
    """A game and what the network thought of it.

    Attributes:
        attackers, defenders: who played.
        opening: name of the opening, and how many plies of it were given.
        given: plies of the opening.
        game: at its end.
        moves: each as it is written, with what it took.
        chances: the attackers' expected points by the network's search, 0 to 1, before each ply and at the end.
        moments: where it turned, in order; the last one is the end.
        result: how it ended, in words.
    """

    attackers: str
    defenders: str
    opening: str
    given: int
    game: Game
    moves: list[str]
    chances: list[float]
    moments: list[Moment]
    result: str


def choose_game(ladder: Ladder) -> tuple[Rung, Batch, LadderGame] | None:
    """The game to show: of the last checkpoint that has any, against its strongest opponent, won by the network.

    Among those the one of middling length is taken; a lost one only where none was won.
    """
    strengths = ladder.known.anchors.strengths
    for rung in reversed(ladder.rungs):
        batches = [batch for batch in ladder.batches.get(rung.name, []) if batch.opponent in strengths]
        found = [(batch, game) for batch in batches for game in batch.games if game.score != 0.5]
        if not found:
            continue
        best = max(
            (game.score, sum(strengths[batch.opponent].values()), game.side == _weaker(ladder, rung))
            for batch, game in found
        )
        alike = [
            (batch, game)
            for batch, game in found
            if (game.score, sum(strengths[batch.opponent].values()), game.side == _weaker(ladder, rung)) == best
        ]
        alike.sort(key=lambda each: len(each[1].moves))
        return rung, *alike[len(alike) // 2]
    return None


def _weaker(ladder: Ladder, rung: Rung) -> str:
    """Return the side as which a checkpoint has fewer points: a win there is the better story."""
    rating = ladder.ratings[rung.name]
    return min(SIDES, key=lambda side: rating.side(side).points / max(1, rating.side(side).games))


def annotate(ladder: Ladder, rung: Rung, batch: Batch, played: LadderGame, given: int, thinker: Player) -> SampleGame:
    """Plays a game of the ladder again and lets a player judge every position.

    Args:
        ladder, rung, batch, played: which game.
        given: plies of its opening, which nobody chose.
        thinker: who judges.

    Raises:
        ValueError: the moves cannot be played.
    """
    game = Game(ladder.rules, ladder.layout)
    thoughts: list[Thought] = []
    states: list[Game] = []
    moves: list[str] = []
    for text in played.moves.split():
        thoughts.append(thinker.think(game))
        king = "K" if game.piece(text.split("-")[0]) == "king" else ""
        captured = game.play(text)
        moves.append(f"{king}{text}{'x' + '/'.join(captured) if captured else ''}")
        states.append(game.copy())
    chances = [_attackers_chance(thought, SIDES[ply % 2]) for ply, thought in enumerate(thoughts)]
    chances.append(_final(game, played))
    names = (f"{rung.name}, {batch.simulations} simulations a move", batch.opponent)
    attackers, defenders = names if played.side == SIDES[0] else reversed(names)
    result = _result(game, played.reason)
    turns = _turns(chances, given, _forced(thoughts))
    moments = [Moment(states[ply], _words(ply, moves[ply], thoughts, chances)) for ply in turns]
    moments.append(Moment(game, f"Ply {game.ply}, {moves[-1]}: {result}."))
    return SampleGame(
        attackers, defenders, f"{batch.openings}#{played.opening}", given, game, moves, chances, moments, result
    )


def _attackers_chance(thought: Thought, to_play: str) -> float:
    share = (1 + (thought.expectation if thought.value is None else thought.value)) / 2
    return share if to_play == SIDES[0] else 1 - share


def _final(game: Game, played: LadderGame) -> float:
    if game.outcome is None or game.outcome.winner is None:
        return 0.5
    return float(game.outcome.winner == SIDES[0])


def _result(game: Game, reason: str) -> str:
    winner = None if game.outcome is None else game.outcome.winner
    loser = "nobody" if winner is None else f"the {SIDES[1 - SIDES.index(winner)]}"
    words = ENDS.get(reason, reason.replace("_", " ")).format(loser=loser)
    if winner is not None and "win" not in words:
        words += f", so the {winner} win"
    return words


def _forced(thoughts: Sequence[Thought]) -> int | None:
    """Return the ply, from 0, after whose move the end is proven at every ply to come; None if it never is."""
    first = len(thoughts)
    while first and thoughts[first - 1].proven is not None:
        first -= 1
    return first - 1 if 0 < first < len(thoughts) else None


def _turns(chances: Sequence[float], given: int, forced: int | None) -> list[int]:
    """Return the plies, from 0, whose moves cost their side most, and `forced`; the last ply is shown anyway."""
    falls = []
    for ply in range(given, len(chances) - 2):
        change = chances[ply + 1] - chances[ply]
        falls.append((-change if ply % 2 == 0 else change, ply))
    last = len(chances) - 2
    chosen = [forced] if forced is not None and given <= forced < last else []
    for fall, ply in sorted(falls, key=lambda each: (-each[0], each[1])):
        if fall >= SWING and len(chosen) < MOMENTS and last - ply > 1 and all(abs(ply - other) > 1 for other in chosen):
            chosen.append(ply)
    if not chosen and last > given + 3:  # nobody erred by the network's judgement: show the middle
        chosen = [given + (len(chances) - given) // 2]
    return sorted(chosen)


def _words(ply: int, move: str, thoughts: Sequence[Thought], chances: Sequence[float]) -> str:
    """Return a comment on a move, from 0, that is not the last one."""
    side = SIDES[ply % 2]
    before, after = ((c if side == SIDES[0] else 1 - c) for c in chances[ply : ply + 2])
    best, plain = str(thoughts[ply].move), move.split("x")[0].lstrip("K")
    text = f"Ply {ply + 1}: the {side} play {move}"
    text += "." if best == plain else f"; the network prefers {best}."
    proven = thoughts[ply + 1].proven if ply + 1 < len(thoughts) else None
    if proven in ("win", "loss"):
        winner = SIDES[(ply + 1) % 2] if proven == "win" else side
        plies = thoughts[ply + 1].plies
        length = f" within {plies} plies" if plies else ""
        return text + f" Now the {winner} win by force{length}; the {side}' chances were {before:.0%}."
    if before - after >= SWING:
        return text + f" Their chances fall from {before:.0%} to {after:.0%}."
    return text + f" Their chances stand at {after:.0%}."
