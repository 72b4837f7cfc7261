"""Kernels on many games at once, and the records they keep: one call is one step of `env.vector.TaflVectorEnv`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import AGREEMENT, FORFEIT, NONE, play, winner
from env.encoding import EXTRA_INPUTS, PLANES, write_input, write_planes
from env.jit import kernel
from env.moves import write_moves
from env.position import PLY, TO_PLAY, Position, copy_array, copy_position, new_position
from env.rules import ATTACKERS, Rules
from env.tables import Tables

ANNOUNCED, STANDS = 1, 2  # bits of `Slot.offers`
BOARD_PLANES = len(PLANES)


class Slot(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One game of a vector environment, as one record.

    Attributes:
        position: the present one.
        moves: int16 (4S,), legal moves, the first `count` of them valid.
        count: int32.
        offers: int32, bits ANNOUNCED and STANDS, see `env.tafl_env`.
        last: int16 (8,), `undo` of the last move as `env.board.make` writes it; [0] = -1 before the first.
        row: int8 (S + 3,), input row of the position, see `env.encoding`.
        reward: float64, of the side that acted.
        terminated, truncated: bool.
    """

    position: Position
    moves: np.ndarray
    count: int
    offers: int
    last: np.ndarray
    row: np.ndarray
    reward: float
    terminated: bool
    truncated: bool


class Ends(NamedTuple):
    """What is kept of the games that ended in a step; rows of other games are not written.

    N games, A actions, C planes.

    Attributes:
        planes: int8 (N, C, n, n), observation of the last position.
        mask: int8 (N, A), its mask; written for truncated games only, others have no legal action.
        to_play: int8 (N,), 0 attackers, 1 defenders.
        ply: int32 (N,).
        winner: int8 (N,), 1 attackers, -1 defenders, 0 nobody.
        reason: int8 (N,), code of `env.board`; 0 where the game was truncated.
    """

    planes: np.ndarray
    mask: np.ndarray
    to_play: np.ndarray
    ply: np.ndarray
    winner: np.ndarray
    reason: np.ndarray


def new_slots(rules: Rules, count: int) -> np.ndarray:
    """Return an array of `count` records `Slot`, to be filled by `begin_games`."""
    fields = [
        ("position", new_position(rules).dtype),
        ("moves", np.int16, (rules.most_moves,)),
        ("count", np.int32),
        ("offers", np.int32),
        ("last", np.int16, (8,)),
        ("row", np.int8, (rules.cells + EXTRA_INPUTS,)),
        ("reward", np.float64),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
    ]
    return np.zeros(count, np.dtype((Slot, np.dtype(fields, align=True))))


@kernel
def _observe(t: Tables, slot: Slot, history: np.ndarray, count: int, planes: np.ndarray) -> None:
    """Write the observation of a game with `count` legal moves to `planes`, int8 (C, n, n)."""
    write_input(t, slot.position, history, 0, slot.moves, count, slot.row)
    write_planes(t, slot.row, planes)
    if planes.shape[0] > BOARD_PLANES:
        planes[BOARD_PLANES] = slot.offers & ANNOUNCED
        planes[BOARD_PLANES + 1] = slot.offers // STANDS


@kernel
def _refresh(t: Tables, slot: Slot, history: np.ndarray, mask: np.ndarray, planes: np.ndarray) -> None:
    """Bring moves, mask, int8 (A,), and observation, int8 (C, n, n), of a live game up to date.

    The mask is cleared by the old moves: writing all of it would cost more than everything else.
    """
    for place in range(slot.count):
        mask[slot.moves[place]] = 0
    count = write_moves(t, slot.position, slot.moves)
    for place in range(count):
        mask[slot.moves[place]] = 1
    slot.count = count
    board_actions = t.target.shape[0]
    if mask.shape[0] > board_actions:
        mask[board_actions] = 1 - (slot.offers & ANNOUNCED)
        mask[board_actions + 1] = slot.offers // STANDS
    _observe(t, slot, history, count, planes)


@kernel
def _begin(slot: Slot, history: np.ndarray, start: Position) -> None:
    """Set a game to its start; `_refresh` has to follow."""
    copy_position(start, slot.position)
    history[0] = start.key[0]
    slot.offers = 0
    slot.last[0] = -1


@kernel
def begin_games(
    t: Tables,
    slots: np.ndarray,
    history: np.ndarray,
    mask: np.ndarray,
    planes: np.ndarray,
    start: Position,
    chosen: np.ndarray,
) -> None:
    """Begin the games anew for which `chosen`, bool (N,), is set; other arguments as for `step_games`."""
    for index in range(chosen.shape[0]):
        if chosen[index]:
            _begin(slots[index], history[index], start)
            _refresh(t, slots[index], history[index], mask[index], planes[index])


@kernel
def first_illegal(mask: np.ndarray, actions: np.ndarray) -> int:
    """Return the first row of `mask`, int8 (N, A), that forbids its action, or -1."""
    for index in range(actions.shape[0]):
        action = actions[index]
        if action < 0 or action >= mask.shape[1] or mask[index, action] == 0:
            return index
    return -1


@kernel
def step_games(
    t: Tables,
    slots: np.ndarray,
    history: np.ndarray,
    mask: np.ndarray,
    planes: np.ndarray,
    actions: np.ndarray,
    start: Position,
    max_plies: int,
    ends: Ends,
) -> int:
    """Let the side to play act in every game; games that end begin anew from `start`.

    Args:
        t: see `env.position`.
        slots: Slot (N,), changed in place.
        history: uint64 (N, capacity), keys by ply; capacity is above the highest ply by one at least.
        mask: int8 (N, A), 1 where an action is legal; brought up to date.
        planes: int8 (N, C, n, n), observations; brought up to date.
        actions: int64 (N,); an illegal one loses.
        start: position at ply 0 of a new game.
        max_plies: limit after which a game is truncated; 0 for none.
        ends: filled in for games that end.

    Returns:
        The highest ply of any game.
    """
    highest = 0
    board_actions = t.target.shape[0]
    for index in range(actions.shape[0]):
        slot = slots[index]
        mover = int(slot.position.info[TO_PLAY])
        action = actions[index]
        reason, won, truncated = NONE, 0, False
        if action < 0 or action >= mask.shape[1] or mask[index, action] == 0:
            reason = FORFEIT
            won = -1 if mover == ATTACKERS else 1
            slot.offers = 0
        elif action < board_actions:
            reason = play(t, slot.position, history[index], action, slot.last)
            going_on = reason == NONE
            slot.offers = STANDS if going_on and slot.offers & ANNOUNCED else 0
            won = winner(t, reason, mover)
            truncated = going_on and 0 < max_plies <= slot.position.info[PLY]
        elif action == board_actions:
            slot.offers |= ANNOUNCED
        else:
            reason = AGREEMENT
            slot.offers = 0
        slot.reward = won if mover == ATTACKERS else -won
        slot.terminated = reason != NONE
        slot.truncated = truncated
        if reason != NONE or truncated:
            ends.to_play[index] = slot.position.info[TO_PLAY]
            ends.ply[index] = slot.position.info[PLY]
            ends.winner[index] = won
            ends.reason[index] = reason
            if truncated:
                _refresh(t, slot, history[index], mask[index], planes[index])
                copy_array(planes[index].reshape(-1), ends.planes[index].reshape(-1))
                copy_array(mask[index], ends.mask[index])
            else:
                _observe(t, slot, history[index], 0, ends.planes[index])
            _begin(slot, history[index], start)
        highest = max(highest, slot.position.info[PLY])
        _refresh(t, slot, history[index], mask[index], planes[index])
    return highest


@kernel
def choose_legal(t: Tables, slots: np.ndarray, mask: np.ndarray, numbers: np.ndarray, actions: np.ndarray) -> None:
    """Write to `actions`, int64 (N,), one legal action of every game for a number, float32 (N,) in [0, 1), each."""
    board_actions = t.target.shape[0]
    for index in range(actions.shape[0]):
        count = int(slots[index].count)
        total = count
        for action in range(board_actions, mask.shape[1]):
            total += int(mask[index, action])
        place = int(np.float64(numbers[index]) * total)
        if place < count:
            actions[index] = slots[index].moves[place]
        elif place == count and mask[index, board_actions]:
            actions[index] = board_actions
        else:
            actions[index] = board_actions + 1
