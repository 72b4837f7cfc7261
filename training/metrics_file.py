"""metrics.jsonl: a row an iteration, made to fit what is on disk when a run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from env.files import write_whole


def append_row(path: Path, row: Mapping[str, int | float]) -> None:
    """Add a row at the end."""
    with path.open("a", encoding="utf-8") as file:
        file.write(row_text(row) + "\n")


def read_rows(path: Path, before: int) -> dict[int, str]:
    """Return the lines of all iterations before `before` that are whole; the last where there are several."""
    rows: dict[int, str] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            step = _step(line)
            if step is not None and step < before:
                rows[step] = line
    return rows


def row_text(row: Mapping[str, int | float]) -> str:
    """Return a row as a line of the file."""
    return json.dumps(row, allow_nan=False)


def write_rows(path: Path, rows: Mapping[int, str]) -> None:
    """Replace the file by the lines of `rows`, in the order of their iterations."""
    write_whole(path, "".join(rows[step] + "\n" for step in sorted(rows)).encode())


def _step(line: str) -> int | None:
    """Return the iteration of a row of metrics.jsonl, None where it is damaged."""
    try:
        row = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    # A number alone tells nothing of an iteration.
    if not isinstance(row, dict) or len(row) < 2 or any(type(value) not in (int, float) for value in row.values()):
        return None
    step = row.get("step")
    return step if type(step) is int and step > 0 else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
