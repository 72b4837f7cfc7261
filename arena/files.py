"""Text files that are either written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from env.files import write_whole


def write_text(path: Path, text: str) -> None:
    """Writes a UTF-8 file in one step: whatever happens, `path` holds the old text or the new one.

    Raises:
        OSError: it cannot be written, or is no regular file; nothing is left behind.
    """
    write_whole(path, text.encode())
