"""The games in play as flat arrays, and how they are played: what the kernels of self-play work on.

Letters in shapes as in `search.tree`; P is the limit of plies, R = P records a game at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.encoding import EXTRA_INPUTS

RUNNING, ENDED, TRUNCATED = 0, 1, 2
QUARTERS = 4  # steps of the handicap in one unit of its level


class PlaySettings(NamedTuple):
    """How the slots play; see `training.config.SelfPlayConfig` for the numbers.

    `by_temperature`: a balance does not change how long searches are, it flattens the stronger side's choice of moves.
    `balance_limit` is the largest balance, in quarter steps, for which `material_most` holds; 0 where there is none.
    `layout_boards` is int8 (layouts, S); `layout_shares` float64 (layouts,), cumulative and ending in 1; `first` is the
    side that begins.
    """

    simulations: int
    fast_simulations: int
    full_share: float
    max_plies: int
    policy_opening_share: float
    policy_opening_plies: float
    random_opening_share: float
    opening_limit: float
    even_share: float
    material_share: float
    material_most: int
    by_temperature: bool
    balance_limit: int
    gumbel_scale: float
    reuse: bool
    first: int
    layout_boards: np.ndarray
    layout_shares: np.ndarray


class Slots(NamedTuple):
    """The games that are going on.

    Attributes:
        state: int8 (G,), RUNNING, ENDED or TRUNCATED; the latter two wait to be collected.
        reason: int8 (G,), result: int8 (G,), how an ended game ended; result is 1 for the attackers, -1, 0.
        layout: int16 (G,), index of the layout; start: int8 (G, S), what the game began from, which may lack pieces.
        missing: int8 (G,), how many.
        balance: int8 (G,), the handicap in quarter steps: log2 of attackers' to defenders' simulations, or the
            temperature of the defenders' moves, of the attackers' where it is negative.
        opening: int32 (G,), one more than the moves that are still to be drawn, from the policy or, where it is
            negative, from all alike; 1 or -1 while it has to be seen how even it came out, 0 when it is over.
        full: int8 (G,), whether the present search is a full one.
        values: float32 (G, P), what each ply's search made of its position, from the view of the side that moved.
        simulations: int64 (G,), done in all searches since the counter was reset.
        moves: int16 (G, P), actions played.
        input: int8 (G, S + 3), input row of the present root.
        records: int32 (G,), positions recorded in the present game, which the following hold.
        record_ply: int16 (G, R), record_input: int8 (G, R, S + 3).
        record_count: int16 (G, R), record_actions: int16 (G, R, M), record_policy: float32 (G, R, M).
        record_weight: float32 (G, R).
    """

    state: np.ndarray
    reason: np.ndarray
    result: np.ndarray
    layout: np.ndarray
    start: np.ndarray
    missing: np.ndarray
    balance: np.ndarray
    opening: np.ndarray
    full: np.ndarray
    values: np.ndarray
    simulations: np.ndarray
    moves: np.ndarray
    input: np.ndarray
    records: np.ndarray
    record_ply: np.ndarray
    record_input: np.ndarray
    record_count: np.ndarray
    record_actions: np.ndarray
    record_policy: np.ndarray
    record_weight: np.ndarray


def new_slots(count: int, input_size: int, most_moves: int, max_plies: int) -> Slots:
    """Return `count` empty slots; the system gives memory to the large arrays only where they are used."""
    shape = (count, max_plies)
    return Slots(
        state=np.zeros(count, np.int8),
        reason=np.zeros(count, np.int8),
        result=np.zeros(count, np.int8),
        layout=np.zeros(count, np.int16),
        start=np.zeros((count, input_size - EXTRA_INPUTS), np.int8),
        missing=np.zeros(count, np.int8),
        balance=np.zeros(count, np.int8),
        opening=np.zeros(count, np.int32),
        full=np.zeros(count, np.int8),
        values=np.zeros(shape, np.float32),
        simulations=np.zeros(count, np.int64),
        moves=np.zeros(shape, np.int16),
        input=np.zeros((count, input_size), np.int8),
        records=np.zeros(count, np.int32),
        record_ply=np.zeros(shape, np.int16),
        record_input=np.empty((*shape, input_size), np.int8),
        record_count=np.zeros(shape, np.int16),
        record_actions=np.empty((*shape, most_moves), np.int16),
        record_policy=np.empty((*shape, most_moves), np.float32),
        record_weight=np.zeros(shape, np.float32),
    )
