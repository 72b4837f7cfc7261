"""Words to people; above all commands, written so that they work when pasted into the same terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def door(name: str, *arguments: str | os.PathLike[str]) -> str:
    """Return the command that opens one of the project's doors, as ``python train.py --resume runs/x``."""
    path = Path(name) if Path.cwd() == ROOT else ROOT / name
    return program("python", path, *arguments)


def program(name: str, *arguments: str | os.PathLike[str]) -> str:
    """Return the command that runs a program of this Python's environment; by its name alone where that is enough."""
    folder = Path(sys.executable).parent
    found = shutil.which(name)
    if found is None or Path(found).parent.absolute() != folder.absolute():
        own = Path(sys.executable) if name == "python" else folder / name
        name = os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own)
    return " ".join(map(quoted, (name, *arguments)))


def quoted(argument: str | os.PathLike[str]) -> str:
    """Return an argument as a shell wants it."""
    text = os.fspath(argument)
    return f'"{text}"' if os.name == "nt" and " " in text else text if os.name == "nt" else shlex.quote(text)


def counted(number: int, noun: str) -> str:
    """Return a number of things, as ``1 iteration`` or ``1,200 iterations``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
