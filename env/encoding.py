"""Moves as numbers, positions as what a network or an agent sees, and the eight symmetries.

**Actions.** A move has one number, ``(origin * 4 + direction) * (n - 1) + distance - 1``, with the origin's square
index ``rank * n + file`` (a1 = 0), the directions north, east, south, west as 0 to 3, and 1 to n - 1 squares of
distance. That makes 4 * n * n * (n - 1) numbers: 1 176 on 7x7, 4 840 on 11x11. Numbers that lead off the board are
never legal.

**Input rows.** Everything that the network may know of a position is one row of int8 (S + 3,): the S cells of the
board (piece code; `REPEATS` is added to an empty square where a stop of the side to play would end the game by
repetition), then `to_play` (0 attackers, 1 defenders), the earlier occurrences of the position (0 at first), and the
balance, the handicap of self-play in quarter steps: log2 of attackers' to defenders' simulations, or the temperature at
which the defenders move, the attackers where it is negative (0 wherever both play alike). Rows made by
`write_network_input` say more about empty squares, by bits added to the cell: which pieces can come there with one move
(`REACH_ATTACKERS`, `REACH_DEFENDERS`, `REACH_KING`), whoever is to play, and where the king can come with two
(`REACH_KING_TWICE`, set only where one does not do). Pieces slide over the whole board, which convolutions of 3x3
squares see badly.

**Planes.** `PLANES` names the planes that `write_planes` makes of a row, for agents that want them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from env.board import occurrences
from env.jit import kernel
from env.moves import write_moves
from env.position import ATTACKER, DEFENDER, EMPTY, KING, KING_SQUARE, PLY, REVERSIBLE, TO_PLAY, Position
from env.rules import Rules
from env.tables import KING_KIND, SOLDIER, Tables, tables

REPEATS = 4
REACH_ATTACKERS, REACH_DEFENDERS, REACH_KING, REACH_KING_TWICE = 8, 16, 32, 64
EXTRA_INPUTS = 3  # to_play, earlier occurrences, balance
MOST_OCCURRENCES = 100

PLANES = (
    ("attackers", "1 on every attacker"),
    ("defenders", "1 on every defender but the king"),
    ("king", "1 on the king"),
    ("restricted", "1 on squares where a soldier may not stop (throne or castle, corners)"),
    ("goal", "1 on squares where the king wins"),
    ("repeats", "1 on empty squares where a stop of the side to play would end the game by repetition"),
    ("occurrences", "everywhere: how often the position has come about before (0 at first)"),
    ("to_play", "everywhere: 0 if the attackers are to play, 1 if the defenders are"),
)


def input_size(rules: Rules) -> int:
    """Return the length of an input row."""
    return rules.cells + EXTRA_INPUTS


@kernel
def _mark_repeats(
    t: Tables, pos: Position, history: np.ndarray, moves: np.ndarray, count: int, out: np.ndarray
) -> None:
    """Add REPEATS to the cells of `out` where one of the first `count` of `moves` ends the game by repetition."""
    first, ply, n = pos.info[REVERSIBLE], pos.info[PLY], t.size
    # A position can come about again only after two moves of each side; after the move it stands at ply + 1.
    if ply + 1 - first < 4 * (t.repetition_limit - 1):
        return
    # One bit for each key that could return says at once for most moves that they lead to something new.
    seen = np.uint64(0)
    for earlier in range(ply - 3, first - 1, -2):
        seen |= np.uint64(1) << (history[earlier] & np.uint64(63))
    for index in range(count):
        action = int(moves[index])
        origin = action // (4 * (n - 1))
        target = t.target[action]
        piece = pos.board[origin]
        key = pos.key[0] ^ t.side_key[0] ^ t.zobrist[piece, origin] ^ t.zobrist[piece, target]
        if not seen >> (key & np.uint64(63)) & np.uint64(1):
            continue
        # A move that takes has another key than this one, and cannot repeat anything.
        times = 1
        for earlier in range(ply - 3, first - 1, -2):
            if history[earlier] == key:
                times += 1
        if times >= t.repetition_limit:
            out[target] = REPEATS


@kernel
def write_input(
    t: Tables, pos: Position, history: np.ndarray, balance: int, moves: np.ndarray, count: int, out: np.ndarray
) -> None:
    """Write the input row of a position to `out`, int8 (S + 3,).

    Args:
        t, pos, history: see `env.position`.
        balance: the handicap, in quarter steps.
        moves: int16, the legal actions as `write_moves` gives them.
        count: how many they are.
        out: int8 (S + 3,).
    """
    cells = t.size * t.size
    for square in range(cells):
        out[square] = pos.board[square]
    _mark_repeats(t, pos, history, moves, count, out)
    out[cells] = pos.info[TO_PLAY]
    out[cells + 1] = min(occurrences(pos, history) - 1, MOST_OCCURRENCES)
    out[cells + 2] = balance


@kernel
def _mark_reach(t: Tables, pos: Position, out: np.ndarray) -> None:
    """Add to the empty cells of `out`, int8 (S + 3,), the bits that say which pieces can come there."""
    for square in range(t.size * t.size):
        piece = pos.board[square]
        if piece == EMPTY:
            continue
        flag = REACH_ATTACKERS if piece == ATTACKER else REACH_DEFENDERS if piece == DEFENDER else REACH_KING
        kind = KING_KIND if piece == KING else SOLDIER
        for direction in range(4):
            target = int(t.neighbour[square, direction])
            while target >= 0 and pos.board[target] == EMPTY:
                if t.may_stop[kind, target]:
                    out[target] |= flag
                target = int(t.neighbour[target, direction])
    king = int(pos.info[KING_SQUARE])
    for direction in range(4):
        stop = int(t.neighbour[king, direction])
        while stop >= 0 and pos.board[stop] == EMPTY:
            if t.may_stop[KING_KIND, stop]:
                for turn in (1, 3):
                    way = (direction + turn) % 4
                    target = int(t.neighbour[stop, way])
                    while target >= 0 and pos.board[target] == EMPTY:
                        if t.may_stop[KING_KIND, target] and not out[target] & REACH_KING:
                            out[target] |= REACH_KING_TWICE
                        target = int(t.neighbour[target, way])
            stop = int(t.neighbour[stop, direction])


@kernel
def write_network_input(
    t: Tables, pos: Position, history: np.ndarray, balance: int, moves: np.ndarray, count: int, out: np.ndarray
) -> None:
    """Write what `write_input` does, and the bits that say which pieces can come to the empty squares."""
    write_input(t, pos, history, balance, moves, count, out)
    _mark_reach(t, pos, out)


@kernel
def write_planes(t: Tables, row: np.ndarray, out: np.ndarray) -> None:
    """Write the planes of an input row, int8 (S + 3,), to `out`, int8 (len(PLANES), n, n): [plane, rank, file]."""
    n = t.size
    cells = n * n
    for rank in range(n):
        for file in range(n):
            square = rank * n + file
            piece = row[square] & (REACH_ATTACKERS - 1)
            out[0, rank, file] = piece == ATTACKER
            out[1, rank, file] = piece == DEFENDER
            out[2, rank, file] = piece == KING
            out[3, rank, file] = 1 - t.may_stop[0, square]
            out[4, rank, file] = t.goal[square]
            out[5, rank, file] = piece == REPEATS
            out[6, rank, file] = row[cells + 1]
            out[7, rank, file] = row[cells]


def position_input(t: Tables, pos: Position, history: np.ndarray, balance: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a network's input row, int8 (S + 3,), and the legal actions, int16 (moves,), of one position."""
    cells = t.size * t.size
    moves = np.empty(4 * cells, np.int16)
    count = write_moves(t, pos, moves)
    row = np.empty(cells + EXTRA_INPUTS, np.int8)
    write_network_input(t, pos, history, balance, moves, count, row)
    return row, moves[:count].copy()


def action_number(rules: Rules, origin: int, target: int) -> int:
    """Return the action that leads from square index `origin` to `target`.

    Raises:
        ValueError: the squares do not share a rank or file, are the same, or lie off the board.
    """
    n = rules.size
    for square in (origin, target):
        if not 0 <= square < rules.cells:
            raise ValueError(f"square {square} lies off the board: squares are numbered 0 to {rules.cells - 1}")
    ranks, files = target // n - origin // n, target % n - origin % n
    if (ranks == 0) == (files == 0):
        raise ValueError(f"squares {origin} and {target} do not lie on one rank or file")
    direction = (0 if ranks > 0 else 2) if ranks else (1 if files > 0 else 3)
    return (origin * 4 + direction) * (n - 1) + abs(ranks + files) - 1


def action_squares(rules: Rules, action: int) -> tuple[int, int]:
    """Return the square indices that an action leads from and to.

    Raises:
        ValueError: there is no such action, or it leaves the board.
    """
    if not 0 <= action < rules.actions:
        raise ValueError(f"there is no action {action}: actions are numbered 0 to {rules.actions - 1}")
    target = int(tables(rules).target[action])
    if target < 0:
        raise ValueError(f"action {action} leaves the board")
    return action // (4 * (rules.size - 1)), target


@lru_cache
def square_symmetries(size: int) -> np.ndarray:
    """Return int16 (8, S): where each symmetry takes a square. 0 is the identity, 1 to 3 turn, 4 to 7 mirror."""
    grid = np.arange(size * size).reshape(size, size)
    seen_from = [np.rot90(board, turns) for board in (grid, grid.T) for turns in range(4)]
    result = np.empty((8, size * size), np.int16)
    for symmetry, board in enumerate(seen_from):
        result[symmetry, board.reshape(-1)] = np.arange(size * size)
    return result


@lru_cache
def action_symmetries(size: int) -> np.ndarray:
    """Return int16 (8, A): what action each symmetry makes of an action; -1 for those that leave the board."""
    squares = square_symmetries(size).astype(np.int64)
    cells, reach = size * size, size - 1
    action = np.arange(cells * 4 * reach)
    origin, direction, distance = action // (4 * reach), action // reach % 4, action % reach + 1
    up, right = np.array([1, 0, -1, 0])[direction], np.array([0, 1, 0, -1])[direction]
    rank, file = origin // size + up * distance, origin % size + right * distance
    inside = (rank >= 0) & (rank < size) & (file >= 0) & (file < size)
    result = np.full((8, len(action)), -1, np.int16)
    for symmetry in range(8):
        new_origin = squares[symmetry, origin[inside]]
        new_target = squares[symmetry, (rank * size + file)[inside]]
        ranks = new_target // size - new_origin // size
        files = new_target % size - new_origin % size
        new_direction = np.where(ranks != 0, np.where(ranks > 0, 0, 2), np.where(files > 0, 1, 3))
        result[symmetry, inside] = (new_origin * 4 + new_direction) * reach + np.abs(ranks + files) - 1
    return result
