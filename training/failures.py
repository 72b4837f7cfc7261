"""What the machine refused, in a sentence: memory, disk, permissions."""

from __future__ import annotations

import errno
from pathlib import Path

from models import CheckpointError


def machine_failure(error: BaseException, home: Path) -> str | None:
    """Return a sentence for an error that says that something is used up or in the way, None for all others.

    Args:
        error: what was raised.
        home: the folder of the run, or of the runs.
    """
    cause = error.__cause__ if isinstance(error, CheckpointError) else error
    if isinstance(cause, OSError):
        if cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"The disk that holds {home} is full; delete something there, such as old runs."
        if isinstance(cause, PermissionError) or cause.errno == errno.EROFS:
            return f"No permission to write {cause.filename or home}."
        return f"{cause.filename} cannot be used: {cause.strerror}." if cause.filename and cause.strerror else None
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error):
        where = "GPU memory" if "CUDA" in str(error) else "Memory"
        return f"{where} does not suffice; --replay.memory_megabytes or --selfplay.games_per_group can be smaller."
    return None
