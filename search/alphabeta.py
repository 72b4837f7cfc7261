"""The baseline player `alphabeta-v1`: iterative deepening alpha-beta, equal to plain minimax.

The move it plays to a fixed depth is defined without the search: among the moves of the greatest minimax value, the one
that the seed ranks highest. Windows, tables and orderings only decide how soon it is found. docs/alphabeta-v1.md
states the evaluation, and why the transposition table does no harm where positions repeat.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from env.game import Game
from env.notation import Move
from env.position import copy_position, new_position
from env.rules import Rules, get_rules
from env.tables import tables
from search.alphabeta_kernels import DECIDED, MAX_DEPTH, WIN
from search.alphabeta_run import lay_out_past, next_generation, require_game, set_after
from search.evaluation import count_soldiers, evaluation_weights
from search.negamax import (
    BEST,
    BEST_ACTION,
    GENERATION,
    HINT,
    NODES,
    new_work,
    search_position,
)
from search.transposition import new_path, new_table, retrace

__all__ = ["DECIDED", "MAX_DEPTH", "WIN", "AlphaBeta", "AlphaBetaResult"]


@dataclass(frozen=True, slots=True)
class AlphaBetaResult:
    """What a search found.

    Attributes:
        move: the move to play.
        score: from the view of the side to play, in hundredths of an attacker; a forced win in p plies is WIN - p,
            a forced loss p - WIN.
        depth: plies of the last finished iteration (or of the unfinished one that the move comes from).
        nodes: moves made in the search.
        line: best play for both sides, `move` first.
    """

    move: Move
    score: int
    depth: int
    nodes: int
    line: list[Move]


class AlphaBeta:
    """Searches positions of one game; holds its table, so one object serves one thread.

    Args:
        rules: the game, or its name.
        table_megabytes: memory of the transposition table, rounded down to a power of two.
    """

    def __init__(self, rules: Rules | str, table_megabytes: float = 16) -> None:
        self.rules = get_rules(rules)
        self._tables = tables(self.rules)
        self._weights = evaluation_weights(self.rules)
        self._table = new_table(table_megabytes)
        self._work = new_work(self.rules)
        self._path = new_path(self.rules.cells, 512)
        self._position = new_position(self.rules)

    def run(self, game: Game, depth: int | None = None, seconds: float | None = None, seed: int = 0) -> AlphaBetaResult:
        """Search a game's present position.

        To a fixed depth the result depends on the position, its history and the seed alone.

        Args:
            game: a game that is going on; it is not changed.
            depth: plies, 1 to MAX_DEPTH.
            seconds: time after which to stop, above 0.
            seed: decides among moves of equal value, together with the ply.

        Raises:
            ValueError: the game is over or another one than this object's, or neither depth nor seconds is given or
                one is out of range.
        """
        require_game(self.rules, game)
        if depth is None and seconds is None:
            raise ValueError("alpha-beta needs a depth or a time")
        if depth is not None and not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"depth {depth}: allowed are 1 to {MAX_DEPTH}")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"{seconds} seconds: more than 0 are needed")
        start = time.perf_counter()
        self._prepare(game, seed)
        self._work.stop[0] = 0
        left = None if seconds is None else seconds - (time.perf_counter() - start)
        with set_after(self._work.stop, left):
            return self._deepen(game, depth or MAX_DEPTH)

    def stop(self) -> None:
        """Let the search that another thread runs end soon, with the best move found so far."""
        self._work.stop[0] = 1

    def _prepare(self, game: Game, seed: int) -> None:
        """Lay out the game for the kernels, and forget what earlier searches learnt."""
        work = self._work
        self._path = lay_out_past(self._tables, self._path, game, MAX_DEPTH)
        copy_position(game.arrays, self._position)
        work.killers.fill(-1)
        work.success.fill(0)
        actions = game.legal_actions()
        work.rank[actions] = np.random.default_rng((seed, game.ply)).permutation(len(actions))
        work.state[NODES] = 0
        work.state[GENERATION] = next_generation(self._table, int(work.state[GENERATION]))
        work.nodes[0, HINT] = -1

    def _deepen(self, game: Game, most: int) -> AlphaBetaResult:
        work = self._work
        position = new_position(self.rules)
        found = (int(game.legal_actions()[0]), 0, 0, [int(game.legal_actions()[0])])
        for depth in range(1, most + 1):
            copy_position(self._position, position)
            count_soldiers(position, work.soldiers)
            retrace(self._tables, position, self._path, depth)
            finished = search_position(self._tables, self._weights, position, work, self._path, self._table, depth)
            action, score = int(work.nodes[0, BEST_ACTION]), int(work.nodes[0, BEST])
            if action >= 0:
                found = action, score, depth, work.line[0, : work.length[0]].tolist()
                work.nodes[0, HINT] = action
            # A forced end of the game that is seen stays what it is however much deeper one looks.
            if not finished or abs(score) >= DECIDED:
                break
        action, score, depth, line = found
        return AlphaBetaResult(
            game.move_of(action), score, depth, int(work.state[NODES]), [game.move_of(action) for action in line]
        )
