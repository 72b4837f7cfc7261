"""What there is to play with and to look at: checkpoints and saved games, by ids and never by paths.

    pretrained/NAME     a network that came with the project
    runs/RUN/best       a run's best; also `latest`, and numbers such as `runs/RUN/000120`
    given               the one named on the command line

An id is looked up among what the folders hold at that moment; nothing that a request says becomes part of a path.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.problems import Problem
from arena.player_text import SUFFIX
from env import RULES, Game
from env.board import REASONS

if TYPE_CHECKING:
    from models.checkpoint import Header
    from training.shard import Shard

ROOT = Path(__file__).resolve().parent.parent
GIVEN = "given"
_NUMBER = re.compile(r"[0-9]{1,9}")
_LARGEST_SHARD = 2_000_000_000  # bytes


@dataclass(frozen=True)
class Entry:
    """A checkpoint that can be played.

    Attributes:
        checkpoint: id.
        path: file.
        run: folder of the run, None for those that came with the project.
        name: file name without suffix.
        game: that it plays.
        iteration: for the numbered ones.
        written: time of the file, seconds since 1970.
        header: what it says of itself.
    """

    checkpoint: str
    path: Path
    run: str | None
    name: str
    game: str
    iteration: int | None
    written: float
    header: Header = field(repr=False)

    def view(self) -> dict[str, Any]:
        """As JSON."""
        known, network = self.header.provenance, self.header.network
        return {
            "checkpoint": self.checkpoint,
            "run": self.run,
            "name": self.name,
            "game": self.game,
            "iteration": self.iteration,
            "date": _date(self.written),
            "blocks": network.blocks,
            "channels": network.channels,
            "games": known.games,
            "step": known.step,
            "scores": known.scores,
        }


class Catalogue:
    """Reads the folders afresh whenever it is asked; headers are kept as long as their files do not change.

    Args:
        runs: folders that hold runs; of two runs of one name the first folder's counts.
        pretrained: folder of the networks that came with the project.
        given: a checkpoint outside of these that may be played too.
    """

    def __init__(
        self, runs: Sequence[Path] | None = None, pretrained: Path | None = None, given: Path | None = None
    ) -> None:
        self._runs = [Path("runs"), ROOT / "runs"] if runs is None else list(runs)
        self._pretrained = ROOT / "models" / "pretrained" if pretrained is None else pretrained
        self._given = given
        self._headers: dict[Path, tuple[tuple[int, int], Header | None]] = {}
        self._shards: tuple[tuple[Path, int], Shard] | None = None
        self._lock = threading.Lock()

    # Checkpoints

    def checkpoints(self, game: str | None = None) -> list[Entry]:
        """All that can be played, what came with the project first, then the newest run's."""
        entries = list(self._shipped())
        if self._given is not None and (entry := self._entry(self._given, GIVEN, None)):
            entries.append(entry)
        for name, folder in self.run_folders().items():
            entries += self._of_run(name, folder)
        return [entry for entry in entries if game in (None, entry.game)]

    def find(self, checkpoint: str) -> Entry:
        """The checkpoint of an id.

        Raises:
            Problem: there is none.
        """
        for entry in self.checkpoints():
            if entry.checkpoint == checkpoint:
                return entry
        raise Problem("not_found", "There is no checkpoint of this id (any more).", checkpoint=checkpoint)

    def strongest(self, game: str) -> Entry | None:
        """What the levels play with: the network that came with the project, else the newest run's best."""
        for entry in self._shipped():
            if entry.game == game:
                return entry
        for name, folder in self.run_folders().items():
            for entry in self._of_run(name, folder):
                if entry.game == game and entry.name == "best" and not entry.header.provenance.untrained:
                    return entry
        return None

    def _shipped(self) -> Iterator[Entry]:
        for path in sorted(self._pretrained.glob(f"*{SUFFIX}")):
            if entry := self._entry(path, f"pretrained/{path.stem}", None):
                yield entry

    def _of_run(self, name: str, folder: Path) -> Iterator[Entry]:
        numbered = (path for path in (folder / "checkpoints").glob(f"*{SUFFIX}") if _NUMBER.fullmatch(path.stem))
        for path in (folder / f"best{SUFFIX}", folder / f"latest{SUFFIX}", *sorted(numbered, reverse=True)):
            if path.is_file() and _inside(path, folder) and (entry := self._entry(path, _id(name, path), name)):
                yield entry

    def _entry(self, path: Path, checkpoint: str, run: str | None) -> Entry | None:
        """None for what cannot be used: a list is no place to complain of a file."""
        from models.checkpoint import CheckpointError, read_header

        try:
            found = path.stat()
            key = (found.st_mtime_ns, found.st_size)
            with self._lock:
                known = self._headers.get(path)
            if known is None or known[0] != key:
                try:
                    known = (key, read_header(path))
                except CheckpointError:
                    known = (key, None)
                with self._lock:
                    self._headers[path] = known
        except OSError:
            return None
        header = known[1]
        if header is None:
            return None
        iteration = int(path.stem) if run is not None and _NUMBER.fullmatch(path.stem) else None
        return Entry(checkpoint, path, run, path.stem, header.game, iteration, found.st_mtime, header)

    # Runs

    def run_folders(self) -> dict[str, Path]:
        """Folders of runs by name, the newest first."""
        found: dict[str, tuple[float, Path]] = {}
        for root in self._runs:
            try:
                folders = sorted(root.resolve().iterdir())
            except OSError:
                continue
            for folder in folders:
                if folder.name.startswith(".") or folder.name in found or not _inside(folder, root):
                    continue
                written = [_written(folder / name) for name in (f"latest{SUFFIX}", f"best{SUFFIX}", "config.yaml")]
                if folder.is_dir() and any(written):
                    found[folder.name] = (max(written), folder)
        return {name: folder for name, (_, folder) in sorted(found.items(), key=lambda item: -item[1][0])}

    def runs(self) -> list[dict[str, Any]]:
        """Runs as JSON, the newest first."""
        views = []
        for name, folder in self.run_folders().items():
            entries = list(self._of_run(name, folder))
            shards = self._shard_files(folder)
            views.append(
                {
                    "run": name,
                    "game": entries[0].game if entries else None,
                    "date": _date(max((entry.written for entry in entries), default=_written(folder))),
                    "iterations": max(shards, default=0),
                    "checkpoints": [entry.checkpoint for entry in entries],
                    "selfplay": sorted(shards),
                }
            )
        return views

    # Saved games of self-play

    def selfplay(self, run: str, iteration: int, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """The games of an iteration as JSON.

        Raises:
            Problem: there is no such run or iteration, or its games cannot be read.
        """
        game, shard = self._shard(run, iteration)
        layouts = list(RULES[game].layouts)
        rows = [
            {
                "number": number,
                "layout": _name(layouts, int(shard.layout[number])),
                "missing": int(shard.missing[number]),
                "plies": int(shard.length[number]),
                "winner": {1: "attackers", -1: "defenders"}.get(int(shard.winner[number])),
                "reason": REASONS[int(shard.reason[number])] if shard.reason[number] else None,
                "truncated": not shard.reason[number],
            }
            for number in range(offset, min(shard.games, offset + limit))
        ]
        return {"run": run, "iteration": iteration, "game": game, "total": shard.games, "games": rows}

    def selfplay_game(self, run: str, iteration: int, number: int) -> Game:
        """One of these games, played through.

        Raises:
            Problem: there is none, or it cannot be read.
        """
        name, shard = self._shard(run, iteration)
        if number >= shard.games:
            raise Problem("not_found", f"Iteration {iteration} of this run has {shard.games} games, counted from 0.")
        rules = RULES[name]
        try:
            game = shard.new_game(rules, number)
            for action in shard.game_moves(number):
                game.play_action(int(action))
        except (ValueError, IndexError) as error:
            raise Problem("not_possible", f"This saved game cannot be played through: {error}") from None
        return game

    def _shard(self, run: str, iteration: int) -> tuple[str, Shard]:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        from training.shard import Shard

        folder = self.run_folders().get(run)
        if folder is None:
            raise Problem("not_found", "There is no run of this name (any more).", run=run)
        path = self._shard_files(folder).get(iteration)
        game = next((entry.game for entry in self._of_run(run, folder)), None)
        if path is None or game is None:
            raise Problem("not_found", f"This run has no saved games of iteration {iteration} (any more).")
        try:
            found = path.stat()
            with self._lock:
                if self._shards and self._shards[0] == (path, found.st_mtime_ns):
                    return game, self._shards[1]
            if found.st_size > _LARGEST_SHARD:
                raise ValueError("the file is too large")
            shard = Shard.from_arrays(load(path.read_bytes()))
            if not np.all((shard.reason >= 0) & (shard.reason < len(REASONS))):
                raise ValueError("it holds endings that are not known here")
        except (OSError, ValueError, SafetensorError) as error:
            raise Problem("not_possible", f"The games of iteration {iteration} cannot be read: {error}") from None
        with self._lock:
            self._shards = ((path, found.st_mtime_ns), shard)
        return game, shard

    def _shard_files(self, folder: Path) -> dict[int, Path]:
        files = (folder / "iterations").glob("*/shard.safetensors")
        return {int(path.parent.name): path for path in files if _NUMBER.fullmatch(path.parent.name)}


def _id(run: str, path: Path) -> str:
    return f"runs/{run}/{path.stem}"


def _inside(path: Path, folder: Path) -> bool:
    """Whether a path stays in a folder when links are followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _name(names: list[str], index: int) -> str | None:
    return names[index] if 0 <= index < len(names) else None
