"""What the kernels of both alpha-beta players share: how wins count, how a node ends, what a stored bound says."""

from __future__ import annotations

import numpy as np

from env.board import NO_MOVES, NONE, REPETITION, winner
from env.jit import kernel
from env.moves import has_move
from env.position import TO_PLAY, Position
from env.rules import ATTACKERS
from env.tables import Tables
from search.transposition import LOWER, UPPER, Path, enter, may_meet_past

MAX_DEPTH = 60
WIN = 1_000_000  # less the plies it takes; evaluations are far smaller
DECIDED = WIN - 1000  # from here on a score is a forced win
INFINITE = WIN + 1
NEVER = 1 << 30  # a ply beyond every game

SORTED = 24  # after that many moves in order the others come as they are


@kernel
def from_node(score: int, level: int) -> int:
    """Return a score, wins counted from the root, as seen from a node `level` plies below it."""
    if score >= DECIDED:
        return score + level
    if score <= -DECIDED:
        return score - level
    return score


@kernel
def judge_node(t: Tables, pos: Position, path: Path, level: int, reason: int) -> tuple[bool, int, int]:
    """Judge by the rules a node just reached, `level` plies below the root; `reason` is what `make` returned.

    Returns:
        Whether the game is over; the score from the view of the side to play; the earliest ply that this depends on.
    """
    depends = NEVER
    if reason == NONE:
        met = enter(t, pos, path)
        if met >= 0:
            reason, depends = REPETITION, met
        elif not has_move(t, pos):
            reason = NO_MOVES
        else:
            return False, 0, NEVER
    to_play = pos.info[TO_PLAY]
    won = winner(t, reason, 1 - to_play)
    return True, (won if to_play == ATTACKERS else -won) * (WIN - level), depends


@kernel
def settled(t: Tables, pos: Position, path: Path, score: int, bound: int, plies: int, alpha: int, beta: int) -> int:
    """Return what a stored score settles in the window (alpha, beta), else INFINITE.

    A stored bound was proven without the past. Where the past may be met within `plies`, and meeting it means a draw, a
    proof tree with some of its nodes replaced by draws still proves the bound or 0, whichever is weaker.
    """
    low = high = score
    if may_meet_past(t, pos, path, plies):
        if t.repetition_result != 0:
            return INFINITE
        low, high = min(score, 0), max(score, 0)
    if bound & LOWER and low >= beta:
        return low
    if bound & UPPER and high <= alpha:
        return high
    return INFINITE


@kernel
def bring_forward(moves: np.ndarray, order: np.ndarray, at: int, count: int) -> None:
    """Exchange the most promising of the moves from `at` on with the one at `at`; beyond SORTED they stay as they are.

    Args:
        moves: int16 (at least count,), actions.
        order: integers (at least count,), how promising they are.
        at: moves tried before.
        count: moves there are.
    """
    if at >= SORTED:
        return
    best = at
    for index in range(at + 1, count):
        if order[index] > order[best]:
            best = index
    moves[at], moves[best] = moves[best], moves[at]
    order[at], order[best] = order[best], order[at]
