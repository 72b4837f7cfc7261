"""A forced win looked for plainly, to check solved positions: every move of one side, some answer to each, to a depth.

Nothing of `search` is used; of the rules, moves made and taken back and the test for a win at once.
"""

from __future__ import annotations

import numpy as np

from env import Game
from env.board import NO_MOVES, NONE, make, unmake, winner
from env.jit import kernel
from env.moves import has_move, immediate_win, write_moves
from env.position import TO_PLAY, Position, copy_position, new_position
from env.rules import ATTACKERS, SIDES
from env.tables import Tables, tables

LEVELS = 32
COUNT, TRIED, MOVE = range(3)
MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _forced(
    t: Tables,
    pos: Position,
    side: int,
    depth: int,
    limit: int,
    known: np.ndarray,
    stack: np.ndarray,
    moves: np.ndarray,
    undo: np.ndarray,
    success: np.ndarray,
) -> int:
    """Return 1 where `side` can force a win within `depth` plies (below LEVELS), 0 where not, -1 after `limit` moves.

    Repetition ends nothing here: whoever can force a win in so many plies can force it without one.

    Args:
        known: uint64 (power of two, 2), a position's key mixed with depth and side, and the answer; overwritten freely.
        stack: int64 (LEVELS + 1, 3); moves int16 (LEVELS + 1, M); undo int16 (LEVELS + 1, 8).
        success: int64 (2, A), how often and how high up each side's moves have decided a position.
    """
    level, made = 0, 0
    opened = False
    own_value = 1 if side == ATTACKERS else -1
    mask = np.uint64(known.shape[0] - 1)
    value, ended = -1, False
    while True:
        node = stack[level]
        left = depth - level
        own = pos.info[TO_PLAY] == side
        if not opened:
            opened = True
            mixed = (pos.key[0] + np.uint64(2 * left + side)) * MIX
            slot = np.int64((mixed >> np.uint64(20)) & mask)
            if immediate_win(t, pos) >= 0:
                value = 1 if own and left > 0 else 0
            elif left <= 0 or (left == 1 and (not own or t.no_moves_result != -1)):
                value = 0
            elif known[slot, 0] == mixed:
                value = np.int64(known[slot, 1])
            else:
                node[COUNT], node[TRIED] = write_moves(t, pos, moves[level]), 0
        elif value < 0 and node[TRIED] == node[COUNT]:
            value = 0 if own else 1
        if value < 0:
            if made >= limit:
                while level > 0:
                    level -= 1
                    unmake(t, pos, undo[level])
                return -1
            # What has decided most comes first.
            at, worth = node[TRIED], success[pos.info[TO_PLAY]]
            best = at
            for index in range(at + 1, node[COUNT]):
                if worth[moves[level, index]] > worth[moves[level, best]]:
                    best = index
            moves[level, at], moves[level, best] = moves[level, best], moves[level, at]
            node[MOVE] = moves[level, at]
            node[TRIED] += 1
            made += 1
            reason = make(t, pos, node[MOVE], undo[level])
            level += 1
            if reason == NONE and not has_move(t, pos):
                reason = NO_MOVES
            if reason == NONE:
                opened = False
            else:
                # Not to be remembered: the same pieces may stand so without the king having been taken.
                ended = True
                value = 1 if winner(t, reason, 1 - pos.info[TO_PLAY]) == own_value else 0
            continue
        # The value of this node goes up one level; it may decide that one too.
        if not ended:
            mixed = (pos.key[0] + np.uint64(2 * left + side)) * MIX
            slot = np.int64((mixed >> np.uint64(20)) & mask)
            known[slot, 0], known[slot, 1] = mixed, np.uint64(value)
        ended = False
        if level == 0:
            return int(value)
        level -= 1
        unmake(t, pos, undo[level])
        if (value == 1) == (pos.info[TO_PLAY] == side):
            success[pos.info[TO_PLAY], stack[level, MOVE]] += (depth - level) * (depth - level)
        else:
            value = -1


class PlainSearch:
    """Asks for forced wins of one game."""

    def __init__(self, game: str) -> None:
        rules = Game(game).rules
        self._tables, self._position = tables(rules), new_position(rules)
        self._known = np.zeros((1 << 22, 2), np.uint64)
        self._stack = np.zeros((LEVELS + 1, 3), np.int64)
        self._moves = np.zeros((LEVELS + 1, rules.most_moves), np.int16)
        self._undo = np.zeros((LEVELS + 1, 8), np.int16)

    def forced(self, game: Game, side: str, depth: int, limit: int = 1 << 60) -> bool | None:
        """Whether `side` can force a win within `depth` plies; None where `limit` moves did not suffice, or LEVELS."""
        if game.outcome is not None:
            return game.outcome.winner == side
        if depth >= LEVELS:
            return None
        copy_position(game.arrays, self._position)
        success = np.zeros((2, game.rules.actions), np.int64)
        arrays = (self._known, self._stack, self._moves, self._undo, success)
        answer = _forced(self._tables, self._position, SIDES.index(side), depth, limit, *arrays)
        return None if answer < 0 else bool(answer)
