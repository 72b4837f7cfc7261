"""What the modes of `evaluate.py` share: looking at what was asked for before any time is spent."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from arena.files import write_text
from arena.player_text import PlayerError, PlayerText
from env import RULES, Rules
from env.files import wrong_name
from search.config import MOST_SIMULATIONS

MOST_GAMES = 100_000


def check_numbers(options: argparse.Namespace) -> None:
    """Refuses numbers, of those that every mode has, that cannot be.

    Raises:
        ValueError: one is out of range.
    """
    for name, lowest in (("games", 1), ("simulations", 1), ("threads", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise ValueError(f"--{name} {value}: has to be at least {lowest}")
    for name, most in (("games", MOST_GAMES), ("simulations", MOST_SIMULATIONS)):
        value = getattr(options, name)
        if value is not None and value > most:
            raise ValueError(f"--{name} {value}: at most {most}")


def check_players(options: argparse.Namespace, players: Sequence[PlayerText]) -> None:
    """Refuses options for checkpoints where no player is one.

    Raises:
        ValueError: one is given.
    """
    if any(player.path is not None for player in players):
        return
    for name, given in (("simulations", options.simulations is not None), ("device", options.device != "auto")):
        if given:
            none = "neither player is one" if len(players) == 2 else "no player is one"
            raise ValueError(f"--{name} is for checkpoints, and {none}")


def choose_rules(game: str | None, players: Sequence[PlayerText]) -> Rules:
    """The game to play: the one asked for, else that of the checkpoints, else the first there is.

    Raises:
        PlayerError: a checkpoint plays another game.
    """
    games = {player.name: player.game for player in players if player.game is not None}
    wanted = game or next(iter(games.values()), next(iter(RULES)))
    for name, plays in games.items():
        if plays != wanted:
            raise PlayerError(f"{name} plays {plays}, not {wanted}")
    return RULES[wanted]


def check_writable(option: str, path: Path) -> None:
    """Refuses a file that could not be written.

    Raises:
        ValueError: naming the option.
    """
    folder = path.absolute().parent
    if problem := wrong_name(path):
        raise ValueError(f"{option}: no file can have this name: {problem}")
    if path.is_dir():
        raise ValueError(f"{option} {path}: there is a folder of that name already")
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} {path}: that is not a regular file")
    if not folder.is_dir():
        raise ValueError(f"{option} {path}: the folder {folder} does not exist")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise ValueError(f"{option} {path}: the folder {folder} cannot be written to") from None


def busy(console: Console, text: str) -> contextlib.AbstractContextManager[object]:
    """Says on a terminal what is done at the moment; elsewhere nothing, not even an empty line."""
    return console.status(text) if console.is_terminal else contextlib.nullcontext()


@contextlib.contextmanager
def progress_bar(console: Console, what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Shows a bar on a terminal and nothing elsewhere; yields what is to be told how many of how many, and a note.

    Args:
        console: where.
        what: words between the numbers and the note.
    """
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{what} {{task.fields[note]}}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, note="starting")
        yield lambda done, total, note: progress.update(task, total=total, completed=done, note=note)


def write_result(path: Path | None, result: Mapping[str, Any]) -> bool:
    """Writes what `--json` asks for; returns False, the reason said, where it cannot be written.

    To be called before anything is printed: standard output may be closed or full, and the result is safe then.

    Args:
        path: the file; None: nothing was asked for.
        result: ready for `json.dumps`.
    """
    if path is None:
        return True
    try:
        write_text(path, json.dumps(result, indent=2) + "\n")
    except OSError as error:
        print(f"evaluate.py: the result cannot be written: {error}", file=sys.stderr)
        return False
    return True


def tell_written(console: Console, path: Path | None, written: bool) -> bool:
    """Says that `write_result` has written, where it was asked to and has; returns `written`."""
    if path is not None and written:
        console.print(f"result written to {path}")
    return written
