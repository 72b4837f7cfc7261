"""A position, as flat arrays that kernels work on.

A position is a `Position`, a record of four flat arrays; a batch of positions is an array of them. Arguments of kernels
named alike mean the same everywhere:

    t        env.tables.Tables of the game; n = t.size, S = n*n squares (index = rank*n + file, a1 = 0)
    pos      Position
    history  uint64 (capacity,), history[ply] = key of the position at that ply, up to the present one
    action   action number: (origin * 4 + direction) * (n - 1) + distance - 1; directions north, east, south, west

All integers are signed, since Numba makes a float of a signed and an unsigned one.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.rules import ATTACKERS, DEFENDERS, Rules
from env.tables import Tables

EMPTY, ATTACKER, DEFENDER, KING = 0, 1, 2, 3
TO_PLAY, KING_SQUARE, PLY, REVERSIBLE = 0, 1, 2, 3


class Position(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One position. A batch is an array of them (`new_positions`), whose elements are views.

    It is one record and not four arrays for the same reason as `env.tables.Tables`.

    Attributes:
        board: int8 (S,), EMPTY, ATTACKER, DEFENDER or KING.
        lines: int16 (3n,), masks of occupied squares: attackers by rank (lowest bit = file a), defenders with
            their king by rank, everybody by file (lowest bit = rank 1). Derived from `board`.
        info: int32 (4,), [TO_PLAY] 0 attackers or 1 defenders, [KING_SQUARE], [PLY] since the start,
            [REVERSIBLE] ply of the last capture: no earlier position can come about again.
        key: uint64 (1,), Zobrist hash of `board` and the side to play.
    """

    board: np.ndarray
    lines: np.ndarray
    info: np.ndarray
    key: np.ndarray


def new_positions(size: int, count: int) -> np.ndarray:
    """Return an array of `count` empty positions on a board of `size` squares a side."""
    fields = [
        ("key", np.uint64, (1,)),
        ("info", np.int32, (4,)),
        ("lines", np.int16, (3 * size,)),
        ("board", np.int8, (size * size,)),
    ]
    return np.zeros(count, np.dtype((Position, np.dtype(fields, align=True))))


def new_position(rules: Rules) -> Position:
    """Return an empty position, to be filled by `load`."""
    return new_positions(rules.size, 1)[0]


@kernel
def copy_array(source: np.ndarray, destination: np.ndarray) -> None:
    """Copy a one-dimensional array over another; assigning a slice would allocate memory."""
    for index in range(source.shape[0]):
        destination[index] = source[index]


@kernel
def copy_position(source: Position, destination: Position) -> None:
    """Copy every array of one position over those of another."""
    copy_array(source.board, destination.board)
    copy_array(source.lines, destination.lines)
    copy_array(source.info, destination.info)
    destination.key[0] = source.key[0]


@kernel
def load(t: Tables, board: np.ndarray, to_play: int, pos: Position, history: np.ndarray) -> None:
    """Set up `board` (int8 (S,), with exactly one king) as ply 0, its own first occurrence."""
    n = t.size
    key = t.side_key[0] if to_play == DEFENDERS else np.uint64(0)
    for line in range(3 * n):
        pos.lines[line] = 0
    for square in range(n * n):
        piece = board[square]
        pos.board[square] = piece
        if piece != EMPTY:
            rank, file = square // n, square % n
            side = ATTACKERS if piece == ATTACKER else DEFENDERS
            pos.lines[side * n + rank] |= 1 << file
            pos.lines[2 * n + file] |= 1 << rank
            key ^= t.zobrist[piece, square]
            if piece == KING:
                pos.info[KING_SQUARE] = square
    pos.info[TO_PLAY] = to_play
    pos.info[PLY] = 0
    pos.info[REVERSIBLE] = 0
    pos.key[0] = key
    history[0] = key
