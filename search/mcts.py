"""Monte-Carlo tree search for people's games: `Search` takes `Game`s and answers with moves, policies and values.

Many games are searched at once, and of few games many leaves, so that every call of the evaluator gets a batch;
`search.simulation` does the work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from env.encoding import position_input
from env.game import Game
from env.position import PLY, REVERSIBLE, copy_position
from env.rules import Rules, get_rules
from env.tables import tables
from search.cache import forget, new_cache
from search.config import MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from search.result import SearchResult, read_result
from search.reuse import go_on, keep_below, node_after, shift_plies
from search.simulation import Batch, advance, new_batch, receive, require_numbers, start
from search.symmetry import average_over_symmetries
from search.tree import NOBODY, ROOT, Tree, new_tree, tree_bytes

LARGEST_BATCH = 256
LARGEST_TREES = 2_000_000_000  # bytes that the trees of a batch may span; little of it is used (`new_tree`)
ROWS = 16  # rows of a batch that few games fill with several leaves each
MOST_MOVES_AHEAD = 4  # a tree is kept for a game that has gone on by no more moves than these
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


_Key = tuple[tuple[str, str], tuple[int, ...]]


def _key(game: Game, plies: int) -> _Key:
    """Return what tells a game's first plies from those of all other games: its start and its moves."""
    return game.start, tuple(game.actions[:plies])


class Search:
    """Searches moves for games of one kind with one evaluator. Not for two threads at once.

    With `config.reuse` the trees of the last call of `run` are kept, and a search goes on with what it finds there
    about a game that has gone on since by at most `MOST_MOVES_AHEAD` moves. With `config.cache` evaluations are
    remembered. Either makes what a search finds depend on the searches before it, and asks for `forget` when the
    evaluator changes.

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
        self._cache = new_cache(self.rules.size, self.config.cache)
        self._kept: dict[_Key, int] = {}
        self._pace: tuple[int, float] | None = None
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
        begun = time.monotonic()
        if simulations is None:  # a trial that this takes is part of the time
            simulations = self.config.simulations if seconds is None else self._affordable(games, seconds)
        ready = time.monotonic()
        past = max(int(game.arrays.info[PLY] - game.arrays.info[REVERSIBLE]) for game in games)
        leaves = self.config.leaves or leaves_for(len(games), simulations)
        tree, batch = self._room(len(games), simulations, past, leaves)
        places = self._places(tree, games, simulations)
        self._kept = {}
        for (slot, node), game, seed in zip(places, games, seeds):
            tree.slots[slot].random = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
            if node < 0:
                self._load(tree, slot, game)
                start(self._tables, self._settings, tree, batch, slot, simulations, gumbel_scale, 0)
            else:
                self._keep(tree, slot, node, game)
                go_on(self._settings, tree, slot, simulations, gumbel_scale)
        waiting = int(np.count_nonzero(batch.counts))
        if waiting:
            self._evaluate(batch, waiting, self.config.symmetries)
        while True:
            if self._stopped or (seconds is not None and time.monotonic() >= begun + seconds):
                for slot, _ in places:
                    receive(self._settings, tree, batch, slot)
                break
            waiting = advance(self._tables, self._settings, tree, batch, 0)
            if not waiting:
                break
            self._evaluate(batch, waiting)
        results = [
            read_result(self._tables, self._settings, tree, slot, game, self.evaluator)
            for (slot, _), game in zip(places, games)
        ]
        if self.config.reuse:
            self._kept = {_key(game, game.ply): slot for (slot, _), game in zip(places, games)}
        done = min(result.simulations for result in results)
        if done >= min(64, simulations):  # one that a proof has cut short tells nothing
            self._pace = len(games), done / max(1e-6, time.monotonic() - ready)
        return results

    def _affordable(self, games: Sequence[Game], seconds: float) -> int:
        """Return how many simulations fit into `seconds`: by the last search, or by a short trial."""
        if self._pace is None or self._pace[0] != len(games):
            trial = 8 * leaves_for(len(games), MOST_SIMULATIONS)
            paces = []
            for _ in range(2):  # the first time much is done that is never done again
                self.forget()
                begin = time.monotonic()
                results = self._run(games, trial, seconds / 4, 0.0, range(len(games)))
                done = min(result.simulations for result in results)
                paces.append(max(1, done) / max(1e-6, time.monotonic() - begin))
            self.forget()
            self._pace = len(games), max(paces)
        room = LARGEST_TREES // (len(games) * tree_bytes(self.rules.size, 1))
        return max(1, min(MOST_SIMULATIONS, room, int(self._pace[1] * seconds)))

    def forget(self) -> None:
        """Forget trees and evaluations of earlier searches, as is needed when the evaluator has learnt."""
        self._kept = {}
        forget(self._cache)

    def _room(self, games: int, simulations: int, past: int, leaves: int) -> tuple[Tree, Batch]:
        """Return a tree and a batch for the games, those of the last call where they are large enough."""
        tree = self._tree
        room = LARGEST_TREES // (games * tree_bytes(self.rules.size, 1))
        kept = max(0, min(3 * simulations, room - simulations)) if self.config.reuse else 0
        if (
            tree is None
            or not (games <= tree.nodes.shape[0] if self._kept else games == tree.nodes.shape[0])
            or tree.schedule.shape[1] < simulations
            or tree.history.shape[1] < past + tree.nodes.shape[1] + 1
        ):
            tree = new_tree(self.rules.size, games, simulations + kept // 8, past + 64, leaves, kept, self._cache)
            self._kept = {}
        if tree.waiting.shape[1] != 2 * leaves:
            tree = tree._replace(waiting=np.full((len(tree.slots), 2 * leaves), NOBODY, np.int32))
        rows = len(tree.slots) * leaves
        if self._batch is None or len(self._batch.counts) != rows:
            self._batch = new_batch(self.rules.size, rows)
        self._tree = tree
        for name in ("pending", "simulations", "budget"):  # slots that no game takes have nothing to do
            tree.slots[name] = 0
        tree.waiting[:] = NOBODY
        self._batch.counts[:] = 0
        return tree, self._batch

    def _places(self, tree: Tree, games: Sequence[Game], simulations: int) -> list[tuple[int, int]]:
        """Return each game's slot, and the node in it from which its search can go on, or -1."""
        found: dict[int, tuple[int, int]] = {}
        free = set(range(len(tree.slots)))
        for number, game in enumerate(games):
            for back in range(min(MOST_MOVES_AHEAD, game.ply) + 1 if self._kept else 0):
                slot = self._kept.get(_key(game, game.ply - back), -1)
                if slot not in free:
                    continue
                actions = np.array(game.actions[game.ply - back :], np.int16)
                node = int(node_after(tree, slot, actions))
                if node >= 0 and self._is_at(tree, slot, node, game, simulations):
                    found[number] = slot, node
                    free.remove(slot)
                break
        left = sorted(free, reverse=True)
        return [found[number] if number in found else (left.pop(), NOBODY) for number in range(len(games))]

    def _is_at(self, tree: Tree, slot: int, index: int, game: Game, simulations: int) -> bool:
        """Return whether a node is the game's position and there is room to go on below it."""
        node, position = tree.nodes[slot, index], game.arrays
        same = node.position.key[0] == position.key[0] and np.array_equal(node.position.board, position.board)
        return same and int(node.visits) + simulations + 2 <= tree.nodes.shape[1]

    def _load(self, tree: Tree, slot: int, game: Game) -> None:
        """Set the slot's root to the game's position."""
        root = tree.nodes[slot, ROOT].position
        copy_position(game.arrays, root)
        ply, first = int(root.info[PLY]), int(root.info[REVERSIBLE])
        tree.history[slot, : ply - first + 1] = game.history[first : ply + 1]
        root.info[PLY], root.info[REVERSIBLE] = ply - first, 0

    def _keep(self, tree: Tree, slot: int, node: int, game: Game) -> None:
        """Make a node, which is the game's position, the slot's root, with all that is below it."""
        keep_below(tree, slot, node)
        shift_plies(tree, slot, int(tree.nodes[slot, ROOT].position.info[REVERSIBLE]))
        ply, first = game.ply, int(game.arrays.info[REVERSIBLE])
        tree.history[slot, : ply - first + 1] = game.history[first : ply + 1]
        if self.config.symmetries > 1:
            root, question = tree.nodes[slot, ROOT], new_batch(self.rules.size, 1)
            row, actions = position_input(self._tables, game.arrays, game.history)
            question.inputs[0], question.actions[0, : len(actions)], question.counts[0] = row, actions, len(actions)
            self._evaluate(question, 1, self.config.symmetries)
            logits = question.logits[0, : len(actions)]
            tree.slots[slot].logit[: len(actions)] = logits - logits.max()
            weights = np.exp(logits - logits.max())
            tree.choices["prior"][slot, : root.count] = weights / weights.sum()

    def _evaluate(self, batch: Batch, waiting: int, symmetries: int = 1) -> None:
        """Have the `waiting` rows that ask something answered."""
        whole = bool(batch.counts[:waiting].all())
        asked = np.arange(waiting) if whole else np.flatnonzero(batch.counts)
        part = Batch(*(array[:waiting] if whole else array[asked] for array in batch))
        if symmetries > 1:
            average_over_symmetries(self.evaluator, self.rules.size, symmetries, part)
        else:
            self.evaluator(*part)
        if not whole:
            batch.logits[asked] = part.logits
            batch.values[asked] = part.values
        require_numbers(batch)
