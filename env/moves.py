"""Kernels that look at a position for moves: the legal ones, and those that win at once. None changes it.

Arguments are those of `env.position`.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.position import ATTACKER, EMPTY, KING, KING_SQUARE, TO_PLAY, Position
from env.rules import ATTACKERS, DEFENDERS
from env.tables import KING_KIND, SOLDIER, Tables


@kernel
def _moves_from(t: Tables, pos: Position, rank: int, file: int) -> int:
    """Return how many squares the piece there may go to."""
    n = t.size
    kind = KING_KIND if rank * n + file == pos.info[KING_SQUARE] else SOLDIER
    along = int(t.stops[t.line_kind[kind, rank], pos.lines[rank] | pos.lines[n + rank], file])
    return along + int(t.stops[t.line_kind[kind, n + file], pos.lines[2 * n + file], rank])


@kernel
def count_moves(t: Tables, pos: Position) -> int:
    """Return the number of legal moves of the side to play."""
    own = pos.info[TO_PLAY] * t.size
    count = 0
    for rank in range(t.size):
        rest = pos.lines[own + rank]
        while rest:
            count += _moves_from(t, pos, rank, int(t.lowest[rest]))
            rest &= rest - 1
    return count


@kernel
def has_move(t: Tables, pos: Position) -> bool:
    """Return whether the side to play has a legal move."""
    own = pos.info[TO_PLAY] * t.size
    for rank in range(t.size):
        rest = pos.lines[own + rank]
        while rest:
            if _moves_from(t, pos, rank, int(t.lowest[rest])) > 0:
                return True
            rest &= rest - 1
    return False


@kernel
def write_moves(t: Tables, pos: Position, out: np.ndarray) -> int:
    """Write the legal actions, ascending, to `out`, int16 (at least 4S,), and return how many there are.

    4S is enough for any position: an empty square is entered from four sides at most.
    """
    n, own, king = t.size, pos.info[TO_PLAY] * t.size, pos.info[KING_SQUARE]
    reach = n - 1
    count = 0
    for rank in range(n):
        rest = pos.lines[own + rank]
        occupied = pos.lines[rank] | pos.lines[n + rank]
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            square = rank * n + file
            kind = KING_KIND if square == king else SOLDIER
            column = pos.lines[2 * n + file]
            action = square * 4 * reach
            for distance in range(t.slide[column, rank, 1]):
                if t.may_stop[kind, square + (distance + 1) * n]:
                    out[count] = action + distance
                    count += 1
            action += reach
            for distance in range(t.slide[occupied, file, 1]):
                if t.may_stop[kind, square + distance + 1]:
                    out[count] = action + distance
                    count += 1
            action += reach
            for distance in range(t.slide[column, rank, 0]):
                if t.may_stop[kind, square - (distance + 1) * n]:
                    out[count] = action + distance
                    count += 1
            action += reach
            for distance in range(t.slide[occupied, file, 0]):
                if t.may_stop[kind, square - distance - 1]:
                    out[count] = action + distance
                    count += 1
    return count


@kernel
def nth_move(t: Tables, pos: Position, index: int) -> int:
    """Return the action that `write_moves` puts at `index`, 0 <= `index` < `count_moves`, without writing the others.

    With `count_moves` this draws a random move faster than a list of all of them does.
    """
    n, own = t.size, pos.info[TO_PLAY] * t.size
    for rank in range(n):
        rest = pos.lines[own + rank]
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            moves = _moves_from(t, pos, rank, file)
            if index >= moves:
                index -= moves
                continue
            square = rank * n + file
            kind = KING_KIND if square == pos.info[KING_SQUARE] else SOLDIER
            for direction in range(4):
                if direction % 2 == 0:
                    line, place = pos.lines[2 * n + file], rank
                else:
                    line, place = pos.lines[rank] | pos.lines[n + rank], file
                step = (n, 1, -n, -1)[direction]
                for distance in range(t.slide[line, place, 1 - direction // 2]):
                    if t.may_stop[kind, square + (distance + 1) * step]:
                        if index == 0:
                            return (square * 4 + direction) * (n - 1) + distance
                        index -= 1
    return -1


@kernel
def is_legal(t: Tables, pos: Position, action: int) -> bool:
    """Return whether `action` is a legal move of the side to play; any integer may be asked about."""
    n = t.size
    if action < 0 or action >= t.target.shape[0]:
        return False
    target = t.target[action]
    origin = action // (4 * (n - 1))
    piece = pos.board[origin]
    if target < 0 or piece == EMPTY or (piece == ATTACKER) != (pos.info[TO_PLAY] == ATTACKERS):
        return False
    if not t.may_stop[KING_KIND if piece == KING else SOLDIER, target]:
        return False
    direction = action // (n - 1) % 4
    square = origin
    while square != target:
        square = t.neighbour[square, direction]
        if pos.board[square] != EMPTY:
            return False
    return True


@kernel
def king_falls(t: Tables, pos: Position, square: int, direction: int) -> bool:
    """Return whether an attacker that has just come to `square` takes the king on the next square in `direction`."""
    king = t.neighbour[square, direction]
    if t.king_surrounded[king]:
        for side in range(4):
            beside = t.neighbour[king, side]
            if beside < 0:
                return False
            # The square of the attacker who is coming counts, so that a move can be judged before it is made.
            if beside != square and pos.board[beside] != ATTACKER and not t.king_walls[beside]:
                return False
        return True
    across = t.neighbour[king, direction]
    return across >= 0 and (pos.board[across] == ATTACKER or t.hostile_to_king[across] != 0)


@kernel
def _slide_action(t: Tables, pos: Position, target: int, direction: int) -> int:
    """Return the action by which the attacker next to be met from `target` in `direction` comes there, or -1."""
    n = t.size
    square = t.neighbour[target, direction]
    distance = 1
    while square >= 0 and pos.board[square] == EMPTY:
        square = t.neighbour[square, direction]
        distance += 1
    if square < 0 or pos.board[square] != ATTACKER:
        return -1
    return (square * 4 + (direction + 2) % 4) * (n - 1) + distance - 1


@kernel
def immediate_win(t: Tables, pos: Position) -> int:
    """Return an action that brings the king to his goal or takes him, or -1. Other ways to win are not looked for."""
    n, king = t.size, int(pos.info[KING_SQUARE])
    if pos.info[TO_PLAY] == DEFENDERS:
        rank, file = king // n, king % n
        row = pos.lines[rank] | pos.lines[n + rank]
        column = pos.lines[2 * n + file]
        if t.goals[t.goal_kind[rank], row, file] == 0 and t.goals[t.goal_kind[n + file], column, rank] == 0:
            return -1
        for direction in range(4):
            square = t.neighbour[king, direction]
            distance = 0
            while square >= 0 and pos.board[square] == EMPTY:
                if t.goal[square] and t.may_stop[KING_KIND, square]:
                    return (king * 4 + direction) * (n - 1) + distance
                square = t.neighbour[square, direction]
                distance += 1
        return -1
    for side in range(4):
        square = t.neighbour[king, side]
        if square < 0 or pos.board[square] != EMPTY or not t.may_stop[SOLDIER, square]:
            continue
        if not king_falls(t, pos, square, (side + 2) % 4):
            continue
        for direction in range(4):
            # No other captor can be the one that comes: the king stands between them, or they share no line.
            action = _slide_action(t, pos, square, direction)
            if action >= 0:
                return action
    return -1
