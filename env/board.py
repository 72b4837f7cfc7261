"""Kernels that play: a move made and taken back, and how a game ends.

Arguments are those of `env.position`; `make`, `unmake` and `play` change `pos` in place. Here is also

    undo     int16 (8,), written by `make`: origin, target, captured squares' count, up to three of them,
             and the earlier REVERSIBLE as two numbers of 15 bits
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.moves import has_move, king_falls
from env.position import ATTACKER, DEFENDER, EMPTY, KING, KING_SQUARE, PLY, REVERSIBLE, TO_PLAY, Position
from env.rules import ATTACKERS
from env.tables import HOSTILE_ALWAYS, HOSTILE_WHILE_EMPTY, Tables

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
