"""Working memory of the search of `alphabeta-v2`, laid out for its kernels."""

from __future__ import annotations

from math import log

import numpy as np

from env.rules import Rules
from search.alphabeta_kernels import MAX_DEPTH

LEVELS = MAX_DEPTH + 30  # of the stack: extensions and quiescence go beyond the depth

# Columns of `Work.nodes`, one row for each level of the stack: window, best score and action so far, moves, how many of
# them were tried, action being tried, which try of it this is, the earliest ply that the result depends on, action from
# the table, lower end of the window at first, plies left, whether the opponent threatens to win at once, plies by which
# the try is cut short, whether the action is quiet.
(
    ALPHA,
    BETA,
    BEST,
    BEST_ACTION,
    COUNT,
    TRIED,
    ACTION,
    STAGE,
    DEPENDS,
    HINT,
    FLOOR,
    LEFT,
    THREAT,
    CUT,
    QUIET,
) = range(15)
COLUMNS = 15
FIRST, UNCUT, FULL = range(3)  # values of STAGE
NODES, GENERATION, LIMIT, ROOT_DEPTH, RAW = range(5)  # places in `Work.state`

LATE = 64  # rows and columns of `Work.reductions`


# Places in `Work.settings`, in the order of `search.v2.settings.Settings`.
QUIESCENCE, ROADS, CLOSING, REPLIES, ANSWERS, EXTENSIONS, REDUCTIONS, PRUNING, DEEPER, ASPIRATION = range(10)


class Work(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Working memory of one search; L = LEVELS, M = 4S moves at most, A actions, n = size.

    Attributes:
        nodes: int32 (L, COLUMNS), the stack; columns above.
        moves: int16 (L, M), actions of each level.
        order: int32 (L, M), how promising they are.
        static: int64 (L, 2), see `search.v2.evaluation.survey`.
        undo: int16 (L, 8), see `env.board.make`.
        line: int16 (L, L), best line from each level on.
        length: int32 (L,), its length.
        killers: int16 (L, 2), last two quiet actions that cut a level off, -1 none.
        replies: int16 (2, A), quiet action that last refuted an action of the other side, by the side that replies.
        success: int32 (2, A), how well a quiet action did so far, by side.
        rank: int32 (A,), how ties at the root fall: the higher rank is played.
        bonus: int32 (A,), added to the scores of actions at the root.
        reductions: int8 (LATE, LATE), plies by which a move is cut short, by plies left and moves tried.
        settings: int32 (10,), see `search.v2.settings.Settings`.
        captures, landing: int32 (n,), see `search.v2.candidates`.
        state: int64 (5,), nodes searched; generation of the table; nodes at which to stop; depth of the iteration; best
            score at the root without its bonus.
        stop: int64 (1,), set from outside to end the search soon.
    """

    nodes: np.ndarray
    moves: np.ndarray
    order: np.ndarray
    static: np.ndarray
    undo: np.ndarray
    line: np.ndarray
    length: np.ndarray
    killers: np.ndarray
    replies: np.ndarray
    success: np.ndarray
    rank: np.ndarray
    bonus: np.ndarray
    reductions: np.ndarray
    settings: np.ndarray
    captures: np.ndarray
    landing: np.ndarray
    state: np.ndarray
    stop: np.ndarray


def reduction_table(percent: int) -> np.ndarray:
    """Return int8 (LATE, LATE): `percent` of half the product of the logarithms of plies left and moves tried."""
    table = np.zeros((LATE, LATE), np.int8)
    for left in range(2, LATE):
        for tried in range(3, LATE):
            table[left, tried] = int(percent / 100 * (0.3 + log(left) * log(tried) / 2))
    return table


def new_work(rules: Rules, settings: np.ndarray) -> Work:
    """Return the memory for a game, with the given settings, int32 (10,)."""
    most, actions = rules.most_moves, rules.actions
    layout = [
        ("static", np.int64, (LEVELS, 2)),
        ("state", np.int64, (5,)),
        ("stop", np.int64, (1,)),
        ("nodes", np.int32, (LEVELS, COLUMNS)),
        ("order", np.int32, (LEVELS, most)),
        ("length", np.int32, (LEVELS,)),
        ("success", np.int32, (2, actions)),
        ("rank", np.int32, (actions,)),
        ("bonus", np.int32, (actions,)),
        ("settings", np.int32, settings.shape),
        ("captures", np.int32, (rules.size,)),
        ("landing", np.int32, (rules.size,)),
        ("moves", np.int16, (LEVELS, most)),
        ("undo", np.int16, (LEVELS, 8)),
        ("line", np.int16, (LEVELS, LEVELS)),
        ("killers", np.int16, (LEVELS, 2)),
        ("replies", np.int16, (2, actions)),
        ("reductions", np.int8, (LATE, LATE)),
    ]
    work = np.zeros(1, np.dtype((Work, np.dtype(layout, align=True))))[0]
    work.settings[:] = settings
    work.reductions[:] = reduction_table(int(settings[REDUCTIONS]))
    return work
