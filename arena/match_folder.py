"""The folder of a match, from which it goes on after it was stopped.

    FOLDER/match.json   what is played: players, checkpoints' checksums, game, openings, seed, limits
           lock         held by the process that plays here
           0001.otg     the record of a game that is over; its number, times and fault are among the tags

Each file is written whole or not at all, a game's as soon as it is over, so a process may be killed at any moment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.command_line import MOST_GAMES
from arena.fault import Fault
from arena.files import write_text
from arena.match_result import ROLES, MoveTimes, PlayedGame, game_record, game_score, tag_text
from arena.openings import Opening
from arena.player_text import PlayerText
from arena.sprt import Sprt
from env import RULES, Rules
from env.files import (
    leave_lock,
    linked_file,
    lock_file,
    lock_signature,
    open_lock,
    read_plain_text,
    remove_drafts,
    sign_lock,
)
from env.records import Record, format_record, parse_record
from env.rules import SIDES

MANIFEST = "match.json"
LOCK = "lock"
FORMAT = 1
MOST_PLIES = 1_000_000
MOST_SEED = 1 << 64
MOST_BYTES = 10_000_000  # of a record or a manifest
_RECORD = re.compile(r"(?!0000\.)(\d{4}|[1-9]\d{4,5})\.otg", re.ASCII)
_LEFT_OVER = re.compile(rf"{LOCK}|\..*\.tmp")  # by a process that was killed while it began

Settings = Mapping[str, Any]

_Text = Annotated[str, Field(min_length=1, max_length=10_000)]
_Checksum = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Manifest(BaseModel):
    """What `match.json` may hold; what a part of the program leaves out (as tests do) may be missing."""

    model_config = ConfigDict(strict=True, extra="forbid")

    player: _Text
    opponent: _Text
    player_checksum: _Checksum = ""
    opponent_checksum: _Checksum = ""
    game: _Text = next(iter(RULES))
    layout: _Text = ""
    openings: _Text = ""
    openings_checksum: _Checksum = ""
    games: int = Field(ge=1, le=MOST_GAMES)
    max_plies: int = Field(default=1, ge=1, le=MOST_PLIES)
    seed: int = Field(ge=0, le=MOST_SEED)
    sprt: tuple[_Number, _Number, _Number, _Number] | None = None


class MatchFolderError(ValueError):
    """A match's folder cannot be used; one sentence says why."""


class MatchFolder:
    """A folder that one process plays a match in; to be closed.

    Attributes:
        path: where it is.
        settings: what is played, as in its manifest.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        """Begins a match here, or goes on with the one of the same settings.

        Raises:
            MatchFolderError: it holds something else, another match, or another process plays in it.
        """
        self.path, self.settings = path, settings
        self.begun = is_begun(path)
        if self.begun:
            _refuse_others(path, read_settings(path), settings)
        path.mkdir(exist_ok=True)
        if (link := linked_file(path)) is not None:
            raise MatchFolderError(f"{link} is a link, and a match's files have to be its own: put a copy in its place")
        self._lock = self._take_lock()
        try:
            # Another process may have begun a match here since.
            if not self.begun and is_begun(path):
                self.begun = True
                _refuse_others(path, read_settings(path), settings)
            remove_drafts(path)
            if not self.begun:
                write_text(path / MANIFEST, json.dumps({"format": FORMAT, **settings}, indent=2) + "\n")
        except BaseException:
            self.close()
            raise

    def finished(self, rules: Rules, openings: Sequence[Opening], max_plies: int) -> dict[int, PlayedGame]:
        """The games that are over, by number, each played through again.

        Args:
            rules: the game.
            openings: of each pair.
            max_plies: the limit at which a game is over.

        Raises:
            MatchFolderError: a record is damaged or not of this match.
        """
        games = {}
        for file in sorted(self.path.iterdir()):
            if match := _RECORD.fullmatch(file.name):
                number = int(match[1]) - 1
                games[number] = self._read(file, number, rules, openings, max_plies)
        return games

    def keep(self, played: PlayedGame) -> None:
        """Writes the record of a game that is over.

        Raises:
            OSError: it cannot be written; the sentence says how to go on.
        """
        record = game_record(played, self.settings["player"], self.settings["opponent"])
        file = self.path / f"{played.number + 1:04d}.otg"
        try:
            write_text(file, format_record(record))
        except OSError as error:
            raise OSError(
                f"{file} cannot be written ({error.strerror or error}); when there is room, "
                f"go on with: python evaluate.py --resume {self.path}"
            ) from None

    def close(self) -> None:
        """Gives the folder back."""
        if self._lock is not None:
            leave_lock(self._lock)
            self._lock = None

    def __enter__(self) -> MatchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_lock(self) -> int | None:
        try:
            handle = open_lock(self.path / LOCK)
        except OSError as error:
            raise MatchFolderError(
                f"{self.path / LOCK}: the folder cannot be locked with it ({error.strerror}); delete it"
            ) from None
        try:
            lock_file(handle)
        except OSError:
            holder = lock_signature(handle)
            os.close(handle)
            who = f"process {holder}" if holder else "another process"
            raise MatchFolderError(f"{self.path}: {who} plays in this folder at this moment") from None
        sign_lock(handle)
        return handle

    def _read(self, file: Path, number: int, rules: Rules, openings: Sequence[Opening], max_plies: int) -> PlayedGame:
        again = number < 2 * len(openings)
        mend = "delete it, and that game is played again" if again else "delete it if it is none of this match's"
        try:
            record = parse_record(read_plain_text(file, MOST_BYTES), rules)
            game = record.game()
            times = {role: MoveTimes.parse(record.tags[f"{role}-time"]) for role in ROLES}
            fault = Fault.parse(record.tags["fault"]) if "fault" in record.tags else None
        except (OSError, KeyError, ValueError) as error:
            said = f"it has no tag {error}" if isinstance(error, KeyError) else str(error).splitlines()[0]
            raise MatchFolderError(f"{file}: this record cannot be read ({said}); {mend}") from None
        if problem := self._stranger(record, number, openings):
            raise MatchFolderError(f"{file}: this record is not of this match ({problem}); {mend}")
        if game.outcome is None and game.ply < max_plies:
            raise MatchFolderError(f"{file}: this game is not over; {mend}")
        if game.ply > max_plies:
            raise MatchFolderError(f"{file}: this game goes on after ply {max_plies}, the match's limit; {mend}")
        if game.outcome is not None and game.outcome.reason == "forfeit" and fault is None:
            raise MatchFolderError(f"{file}: this game is forfeited, and no tag 'fault' says why; {mend}")
        side = SIDES[number % 2]
        return PlayedGame(number, openings[number // 2], side, game, game_score(game, side), fault, times)

    def _stranger(self, record: Record, number: int, openings: Sequence[Opening]) -> str:
        """Why a record is not that of a game of this match, or the empty text."""
        if number >= 2 * len(openings):
            return f"it has only {2 * len(openings)} games"
        names = [tag_text(self.settings[role]) for role in (ROLES if number % 2 == 0 else reversed(ROLES))]
        for tag, expected in zip((*SIDES, "round"), (*names, str(number + 1)), strict=True):
            if record.tags.get(tag) != expected.strip():
                return f"{tag} is {record.tags.get(tag, 'not told')}, not {expected}"
        opening = openings[number // 2]
        moves = tuple(str(move) for move in record.moves[: len(opening.moves)])
        if record.layout != opening.layout or moves != opening.moves:
            return f"it does not begin with the opening {opening}"
        return ""


def is_begun(path: Path) -> bool:
    """Whether a folder holds a match already; one that is not there, or is empty, does not.

    Raises:
        MatchFolderError: no match can be put there.
    """
    if (path / MANIFEST).exists():
        return True
    if path.exists() and not path.is_dir():
        raise MatchFolderError(f"{path}: there is a file of that name already")
    if path.exists() and any(not _LEFT_OVER.fullmatch(inside.name) for inside in path.iterdir()):
        raise MatchFolderError(f"{path}: there is a folder of that name already, and it holds no match")
    return False


def read_settings(path: Path) -> dict[str, Any]:
    """What is played in a match's folder.

    Raises:
        MatchFolderError: it holds no match, or its manifest is damaged.
    """
    manifest = path / MANIFEST
    try:
        settings = json.loads(read_plain_text(manifest, MOST_BYTES))
        if not isinstance(settings, dict):
            raise ValueError("it is no object with names and values")
        form = settings.pop("format")
    except (FileNotFoundError, NotADirectoryError):
        raise MatchFolderError(f"{path} is no match's folder: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, RecursionError) as error:
        said = "it tells no format" if isinstance(error, KeyError) else error
        said = "it is nested too deeply" if isinstance(error, RecursionError) else said
        raise MatchFolderError(f"{manifest} is damaged ({said}); begin a new match in another folder") from None
    if form != FORMAT:
        raise MatchFolderError(f"{manifest} has format {str(form)[:40]!r}, and this version reads {FORMAT}")
    try:
        _Manifest.model_validate_json(json.dumps(settings))
        if settings.get("game", next(iter(RULES))) not in RULES:
            raise ValueError(f"game {settings['game'][:40]!r}: there are {', '.join(RULES)}")
        if settings.get("sprt") is not None:
            Sprt(*settings["sprt"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        said = f"{' '.join(map(str, first['loc']))[:80]}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        raise MatchFolderError(f"{manifest} is damaged ({said}); begin a new match in another folder") from None
    except ValueError as error:
        raise MatchFolderError(f"{manifest} is damaged ({error}); begin a new match in another folder") from None
    return settings


def player_checksum(player: PlayerText) -> str:
    """What a player's file holds, as a SHA-256 checksum; the empty text for players without a file.

    Raises:
        OSError: it cannot be read.
    """
    return "" if player.path is None else hashlib.sha256(player.path.read_bytes()).hexdigest()


def openings_checksum(openings: Sequence[Opening]) -> str:
    """What a collection of openings holds, as a SHA-256 checksum."""
    text = "\n".join(f"{opening.layout} {' '.join(opening.moves)}" for opening in openings)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_others(path: Path, stored: Settings, asked: Settings) -> None:
    for key, value in stored.items():
        if key in asked and asked[key] == value:
            continue
        if key.endswith("checksum"):
            what = key.removesuffix("_checksum")
            changed = f"the file of the {what} has" if what in ROLES else "the openings have"
            raise MatchFolderError(
                f"{path}: {changed} changed since this match began; begin a new one in another folder"
            )
        raise MatchFolderError(
            f"{path} holds a match with {key.replace('_', ' ')} {_shown(value)}, not {_shown(asked.get(key))}: "
            "go on as it was begun, or name another folder"
        )


def _shown(value: object) -> str:
    return "none" if value is None else " ".join(map(str, value)) if isinstance(value, list) else str(value)
