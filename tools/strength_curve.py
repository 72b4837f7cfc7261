"""Draw how a run's strength grew with the compute it had spent, for each side.

python tools/strength_curve.py runs/NAME --out docs/images/strength.png

Every measurement that a run makes of itself (`measure` in its settings) is a point, with the 95 % interval of its games
(Wilson 1927). Below lie the run's own games: who won them, and how many times the defenders' simulations the attackers
had. Needs matplotlib, which is in the extra `report`.
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


def points(rows: Sequence[dict[str, Any]], side: str, games: int) -> list[tuple[float, float, float, float]]:
    """Return (core-minutes, score, lower, upper end of the interval) of each measurement, `games` being a side's."""
    return [
        (row["charts/core_minutes"], row[f"strength/{side}"], *wilson(row[f"strength/{side}"], games))
        for row in rows
        if f"strength/{side}" in row and row["learner_steps"]
    ]


def draw(rows: Sequence[dict[str, Any]], config: RunConfig, out: Path) -> None:
    """Draw the picture of one run to `out` (PNG or SVG)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6.4), layout="constrained")
    strength, shares, ratio = figure.subplots(3, sharex=True, height_ratios=(3, 1.2, 1))
    for side, colour in COLOURS.items():
        measured = points(rows, side, config.measure.games)
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
        rows = [json.loads(line) for line in (options.run / "metrics.jsonl").read_text().splitlines()]
        config = read_config(options.run / "config.yaml")
        draw(rows, config, options.out)
    except ImportError:
        print(
            "strength_curve.py: matplotlib is missing: pip install -c constraints.txt -e '.[report]'", file=sys.stderr
        )
        return 2
    except (OSError, ValueError, KeyError, ConfigError) as error:
        print(f"strength_curve.py: {options.run}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
