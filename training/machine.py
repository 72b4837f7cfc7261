"""What a run asks of the machine, and what is said when the machine refuses: memory, disk, permissions."""

from __future__ import annotations

import errno
import random
import shutil
from functools import cache
from pathlib import Path
from typing import NamedTuple

from env import Game
from env.rules import get_rules
from models import CheckpointError
from search.cache import cache_bytes
from training.config import RunConfig
from training.output import OutputError
from training.replay import MEGABYTE, ROOM

SPARE = (1 + ROOM) / 2  # columns of the replay have spare room after growing, none before: half of that on average
# What torch, oneDNN (the fourth and fifth) and CUDA's libraries say when there is no more memory; few of them have an
# exception of its own for it. A primitive that was created a thousand times before lacks nothing else.
OUT_OF_MEMORY = (
    "allocate memory",
    "out of memory",
    "bad_alloc",
    "could not create a primitive",
    "could not create a memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


class Estimate(NamedTuple):
    """What the replay window and remembered evaluations take, roughly; megabytes of a million bytes.

    Attributes:
        memory_row, disk_row: bytes a position.
        memory, disk: megabytes, when the window holds as many positions as it does before it begins to grow.
        most_memory, most_disk: megabytes that it never exceeds.
        cache: megabytes of memory for evaluations that are remembered, all groups together.
    """

    memory_row: float
    disk_row: float
    memory: float
    disk: float
    most_memory: float
    most_disk: float
    cache: float


def estimate(config: RunConfig) -> Estimate:
    """Return what a run takes."""
    rules, replay = get_rules(config.game), config.replay
    moves = _mean_moves(config.game)
    shared = rules.cells + 3 + 4 + 4 + 12 + moves * (2 + 4)  # input row, policy's weight, value, outlook, policy
    memory_row = (shared + 8 + 4) * SPARE  # where the policy begins, how long it is
    disk_row = shared + 8 + 4 + 2 + 2 / max(config.selfplay.full_share, 0.1)  # offset, game, ply; the game's moves
    memory, disk = (replay.window * row / MEGABYTE for row in (memory_row, disk_row))
    most_memory, most_disk = float(replay.memory_megabytes), float(replay.disk_megabytes)
    cache = config.selfplay.groups * cache_bytes(rules.size, config.search.cache) / MEGABYTE
    return Estimate(memory_row, disk_row, min(memory, most_memory), min(disk, most_disk), most_memory, most_disk, cache)


@cache
def _mean_moves(game: str) -> float:
    """Return how many legal moves a position has on average, in random games; in others it is hardly different."""
    choose = random.Random(0)
    positions = moves = 0
    for _ in range(16):
        playing = Game(game)
        while playing.outcome is None and playing.ply < 60:
            legal = playing.legal_actions()
            positions, moves = positions + 1, moves + len(legal)
            playing.play_action(choose.choice(legal.tolist()))
    return moves / positions


def shortages(needed: Estimate, home: Path) -> list[str]:
    """Return a sentence for what the window may come to need and this machine has not got free at present.

    Args:
        needed: by the run.
        home: the folder that the run is in, or will be made in.
    """
    sentences = []
    if (free := free_memory()) is not None and free < needed.memory + needed.cache:
        sentences.append(
            f"Mind: {free:,.0f} MB of memory are free; the replay window comes to take {needed.memory:,.0f} MB and "
            f"remembered evaluations {needed.cache:,.0f}; --replay.memory_megabytes and --search.cache make them "
            "smaller."
        )
    while not home.exists() and home != home.parent:
        home = home.parent
    try:
        free = shutil.disk_usage(home).free / MEGABYTE
    except OSError:
        return sentences
    if free < needed.disk:
        sentences.append(
            f"Mind: {free:,.0f} MB are free on the disk that holds {home} and the replay window alone comes to take "
            f"{needed.disk:,.0f} MB; --replay.disk_megabytes keeps it smaller."
        )
    return sentences


def free_memory() -> float | None:
    """Return how many megabytes of memory can still be had, as far as the system tells (Linux does)."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")  # of a container; on the machine itself these files are not there
        most, used = ((group / name).read_text(encoding="utf-8").strip() for name in ("memory.max", "memory.current"))
        found.append(int(most) - int(used))
    except (OSError, ValueError, IndexError):
        pass
    return min(found) / MEGABYTE if found else None


def machine_failure(error: BaseException, home: Path) -> str | None:
    """Return a sentence for an error that says that something is used up or in the way, None for all others.

    Args:
        error: what was raised.
        home: the folder of the run, or of the runs.
    """
    cause = error.__cause__ if isinstance(error, CheckpointError) else error
    if isinstance(cause, OutputError):
        return f"Standard output cannot be written: {cause.strerror}."
    if isinstance(cause, OSError):
        if cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"The disk that holds {home} is full; delete something there, such as old runs."
        if isinstance(cause, PermissionError) or cause.errno == errno.EROFS:
            return f"No permission to write {cause.filename or home}."
        if cause.errno == errno.ENOMEM:
            return _memory("Memory")
        # Writing to a file that is open already fails without its name, as beyond the limit of a file's size.
        return f"{cause.filename or home} cannot be used: {cause.strerror}." if cause.strerror else None
    said = str(error)
    if "can't start new thread" in said:
        return "No more threads can be started: memory or the system's limit is used up; --run.threads 1 needs fewer."
    if isinstance(error, MemoryError) or any(words in said for words in OUT_OF_MEMORY):
        return _memory("GPU memory" if any(word in said for word in ("CUDA", "CUBLAS", "CUDNN")) else "Memory")
    return None


def _memory(kind: str) -> str:
    return f"{kind} does not suffice; --replay.memory_megabytes or --selfplay.games_per_group can be smaller."
