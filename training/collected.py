"""Finished games of self-play on their way into a shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from env.encoding import EXTRA_INPUTS
from training.shard import Shard


@dataclass(frozen=True)
class Collected:
    """One finished game; arrays as in `Shard`, `counts` being the numbers of legal moves."""

    inputs: np.ndarray
    counts: np.ndarray
    actions: np.ndarray
    policy: np.ndarray
    weight: np.ndarray
    value: np.ndarray
    outlook: np.ndarray
    ply: np.ndarray
    winner: int
    reason: int
    layout: int
    start: np.ndarray
    missing: int
    balance: int
    moves: np.ndarray


def to_shard(games: Sequence[Collected], columns: int, counters: Mapping[str, float]) -> Shard:
    """Return games as one shard; `columns` is the length of an input row, which no game tells where there is none."""

    def joined(name: str, dtype: type, empty: tuple[int, ...] = (0,)) -> np.ndarray:
        parts = [getattr(game, name) for game in games]
        return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(empty, dtype)

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(game, name) for game in games], dtype)

    def offsets(lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    lengths = np.array([len(game.moves) for game in games], np.int16)
    return Shard(
        inputs=joined("inputs", np.int8, (0, columns)),
        policy_offsets=offsets(joined("counts", np.int64)),
        policy_actions=joined("actions", np.int16),
        policy_probs=joined("policy", np.float32),
        policy_weight=joined("weight", np.float32),
        value=joined("value", np.float32),
        outlook=joined("outlook", np.float32, (0, 3)),
        game=np.repeat(np.arange(len(games)), [len(game.ply) for game in games]).astype(np.int32),
        ply=joined("ply", np.int16),
        winner=column("winner", np.int8),
        reason=column("reason", np.int8),
        length=lengths,
        layout=column("layout", np.int16),
        start=np.array([game.start for game in games], np.int8).reshape(len(games), columns - EXTRA_INPUTS),
        missing=column("missing", np.int8),
        balance=column("balance", np.int8),
        move_offsets=offsets(lengths),
        moves=joined("moves", np.int16),
        counters=dict(counters),
    )
