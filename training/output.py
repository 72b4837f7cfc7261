"""Standard output that cannot be written: nobody reads it any more, or it goes to a file and the disk is full."""

from __future__ import annotations

import errno
import os
import stat
from typing import TextIO


class OutputError(OSError):
    """Standard output goes to something that takes no more, though it should."""

    @classmethod
    def of(cls, error: OSError) -> OutputError:
        """Return the same error as one of standard output."""
        return cls(error.errno, error.strerror, "standard output")


def nobody_reads(error: OSError, stream: TextIO | None) -> bool:
    """Return whether writing to `stream` failed because its reader is gone: a pipe's end, or a closed terminal."""
    if error.errno == errno.EPIPE:
        return True
    if error.errno not in (errno.EIO, errno.ENXIO) or stream is None:
        return False
    try:
        # A terminal that is gone does not know any more that it was one.
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def silence(stream: TextIO | None) -> None:
    """Let nothing more be printed, not even at exit: it would fail again."""
    if stream is not None:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
