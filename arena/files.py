"""Text files that are either written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Writes a UTF-8 file in one step: whatever happens, `path` holds the old text or the new one.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    path = path.absolute()
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
