"""The transposition table of alpha-beta, and when what it holds may be used although positions repeat.

A node's value depends on how the node was reached if a position of the past can come about again below it. Two
questions keep the table sound: did the search below a node meet the past (then its value is not stored), and could a
search below it do so (`may_meet_past`; then a stored value is not trusted, or only as far as `Path` allows).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.jit import kernel
from env.position import PLY, REVERSIBLE, Position
from env.tables import Tables

NO_BOUND, LOWER, UPPER, EXACT = range(4)
GENERATIONS = 63  # of runs that share a table before it has to be wiped; six bits beside the bound

ENTRY = np.dtype([("key", "u8"), ("score", "i4"), ("action", "i2"), ("depth", "i1"), ("state", "u1")])
"""A slot of 16 bytes: Zobrist key, score as seen from the node, best action (-1 none), depth searched, and the bound
together with the generation (state = generation * 4 + bound; generation 0 is an empty slot)."""


def new_table(megabytes: float) -> np.ndarray:
    """Return an empty table, ENTRY (a power of two,), of at most so many MiB and at least 1024 slots."""
    slots = max(1024, int(megabytes * (1 << 20)) // ENTRY.itemsize)
    return np.zeros(1 << (slots.bit_length() - 1), ENTRY)


@kernel
def find(table: np.ndarray, key: int, generation: int) -> int:
    """Return the slot that holds `key` since the run `generation` began, or -1."""
    home = np.int64(key & np.uint64(table.shape[0] - 1))
    for slot in (home, home ^ 1):
        if table[slot]["key"] == key and table[slot]["state"] >> 2 == generation:
            return int(slot)
    return -1


@kernel
def store(table: np.ndarray, key: int, generation: int, depth: int, bound: int, score: int, action: int) -> None:
    """Keep a result: over the same position, else over the shallower of two slots; older runs go first."""
    slot = find(table, key, generation)
    if slot < 0:
        slot = np.int64(key & np.uint64(table.shape[0] - 1))
        other = slot ^ 1
        if table[slot]["state"] >> 2 == generation and (
            table[other]["state"] >> 2 != generation or table[other]["depth"] <= table[slot]["depth"]
        ):
            slot = other
    entry = table[slot]
    entry["key"] = key
    entry["score"] = score
    entry["action"] = action
    entry["depth"] = depth
    entry["state"] = generation * 4 + bound


class Path(NamedTuple):
    """What is remembered of the plies from the start of the game to the node, indexed by ply.

    Attributes:
        history: uint64 (capacity,), keys of the positions.
        moved: int16 (capacity, 2), origin and target of the move that led to a ply; filled since the last capture.
        times: int16 (capacity, 2), how often the position had come about by then, and the greatest such number since
            the last capture.
        earliest: int32 (1,), no position before this ply can matter to the search.
        displaced: int8 (2, S), scratch of `_earliest_met`, zero outside it.
    """

    history: np.ndarray
    moved: np.ndarray
    times: np.ndarray
    earliest: np.ndarray
    displaced: np.ndarray


def new_path(cells: int, capacity: int) -> Path:
    """Return an empty path for a board of `cells` squares and plies below `capacity`."""
    return Path(
        np.zeros(capacity, np.uint64),
        np.zeros((capacity, 2), np.int16),
        np.zeros((capacity, 2), np.int16),
        np.zeros(1, np.int32),
        np.zeros((2, cells), np.int8),
    )


@kernel
def enter(t: Tables, pos: Position, path: Path) -> int:
    """Enter the present position into the path.

    Returns the ply of the earlier occurrence without which the game would not be over by repetition, or -1 where it is
    not over.
    """
    ply, key, reversible = pos.info[PLY], pos.key[0], pos.info[REVERSIBLE]
    path.history[ply] = key
    first = max(reversible, path.earliest[0])
    times, missing = 1, 0
    for earlier in range(ply - 4, first - 1, -2):
        if path.history[earlier] != key:
            continue
        if times == 1:
            times = path.times[earlier, 0] + 1
            missing = t.repetition_limit - 1
            if times <= missing:
                break
        missing -= 1
        if missing == 0:
            return earlier
    if times == t.repetition_limit:
        return first - 1  # the search cannot come so far back, but the game did
    path.times[ply, 0] = times
    path.times[ply, 1] = times if ply == reversible else max(times, path.times[ply - 1, 1])
    return -1


@kernel
def _plies_back(own: int, other: int, odd: int, most: int) -> int:
    """Return the fewest plies in which both sides can undo their displacements; more than `most`: any such number.

    Args:
        own, other: pieces of the side to play and of the other side that stand elsewhere; a move sets one right.
        odd: whether the number of plies has to be odd (1) or even (0).
        most: plies there are.
    """
    plies = 2 - odd
    while plies <= most:
        own_moves, other_moves = (plies + 1) // 2, plies // 2
        # One move alone always displaces a piece.
        idle = (own == 0 and own_moves == 1) or (other == 0 and other_moves == 1)
        if own <= own_moves and other <= other_moves and not idle:
            return plies
        plies += 2
    return plies


@kernel
def _earliest_met(t: Tables, pos: Position, path: Path, depth: int, first: int, any_will_do: bool) -> int:
    """Return the earliest ply, from `first` on, that could help to end the game by repetition within `depth` plies.

    Necessary conditions only: pieces of a side are taken as alike, and nothing is in their way. A position that has
    come about m times needs, once it has been met again, four more plies for each further occurrence up to the limit.

    Returns the present ply where there is none; with `any_will_do`, the latest such ply.
    """
    ply = pos.info[PLY]
    displaced = path.displaced
    own = other = 0
    met = last = ply
    for earlier in range(ply - 1, first - 1, -1):
        last = earlier
        # The move after `earlier` was the opponent's if the distance is odd.
        odd = (ply - earlier) & 1
        origin, target = path.moved[earlier + 1, 0], path.moved[earlier + 1, 1]
        change = 0
        if displaced[odd, origin] >= 0:
            change += 1
        displaced[odd, origin] += 1
        if displaced[odd, target] > 0:
            change -= 1
        displaced[odd, target] -= 1
        if odd:
            other += change
        else:
            own += change
        plies = depth - 4 * (t.repetition_limit - 1 - path.times[earlier, 0])
        if plies > 0 and _plies_back(own, other, odd, plies) <= plies:
            met = earlier
            if any_will_do:
                break
    for later in range(last + 1, ply + 1):
        displaced[:, path.moved[later, 0]] = 0
        displaced[:, path.moved[later, 1]] = 0
    return met


@kernel
def may_meet_past(t: Tables, pos: Position, path: Path, depth: int) -> bool:
    """Return whether a search of `depth` plies could find a game ended by repetition because of an earlier ply."""
    ply = pos.info[PLY]
    first = max(pos.info[REVERSIBLE], path.earliest[0])
    missing = 4 * (t.repetition_limit - 1 - path.times[ply, 1])
    if first >= ply or depth < 1 + missing:
        return False
    if path.times[ply, 0] > 1 and depth >= 4 * (t.repetition_limit - path.times[ply, 0]):
        return True
    return _earliest_met(t, pos, path, depth, first, True) < ply


@kernel
def retrace(t: Tables, pos: Position, path: Path, depth: int) -> None:
    """Make the path ready for a search of `depth` plies; `history` and `moved` are filled up to the present ply."""
    ply, reversible = pos.info[PLY], pos.info[REVERSIBLE]
    for at in range(reversible, ply + 1):
        times = 1
        for earlier in range(at - 4, reversible - 1, -2):
            if path.history[earlier] == path.history[at]:
                times += 1
        path.times[at, 0] = times
        path.times[at, 1] = times if at == reversible else max(times, path.times[at - 1, 1])
    path.earliest[0] = _earliest_met(t, pos, path, depth, reversible, False)
