"""What the exact solver remembers: a table of fixed size, in which every settled entry is true whatever the path.

An entry says of a position, for one proving side, in how many plies the win is proven, within how many plies it is
proven not to be there, and, where it is still open, the proof and disproof numbers reached so far. `search.proof`
explains why these need no path, and what is stored of disproofs that do.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel

FOREVER = 255  # as a number of plies: without a limit
LONGEST = 254  # the longest proofs count as this long
INFINITE = 1 << 28  # the proof number of what is disproven, and the other way round
NEVER = 1 << 30  # a ply beyond every game: depends on none of the path

ENTRY = np.dtype(
    [("key", "u8"), ("proof", "i4"), ("disproof", "i4"), ("work", "i4"), ("won", "u1"), ("safe", "u1"), ("left", "u1"),
     ("tied", "u1")]
)  # fmt: skip
"""A slot of 24 bytes: the key (salted, see `search.proof`; 0: an empty slot); proof and disproof number, as of a search
of `left` plies; moves made below (decides what is kept); won, the win is proven within so many plies (FOREVER: not);
safe, it is proven not to be there within so many (0: nothing is known); tied, whether a disproof that depends on the
path was found once, so that one is worth looking for under the path's key."""


def new_table(megabytes: float) -> np.ndarray:
    """Return an empty table, ENTRY (a power of two,), of at most so many MiB and at least 1024 slots."""
    slots = max(1024, int(megabytes * (1 << 20)) // ENTRY.itemsize)
    return np.zeros(1 << (slots.bit_length() - 1), ENTRY)


@kernel
def find(table: np.ndarray, key: int) -> int:
    """Return the slot that holds `key`, or -1."""
    home = np.int64(key & np.uint64(table.shape[0] - 1))
    for slot in (home, home ^ 1):
        if table[slot]["key"] == key:
            return int(slot)
    return -1


@kernel
def claim(table: np.ndarray, key: int, work: int) -> int:
    """Return the slot for what cost `work` moves: that of `key`, an empty one, or the cheaper of its two places."""
    slot = find(table, key)
    if slot >= 0:
        return slot
    slot = np.int64(key & np.uint64(table.shape[0] - 1))
    other = slot ^ 1
    if table[slot]["key"] != 0 and (table[other]["key"] == 0 or table[other]["work"] < table[slot]["work"]):
        slot = other
    entry = table[slot]
    # What stays long unused makes room in the end, however dear it was.
    table[slot ^ 1]["work"] -= table[slot ^ 1]["work"] >> 4
    entry["key"] = key
    entry["proof"], entry["disproof"], entry["work"] = 1, 1, 0
    entry["won"], entry["safe"], entry["left"], entry["tied"] = FOREVER, 0, 0, 0
    return int(slot)
