"""What every benchmark shares: the machine's name, one table, and the same numbers as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def machine(*packages: str) -> dict[str, str]:
    """Return what figures depend on: processor, cores this process may use, versions of Python and `packages`."""
    facts = {"processor": _processor(), "cores": str(_cores()), "system": platform.platform(terse=True)}
    facts["python"] = platform.python_version()
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "missing"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a command line with `--json F`, to which a benchmark adds its own options."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--json", type=Path, metavar="F", help="write the figures to this file, too")
    return options


def at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    """Return a type for an option: a finite number that is not below `least`."""

    def number(text: str) -> Any:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number of at least {least:g}")
        return value

    number.__name__ = "number"
    return number


def best_of(
    runs: int, measured: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Call a function some times; return the seconds of the fastest call, and what it returned.

    The fastest call is the one that other work on the machine disturbed least. For work of one thread,
    `clock=time.thread_time` counts only the seconds in which it ran.
    """
    fastest, result = float("inf"), None
    for _ in range(runs):
        start = clock()
        result = measured()
        fastest = min(fastest, clock() - start)
    return fastest, result


def report(title: str, facts: dict[str, str], rows: list[dict[str, Any]], target: Path | None) -> None:
    """Print rows that share their keys as a table, and write them with the machine's facts to `target` as JSON."""
    table = Table(title=title, caption=", ".join(f"{name} {value}" for name, value in facts.items()))
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*map(_shown, row.values()))
    Console().print(table)
    if target is not None:
        text = json.dumps({"benchmark": title, "machine": facts, "rows": rows}, indent=1)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.write_text(text + "\n", encoding="utf-8")
        os.replace(temporary, target)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
