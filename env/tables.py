"""From `Rules` to the flat arrays that the kernels read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from env.rules import Rules

SOLDIER, KING_KIND = 0, 1  # rows of `may_stop` and `line_kind`
HOSTILE_WHILE_EMPTY, HOSTILE_ALWAYS = 1, 2
ZOBRIST_SEED = 0x7AF1


class Tables(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """What the kernels know of a game. n = size, S = n*n squares (index = rank*n + file), A = 4*S*(n-1) actions.

    It is one record, not a tuple of arrays: kernels get a pointer to it, and shapes that are known when they are
    compiled. A tuple would be passed array by array, and counted reference by reference, at every call inside a kernel;
    that made random games 2.4 times slower.

    A *line* is a rank (0 to n-1) or a file (n to 2n-1); what stands on it is a mask of n bits, the lowest for file a or
    rank 1. The tables indexed by such a mask and a place on the line answer how far a piece slides there.

    Attributes:
        size: n.
        target: int16 (A,), square that an action leads to, -1 where it leaves the board.
        neighbour: int16 (S, 4), next square to the north, east, south, west; -1 off the board.
        slide: int8 (2**n, n, 2), empty squares below and above a place up to the next piece or the edge.
        line_kind: int8 (2, 2n), for soldiers and the king: which row of `stops` a line uses.
        stops: int8 (kinds, 2**n, n), squares on the line where the piece at a place may stop.
        goal_kind: int8 (2n,), which row of `goals` a line uses.
        goals: int8 (kinds, 2**n, n), goal squares among those that the king reaches from a place.
        lowest: int8 (2**n,), place of the lowest bit that is set.
        may_stop: int8 (2, S), whether a soldier (row 0) or the king (row 1) may stop on a square.
        hostile: int8 (S,), 0 never, 1 while empty, 2 always hostile to soldiers.
        hostile_to_king: int8 (S,), 1 where the square stands in for an attacker against the king.
        king_surrounded: int8 (S,), 1 where the king falls only to attackers on all sides.
        king_walls: int8 (S,), 1 where the square counts as an attacker beside such a king.
        goal: int8 (S,), 1 where the king wins.
        zobrist: uint64 (4, S), random key by piece code and square; row 0 is zero.
        side_key: uint64 (1,), random key of "defenders to play".
        edge_hostile, king_armed: 0 or 1.
        repetition_limit: occurrence that ends the game.
        repetition_result, no_moves_result: -1 loss, 0 draw, for the side that made the move / that has none.
    """

    target: np.ndarray
    neighbour: np.ndarray
    slide: np.ndarray
    line_kind: np.ndarray
    stops: np.ndarray
    goal_kind: np.ndarray
    goals: np.ndarray
    lowest: np.ndarray
    may_stop: np.ndarray
    hostile: np.ndarray
    hostile_to_king: np.ndarray
    king_surrounded: np.ndarray
    king_walls: np.ndarray
    goal: np.ndarray
    zobrist: np.ndarray
    side_key: np.ndarray
    edge_hostile: int
    king_armed: int
    repetition_limit: int
    repetition_result: int
    no_moves_result: int

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """n; without this, NumPy's own `size` of a scalar would hide the field from plain Python."""
        return int(self["size"])


def _record(**fields: Any) -> Tables:
    """Return a record of the given arrays and integers."""
    layout = [(name, np.asarray(value).dtype, np.shape(value)) for name, value in fields.items()]
    record = np.zeros(1, np.dtype((Tables, np.dtype(layout, align=True))))
    for name, value in fields.items():
        record[name] = value
    return record[0]


def _square(rules: Rules, name: str) -> int:
    file, rank = ord(name[0]) - ord("a"), int(name[1:]) - 1
    if not (0 <= file < rules.size and 0 <= rank < rules.size):
        raise ValueError(f"square {name!r} of game {rules.name!r} lies off the board of {rules.size} by {rules.size}")
    return rank * rules.size + file


def _marked(rules: Rules, squares: frozenset[str]) -> np.ndarray:
    """Return int8 (S,) with 1 on the named squares."""
    marks = np.zeros(rules.cells, np.int8)
    marks[[_square(rules, name) for name in squares]] = 1
    return marks


def _lines(marks: np.ndarray, size: int) -> np.ndarray:
    """Return int64 (2n,): the marked squares of every line as masks."""
    grid = marks.reshape(size, size).astype(np.int64)
    weights = 1 << np.arange(size)
    return np.concatenate([grid @ weights, grid.T @ weights])


def _slides(size: int) -> np.ndarray:
    slide = np.zeros((1 << size, size, 2), np.int8)
    masks = np.arange(1 << size)
    for place in range(size):
        for way, step in ((0, -1), (1, 1)):
            open_way = np.ones(1 << size, bool)
            square = place + step
            while 0 <= square < size:
                open_way &= (masks >> square) & 1 == 0
                slide[:, place, way] += open_way
                square += step
    return slide


def _counts(slide: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the wanted squares that every slide reaches.

    Returns the row that each line uses, int8 (2n,), and the rows, int8 (kinds, 2**n, n).
    """
    size = slide.shape[1]
    kinds, kind_of_line = np.unique(wanted, return_inverse=True)
    counts = np.zeros((len(kinds), 1 << size, size), np.int8)
    place = np.arange(size)[None, :]
    for row, kind in enumerate(kinds):
        for square in range(size):
            if kind >> square & 1:
                reached = (place - slide[:, :, 0] <= square) & (square <= place + slide[:, :, 1]) & (square != place)
                counts[row] += reached
    return kind_of_line.astype(np.int8), counts


@lru_cache(maxsize=64)
def tables(rules: Rules) -> Tables:
    """Return the arrays of a game; computed once for each `Rules`.

    Raises:
        ValueError: a square named in the rules is not on the board.
    """
    size, cells = rules.size, rules.cells
    rank, file = np.divmod(np.arange(cells), size)
    steps = ((1, 0), (0, 1), (-1, 0), (0, -1))  # north, east, south, west as (ranks, files)

    target = np.full((cells, 4, size - 1), -1, np.int16)
    for direction, (up, right) in enumerate(steps):
        for distance in range(1, size):
            to_rank, to_file = rank + up * distance, file + right * distance
            inside = (to_rank >= 0) & (to_rank < size) & (to_file >= 0) & (to_file < size)
            target[inside, direction, distance - 1] = (to_rank * size + to_file)[inside]

    king_only, closed = _marked(rules, rules.king_only), _marked(rules, rules.closed)
    may_stop = np.stack([1 - (king_only | closed), 1 - closed]).astype(np.int8)
    slide = _slides(size)
    wanted = np.concatenate([_lines(may_stop[SOLDIER], size), _lines(may_stop[KING_KIND], size)])
    line_kind, stops = _counts(slide, wanted)
    goal = _marked(rules, rules.goal)
    goal_kind, goals = _counts(slide, _lines(goal & may_stop[KING_KIND], size))

    masks = np.arange(1 << size)
    lowest = np.zeros(1 << size, np.int8)
    for place in reversed(range(size)):
        lowest[masks >> place & 1 == 1] = place

    # PCG64's raw output is fixed by NumPy's compatibility policy; its distributions are not.
    keys = np.random.PCG64(ZOBRIST_SEED).random_raw(3 * cells + 1)
    zobrist = np.concatenate([np.zeros(cells, np.uint64), keys[:-1]]).reshape(4, cells)

    result = {"loss": -1, "draw": 0}
    return _record(
        size=size,
        target=target.reshape(-1),
        neighbour=np.ascontiguousarray(target[:, :, 0]),
        slide=slide,
        line_kind=line_kind.reshape(2, 2 * size),
        stops=stops,
        goal_kind=goal_kind,
        goals=goals,
        lowest=lowest,
        may_stop=may_stop,
        hostile=np.maximum(
            HOSTILE_ALWAYS * _marked(rules, rules.hostile),
            HOSTILE_WHILE_EMPTY * _marked(rules, rules.hostile_while_empty),
        ).astype(np.int8),
        hostile_to_king=_marked(rules, rules.hostile_to_king),
        king_surrounded=_marked(rules, rules.king_surrounded),
        king_walls=_marked(rules, rules.king_walls),
        goal=goal,
        zobrist=zobrist,
        side_key=keys[-1:].copy(),
        edge_hostile=int(rules.edge_hostile),
        king_armed=int(rules.king_armed),
        repetition_limit=rules.repetition_limit,
        repetition_result=result[rules.repetition],
        no_moves_result=result[rules.no_moves],
    )
