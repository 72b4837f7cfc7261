"""Which moves of `alphabeta-v2` deserve a closer look: captures, answers to a threat, roads for the king.

Sets of squares are masks of a rank each, lowest bit = file a, in int32 (n,). Other arguments are those of
`env.position`; `out` is int16 (4S,), as for `env.moves.write_moves`.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.moves import immediate_win, king_falls
from env.position import ATTACKER, EMPTY, KING, KING_SQUARE, TO_PLAY, Position
from env.rules import ATTACKERS, DEFENDERS
from env.tables import KING_KIND, SOLDIER, Tables
from search.evaluation import lookout
from search.v2.evaluation import Evaluation


@kernel
def _anvils(t: Tables, e: Evaluation, pos: Position, side: int, rank: int) -> int:
    """Return the squares of a rank against which `side` takes soldiers."""
    n = t.size
    if rank < 0 or rank >= n:
        return (1 << n) - 1 if t.edge_hostile else 0
    own = int(pos.lines[side * n + rank])
    if side == DEFENDERS and not t.king_armed and pos.info[KING_SQUARE] // n == rank:
        own &= ~(1 << (pos.info[KING_SQUARE] % n))
    return own | e.anvils[0, rank] | (e.anvils[1, rank] & ~(pos.lines[rank] | pos.lines[n + rank]))


@kernel
def _soldiers(t: Tables, pos: Position, side: int, rank: int) -> int:
    """Return the soldiers of `side` on a rank."""
    n = t.size
    if rank < 0 or rank >= n:
        return 0
    mask = int(pos.lines[side * n + rank])
    if side == DEFENDERS and pos.info[KING_SQUARE] // n == rank:
        mask &= ~(1 << (pos.info[KING_SQUARE] % n))
    return mask


@kernel
def find_captures(t: Tables, e: Evaluation, pos: Position, landing: np.ndarray) -> bool:
    """Write to `landing` the empty squares on which a soldier of the side to play would take a soldier.

    Whether anybody can go there is left open. Returns whether there is such a square.
    """
    n, side = t.size, int(pos.info[TO_PLAY])
    edge = 1 if t.edge_hostile else 0
    found = 0
    # Soldiers of the enemy and anvils on the two ranks below, this one, and the two above.
    below, beyond_below = 0, 0
    enemy, own = _soldiers(t, pos, 1 - side, 0), _anvils(t, e, pos, side, 0)
    own_below = _anvils(t, e, pos, side, -1)
    above, own_above = _soldiers(t, pos, 1 - side, 1), _anvils(t, e, pos, side, 1)
    for rank in range(n):
        beyond_above = _anvils(t, e, pos, side, rank + 2)
        mask = (enemy >> 1) & ((own >> 2) | (edge << (n - 2)))
        mask |= (enemy << 1) & ((own << 2) | (edge << 1))
        mask |= (above & beyond_above) | (below & beyond_below)
        mask &= ~(pos.lines[rank] | pos.lines[n + rank]) & ((1 << n) - 1)
        landing[rank] = mask
        found |= mask
        below, beyond_below = enemy, own_below
        enemy, own_below, own = above, own, own_above
        above, own_above = _soldiers(t, pos, 1 - side, rank + 2), beyond_above
    return found != 0


@kernel
def write_landings(t: Tables, pos: Position, landing: np.ndarray, king_too: bool, out: np.ndarray, count: int) -> int:
    """Add to the `count` actions in `out` the legal moves to the squares of `landing`, and return the new count."""
    n, side = t.size, int(pos.info[TO_PLAY])
    for rank in range(n):
        rest = int(landing[rank])
        row, own_row = int(pos.lines[rank] | pos.lines[n + rank]), int(pos.lines[side * n + rank])
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            square = rank * n + file
            column = int(pos.lines[2 * n + file])
            for direction in range(4):
                if direction % 2 == 0:
                    line, place, step = column, rank, n - direction * n
                else:
                    line, place, step = row, file, 2 - direction
                steps = int(t.slide[line, place, 1 - direction // 2])
                at = place + (steps + 1 if direction < 2 else -steps - 1)
                if at < 0 or at >= n:
                    continue
                if direction % 2 == 0:
                    if not pos.lines[side * n + at] >> file & 1:
                        continue
                elif not own_row >> at & 1:
                    continue
                origin = square + (steps + 1) * step
                kind = SOLDIER
                if pos.board[origin] == KING:
                    if not king_too:
                        continue
                    kind = KING_KIND
                if t.may_stop[kind, square]:
                    out[count] = (origin * 4 + (direction + 2) % 4) * (n - 1) + steps
                    count += 1
    return count


@kernel
def write_king_moves(t: Tables, pos: Position, only_roads: bool, out: np.ndarray, count: int) -> int:
    """Add the king's legal moves, or those that open a road across his way, to `out`; return the new count."""
    n, king = t.size, int(pos.info[KING_SQUARE])
    rank, file = king // n, king % n
    for direction in range(4):
        if direction % 2 == 0:
            line, place, step = pos.lines[2 * n + file], rank, n - direction * n
        else:
            line, place, step = pos.lines[rank] | pos.lines[n + rank], file, 2 - direction
        square = king
        for distance in range(t.slide[line, place, 1 - direction // 2]):
            square += step
            if t.may_stop[KING_KIND, square] and (not only_roads or lookout(t, pos, square, 1 - direction % 2) > 0):
                out[count] = (king * 4 + direction) * (n - 1) + distance
                count += 1
    return count


@kernel
def _mark(n: int, landing: np.ndarray, square: int) -> None:
    landing[square // n] |= 1 << (square % n)


@kernel
def threats(t: Tables, pos: Position) -> int:
    """Return how many ways the opponent has to win at once if the side to play did nothing, as far as matters.

    Against the attackers: directions in which the king sees his goal; no move closes two. Against the defenders: 1
    where the king would be taken.
    """
    if pos.info[TO_PLAY] == DEFENDERS:
        pos.info[TO_PLAY] = ATTACKERS
        taken = immediate_win(t, pos)
        pos.info[TO_PLAY] = DEFENDERS
        return 1 if taken >= 0 else 0
    king = int(pos.info[KING_SQUARE])
    if lookout(t, pos, king, 0) + lookout(t, pos, king, 1) == 0:
        return 0
    count = 0
    for direction in range(4):
        square = int(t.neighbour[king, direction])
        while square >= 0 and pos.board[square] == EMPTY:
            if t.goal[square] and t.may_stop[KING_KIND, square]:
                count += 1
                break
            square = int(t.neighbour[square, direction])
    return count


@kernel
def find_closing_in(t: Tables, pos: Position, landing: np.ndarray) -> bool:
    """Write to `landing` the squares beside the king from which an attacker would threaten to take him.

    That is where the square across is empty and open to soldiers; whether anybody can go there is left open. Returns
    whether there is such a square; there is none where the king has to be surrounded.
    """
    n, king = t.size, int(pos.info[KING_SQUARE])
    for rank in range(n):
        landing[rank] = 0
    if t.king_surrounded[king]:
        return False
    found = False
    for direction in range(4):
        beside, across = int(t.neighbour[king, direction]), int(t.neighbour[king, (direction + 2) % 4])
        if beside < 0 or across < 0 or not t.may_stop[SOLDIER, beside] or not t.may_stop[SOLDIER, across]:
            continue
        if pos.board[beside] == EMPTY and pos.board[across] == EMPTY:
            _mark(n, landing, beside)
            found = True
    return found


@kernel
def write_answers(
    t: Tables, e: Evaluation, pos: Position, captures: np.ndarray, landing: np.ndarray, out: np.ndarray
) -> int:
    """Write every move that may parry what `threats` found to `out` and return their number; the others lose at once.

    Attackers have to step into the king's only road. Defenders have to move the king, take something, or step into the
    way of an attacker who would take him. `captures` is what `find_captures` wrote, `landing` is scratch.
    """
    n, king = t.size, int(pos.info[KING_SQUARE])
    for rank in range(n):
        landing[rank] = 0
    if pos.info[TO_PLAY] == ATTACKERS:
        for direction in range(4):
            square = int(t.neighbour[king, direction])
            road = False
            while square >= 0 and pos.board[square] == EMPTY and not road:
                road = t.goal[square] != 0 and t.may_stop[KING_KIND, square] != 0
                square = int(t.neighbour[square, direction])
            if not road:
                continue
            square = int(t.neighbour[king, direction])
            while square >= 0 and pos.board[square] == EMPTY:
                _mark(n, landing, square)
                if t.goal[square] and t.may_stop[KING_KIND, square]:
                    break
                square = int(t.neighbour[square, direction])
        return write_landings(t, pos, landing, False, out, 0)
    for side in range(4):
        target = int(t.neighbour[king, side])
        if target < 0 or pos.board[target] != EMPTY or not t.may_stop[SOLDIER, target]:
            continue
        if not king_falls(t, pos, target, (side + 2) % 4):
            continue
        for direction in range(4):
            square = int(t.neighbour[target, direction])
            while square >= 0 and pos.board[square] == EMPTY:
                square = int(t.neighbour[square, direction])
            if square < 0 or pos.board[square] != ATTACKER:
                continue
            _mark(n, landing, target)
            square = int(t.neighbour[target, direction])
            while pos.board[square] == EMPTY:
                _mark(n, landing, square)
                square = int(t.neighbour[square, direction])
    for rank in range(n):
        landing[rank] |= captures[rank]
    count = write_landings(t, pos, landing, False, out, 0)
    return write_king_moves(t, pos, False, out, count)
