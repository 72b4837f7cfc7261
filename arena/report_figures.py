"""The curves of a report, drawn by matplotlib without a display.

Each figure is made once and written twice: as PNG, and as SVG whose ink is `currentColor`, so that a page shows it by
day and by night. Sides differ by colour and by mark.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from arena.anchors import Known
from arena.ladder import Ladder
from arena.player_text import ALPHABETA
from arena.report_game import SampleGame
from arena.report_run import RunData
from env.rules import SIDES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {SIDES[0]: "#c8553d", SIDES[1]: "#3f88c5", "overall": "#7a7f87"}
MARKS = {SIDES[0]: "s", SIDES[1]: "o", "overall": "D"}
INK = "#1b1e23"
SIZE = (5.4, 3.5)
WIDE = (8.2, 3.0)
_MOST_POINTS = 400


class MissingMatplotlib(ValueError):
    """Reports need matplotlib, and it is not there."""


def check_matplotlib() -> None:
    """Refuses to begin a report that could not be drawn.

    Raises:
        MissingMatplotlib: with the command that installs it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingMatplotlib("a report needs matplotlib: pip install -c constraints.txt -e '.[report]'") from None


def rating_figure(ladder: Ladder, side: str, by: str) -> Figure:
    """Rating as one side with its interval, against `by`, "core-minutes" or "positions"; known players are dashed."""
    figure, axes = _figure(SIZE)
    points = []
    for rung in ladder.rungs:
        rating = ladder.ratings.get(rung.name)
        estimate = None if rating is None else rating.side(side).estimate
        if estimate is not None:
            at = rung.core_minutes if by == "core-minutes" else rung.positions
            points.append((at, estimate, rating.side(side).open_end if rating else None))
    x = [at for at, _, _ in points]
    # A bound is no rating: the curve has a gap there, and an arrow away from the end that is known.
    y = [math.nan if end else estimate.elo for _, estimate, end in points]
    low = [math.nan if end else estimate.low for _, estimate, end in points]
    high = [math.nan if end else estimate.high for _, estimate, end in points]
    bounds = [(at, e.high if end == "low" else e.low, end) for at, e, end in points if end]
    colour = COLOURS[side]
    for at, bound, end in bounds:
        axes.plot([at], [bound], "_", ms=8, mew=1.6, color=colour)
        axes.annotate(
            "", (at, bound), (0, -16 if end == "low" else 16), textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": colour, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    if len(points) > 1:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(x, y, MARKS[side] + "-", ms=4.5, lw=1.6, color=colour)
    else:
        axes.errorbar(x, y, [[y[0] - low[0]], [high[0] - y[0]]], fmt=MARKS[side], color=colour, capsize=4)
    ends = [each for each in (*low, *high, *(bound for _, bound, _ in bounds)) if not math.isnan(each)]
    _known_lines(axes, ladder.known, side, min(ends), max(ends))
    axes.set(xlabel="core-minutes of training" if by == "core-minutes" else "positions of self-play", ylabel="Elo")
    if by == "positions":
        axes.xaxis.set_major_formatter(lambda value, _: short(value))
    return figure


def _known_lines(axes: Axes, known: Known, side: str, low: float, high: float) -> None:
    """Draw the known players' ratings as dashed lines with names, as far as they are near the points."""
    ratings = sorted((parts[side].elo, name) for name, parts in known.estimates.items())
    axes.set_ylim(low - 60, high + 60)
    bottom, top = axes.get_ylim()
    last = -1e9
    for elo, name in ratings:
        if not bottom <= elo <= top:
            continue
        axes.axhline(elo, ls=(0, (4, 3)), lw=0.9, color=INK, alpha=0.55, zorder=1)
        at = max(elo, last + (top - bottom) * 0.05)  # names of near lines make way upwards
        axes.annotate(
            name.removeprefix(f"{ALPHABETA}:").replace("=", " "), (1.01, at), xycoords=("axes fraction", "data"),
            ha="left", va="center", fontsize=8, color=INK, annotation_clip=False,
        )  # fmt: skip
        last = at


def share_figure(run: RunData) -> Figure:
    """Who won the run's own games, over its training, and how much more the attackers searched."""
    figure, axes = _figure(SIZE)
    for side in SIDES:
        x, _, y = run.column(f"selfplay/{side}_win_share")
        axes.plot(*_thinned(x, smooth(y)), color=COLOURS[side], lw=1.6, label=side)
    x, _, draws = run.column("selfplay/draws")
    if any(share > 0.005 for share in draws):
        axes.plot(*_thinned(x, smooth(draws)), color=COLOURS["overall"], lw=1.2, ls="--", label="drawn")
    axes.set(ylim=(0, 1), xlabel="core-minutes of training", ylabel="share of self-play games won")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def length_figure(run: RunData) -> Figure:
    """How long the run's own games were."""
    figure, axes = _figure(SIZE)
    x, _, y = run.column("selfplay/game_length")
    axes.plot(*_thinned(x, smooth(y)), color=COLOURS["overall"], lw=1.6)
    axes.set(xlabel="core-minutes of training", ylabel="plies a game")
    axes.set_ylim(bottom=0)
    return figure


def chances_figure(sample: SampleGame) -> Figure:
    """The attackers' chances over a game, with the moments that are shown."""
    figure, axes = _figure(WIDE)
    plies = list(range(len(sample.chances)))
    axes.axhline(0.5, lw=0.8, color=INK, alpha=0.4)
    above = [max(chance, 0.5) for chance in sample.chances]
    below = [min(chance, 0.5) for chance in sample.chances]
    axes.fill_between(plies, above, 0.5, color=COLOURS[SIDES[0]], alpha=0.35, lw=0, step=None)
    axes.fill_between(plies, below, 0.5, color=COLOURS[SIDES[1]], alpha=0.35, lw=0, step=None)
    axes.plot(plies, sample.chances, color=INK, lw=1.3)
    for number, moment in enumerate(sample.moments, start=1):
        at = moment.game.ply
        axes.plot([at], [sample.chances[at]], "o", ms=11, color=COLOURS["overall"])
        axes.annotate(
            str(number), (at, sample.chances[at]), ha="center", va="center", fontsize=8, color="#ffffff", weight="bold"
        )
    if sample.given:
        axes.axvspan(0, sample.given, color=INK, alpha=0.08, lw=0)
    axes.set(xlim=(0, max(1, len(plies) - 1) * 1.02), ylim=(-0.06, 1.06), xlabel="ply", ylabel="attackers' chances")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return figure


def png(figure: Figure) -> bytes:
    """A figure as PNG, dark on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, facecolor="white")
    return buffer.getvalue()


def svg(figure: Figure, name: str, alternative: str) -> str:
    """A figure as SVG to stand in a page: its ink is the page's, its identifiers are its own.

    Args:
        figure: the figure.
        name: unique in the page.
        alternative: what there is to see, in words.
    """
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>", r'<svg viewBox="\1" role="img" aria-label="@@">', text, count=1
    )
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'href="#{name}-\2"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    text = text.replace(INK, "currentColor")
    return text.replace("@@", alternative.replace("&", "&amp;").replace('"', "&quot;"))


def short(value: float) -> str:
    """A number of some size in few signs: 1.5M, 300k."""
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{sign}"
    return f"{value:.0f}"


def smooth(values: Sequence[float]) -> list[float]:
    """Running means, over a fiftieth of the values and at least one."""
    width = max(1, len(values) // 50)
    return [sum(values[max(0, i - width + 1) : i + 1]) / (i + 1 - max(0, i - width + 1)) for i in range(len(values))]


def _thinned(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return at most some hundred points, the last among them: more cannot be seen."""
    step = -(-len(x) // _MOST_POINTS) or 1
    keep = list(range(0, len(x), step))
    if x and keep[-1] != len(x) - 1:
        keep.append(len(x) - 1)
    return [x[i] for i in keep], [y[i] for i in keep]


def _figure(size: tuple[float, float]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    axes.grid(alpha=0.22, color=INK, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.tick_params(colors=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes
