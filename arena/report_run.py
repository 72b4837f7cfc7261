"""What a run's folder tells a report: its curves, its settings, and where its own games went.

The folder's form is `training`'s; here it is read as plain data, and whatever is missing or damaged is left out: a
report of a young run, or of a checkpoint without a run, says less and is written all the same.
"""

from __future__ import annotations

import json
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
from env.rules import SIDES

PLIES = 8
"""Plies of a game that count as its opening."""

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
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    openings: list[Openings] = field(default_factory=list)

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
    return RunData(
        folder.resolve().name, _read_rows(folder / "metrics.jsonl"), _read_config(folder), _read_openings(folder, rules)
    )


def _read_rows(path: Path) -> list[Row]:
    rows: dict[float, Row] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # the last line of a run that is being written
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows[row["step"]] = {key: value for key, value in row.items() if isinstance(value, int | float)}
    return [rows[step] for step in sorted(rows)]


def _read_config(folder: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).load((folder / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_openings(folder: Path, rules: Rules) -> list[Openings]:
    """Return the openings of the oldest and of the newest iterations that are kept."""
    iterations = sorted(
        (path for path in (folder / "iterations").glob("[0-9]*") if path.name.isdigit() and int(path.name) > 0),
        key=lambda path: int(path.name),
    )
    half = len(iterations) // 2
    early = _openings_of(iterations[:half] if half else [], rules)
    late = _openings_of(list(reversed(iterations[half:])), rules)
    return [found for found in (early, late) if found is not None]


def _openings_of(folders: Sequence[Path], rules: Rules) -> Openings | None:
    """Return the openings of the games of some iterations, taken in this order until there are enough."""
    counts = {side: np.zeros(rules.cells) for side in SIDES}
    first: Counter[int] = Counter()
    games, used = 0, []
    alike = action_symmetries(rules.size)
    for folder in folders:
        if games >= MOST_GAMES:
            break
        try:
            shard = load_file(folder / "shard.safetensors")
            offsets, moves = shard["move_offsets"], shard["moves"]
            whole = np.flatnonzero((shard["missing"] == 0) & (shard["layout"] == 0))
        except (OSError, SafetensorError, KeyError, ValueError):
            continue
        used.append(int(folder.name))
        for game in whole:
            line = moves[offsets[game] : offsets[game + 1]][:PLIES]
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
