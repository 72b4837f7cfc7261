"""The static evaluation of `alphabeta-v2`: what stands where, the king's roads to the goal, who guards which quarter.

It is linear in its weights, so that they can be fitted (`tools/tune_alphabeta.py`). Everything is read off
`env.tables.Tables`: it holds for any game. What stands where is kept up to date move by move.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.position import ATTACKER, EMPTY, KING_SQUARE, TO_PLAY, Position
from env.rules import DEFENDERS
from env.tables import KING_KIND, SOLDIER, Tables
from search.evaluation import lookout

# Columns of `Evaluation.terms`, counted from the attackers' view; docs/alphabeta-v2.md says what they mean.
(
    TEMPO,
    OPEN_ROAD,
    ROAD,
    FORK,
    APPROACH,
    APPROACHED,
    DOUBLE_APPROACH,
    MOBILITY,
    CAPTOR,
    PINCH,
    WALL,
    QUARTER_0,
    QUARTER_1,
    QUARTER_2,
    QUARTER_3,
) = range(15)
TERMS = (
    "tempo",
    "open_road",
    "road",
    "fork",
    "approach",
    "approached",
    "double_approach",
    "mobility",
    "captor",
    "pinch",
    "wall",
    "quarter_0",
    "quarter_1",
    "quarter_2",
    "quarter_3",
)


class Evaluation(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """The weights, in hundredths of an attacker from the attackers' view, for kernels; n = size, S = n*n.

    Attributes:
        squares: int32 (4, S), what a piece (by its code) is worth on a square; row 0 is zero.
        quarter: int64 (4, S), 1 in the byte that counts the attackers of the quarter that a square lies in; only row
            ATTACKER is not zero, and squares of the middle lines belong to no quarter.
        terms: int32 (2, TERMS), by side to play.
        anvils: int32 (2, n), masks of each rank's squares that soldiers are taken against: always, and while empty.
    """

    squares: np.ndarray
    quarter: np.ndarray
    terms: np.ndarray
    anvils: np.ndarray


@kernel
def survey(e: Evaluation, pos: Position, static: np.ndarray) -> None:
    """Write the sums of `squares` and of `quarter` over all pieces to `static`, int64 (2,)."""
    static[0] = static[1] = 0
    for square in range(pos.board.shape[0]):
        piece = pos.board[square]
        static[0] += e.squares[piece, square]
        static[1] += e.quarter[piece, square]


@kernel
def evaluate(t: Tables, e: Evaluation, pos: Position, static: np.ndarray) -> int:
    """Return how much better the attackers stand, in hundredths of an attacker.

    Args:
        t: tables of the game.
        e: the weights.
        pos: a position in which the game is not over.
        static: int64 (2,), as `survey` writes it for this position.
    """
    n, king, side = t.size, int(pos.info[KING_SQUARE]), int(pos.info[TO_PLAY])
    terms = e.terms[side]
    score = int(static[0]) + terms[TEMPO]

    roads = lookout(t, pos, king, 0) + lookout(t, pos, king, 1)
    if roads > 0:
        if side == DEFENDERS:
            score += terms[OPEN_ROAD]
        elif roads == 1:
            score += terms[ROAD]
        else:
            score += terms[FORK]

    rank, file = king // n, king % n
    row, column = pos.lines[rank] | pos.lines[n + rank], pos.lines[2 * n + file]
    mobility = approaches = doubles = captors = pinches = walls = 0
    for direction in range(4):
        beside = int(t.neighbour[king, direction])
        if beside < 0:
            continue
        if direction % 2 == 0:
            steps, step = int(t.slide[column, rank, 1 - direction // 2]), n - direction * n
        else:
            steps, step = int(t.slide[row, file, 1 - direction // 2]), 2 - direction
        square = king
        for _ in range(steps):
            square += step
            if t.may_stop[KING_KIND, square]:
                mobility += 1
                # North and south (even) leave a file, so the new road is along a rank.
                seen = lookout(t, pos, square, 1 - direction % 2)
                if seen > 0:
                    approaches += 1
                    if seen > 1:
                        doubles += 1
        if steps == 0:
            piece = pos.board[beside]
            if piece == ATTACKER:
                captors += 1
                if not t.king_surrounded[king]:
                    across = t.neighbour[king, (direction + 2) % 4]
                    if across >= 0 and pos.board[across] == EMPTY and t.may_stop[SOLDIER, across]:
                        pinches += 1
            else:
                walls += 1
    score += terms[APPROACH] * approaches + terms[DOUBLE_APPROACH] * doubles + terms[MOBILITY] * mobility
    if approaches > 0:
        score += terms[APPROACHED]
    score += terms[CAPTOR] * captors + terms[PINCH] * pinches + terms[WALL] * walls
    quarters = static[1]
    for _ in range(4):
        guards = quarters & 255
        if guards < 4:
            score += terms[QUARTER_0 + guards]
        quarters >>= 8
    return score


@kernel
def advantage(t: Tables, e: Evaluation, pos: Position, static: np.ndarray) -> int:
    """Return the evaluation from the view of the side to play."""
    score = evaluate(t, e, pos, static)
    return -score if pos.info[TO_PLAY] == DEFENDERS else score
