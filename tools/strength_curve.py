"""Draw how a run's strength grew with the compute it had spent, for each side.

python tools/strength_curve.py runs/NAME --out docs/images/strength.png

Every measurement that a run makes of itself (`measure` in its settings) is a point, with the 95 % interval of its games
(Wilson 1927). Below lie the run's own games: who won them, and the handicap: how many times the defenders' simulations
the attackers had, or at what temperature either side moved. Needs matplotlib, which is in the extra `report`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.interval import wilson
from training.config import RunConfig
from training.config_file import ConfigError, read_config

COLOURS = {"attackers": "#9a3b26", "defenders": "#2f6690"}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's metrics.jsonl.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds none, or something else; the message says which line.
    """
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or any(type(value) not in (int, float) for value in row.values()):
            raise ValueError(f"line {number} of {path.name} is no row of metrics; `train.py --resume` mends the file")
        rows.append(row)
    if not rows:
        raise ValueError(f"{path.name} is empty: the run has not made an iteration yet")
    return rows


def final_games(path: Path) -> int | None:
    """Return the games of a side in the measurement that ended a run, by its result.json; None where none did."""
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["score"]["games"]) // 2
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def points(
    rows: Sequence[dict[str, Any]], side: str, games: int, final: int | None = None
) -> list[tuple[float, float, float, float]]:
    """Return (core-minutes, score, lower, upper end of the interval) of each measurement.

    Args:
        rows: of the run's metrics.
        side: whose scores.
        games: a side's in a measurement.
        final: a side's in that of the last row, where the run ended with one.
    """
    played = [(row, final or games if row is rows[-1] else games) for row in rows]
    return [
        (row["charts/core_minutes"], row[f"strength/{side}"], *wilson(row[f"strength/{side}"], count))
        for row, count in played
        if f"strength/{side}" in row and row["learner_steps"]
    ]


def draw(rows: Sequence[dict[str, Any]], config: RunConfig, out: Path, final: int | None = None) -> None:
    """Draw the picture of one run to `out` (PNG or SVG); `final` as of `points`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6.4), layout="constrained")
    strength, shares, ratio = figure.subplots(3, sharex=True, height_ratios=(3, 1.2, 1))
    for side, colour in COLOURS.items():
        measured = points(rows, side, config.measure.games, final)
        minutes, scores, lower, upper = zip(*measured) if measured else ((), (), (), ())
        strength.fill_between(
            minutes, [100 * x for x in lower], [100 * x for x in upper], color=colour, alpha=0.15, lw=0
        )
        strength.plot(minutes, [100 * x for x in scores], "o-", ms=4, color=colour, label=f"as {side}")
    strength.set(ylim=(-2, 102), ylabel="score, %", title=f"{config.game}: strength against {config.measure.opponent}")
    strength.legend(loc="lower right", frameon=False)
    played = [row for row in rows if "selfplay/attackers_win_share" in row]
    minutes = [row["charts/core_minutes"] for row in played]
    for side, colour in COLOURS.items():
        wins = [100 * row[f"selfplay/{side}_win_share"] for row in played]
        shares.plot(minutes, wins, color=colour, lw=0.8)
    shares.set(ylim=(0, 100), ylabel="self-play\nwon, %")
    if any("selfplay/defenders_temperature" in row for row in played):
        for side, colour in COLOURS.items():
            heat = [row.get(f"selfplay/{side}_temperature", 0.0) for row in played]
            ratio.plot(minutes, heat, color=colour, lw=1)
        ratio.set(ylabel="temperature\nof moves", xlabel="core-minutes of training")
    else:
        ratio.plot(minutes, [row["selfplay/attackers_budget"] for row in played], color="#555555", lw=1)
        ratio.set_yscale("log", base=2)
        ratio.set(ylabel="attackers'\nbudget, times", xlabel="core-minutes of training")
    for axes in (strength, shares, ratio):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    """Draws what the command line asks for; 2 for bad input."""
    parser = argparse.ArgumentParser(prog="strength_curve.py", description="Draw a run's strength against its compute.")
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="picture to write (.png or .svg)")
    options = parser.parse_args(argv)
    try:
        rows = read_rows(options.run / "metrics.jsonl")
        config = read_config(options.run / "config.yaml")
        draw(rows, config, options.out, final_games(options.run / "result.json"))
    except ImportError:
        print(
            "strength_curve.py: matplotlib is missing: pip install -c constraints.txt -e '.[report]'", file=sys.stderr
        )
        return 2
    except KeyError as error:
        print(f"strength_curve.py: {options.run}: a row of metrics.jsonl lacks {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError, ConfigError) as error:
        print(f"strength_curve.py: {options.run}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
