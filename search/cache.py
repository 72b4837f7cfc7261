"""Evaluations that are remembered: a table of fixed size, keyed by everything that the evaluator sees of a position.

An entry is found by a hash of the input row and holds the row itself, which is compared in full: what is found is what
the evaluator answered to exactly this input. Answers are good for one set of weights, so `forget` has to be called when
these change; it takes no time.

C is the number of entries, a power of two, or 0 for no cache; W the most logits that an entry holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.encoding import EXTRA_INPUTS
from env.jit import kernel
from env.position import copy_array

NOWHERE = -1
PROBES = 4


class Entry(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One evaluation.

    Attributes:
        key: uint64, hash of the row.
        age: int32, that of the table when it was entered; another one means that nothing is here.
        count: int32, legal moves.
        value: float32, the evaluator's.
        row: int8 (S + 3,), the input.
        logits: float32 (W,), the evaluator's, the first `count` of them.
    """

    key: np.uint64
    age: int
    count: int
    value: float
    row: np.ndarray
    logits: np.ndarray


class Memory(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """State of the table: its age, and how many evaluations were asked for and found since it began."""

    age: int
    asked: int
    found: int


class Cache(NamedTuple):
    """The table: entries, Entry (C,); memory, Memory (1,)."""

    entries: np.ndarray
    memory: np.ndarray


def new_cache(size: int, capacity: int) -> Cache:
    """Return an empty cache of at least `capacity` entries for a board of `size`; 0: one that remembers nothing.

    Positions of more than 2S legal moves, which are few, are not remembered.
    """
    memory = np.dtype((Memory, np.dtype([("age", np.int64), ("asked", np.int64), ("found", np.int64)], align=True)))
    cache = Cache(np.zeros(_entries(capacity), _entry(size)), np.zeros(1, memory))
    forget(cache)
    return cache


def cache_bytes(size: int, capacity: int) -> int:
    """Return how much memory the entries of such a cache take."""
    return _entries(capacity) * _entry(size).itemsize


def _entries(capacity: int) -> int:
    return 1 << (capacity - 1).bit_length() if capacity else 0


def _entry(size: int) -> np.dtype:
    cells = size * size
    fields = [
        ("key", np.uint64),
        ("age", np.int32),
        ("count", np.int32),
        ("value", np.float32),
        ("logits", np.float32, (2 * cells,)),
        ("row", np.int8, (cells + EXTRA_INPUTS,)),
    ]
    return np.dtype((Entry, np.dtype(fields, align=True)))


def forget(cache: Cache) -> None:
    """Empty the cache and its counters."""
    memory = cache.memory[0]
    memory.age, memory.asked, memory.found = memory.age % (2**31 - 2) + 1, 0, 0


@kernel
def _hash(row: np.ndarray) -> np.uint64:
    """Return a hash of int8 (n,): FNV-1a (Fowler, Noll and Vo 1991), its high bits mixed into the low ones."""
    key = np.uint64(0xCBF29CE484222325)
    for index in range(row.shape[0]):
        key = (key ^ np.uint64(int(row[index]) & 255)) * np.uint64(0x100000001B3)
    return key ^ (key >> np.uint64(29))


@kernel
def _same(row: np.ndarray, other: np.ndarray) -> bool:
    for index in range(row.shape[0]):
        if row[index] != other[index]:
            return False
    return True


@kernel
def recall(entries: np.ndarray, memory: Memory, row: np.ndarray) -> int:
    """Return the entry that holds the evaluation of an input row, or NOWHERE."""
    if entries.shape[0] == 0:
        return NOWHERE
    memory.asked += 1
    key, mask = _hash(row), entries.shape[0] - 1
    for probe in range(PROBES):
        index: int = (int(key & np.uint64(0x7FFFFFFF)) + probe) & mask
        entry: Entry = entries[index]
        if entry.age != memory.age:
            return NOWHERE
        if entry.key == key and _same(entry.row, row):
            memory.found += 1
            return index
    return NOWHERE


@kernel
def remember(
    entries: np.ndarray, memory: Memory, row: np.ndarray, count: int, logits: np.ndarray, value: float
) -> None:
    """Enter an evaluation; where its places are taken, one of the older ones goes."""
    if entries.shape[0] == 0 or count > entries[0].logits.shape[0]:
        return
    key, mask = _hash(row), entries.shape[0] - 1
    place = NOWHERE
    for probe in range(PROBES):
        index: int = (int(key & np.uint64(0x7FFFFFFF)) + probe) & mask
        entry: Entry = entries[index]
        if entry.age != memory.age or (entry.key == key and _same(entry.row, row)):
            place = index
            break
    if place < 0:
        turn = int(key >> np.uint64(40)) % PROBES
        place = (int(key & np.uint64(0x7FFFFFFF)) + turn) & mask
    entry = entries[place]
    entry.key = key
    entry.age = memory.age
    entry.count = count
    entry.value = value
    copy_array(row, entry.row)
    for index in range(count):
        entry.logits[index] = logits[index]
