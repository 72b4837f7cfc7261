"""Perft: how many move sequences of a length there are, the usual check and measure of a move generator."""

from __future__ import annotations

import numpy as np

from env.board import NONE, make, occurrences, unmake
from env.game import Game, Move
from env.jit import kernel
from env.moves import count_moves, write_moves
from env.position import PLY, REVERSIBLE, Position
from env.tables import Tables, tables

MAX_DEPTH = 60


@kernel
def _count(
    t: Tables,
    pos: Position,
    history: np.ndarray,
    depth: int,
    repetitions: bool,
    moves: np.ndarray,
    left: np.ndarray,
    undo: np.ndarray,
) -> int:
    """Count the sequences of `depth` >= 1 legal moves from a position where the game is not over.

    Depth first with an explicit stack; at the last ply the moves are counted, not played. A side without a move has no
    sequence, so only wins and repetitions need a look.

    Args:
        t, pos: see `env.position`; `pos` is put back as it was.
        history: uint64 (at least ply + depth,).
        depth: length of the sequences.
        repetitions: whether a position may repeat often enough within `depth` to end a game.
        moves: int16 (depth, 4S), for the moves at every level of the stack.
        left: int64 (depth,), how many of these are still to be played.
        undo: int16 (depth, 8), for `unmake`.
    """
    if depth == 1:
        return count_moves(t, pos)
    last = depth - 1
    left[0] = write_moves(t, pos, moves[0])
    level, leaves = 0, 0
    while level >= 0:
        if left[level] == 0:
            level -= 1
            if level >= 0:
                unmake(t, pos, undo[level])
            continue
        left[level] -= 1
        over = make(t, pos, moves[level, left[level]], undo[level]) != NONE
        if repetitions and not over:
            history[pos.info[PLY]] = pos.key[0]
            over = occurrences(pos, history) >= t.repetition_limit
        if over:
            unmake(t, pos, undo[level])
        elif level + 1 == last:
            leaves += count_moves(t, pos)
            unmake(t, pos, undo[level])
        else:
            level += 1
            left[level] = write_moves(t, pos, moves[level])
    return leaves


def perft(game: Game, depth: int) -> int:
    """Count the sequences of `depth` moves from here; a finished game has no continuation, repetitions included.

    Takes time in proportion to the sequences of `depth` - 1 moves.

    Raises:
        ValueError: `depth` is not between 0 and 60.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"depth {depth}: allowed are 0 to {MAX_DEPTH}")
    if depth == 0:
        return 1
    if game.outcome is not None:
        return 0
    t, info = tables(game.rules), game.arrays.info
    pos = game.arrays.copy()
    history = np.zeros(game.ply + depth, np.uint64)
    history[: game.ply + 1] = game.history[: game.ply + 1]
    # A position needs four plies to come about again; what happened before may already hold some occurrences.
    repetitions = info[PLY] > info[REVERSIBLE] or depth > 4 * (game.rules.repetition_limit - 1)
    moves = np.empty((depth, 4 * game.rules.cells), np.int16)
    left, undo = np.zeros(depth, np.int64), np.empty((depth, 8), np.int16)
    return int(_count(t, pos, history, depth, repetitions, moves, left, undo))


def divide(game: Game, depth: int) -> dict[Move, int]:
    """Return `perft(depth - 1)` after every legal move, `depth` >= 1."""
    if depth < 1:
        raise ValueError(f"depth {depth}: dividing takes at least 1")
    counts = {}
    after = game.copy()
    for move in game.legal_moves():
        after.play(move)
        counts[move] = perft(after, depth - 1)
        after.undo()
    return counts
