"""Games in files: read back, and kept when a person leaves."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import mkstemp

from arena.files import write_text
from env import Game
from env.records import format_record, parse_record, record_of
from env.rules import SIDES


def game_text(game: Game, side: str, engine: str) -> str:
    """The record of a game in which a person played `side` and the engine of this name the other."""
    names = {side: "you", SIDES[1 - SIDES.index(side)]: re.sub(r"[\[\]|]", " ", engine)}
    return format_record(record_of(game, attackers=names["attackers"], defenders=names["defenders"]))


def keep_game(name: str, text: str) -> Path:
    """Writes the record of a game of `name` to a new file in the temporary folder.

    Raises:
        OSError: there is no room, or no such folder.
    """
    handle, path = mkstemp(prefix=f"branan-{name}-", suffix=".otg")
    os.close(handle)
    write_text(Path(path), text)
    return Path(path)


def load_game(path: Path) -> Game:
    """The game in a record's file.

    Raises:
        ValueError: it cannot be read; the message names file, line and column.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ValueError(f"{path} is no regular file.")
        return parse_record(path.read_text(encoding="utf-8"), source=str(path)).game()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text file.") from None
