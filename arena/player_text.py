"""The text that names a player.

    random                                  any legal move
    alphabeta-v1:depth=4                    the measuring stick, to a fixed depth
    alphabeta-v1:seconds=1                  ... or for a time a move
    alphabeta-v2:depth=6                    its stronger successor, to a depth,
    alphabeta-v2:nodes=100000               ... for a number of moves made in its search, or for a time a move
    alphabeta-v2:depth=6,noise=20           ... with a bonus of up to 20 hundredths of an attacker for every move
    runs/x/best.safetensors                 a checkpoint
    runs/x/best.safetensors:simulations=128,seconds=1
    runs/x                                  a run: its best checkpoint, else its latest
    engine:COMMAND                          another program that speaks the protocol of docs/engines.md
    engine:seconds=2:COMMAND                ... with that time a move

Options follow the name, each after a colon or comma; of an engine they come before the command, which is all the rest
and may hold colons. A file or folder that exists is taken as it stands, so a path may hold colons.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from env.paths import path_of
from search.alphabeta import MAX_DEPTH
from search.alphabeta_v2 import MOST_NODES, MOST_NOISE
from search.config import MOST_SIMULATIONS

# Importing torch takes seconds, so `models` is imported where a network is in play.
if TYPE_CHECKING:
    from models.checkpoint import Header

SUFFIX = ".safetensors"
ALPHABETA = "alphabeta-v1"
ALPHABETA_V2 = "alphabeta-v2"
ENGINE = "engine"


class PlayerError(ValueError):
    """A player's text cannot be understood or what it names cannot be used; one sentence says what is allowed."""


@dataclass(frozen=True, slots=True)
class PlayerText:
    """A player's text taken apart: built-in `name`, `path` of a checkpoint or `command` of an engine, and options."""

    name: str
    path: Path | None = None
    options: dict[str, int | float] = field(default_factory=dict)
    command: str = ""

    @property
    def game(self) -> str | None:
        """Name of the game its checkpoint plays; `None` for players of any game."""
        return None if self.path is None else checkpoint_game(self.path)


_OPTIONS: dict[str, tuple[str, ...]] = {
    "random": (),
    ALPHABETA: ("depth", "seconds"),
    ALPHABETA_V2: ("depth", "nodes", "seconds", "noise"),
}
_CHECKPOINT_OPTIONS = ("simulations", "seconds")
_WHOLE = ("depth", "nodes", "noise", "simulations")
_EXCLUSIVE = ("depth", "nodes", "seconds")  # of which alpha-beta takes one
_LIMITS = {
    "depth": MAX_DEPTH,
    "nodes": MOST_NODES,
    "noise": MOST_NOISE,
    "simulations": MOST_SIMULATIONS,
    "seconds": 86_400,
}
_LAST_OPTION = re.compile(r"[:,]\s*(\w[\w-]*)\s*=\s*([^:,=/\\]*)$")
_ENGINE_OPTIONS = ("seconds",)
_ENGINE_OPTION = re.compile(rf"\s*({'|'.join(_ENGINE_OPTIONS)})\s*=([^:,]*)[:,]")
_PLAYERS = (
    f"a player is random, {ALPHABETA}:depth=D, {ALPHABETA}:seconds=S, the same with {ALPHABETA_V2}, "
    "a checkpoint's path or a run's folder"
)


def read_player(text: str, programs: bool = False) -> PlayerText:
    """Takes a player's text apart and finds its file, without loading it.

    Args:
        text: as above.
        programs: whether the text may name a program to be run; not where it comes from a file or over the network.

    Raises:
        PlayerError: in one sentence that says what is wrong and what is allowed.
    """
    head, written = text.strip(), {}
    if head.startswith(f"{ENGINE}:") and not _exists(head):
        if not programs:
            raise PlayerError(f"{text!r}: programs play only where the command line of evaluate.py or play.py says so")
        return _engine(text, head.removeprefix(f"{ENGINE}:"))
    while not _exists(head) and (match := _LAST_OPTION.search(head)):
        key = match[1]
        if key in written:
            raise PlayerError(f"{text!r}: option {key!r} is given twice")
        written[key] = match[2].strip()
        head = head[: match.start()]
    if not head:
        raise PlayerError(f"{text!r} names no player: {_PLAYERS}")
    if head in _OPTIONS:
        name, path, allowed = head, None, _OPTIONS[head]
    else:
        path, allowed = _checkpoint(text, head), _CHECKPOINT_OPTIONS
        name = str(path)
    options = {key: _option(text, key, value, allowed) for key, value in reversed(written.items())}
    limits = [key for key in _EXCLUSIVE if key in options]
    if path is None and len(limits) > 1:
        allowed_limits = [key for key in _EXCLUSIVE if key in allowed]
        given = "both" if len(allowed_limits) == 2 else " and ".join(limits)
        raise PlayerError(f"{text!r}: {name} takes {_either(allowed_limits)}, not {given}")
    return PlayerText(name, path, options)


def _engine(text: str, rest: str) -> PlayerText:
    options: dict[str, int | float] = {}
    while match := _ENGINE_OPTION.match(rest):
        key = match[1]
        if key in options:
            raise PlayerError(f"{text!r}: option {key!r} is given twice")
        options[key] = _option(text, key, match[2].strip(), _ENGINE_OPTIONS)
        rest = rest[match.end() :]
    if not rest.strip():
        raise PlayerError(f"{text!r}: an engine needs the command that starts it, as {ENGINE}:seconds=2:COMMAND")
    return PlayerText(ENGINE, None, options, rest.strip())


def checkpoint_game(path: Path) -> str:
    """Name of the game that a checkpoint plays, from its header.

    Raises:
        PlayerError: it cannot be read.
    """
    return checkpoint_header(path).game


def checkpoint_header(path: Path) -> Header:
    """What a checkpoint says of itself.

    Raises:
        PlayerError: it cannot be read.
    """
    from models.checkpoint import CheckpointError, load

    try:
        return load(path).header
    except CheckpointError as error:
        raise PlayerError(str(error)) from None


def _checkpoint(text: str, head: str) -> Path:
    path = path_of(head)
    if os.path.isfile(path):
        return path
    if os.path.isdir(path):
        for name in ("best", "latest"):
            if (inside := path / f"{name}{SUFFIX}").is_file():
                return inside
        raise PlayerError(f"{head}: a run folder without a checkpoint (no best{SUFFIX}, no latest{SUFFIX})")
    name, mark, rest = _split_first(head)
    if mark and (name in _OPTIONS or _exists(name)):
        allowed = _OPTIONS.get(name, _CHECKPOINT_OPTIONS)
        raise PlayerError(f"{text!r}: {rest!r} is no option; {_allowed(name, allowed)}")
    guess = get_close_matches(name.lower(), _OPTIONS, 1) or get_close_matches(name.lower().split("-")[0], _OPTIONS, 1)
    siblings = [str(near) for near in path.parent.glob("*") if near.is_dir() or near.suffix == SUFFIX]
    guess = guess or get_close_matches(head, siblings, 1)
    hint = f"did you mean {guess[0]}? " if guess else ""
    raise PlayerError(f"there is no player or file {head!r}: {hint}{_PLAYERS}")


def _exists(text: str) -> bool:
    # os.path, since pathlib raises for what is too long to be a name.
    return bool(text) and os.path.exists(path_of(text))


def _split_first(head: str) -> tuple[str, str, str]:
    """`name`, mark and rest around the first colon or comma, a drive letter's colon (`C:/x`) not counted."""
    match = re.match(r"([A-Za-z]:[/\\][^:,]*|[^:,]*)([:,]?)(.*)", head, re.DOTALL)
    return (match[1], match[2], match[3]) if match else (head, "", "")


def _option(text: str, key: str, value: str, allowed: tuple[str, ...]) -> int | float:
    name = text.strip().split(":")[0]
    if key not in allowed:
        guess = get_close_matches(key, allowed, 1)
        hint = f" (did you mean {guess[0]}?)" if guess else ""
        raise PlayerError(f"{text!r}: no option is called {key!r}{hint}; {_allowed(name, allowed)}")
    kind, lowest = ("a whole number", 1) if key in _WHOLE else ("a number", 0)
    try:
        number = int(value) if key in _WHOLE else float(value)
    except ValueError:
        number = float("nan")
    if not isfinite(number) or number < lowest or number == 0 or number > _LIMITS[key]:
        bound = "from 1" if key in _WHOLE else "above 0,"
        raise PlayerError(f"{text!r}: {key}={value} has to be {kind} {bound} to {_LIMITS[key]}")
    return number


def _allowed(name: str, options: tuple[str, ...]) -> str:
    if not options:
        return f"{name} takes none"
    return f"{name} takes {_either([f'{option}=NUMBER' for option in options])}"


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
