"""Kernels on one position: legal moves, playing a move, how a game ends.

A position is a `Position`, a record of four flat arrays; a batch of positions is an array of them. Arguments named
alike mean the same everywhere:

    t        env.tables.Tables of the game; n = t.size, S = n*n squares (index = rank*n + file, a1 = 0)
    pos      Position; changed in place by `load`, `make`, `unmake` and `play`
    history  uint64 (capacity,), history[ply] = key of the position at that ply, up to the present one
    action   action number: (origin * 4 + direction) * (n - 1) + distance - 1; directions north, east, south, west
    undo     int16 (8,), written by `make`: origin, target, captured squares' count, up to three of them,
             and the earlier REVERSIBLE as two numbers of 15 bits

All integers are signed, since Numba makes a float of a signed and an unsigned one.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.rules import ATTACKERS, DEFENDERS, Rules
from env.tables import HOSTILE_ALWAYS, HOSTILE_WHILE_EMPTY, KING_KIND, SOLDIER, Tables

EMPTY, ATTACKER, DEFENDER, KING = 0, 1, 2, 3
TO_PLAY, KING_SQUARE, PLY, REVERSIBLE = 0, 1, 2, 3

NONE, KING_ESCAPED, KING_CAPTURED, NO_MOVES, REPETITION, AGREEMENT, RESIGNATION, FORFEIT = range(8)
REASONS = (
    "",
    "king_escaped",
    "king_captured",
    "no_moves",
    "repetition",
    "agreement",
    "resignation",
    "forfeit",
)


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
def copy_position(source: Position, destination: Position) -> None:
    """Copy every array of one position over those of another."""
    destination.board[:] = source.board
    destination.lines[:] = source.lines
    destination.info[:] = source.info
    destination.key[0] = source.key[0]


@kernel
def load(t: Tables, board: np.ndarray, to_play: int, pos: Position, history: np.ndarray) -> None:
    """Set up `board` (int8 (S,), with exactly one king) as ply 0, its own first occurrence."""
    n = t.size
    key = t.side_key[0] if to_play == DEFENDERS else np.uint64(0)
    pos.lines[:] = 0
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


@kernel
def count_moves(t: Tables, pos: Position) -> int:
    """Return the number of legal moves of the side to play."""
    n, own, king = t.size, pos.info[TO_PLAY] * t.size, pos.info[KING_SQUARE]
    count = 0
    for rank in range(n):
        rest = pos.lines[own + rank]
        if rest == 0:
            continue
        occupied = pos.lines[rank] | pos.lines[n + rank]
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            kind = KING_KIND if rank * n + file == king else SOLDIER
            count += int(t.stops[t.line_kind[kind, rank], occupied, file])
            count += int(t.stops[t.line_kind[kind, n + file], pos.lines[2 * n + file], rank])
    return count


@kernel
def has_move(t: Tables, pos: Position) -> bool:
    """Return whether the side to play has a legal move."""
    n, own, king = t.size, pos.info[TO_PLAY] * t.size, pos.info[KING_SQUARE]
    for rank in range(n):
        rest = pos.lines[own + rank]
        occupied = pos.lines[rank] | pos.lines[n + rank]
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            kind = KING_KIND if rank * n + file == king else SOLDIER
            if t.stops[t.line_kind[kind, rank], occupied, file] > 0:
                return True
            if t.stops[t.line_kind[kind, n + file], pos.lines[2 * n + file], rank] > 0:
                return True
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
    n, own, king = t.size, pos.info[TO_PLAY] * t.size, pos.info[KING_SQUARE]
    for rank in range(n):
        rest = pos.lines[own + rank]
        occupied = pos.lines[rank] | pos.lines[n + rank]
        while rest:
            file = int(t.lowest[rest])
            rest &= rest - 1
            square = rank * n + file
            kind = KING_KIND if square == king else SOLDIER
            column = pos.lines[2 * n + file]
            moves = int(t.stops[t.line_kind[kind, rank], occupied, file])
            moves += int(t.stops[t.line_kind[kind, n + file], column, rank])
            if index >= moves:
                index -= moves
                continue
            for direction in range(4):
                line, place = (column, rank) if direction % 2 == 0 else (occupied, file)
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
def _toggle(t: Tables, pos: Position, square: int, piece: int) -> None:
    """Put a piece on an empty square, or take it off: every derived array follows. `board` is the caller's."""
    n = t.size
    rank, file = square // n, square % n
    own = 0 if piece == ATTACKER else n
    pos.lines[own + rank] ^= 1 << file
    pos.lines[2 * n + file] ^= 1 << rank
    pos.key[0] ^= t.zobrist[piece, square]


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
def make(t: Tables, pos: Position, action: int, undo: np.ndarray) -> int:
    """Play a legal action: move, take, change sides. History is the caller's.

    Returns KING_ESCAPED or KING_CAPTURED where the move wins at once, else NONE.
    """
    n = t.size
    origin = action // (4 * (n - 1))
    target = int(t.target[action])
    board = pos.board
    piece = int(board[origin])
    board[origin] = EMPTY
    board[target] = piece
    _toggle(t, pos, origin, piece)
    _toggle(t, pos, target, piece)
    undo[0] = origin
    undo[1] = target
    undo[6] = pos.info[REVERSIBLE] & 0x7FFF
    undo[7] = pos.info[REVERSIBLE] >> 15
    reason = NONE
    taken = 0
    if piece == KING:
        pos.info[KING_SQUARE] = target
        if t.goal[target]:
            reason = KING_ESCAPED
    if piece != KING or t.king_armed:
        enemy = DEFENDER if piece == ATTACKER else ATTACKER
        for direction in range(4):
            beside = t.neighbour[target, direction]
            if beside < 0:
                continue
            victim = board[beside]
            if victim == KING and piece == ATTACKER:
                if king_falls(t, pos, target, direction):
                    reason = KING_CAPTURED
            elif victim == enemy:
                across = t.neighbour[beside, direction]
                if across < 0:
                    held = t.edge_hostile != 0
                else:
                    anvil = board[across]
                    if anvil == EMPTY:
                        held = t.hostile[across] >= HOSTILE_WHILE_EMPTY
                    elif anvil == KING:
                        held = piece != ATTACKER and t.king_armed != 0
                    else:
                        held = anvil != enemy
                    held = held or t.hostile[across] == HOSTILE_ALWAYS
                if held:
                    undo[3 + taken] = beside
                    taken += 1
        for index in range(taken):
            square = int(undo[3 + index])
            board[square] = EMPTY
            _toggle(t, pos, square, enemy)
    undo[2] = taken
    pos.info[TO_PLAY] ^= 1
    pos.key[0] ^= t.side_key[0]
    pos.info[PLY] += 1
    if taken:
        pos.info[REVERSIBLE] = pos.info[PLY]
    return reason


@kernel
def unmake(t: Tables, pos: Position, undo: np.ndarray) -> None:
    """Take back the move that `make` described in `undo`."""
    origin, target = int(undo[0]), int(undo[1])
    board = pos.board
    piece = int(board[target])
    enemy = DEFENDER if piece == ATTACKER else ATTACKER
    for index in range(undo[2]):
        square = int(undo[3 + index])
        board[square] = enemy
        _toggle(t, pos, square, enemy)
    board[target] = EMPTY
    board[origin] = piece
    _toggle(t, pos, target, piece)
    _toggle(t, pos, origin, piece)
    if piece == KING:
        pos.info[KING_SQUARE] = origin
    pos.info[TO_PLAY] ^= 1
    pos.key[0] ^= t.side_key[0]
    pos.info[PLY] -= 1
    pos.info[REVERSIBLE] = undo[6] | int(undo[7]) << 15


@kernel
def occurrences(pos: Position, history: np.ndarray) -> int:
    """Return how often the present position has come about since the last capture, itself included."""
    ply, key = pos.info[PLY], pos.key[0]
    count = 1
    for earlier in range(ply - 2, pos.info[REVERSIBLE] - 1, -2):
        if history[earlier] == key:
            count += 1
    return count


@kernel
def judge(t: Tables, pos: Position, history: np.ndarray) -> int:
    """Return REPETITION or NO_MOVES where one of them ends the game in this position, else NONE.

    `history[ply]` holds the position's key already.
    """
    # The same position with the same side to play is at least four plies away.
    if pos.info[PLY] - pos.info[REVERSIBLE] >= 4 and occurrences(pos, history) >= t.repetition_limit:
        return REPETITION
    if not has_move(t, pos):
        return NO_MOVES
    return NONE


@kernel
def play(t: Tables, pos: Position, history: np.ndarray, action: int, undo: np.ndarray) -> int:
    """Play a legal action, enter it into `history` and return the reason why the game is over, or NONE."""
    reason = make(t, pos, action, undo)
    history[pos.info[PLY]] = pos.key[0]
    if reason != NONE:
        return reason
    return judge(t, pos, history)


@kernel
def winner(t: Tables, reason: int, mover: int) -> int:
    """Return who wins a game that ended for `reason` after a move of `mover`: 1 attackers, -1 defenders, 0 nobody.

    For a loaded position that is over at once, `mover` is the side that is not to play.
    """
    own = 1 if mover == ATTACKERS else -1
    if reason == KING_ESCAPED:
        return -1
    if reason == KING_CAPTURED:
        return 1
    if reason == REPETITION:
        return own * t.repetition_result
    if reason == NO_MOVES:
        return -own * t.no_moves_result
    return 0


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
