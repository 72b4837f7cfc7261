"""The exact solver: does a side win by force?

**What is proven.** *Proven* means: whatever the other side does, the proving side brings about an end on the board that
it wins (the king's goal, his capture, a side without a move), and in no such line does a position come about twice, nor
one of the game's past. So the rules' own ruling on repetition never comes into play, and a proof holds under each of
them. *Disproven* means that this cannot be forced: the other side can win, or go on for ever. Where a repetition is a
draw or merely ends nothing, the win is then out of reach; where the rules make the side lose that repeats (Brandubh), a
side may still win by that rule alone, and nothing is said of it. *Unknown*: the moves allowed did not suffice.

**Why the table holds no wrong proof.** Proof-number search with repetitions suffers from the graph-history interaction
(Kishimoto & Mueller, "A general solution to the graph history interaction problem", 2004): what is found at a node may
hold only for the path that led to it. Here a position from which the win can be forced is one from which it can be
forced within some number of plies, and a line that always lowers that number never repeats a position; so a proof needs
no path. A disproof may: "all my moves repeat something". It carries the earliest ply of the path it rests on; it is
stored for good only where that ply is not before the node itself (the other side then goes round in a circle below
it), else under a key that sums up the positions of the path, and it holds for this set of positions alone. One that
rests on the horizon of the search is not stored, and makes the result unknown. Searches *within* a number of plies look
at no path at all: every entry of theirs is exact for its number. The game's past since the last capture is the same
for all nodes of a search and part of every key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from env.game import Game
from env.notation import Move
from env.position import REVERSIBLE, copy_position, new_position
from env.rules import SIDES, Rules, get_rules
from env.tables import tables
from search.proof_kernels import (
    BEST,
    BUDGET,
    DEPENDS,
    DISPROOF,
    LEVELS,
    MADE,
    PLIES,
    PROOF,
    PROVER,
    new_work,
    search_proof,
)
from search.proof_table import FOREVER, NEVER, new_table

__all__ = ["MOST_PLIES", "NODES", "Proof", "Prover", "prove", "shortest_win"]

NODES = 1_000_000
"""Moves that a search may make where nothing else is said."""

MOST_PLIES = LEVELS - 10
"""The greatest number of plies that a win can be asked for `within`."""

TABLE_MEGABYTES = 32
_SLICE = 2_000_000  # moves after which Python may see that somebody has pressed Ctrl-C
PROVEN, DISPROVEN, UNKNOWN = "proven", "disproven", "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of the question whether a side wins by force.

    Attributes:
        result: "proven", "disproven" or "unknown", see `search.proof`.
        side: the side that is to win.
        within: plies within which it is to win, `None` without a limit.
        move: the first move of the win, where it is proven and `side` is to play, else `None`.
        plies: a proven win takes so many plies at most (from `shortest_win`: exactly), else `None`.
        nodes: moves made.
    """

    result: str
    side: str
    within: int | None
    move: Move | None
    plies: int | None
    nodes: int

    @property
    def proven(self) -> bool:
        return self.result == PROVEN

    @property
    def disproven(self) -> bool:
        return self.result == DISPROVEN


class Prover:
    """Answers such questions for one game; what it has settled helps with later ones. One object serves one thread.

    Args:
        rules: the game, or its name.
        table_megabytes: memory of the table, rounded down to a power of two of slots.
    """

    def __init__(self, rules: Rules | str, table_megabytes: float = TABLE_MEGABYTES) -> None:
        self.rules = get_rules(rules)
        self._tables = tables(self.rules)
        self._table = new_table(table_megabytes)
        self._work = new_work(self.rules)
        self._position = new_position(self.rules)

    def forget(self) -> None:
        """Forget all that was settled, so that the next answer and its number of nodes do not depend on the past."""
        self._table.view(np.uint8).fill(0)

    def stop(self) -> None:
        """Let the search that another thread runs end soon; it answers "unknown" unless it knows better."""
        self._work.stop[0] = 1

    def prove(self, game: Game, side: str, nodes: int = NODES, within: int | None = None) -> Proof:
        """Try to settle whether `side` wins by force from a game's present position.

        Args:
            game: is not changed; positions of its past count against `side`.
            side: "attackers" or "defenders", to play or not.
            nodes: moves that the search may make, at least 1; a few more may be made to finish one position.
            within: the win has to come within so many plies, 0 to `MOST_PLIES`; `None`: at any time.

        Raises:
            ValueError: another game than this object's, or an argument out of range.
        """
        if game.rules != self.rules:
            raise ValueError(f"this prover plays {self.rules.name}, not {game.rules.name}")
        if side not in SIDES:
            raise ValueError(f"no side is called {side!r}; there are: {', '.join(SIDES)}")
        if nodes < 1:
            raise ValueError(f"nodes {nodes}: at least 1 is needed")
        if within is not None and not 0 <= within <= MOST_PLIES:
            raise ValueError(f"within {within} plies: allowed are 0 to {MOST_PLIES}")
        if game.outcome is not None:
            won = game.outcome.winner == side
            return Proof(PROVEN if won else DISPROVEN, side, within, None, 0 if won else None, 0)
        left = FOREVER
        if within is not None:
            # The last move of a win is the winner's own.
            own = game.to_play == side
            left = within if within % 2 == own else within - 1
            if left < 1:
                return Proof(DISPROVEN, side, within, None, None, 0)
        return self._search(game, side, nodes, within, left)

    def shortest_win(self, game: Game, side: str, nodes: int = NODES, most: int = MOST_PLIES) -> Proof:
        """Look for the win of fewest plies: for one of 1 (or 2) plies, then of two more, and so on.

        Args:
            game, side, nodes: as for `prove`; `nodes` for all lengths together.
            most: plies to look for at most.

        Returns:
            A proof whose `plies` are exact; or "disproven" with `within=most`; or "unknown", and then the win takes
            more plies than `within`.
        """
        made = 0
        proof = self.prove(game, side, nodes, 0)
        known = 0
        for within in range(1 if game.to_play == side else 2, most + 1, 2):
            if proof.proven or made >= nodes:
                break
            proof = self.prove(game, side, nodes - made, within)
            made += proof.nodes
            if proof.result == UNKNOWN:
                break
            known = within
        if proof.proven:
            return Proof(PROVEN, side, proof.plies, proof.move, proof.plies, made)
        finished = known + 2 > most
        return Proof(DISPROVEN if finished else UNKNOWN, side, most if finished else known, None, None, made)

    def _search(self, game: Game, side: str, nodes: int, within: int | None, left: int) -> Proof:
        work = self._work
        copy_position(game.arrays, self._position)
        ply, first = game.ply, int(game.arrays.info[REVERSIBLE])
        history = np.zeros(ply + LEVELS + 4, np.uint64)
        history[: ply + 1] = game.history[: ply + 1]
        work.salt[0] = _salt(side, history[first:ply])
        work.state[PROVER] = SIDES.index(side)
        work.state[MADE] = 0
        work.stop[0] = 0
        while True:
            work.state[BUDGET] = min(nodes, work.state[MADE] + _SLICE)
            search_proof(self._tables, self._position, work, self._table, history, left)
            result = work.result
            if result[PROOF] == 0 or result[DISPROOF] == 0 or work.state[MADE] >= nodes or work.stop[0]:
                break
        made = int(work.state[MADE])
        if result[PROOF] == 0:
            move = game.move_of(int(work.state[BEST])) if work.state[BEST] >= 0 else None
            return Proof(PROVEN, side, within, move, int(result[PLIES]), made)
        return Proof(
            DISPROVEN if result[DISPROOF] == 0 and result[DEPENDS] == NEVER else UNKNOWN, side, within, None, None, made
        )


def _salt(side: str, past: np.ndarray) -> int:
    """Return what the keys of a search are changed by: one number for each side and each set of past positions."""
    digest = hashlib.blake2b(side.encode(), digest_size=8)
    if len(past):
        digest.update(np.unique(past).tobytes())
    return int.from_bytes(digest.digest(), "little")


def prove(game: Game, side: str, nodes: int = NODES, within: int | None = None) -> Proof:
    """`Prover.prove` with a table of its own: the answer depends on the arguments alone."""
    return Prover(game.rules).prove(game, side, nodes, within)


def shortest_win(game: Game, side: str, nodes: int = NODES, most: int = MOST_PLIES) -> Proof:
    """`Prover.shortest_win` with a table of its own: the answer depends on the arguments alone."""
    return Prover(game.rules).shortest_win(game, side, nodes, most)
