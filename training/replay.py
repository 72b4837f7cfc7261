"""The window of self-play positions that is learnt from.

Positions lie in flat arrays, the newest at the end; the window's front moves on as it fills. It grows sublinearly with
all positions ever made (Wu 2019, "Accelerating self-play learning in Go", appendix C):

    window(N) = c * (1 + growth * ((N / c) ** exponent - 1) / exponent)      for N > c

with c the setting `window`. A window of N positions holds whatever is newest.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from training.config import ReplayConfig
from training.shard import Shard

MEGABYTE = 1_000_000
ROOM = 1.25  # times what is needed, that an array gets when it has to grow


class Batch(NamedTuple):
    """B positions to learn from; K is the longest policy among them.

    Attributes:
        inputs: int8 [B, S+3], rows of `env.encoding`.
        actions: int16 [B, K], action numbers with a policy target; -1 beyond the last.
        probs: float32 [B, K], their target probabilities; 0 beyond the last.
        policy_weight: float32 [B], 0 where there is no policy to learn.
        value: float32 [B], discounted result from the view of `to_play`, -1 to 1.
        outlook: float32 [B, 3], win, draw and loss of `to_play`, undiscounted.
    """

    inputs: np.ndarray
    actions: np.ndarray
    probs: np.ndarray
    policy_weight: np.ndarray
    value: np.ndarray
    outlook: np.ndarray


def window_size(total: int, config: ReplayConfig) -> int:
    """Return how many positions the window holds when `total` have been made."""
    c, alpha = config.window, config.exponent
    if total <= c:
        return total
    return int(c * (1 + config.growth * ((total / c) ** alpha - 1) / alpha))


class Column:
    """A growing array whose front can be dropped; rows are contiguous in memory."""

    def __init__(self, width: tuple[int, ...], dtype: np.dtype) -> None:
        self._data = np.empty((0, *width), dtype)
        self._begin = self._end = 0

    @property
    def rows(self) -> np.ndarray:
        """The rows that are there, as a view that holds until the next are added."""
        return self._data[self._begin : self._end]

    @property
    def row_bytes(self) -> int:
        """Memory of a row, in bytes."""
        return self._data.itemsize * math.prod(self._data.shape[1:])

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self._data.nbytes

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        if self._end + len(rows) > len(self._data):
            live = self._end - self._begin
            # Moving rows to the front is cheap as long as it happens once per many appended rows.
            if self._begin:
                self._data[:live] = self.rows
            # In place, so that there are never an old and a new array at once.
            self._data.resize((int(ROOM * (live + len(rows))), *self._data.shape[1:]), refcheck=False)
            self._begin, self._end = 0, live
        self._data[self._end : self._end + len(rows)] = rows
        self._end += len(rows)

    def drop(self, count: int) -> None:
        """Forget rows at the front."""
        self._begin += count


@dataclass
class _Entry:
    """A shard of which the window holds the last `positions` positions."""

    iteration: int
    positions: int
    stored: int  # bytes of the whole shard


class Replay:
    """The window.

    Args:
        inputs: width of an input row, S + 3.
        config: how large it may become.
    """

    def __init__(self, inputs: int, config: ReplayConfig) -> None:
        self.config = config
        self.total = 0
        self._entries: deque[_Entry] = deque()
        self._inputs = Column((inputs,), np.dtype(np.int8))
        self._policy_start = Column((), np.dtype(np.int64))
        self._policy_length = Column((), np.dtype(np.int32))
        self._policy_weight = Column((), np.dtype(np.float32))
        self._value = Column((), np.dtype(np.float32))
        self._outlook = Column((3,), np.dtype(np.float32))
        self._actions = Column((), np.dtype(np.int16))
        self._probs = Column((), np.dtype(np.float32))
        self._policy_begin = 0  # number of policy entries ever dropped, which is where `_actions` begins
        self._policy_end = 0

    def __len__(self) -> int:
        return len(self._value.rows)

    @property
    def window(self) -> int:
        """The oldest iteration in the window; 0 while it is empty."""
        return self._entries[0].iteration if self._entries else 0

    @property
    def begin(self) -> int:
        """How many of all positions have left the window."""
        return self.total - len(self)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return sum(c.nbytes for c in (*self._columns(), *self._moves()))

    @property
    def crowded(self) -> bool:
        """Whether it is over its caps because the newest iteration, which always stays, is so by itself."""
        return self._over_caps(None)

    def age(self) -> float:
        """Return how many iterations old the window's positions are on average; the newest iteration's are 0."""
        if not len(self):
            return 0.0
        newest = self._entries[-1].iteration
        return sum((newest - e.iteration) * e.positions for e in self._entries) / len(self)

    def append(self, iteration: int, shard: Shard) -> None:
        """Add an iteration's positions and let the oldest go, as the settings say.

        Args:
            iteration: its number, larger than all before.
            shard: its positions.
        """
        # What goes makes room for what comes: memory never holds both.
        over = len(self) + shard.positions - window_size(self.total + shard.positions, self.config)
        self._drop(min(len(self), over))
        self._obey_caps(shard)
        self._add(iteration, shard)
        self._drop(len(self) - window_size(self.total, self.config))

    def restore(self, total: int, begin: int, shards: Iterable[tuple[int, Shard]]) -> None:
        """Fill an empty window as it was when `total` positions had been made and `begin` had left it.

        Where shards are lost, it holds what the others have.
        """
        for iteration, shard in shards:
            self._add(iteration, shard)
        self._drop(len(self) - (total - begin))
        self._obey_caps()  # which may be others now
        self.total = total

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Return `count` positions drawn uniformly with replacement."""
        rows = rng.integers(len(self), size=count)
        starts = self._policy_start.rows[rows] - self._policy_begin
        lengths = self._policy_length.rows[rows]
        slots = np.arange(max(1, int(lengths.max())))
        there = slots < lengths[:, None]
        entries = np.where(there, starts[:, None] + slots, 0)
        filled = bool(len(self._actions.rows))
        actions = self._actions.rows[entries] if filled else np.zeros(entries.shape, np.int16)
        probs = self._probs.rows[entries] if filled else np.zeros(entries.shape, np.float32)
        return Batch(
            inputs=self._inputs.rows[rows],
            actions=np.where(there, actions, np.int16(-1)),
            probs=np.where(there, probs, np.float32(0)),
            policy_weight=self._policy_weight.rows[rows],
            value=self._value.rows[rows],
            outlook=self._outlook.rows[rows],
        )

    def _columns(self) -> tuple[Column, ...]:
        return (
            self._inputs,
            self._policy_start,
            self._policy_length,
            self._policy_weight,
            self._value,
            self._outlook,
        )

    def _moves(self) -> tuple[Column, Column]:
        return self._actions, self._probs

    def _add(self, iteration: int, shard: Shard) -> None:
        offsets = shard.policy_offsets
        rows = (
            shard.inputs,
            self._policy_end + offsets[:-1],
            np.diff(offsets),
            shard.policy_weight,
            shard.value,
            shard.outlook,
        )
        for column, added in zip(self._columns(), rows):
            column.append(added)
        self._actions.append(shard.policy_actions)
        self._probs.append(shard.policy_probs)
        self._policy_end += len(shard.policy_actions)
        self.total += shard.positions
        if shard.positions:
            self._entries.append(_Entry(iteration, shard.positions, _stored_bytes(shard)))

    def _drop(self, count: int) -> None:
        if count <= 0:
            return
        starts = self._policy_start.rows
        policy_begin = int(starts[count]) if count < len(starts) else self._policy_end
        self._actions.drop(policy_begin - self._policy_begin)
        self._probs.drop(policy_begin - self._policy_begin)
        self._policy_begin = policy_begin
        for column in self._columns():
            column.drop(count)
        while count:
            entry = self._entries[0]
            taken = min(count, entry.positions)
            entry.positions -= taken
            count -= taken
            if not entry.positions:
                self._entries.popleft()

    def _obey_caps(self, coming: Shard | None = None) -> None:
        """Drop the oldest shards until the others, and the one to come, are within the caps.

        Caps take whole shards, since a file can only be deleted whole; the newest stays in any case.
        """
        newest = int(coming is None or not coming.positions)
        while len(self._entries) > newest and self._over_caps(coming):
            self._drop(self._entries[0].positions)

    def _over_caps(self, coming: Shard | None) -> bool:
        memory = sum(c.rows.nbytes for c in (*self._columns(), *self._moves()))
        disk = sum(entry.stored for entry in self._entries)
        if coming is not None:
            memory += sum(c.row_bytes for c in self._columns()) * coming.positions
            memory += sum(c.row_bytes for c in self._moves()) * len(coming.policy_actions)
            disk += _stored_bytes(coming)
        return ROOM * memory > self.config.memory_megabytes * MEGABYTE or disk > self.config.disk_megabytes * MEGABYTE


def _stored_bytes(shard: Shard) -> int:
    return sum(array.nbytes for array in shard.arrays().values())
