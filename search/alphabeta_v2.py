"""The player `alphabeta-v2`: deeper and wiser than `alphabeta-v1` at the same time a move.

It looks closer where something happens and less close where nothing does, so to a fixed depth its move is not that of
plain minimax; `Settings()` turns all of that off, and then it is. docs/alphabeta-v2.md tells what it does and how
strong it is.
"""

from __future__ import annotations

import time

import numpy as np

from env.game import Game
from env.position import copy_position, new_position
from env.rules import Rules, get_rules
from env.tables import tables
from search.alphabeta import AlphaBetaResult
from search.alphabeta_kernels import DECIDED, INFINITE, MAX_DEPTH, WIN
from search.alphabeta_run import lay_out_past, next_generation, require_game, set_after
from search.transposition import new_path, new_table, retrace
from search.v2.evaluation import Evaluation, survey
from search.v2.kernels import search_position
from search.v2.settings import SELECTIVE, Settings
from search.v2.weights import UNIT, load_weights
from search.v2.work import (
    BEST,
    BEST_ACTION,
    GENERATION,
    HINT,
    LEVELS,
    LIMIT,
    NODES,
    RAW,
    new_work,
)

__all__ = ["DECIDED", "MAX_DEPTH", "MOST_NODES", "MOST_NOISE", "UNIT", "WIN", "AlphaBetaV2", "Settings"]

MOST_NODES = 10**12
MOST_NOISE = 10_000
_UNLIMITED = 1 << 62


class AlphaBetaV2:
    """Searches positions of one game; holds its table, so one object serves one thread.

    Args:
        rules: the game, or its name.
        table_megabytes: memory of the transposition table, rounded down to a power of two.
        settings: what the search leaves out or adds to plain minimax; `None`: what plays best.
        weights: of the evaluation; `None`: those that come with the game.
    """

    def __init__(
        self,
        rules: Rules | str,
        table_megabytes: float = 16,
        settings: Settings | None = None,
        weights: Evaluation | None = None,
    ) -> None:
        self.rules = get_rules(rules)
        self.settings = SELECTIVE if settings is None else settings
        self._tables = tables(self.rules)
        self._weights = load_weights(self.rules) if weights is None else weights
        self._table = new_table(table_megabytes)
        self._work = new_work(self.rules, self.settings.array())
        self._path = new_path(self.rules.cells, 512)
        self._start = new_position(self.rules)
        self._position = new_position(self.rules)

    def run(
        self,
        game: Game,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        seed: int = 0,
        noise: int = 0,
    ) -> AlphaBetaResult:
        """Search a game's present position until the first of the given limits is reached.

        Without `seconds` the result depends on the position, its history, the limits, seed and noise alone.

        Args:
            game: a game that is going on; it is not changed.
            depth: plies, 1 to MAX_DEPTH.
            nodes: moves to make in the search, at least 1; a legal move is found whatever the number.
            seconds: time after which to stop, above 0.
            seed: decides among moves of equal value, together with the ply, and the noise.
            noise: each move at the root gets a bonus from 0 to `noise` hundredths of an attacker, 0 to MOST_NOISE.

        Raises:
            ValueError: the game is over or another one than this object's, no limit is given, or something is out of
                range.
        """
        require_game(self.rules, game)
        if depth is None and nodes is None and seconds is None:
            raise ValueError("alpha-beta needs a depth, a number of nodes or a time")
        if depth is not None and not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"depth {depth}: allowed are 1 to {MAX_DEPTH}")
        if nodes is not None and not 1 <= nodes <= MOST_NODES:
            raise ValueError(f"{nodes} nodes: allowed are 1 to {MOST_NODES}")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"{seconds} seconds: more than 0 are needed")
        if not 0 <= noise <= MOST_NOISE:
            raise ValueError(f"noise {noise}: allowed are 0 to {MOST_NOISE} hundredths of an attacker")
        start = time.perf_counter()
        self._prepare(game, seed, noise)
        self._work.state[LIMIT] = _UNLIMITED if nodes is None else nodes
        self._work.stop[0] = 0
        left = None if seconds is None else seconds - (time.perf_counter() - start)
        with set_after(self._work.stop, left):
            return self._deepen(game, depth or MAX_DEPTH)

    def stop(self) -> None:
        """Let the search that another thread runs end soon, with the best move found so far."""
        self._work.stop[0] = 1

    def _prepare(self, game: Game, seed: int, noise: int) -> None:
        """Lay out the game for the kernels, and forget what earlier searches learnt."""
        work = self._work
        self._path = lay_out_past(self._tables, self._path, game, LEVELS)
        copy_position(game.arrays, self._start)
        work.killers.fill(-1)
        work.replies.fill(-1)
        work.success.fill(0)
        work.bonus.fill(0)
        actions = game.legal_actions()
        chance = np.random.default_rng((seed, game.ply))
        work.rank[actions] = chance.permutation(len(actions))
        if noise:
            work.bonus[actions] = chance.integers(0, noise, len(actions), endpoint=True)
        work.state[NODES] = 0
        work.state[GENERATION] = next_generation(self._table, int(work.state[GENERATION]))
        work.nodes[0, HINT] = -1

    def _iterate(self, depth: int, low: int, high: int) -> bool:
        """Search the root once; returns whether the search is finished."""
        work = self._work
        copy_position(self._start, self._position)
        survey(self._weights, self._position, work.static[0])
        # Extensions go beyond the depth.
        retrace(self._tables, self._position, self._path, LEVELS if self.settings.quiescence else depth)
        return search_position(
            self._tables, self._weights, self._position, work, self._path, self._table, depth, low, high
        )

    def _deepen(self, game: Game, most: int) -> AlphaBetaResult:
        work = self._work
        first = int(game.legal_actions()[0])
        found = (first, 0, 0, [first])
        valued = 0  # the best move's score with its bonus
        for depth in range(1, most + 1):
            half = self.settings.aspiration
            low, high = -INFINITE, INFINITE
            if half and depth > 2 and abs(valued) < DECIDED:
                low, high = valued - half, valued + half
            while True:
                finished = self._iterate(depth, low, high)
                action = int(work.nodes[0, BEST_ACTION])
                if action >= 0:
                    valued = int(work.nodes[0, BEST])
                    found = action, int(work.state[RAW]), depth, work.line[0, : work.length[0]].tolist()
                    work.nodes[0, HINT] = action
                if not finished or (action >= 0 and valued < high):
                    break
                # The score lies outside the window.
                if action < 0:
                    low = -INFINITE
                else:
                    high = INFINITE
            # A forced end of the game that is seen stays what it is however much deeper one looks.
            if not finished or abs(found[1]) >= DECIDED:
                break
        action, score, depth, line = found
        return AlphaBetaResult(
            game.move_of(action), score, depth, int(work.state[NODES]), [game.move_of(action) for action in line]
        )
