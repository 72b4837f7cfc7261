"""A report of a run: one HTML page that stands alone, its pictures as PNG, and its numbers as JSON.

    DIR/index.html     the page, with everything in it
        report.json    the numbers, and the mark by which a later report knows what it may replace
        *.png          the pictures

The folder is made under another name and renamed when it is complete, so that it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from arena.ladder import Ladder
from arena.report_game import SampleGame
from arena.report_host import version
from arena.report_run import RunData
from arena.report_sections import report_html
from arena.suite import Share
from env.files import wrong_name

MARK = "branan report"
PAGE, NUMBERS = "index.html", "report.json"
BLUNDERS = 3


class ReportError(ValueError):
    """A report that cannot be written; one sentence says why."""


@dataclass(frozen=True)
class SuiteSummary:
    """How a checkpoint did on solved positions.

    Attributes:
        suite, player: their names.
        rows: by length in plies (`None`: all), then by side.
        blunders: position's number, side to play, plies of the win, move played, moves that win, and both pictures.
        given_away: how many wins are shown to be gone.
        unsettled: moves of which the solver could not tell.
        nodes: that it might spend on a question.
        asked: positions of the suite; more than answered where it was interrupted.
    """

    suite: str
    player: str
    rows: dict[int | None, dict[str, Share]]
    blunders: list[tuple[int, str, int, str, list[str], Image.Image, Image.Image]] = field(default_factory=list)
    given_away: int = 0
    unsettled: int = 0
    nodes: int = 0
    asked: int = 0


@dataclass
class Report:
    """Everything that a report tells.

    Attributes:
        ladder: the ratings.
        run: the run's data; `None` for a checkpoint alone.
        suite: solved positions; `None` where there are none, `suite_note` says why.
        sample: an annotated game; `None` where the ladder has no decided one.
        command: that made the report.
        more: the command that plays as many games again for each of its checkpoints.
    """

    ladder: Ladder
    run: RunData | None
    suite: SuiteSummary | None
    sample: SampleGame | None
    command: str
    more: str
    suite_note: str = ""
    notes: list[str] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)


def check_folder(folder: Path) -> None:
    """Refuses what a report may not be written to, or over.

    Raises:
        ReportError: naming it.
    """
    if problem := wrong_name(folder):
        raise ReportError(f"--report: no folder can have this name: {problem}")
    if not folder.absolute().parent.is_dir():
        raise ReportError(f"--report {folder}: the folder {folder.absolute().parent} does not exist")
    if not os.access(folder.absolute().parent, os.W_OK):
        raise ReportError(f"--report {folder}: the folder {folder.absolute().parent} cannot be written to")
    if not folder.exists():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ReportError(f"--report {folder}: there is something of that name that is not a folder")
    if any(folder.iterdir()) and not _is_report(folder):
        raise ReportError(f"--report {folder}: that folder holds something else than a report; name another")


def write_report(report: Report, folder: Path) -> None:
    """Writes a report's folder, whole or not at all; an older report there is replaced.

    Raises:
        ReportError: something else is there.
        OSError: it cannot be written; what was there is still there.
    """
    check_folder(folder)
    target = folder.absolute()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.mkdir()
        files = {PAGE: report_html(report).encode(), **report.pictures}
        files[NUMBERS] = (json.dumps(_numbers(report, sorted(files)), indent=1) + "\n").encode()
        for name, data in files.items():
            with (draft / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        if target.exists():
            old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
            os.rename(target, old)
            try:
                os.rename(draft, target)
            except BaseException:
                os.rename(old, target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _is_report(folder: Path) -> bool:
    """Return whether a folder holds a report and nothing else."""
    try:
        said = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
        return said["mark"] == MARK and {path.name for path in folder.iterdir()} <= {*said["files"], NUMBERS}
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _numbers(report: Report, files: Sequence[str]) -> dict[str, Any]:
    suite = report.suite
    return {
        "mark": MARK,
        "files": list(files),
        "date": time.strftime("%Y-%m-%d"),
        "version": version(),
        "command": report.command,
        "ladder": report.ladder.to_json(),
        "suite": None
        if suite is None
        else {
            "suite": suite.suite,
            "player": suite.player,
            "kept": {
                "all" if plies is None else str(plies): {
                    side: [row.kept, row.positions, *row.reach, row.open] for side, row in by_side.items()
                }
                for plies, by_side in suite.rows.items()
            },
        },
    }
