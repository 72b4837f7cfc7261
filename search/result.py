"""What a search found out about a position, in words for people's code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from env.encoding import position_input
from env.game import Game, Move
from env.position import TO_PLAY
from env.rules import DEFENDERS
from env.tables import Tables
from search.config import Settings
from search.rule import best_edge, improved_policy, root_value
from search.tree import DRAW, LOSS, ROOT, UNKNOWN, WIN, Tree

PROVEN = {UNKNOWN: None, WIN: "win", LOSS: "loss", DRAW: "draw"}


@dataclass(frozen=True)
class SearchResult:
    """What a search found out about one position, from the view of the side to play.

    Attributes:
        move: the move to play.
        actions: int16 (K,), numbers of the K legal moves.
        visits: int32 (K,), simulations that each of them got, those of kept trees included.
        policy: float32 (K,), improved policy, sums to 1.
        prior: float32 (K,), the network's policy.
        values: float32 (K,), each move's value in [-1, 1]; NaN where it was not tried.
        proofs: int8 (K,), what is proven of each move: UNKNOWN, WIN, LOSS or DRAW of `search.tree`.
        value: value of the position, discounted by the plies to the end.
        outlook: chances of (win, draw, loss), undiscounted; None where the evaluator cannot tell.
        proven: "win", "loss" or "draw" where the result is certain, else None.
        proven_plies: plies to the end by that proof; an upper bound.
        line: the moves that the search expects, the chosen one first.
        simulations: how many were done.
        kept: how many visits a kept tree brought along.
    """

    move: Move
    actions: np.ndarray
    visits: np.ndarray
    policy: np.ndarray
    prior: np.ndarray
    values: np.ndarray
    proofs: np.ndarray
    value: float
    outlook: tuple[float, float, float] | None
    proven: str | None
    proven_plies: int
    line: list[Move]
    simulations: int
    kept: int

    @property
    def expectation(self) -> float:
        """What the side to play may expect, from -1 (a loss) to 1 (a win), undiscounted where that is known."""
        if self.proven is not None:
            return {"win": 1.0, "draw": 0.0, "loss": -1.0}[self.proven]
        return self.value if self.outlook is None else self.outlook[0] - self.outlook[2]


def read_result(
    t: Tables, settings: Settings, tree: Tree, slot: int, game: Game, evaluator: Callable[..., None]
) -> SearchResult:
    """Return what the search of `game` in a slot has found out."""
    root = tree.nodes[slot, ROOT]
    count, proof = int(root.count), int(root.proof)
    choices, edges = tree.choices[slot, :count], tree.edges[slot, :count]
    policy = np.empty(count, np.float32)
    improved_policy(settings, tree, slot, policy)
    tried = (edges["visits"] > 0) | (edges["proof"] != UNKNOWN)
    line, last = _line(settings, tree, slot, game)
    return SearchResult(
        move=line[0],
        actions=choices["action"].copy(),
        visits=edges["visits"].copy(),
        policy=policy,
        prior=choices["prior"].copy(),
        values=np.where(tried, edges["value"], np.nan).astype(np.float32),
        proofs=edges["proof"].copy(),
        value=float(root_value(settings, tree, slot)),
        outlook=_outlook(t, evaluator, proof, game, last),
        proven=PROVEN[proof],
        proven_plies=int(root.plies),
        line=line,
        simulations=int(tree.slots[slot].simulations),
        kept=int(tree.slots[slot].kept[:count].sum()),
    )


def _line(settings: Settings, tree: Tree, slot: int, game: Game) -> tuple[list[Move], Game]:
    """Return the expected moves and the game after them."""
    ahead = game.copy()
    edge = int(best_edge(settings, tree, slot))
    while True:
        ahead.play_action(int(tree.choices[slot, edge].action))
        child = int(tree.edges[slot, edge].child)
        if child < 0 or tree.nodes[slot, child].tried == 0 or ahead.outcome is not None:
            break
        node = tree.nodes[slot, child]
        first = int(node.first)
        edges = tree.edges[slot, first : first + node.tried]
        proofs, plies = edges["proof"], edges["plies"].astype(np.int64)
        # A quick win before everything, lost moves after everything (the slowest first), else by visits.
        rank = edges["visits"].astype(np.int64)
        rank = np.where(proofs == WIN, (1 << 40) - plies, np.where(proofs == LOSS, plies - (1 << 40), rank))
        best = int(rank.argmax())
        edge = first + best
        if edges[best].visits == 0:
            break
    return ahead.moves[len(game.moves) :], ahead


def _outlook(
    t: Tables, evaluator: Callable[..., None], proof: int, game: Game, last: Game
) -> tuple[float, float, float] | None:
    """Return the chances of the side to play: certain where proven, else the network's at the end of the line."""
    if proof != UNKNOWN:
        return {WIN: (1.0, 0.0, 0.0), LOSS: (0.0, 0.0, 1.0), DRAW: (0.0, 1.0, 0.0)}[proof]
    to_play = int(game.arrays.info[TO_PLAY])
    if last.outcome is not None:
        if last.outcome.winner is None:
            return 0.0, 1.0, 0.0
        won = (last.outcome.winner == "defenders") == (to_play == DEFENDERS)
        return (1.0, 0.0, 0.0) if won else (0.0, 0.0, 1.0)
    outlook = getattr(evaluator, "outlook", None)
    if outlook is None:
        return None
    row, _ = position_input(t, last.arrays, last.history)
    win, draw, loss = (float(chance) for chance in outlook(row[None])[0])
    return (win, draw, loss) if int(last.arrays.info[TO_PLAY]) == to_play else (loss, draw, win)
