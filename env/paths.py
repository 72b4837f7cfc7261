"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path


def path_of(text: str) -> Path:
    """Return the path that `text` names, `~` and `~user` at its beginning meaning a home folder.

    Where there is no such user or folder the text stays as it is, so that whoever looks for the file says that there is
    none; `Path.expanduser` would raise.
    """
    try:
        return Path(os.path.expanduser(text))
    except ValueError:  # no name that the system could even look up, as one with a zero byte
        return Path(text)
