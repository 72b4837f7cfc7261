"""What a run's folder tells a report: its curves, its settings, and where its own games went.

The folder's form is `training`'s; here it is read as plain data, and whatever is missing or damaged is left out: a
report of a young run, or of a checkpoint without a run, says less and is written all the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from env import Game, Rules
from env.encoding import action_squares, action_symmetries, square_symmetries
from env.files import memory_errors_of_rust
from env.rules import SIDES

PLIES = 8
"""Plies of a game that count as its opening."""

LARGEST = 1e15
"""Of a metric; what is beyond is no measurement, and drawing it overflows."""

MOST_GAMES = 400
"""Self-play games that a heat map is drawn from."""

Row = Mapping[str, float]


@dataclass(frozen=True)
class Openings:
    """Where the pieces went in the first plies of some self-play games, turned and mirrored all ways.

    Attributes:
        iterations: first and last iteration that the games are of.
        games: how many.
        targets: float64 (S,) by side, share of that side's moves that ended on each square.
        first: the commonest first moves, one for all its turned and mirrored forms, with their shares.
    """

    iterations: tuple[int, int]
    games: int
    targets: dict[str, np.ndarray]
    first: list[tuple[str, float]]


@dataclass(frozen=True)
class RunData:
    """What was found in a run's folder.

    Attributes:
        name: the folder's.
        rows: metrics, one an iteration, ascending.
        config: the settings, nested; {} where they are missing.
        openings: early and late games; fewer where only few iterations are kept.
        notes: sentences about what is damaged and left out.
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    openings: list[Openings] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> tuple[list[float], list[float], list[float]]:
        """Core-minutes, positions and values of a metric, of the iterations that have it."""
        found = [row for row in self.rows if name in row and "charts/core_minutes" in row and "positions" in row]
        return (
            [row["charts/core_minutes"] for row in found],
            [row["positions"] for row in found],
            [row[name] for row in found],
        )


def read_run(folder: Path, rules: Rules) -> RunData:
    """Reads what there is of a run."""
    notes: list[str] = []
    rows = _read_rows(folder / "metrics.jsonl", notes)
    config = _read_config(folder / "config.yaml", notes)
    return RunData(folder.resolve().name, rows, config, _read_openings(folder, rules, notes), notes)


def _read_rows(path: Path, notes: list[str]) -> list[Row]:
    rows: dict[float, Row] = {}
    try:
        lines = _text(path).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError):
        notes.append(f"{path} cannot be read; its curves are left out.")
        return []
    lost = 0
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            lost += number < len(lines)  # the last line of a run that is being written may be half of one
            continue
        if not isinstance(row, dict) or not isinstance(row.get("step"), int):
            lost += 1
            continue
        numbers = {key: value for key, value in row.items() if type(value) in (int, float)}
        rows[row["step"]] = {key: value for key, value in numbers.items() if abs(value) <= LARGEST}
        lost += len(rows[row["step"]]) < len(numbers)
    if lost:
        notes.append(f"{path} has {lost} damaged line(s), or numbers that cannot be drawn; these are left out.")
    return [rows[step] for step in sorted(rows)]


def _read_config(path: Path, notes: list[str]) -> dict[str, Any]:
    from ruamel.yaml import YAML

    try:
        found = YAML(typ="safe", pure=True).load(_text(path))
    except FileNotFoundError:
        return {}
    except Exception:  # what the parser raises on text made to fool it is not documented
        notes.append(f"{path} cannot be read; the settings are left out.")
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        part: {name: value for name, value in settings.items() if _plain(value)}
        for part, settings in found.items()
        if isinstance(settings, dict)
    }


def _text(path: Path) -> str:
    """Return a file's text; reading a pipe or a device may never end."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")
    return path.read_text(encoding="utf-8")


def _plain(value: object) -> bool:
    """Return whether a setting is one that a page can show: a number or some words, or a few of them."""
    if isinstance(value, list):
        return len(value) <= 16 and not any(isinstance(each, list) for each in value) and all(map(_plain, value))
    if isinstance(value, str):
        return len(value) <= 200
    return value is None or (isinstance(value, int | float) and (isinstance(value, float) or abs(value) <= 1 << 64))


def _read_openings(folder: Path, rules: Rules, notes: list[str]) -> list[Openings]:
    """Return the openings of the oldest and of the newest iterations that are kept."""
    iterations = sorted(
        (
            path
            for path in (folder / "iterations").glob("[0-9]*")
            if re.fullmatch("[0-9]+", path.name) and int(path.name) > 0
        ),
        key=lambda path: int(path.name),
    )
    half = len(iterations) // 2
    early = _openings_of(iterations[:half] if half else [], rules, notes)
    late = _openings_of(list(reversed(iterations[half:])), rules, notes)
    return [found for found in (early, late) if found is not None]


def _openings_of(folders: Sequence[Path], rules: Rules, notes: list[str]) -> Openings | None:
    """Return the openings of the games of some iterations, taken in this order until there are enough."""
    counts = {side: np.zeros(rules.cells) for side in SIDES}
    first: Counter[int] = Counter()
    games, used = 0, []
    alike = action_symmetries(rules.size)
    for folder in folders:
        if games >= MOST_GAMES:
            break
        path = folder / "shard.safetensors"
        if not path.exists():
            continue
        if (lines := _read_games(path)) is None:
            notes.append(f"{path} is damaged; its games are left out of the openings.")
            continue
        used.append(int(folder.name))
        for line in lines:
            if not len(line) or line.min() < 0 or line.max() >= alike.shape[1] or alike[:, line].min() < 0:
                continue
            games += 1
            first[int(alike[:, line[0]].min())] += 1
            for ply, action in enumerate(line):
                counts[SIDES[ply % 2]][action_squares(rules, int(action))[1]] += 1
    if not games:
        return None
    targets = {}
    for side, count in counts.items():
        folded = np.mean([count[image] for image in square_symmetries(rules.size)], axis=0)
        targets[side] = folded / max(1.0, folded.sum())
    start = Game(rules)
    commonest = [(str(start.move_of(action)), number / games) for action, number in first.most_common(3)]
    return Openings((min(used), max(used)), games, targets, commonest)


def _read_games(path: Path) -> list[np.ndarray] | None:
    """Return the first moves, action numbers, of the whole games of an iteration; `None` where it is damaged."""
    if not path.is_file():
        return None
    try:
        with memory_errors_of_rust():
            shard = load_file(path)
        offsets, moves, missing, layout = (shard[name] for name in ("move_offsets", "moves", "missing", "layout"))
    except (OSError, SafetensorError, LookupError, ValueError, TypeError, MemoryError):
        return None
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (offsets, moves, missing, layout)):
        return None
    games = len(missing)
    if len(layout) != games or len(offsets) != games + 1:
        return None
    if offsets[0] != 0 or offsets[-1] != len(moves) or bool((offsets[1:] < offsets[:-1]).any()):
        return None
    whole = np.flatnonzero((missing == 0) & (layout == 0))
    return [moves[offsets[game] : offsets[game + 1]][:PLIES].astype(np.int64) for game in whole]
