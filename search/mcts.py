"""Monte-Carlo tree search for people's games: `Search` takes `Game`s and answers with moves, policies and values.

Many games are searched at once, and of few games many leaves, so that every call of the evaluator gets a batch;
`search.simulation` does the work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from env.encoding import position_input
from env.game import Game, Move
from env.position import PLY, REVERSIBLE, TO_PLAY, copy_position
from env.rules import DEFENDERS, Rules, get_rules
from env.tables import tables
from search.config import MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from search.rule import best_edge, improved_policy, root_value
from search.simulation import Batch, advance, new_batch, receive, require_numbers, start
from search.tree import DRAW, LOSS, ROOT, UNKNOWN, WIN, Tree, new_tree, tree_bytes

PROVEN = {UNKNOWN: None, WIN: "win", LOSS: "loss", DRAW: "draw"}
LARGEST_BATCH = 256
LARGEST_TREES = 2_000_000_000  # bytes that the trees of a batch may span; little of it is used (`new_tree`)


ROWS = 16  # rows of a batch that few games fill with several leaves each
SIMULATIONS_A_LEAF = 16  # a search has at least this many simulations for each leaf that it takes at once


def leaves_for(games: int, simulations: int) -> int:
    """Return how many leaves of each tree go to the evaluator at once where the settings leave it open.

    Enough to fill a batch, few enough to cost no strength (measured: docs/LOG.md).
    """
    return max(1, min(MOST_LEAVES, ROWS // games, simulations // SIMULATIONS_A_LEAF))


class Evaluate(Protocol):
    """What a search asks of an evaluator; `models.Evaluator` is one, any function of this form will do."""

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        """Write policy logits and values for a batch of B positions.

        Args:
            inputs: int8 (B, S + 3), input rows (`env.encoding`).
            actions: int16 (B, M), legal actions, the first `counts` of each row.
            counts: int32 (B,).
            logits: float32 (B, M), to be written: logits at those actions.
            values: float32 (B,), to be written: value in [-1, 1] from the view of the side to play.
        """
        ...


@dataclass(frozen=True)
class SearchResult:
    """What a search found out about one position, from the view of the side to play.

    Attributes:
        move: the move to play.
        actions: int16 (K,), numbers of the K legal moves.
        visits: int32 (K,), simulations that each of them got.
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


class Search:
    """Searches moves for games of one kind with one evaluator. Not for two threads at once.

    Args:
        rules: the game, or its name.
        evaluator: see `Evaluate`.
        config: how to search; for play at the board leave `gumbel_scale` to `run`, which uses no noise by default.
    """

    def __init__(self, rules: Rules | str, evaluator: Evaluate, config: SearchConfig | None = None) -> None:
        self.rules = get_rules(rules)
        self.evaluator = evaluator
        self.config = config or SearchConfig()
        self._tables = tables(self.rules)
        self._settings = self.config.settings()
        self._tree: Tree | None = None
        self._batch: Batch | None = None
        self._stopped = False

    def stop(self) -> None:
        """Let the search that another thread runs end soon, with what has been found so far."""
        self._stopped = True

    def run(
        self,
        games: Sequence[Game],
        simulations: int | None = None,
        seconds: float | None = None,
        gumbel_scale: float = 0.0,
        seeds: Sequence[int] | None = None,
    ) -> list[SearchResult]:
        """Search the present position of every game.

        Args:
            games: games that are not over, of this search's rules.
            simulations: for each game; `config.simulations` where neither this nor `seconds` is given.
            seconds: time for all games together; ends the search early where `simulations` are given too.
            gumbel_scale: noise on the choice of moves, 0 for the strongest play.
            seeds: one for each game, for the noise; 0, 1, ... by default.

        Raises:
            ValueError: a game is over or of another kind, there is nothing to spend, or seeds are missing.
            FloatingPointError: the evaluator answered with something that is no finite number.
        """
        for number, game in enumerate(games):
            if game.rules != self.rules:
                raise ValueError(f"game {number} is {game.rules.title}, this search plays {self.rules.title}")
            if game.outcome is not None:
                raise ValueError(f"game {number} is over ({game.outcome.reason}), there is no move to search")
        if simulations is not None and simulations < 1:
            raise ValueError(f"simulations is {simulations}: at least 1 is needed")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds is {seconds}: more than 0 is needed")
        seeds = range(len(games)) if seeds is None else seeds
        if len(seeds) != len(games):
            raise ValueError(f"{len(seeds)} seeds for {len(games)} games: one for each is needed")
        most = LARGEST_BATCH
        if simulations is not None:
            most = max(1, min(most, LARGEST_TREES // tree_bytes(self.rules.size, simulations)))
        results: list[SearchResult] = []
        self._stopped = False
        for begin in range(0, len(games), most):
            part = games[begin : begin + most]
            share = None if seconds is None else seconds * len(part) / len(games)
            results += self._run(part, simulations, share, gumbel_scale, seeds[begin : begin + most])
        return results

    def _run(
        self,
        games: Sequence[Game],
        simulations: int | None,
        seconds: float | None,
        gumbel_scale: float,
        seeds: Sequence[int],
    ) -> list[SearchResult]:
        deadline = None if seconds is None else time.monotonic() + seconds
        if simulations is None:
            simulations = self.config.simulations if seconds is None else self._affordable(games, seconds)
        past = max(int(game.arrays.info[PLY] - game.arrays.info[REVERSIBLE]) for game in games)
        leaves = self.config.leaves or leaves_for(len(games), simulations)
        tree, batch = self._room(len(games), simulations, past, leaves)
        for slot, game in enumerate(games):
            self._load(tree, slot, game, seeds[slot])
            start(self._tables, self._settings, tree, batch, slot, simulations, gumbel_scale, 0)
        waiting = len(games)
        while waiting:
            self._evaluate(batch, waiting)
            if self._stopped or (deadline is not None and time.monotonic() >= deadline):
                for slot in range(len(games)):
                    receive(self._settings, tree, batch, slot)
                break
            waiting = advance(self._tables, self._settings, tree, batch, 0)
        return [self._result(tree, slot, game) for slot, game in enumerate(games)]

    def _affordable(self, games: Sequence[Game], seconds: float) -> int:
        """Return how many simulations fit into `seconds`, by a short trial."""
        trial = 8
        begin = time.monotonic()
        self._run(games, trial, None, 0.0, range(len(games)))
        begin, before = time.monotonic(), begin
        self._run(games, trial, None, 0.0, range(len(games)))
        spent = max(1e-6, min(time.monotonic() - begin, begin - before))
        room = LARGEST_TREES // (len(games) * tree_bytes(self.rules.size, 1))
        return max(1, min(MOST_SIMULATIONS, room, int(trial * seconds / spent)))

    def _room(self, slots: int, simulations: int, past: int, leaves: int) -> tuple[Tree, Batch]:
        """Return a tree and a batch of exactly `slots` slots, kept from the last call where they are large enough."""
        tree = self._tree
        if (
            tree is None
            or tree.nodes.shape[0] != slots
            or tree.schedule.shape[1] < simulations
            or tree.history.shape[1] < past + simulations + 3
            or tree.waiting.shape[1] != 2 * leaves
        ):
            self._tree = new_tree(self.rules.size, slots, simulations, past + 64, leaves)
            self._batch = new_batch(self.rules.size, slots * leaves)
        assert self._tree is not None and self._batch is not None
        return self._tree, self._batch

    def _load(self, tree: Tree, slot: int, game: Game, seed: int) -> None:
        root = tree.nodes[slot, ROOT].position
        copy_position(game.arrays, root)
        ply, first = int(root.info[PLY]), int(root.info[REVERSIBLE])
        tree.history[slot, : ply - first + 1] = game.history[first : ply + 1]
        root.info[PLY], root.info[REVERSIBLE] = ply - first, 0
        tree.slots[slot].random = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)

    def _evaluate(self, batch: Batch, waiting: int) -> None:
        """Have the `waiting` rows that ask something answered."""
        if batch.counts[:waiting].all():
            self.evaluator(*(array[:waiting] for array in batch))
        else:
            asked = np.flatnonzero(batch.counts)
            part = Batch(*(array[asked] for array in batch))
            self.evaluator(*part)
            batch.logits[asked] = part.logits
            batch.values[asked] = part.values
        require_numbers(batch)

    def _result(self, tree: Tree, slot: int, game: Game) -> SearchResult:
        root = tree.nodes[slot, ROOT]
        count, proof = int(root.count), int(root.proof)
        choices, edges = tree.choices[slot, :count], tree.edges[slot, :count]
        policy = np.empty(count, np.float32)
        improved_policy(self._settings, tree, slot, policy)
        tried = (edges["visits"] > 0) | (edges["proof"] != UNKNOWN)
        line, last = self._line(tree, slot, game)
        return SearchResult(
            move=line[0],
            actions=choices["action"].copy(),
            visits=edges["visits"].copy(),
            policy=policy,
            prior=choices["prior"].copy(),
            values=np.where(tried, edges["value"], np.nan).astype(np.float32),
            proofs=edges["proof"].copy(),
            value=float(root_value(self._settings, tree, slot)),
            outlook=self._outlook(proof, game, last),
            proven=PROVEN[proof],
            proven_plies=int(root.plies),
            line=line,
            simulations=int(tree.slots[slot].simulations),
        )

    def _line(self, tree: Tree, slot: int, game: Game) -> tuple[list[Move], Game]:
        """Return the expected moves and the game after them."""
        ahead = game.copy()
        edge = int(best_edge(self._settings, tree, slot))
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

    def _outlook(self, proof: int, game: Game, last: Game) -> tuple[float, float, float] | None:
        """Return the chances of the side to play: certain where proven, else the network's at the end of the line."""
        if proof != UNKNOWN:
            return {WIN: (1.0, 0.0, 0.0), LOSS: (0.0, 0.0, 1.0), DRAW: (0.0, 1.0, 0.0)}[proof]
        to_play = int(game.arrays.info[TO_PLAY])
        if last.outcome is not None:
            if last.outcome.winner is None:
                return 0.0, 1.0, 0.0
            won = (last.outcome.winner == "defenders") == (to_play == DEFENDERS)
            return (1.0, 0.0, 0.0) if won else (0.0, 0.0, 1.0)
        outlook = getattr(self.evaluator, "outlook", None)
        if outlook is None:
            return None
        row, _ = position_input(self._tables, last.arrays, last.history)
        win, draw, loss = (float(chance) for chance in outlook(row[None])[0])
        return (win, draw, loss) if int(last.arrays.info[TO_PLAY]) == to_play else (loss, draw, win)
