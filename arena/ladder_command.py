"""`evaluate.py --ladder RUN`: a run's checkpoints on the scale of the known players."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from arena.anchors import load_anchors
from arena.command_line import busy, progress_bar, tell_written, write_result
from arena.ladder import BATCH, Ladder, find_rungs, play_ladder, whole_batches
from arena.ladder_games import GamesNotKept, GameStore, LadderError
from arena.match import Standing
from arena.openings import load_openings
from arena.players import SIMULATIONS
from arena.rating import Estimate, Rating, SideRating
from env.rules import SIDES, Rules, get_rules

GAMES = 64
CHECKPOINTS = 12
MOST_CHECKPOINTS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that belong to the ladder."""
    group = parser.add_argument_group("ratings: a run's checkpoints against known players, games kept in the run")
    group.add_argument("--ladder", type=Path, metavar="RUN", help="a run's folder, or a single checkpoint")
    group.add_argument(
        "--checkpoints",
        type=int,
        metavar="N",
        default=CHECKPOINTS,
        help=f"how many, evenly spaced over the run (default: {CHECKPOINTS})",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Plays what is missing, and tells.

    Raises:
        ValueError: something asked for cannot be; nothing has been played.
    """
    if options.player is not None:
        raise ValueError(f"--ladder rates the checkpoints of a run, and PLAYER ({options.player}) has no part in it")
    try:
        ladder, notes = make_ladder(options, options.ladder, console, GAMES if options.games is None else options.games)
    except GamesNotKept as error:
        print(f"evaluate.py: the games cannot be kept: {error}", file=sys.stderr)
        return 1
    written = write_result(options.json, ladder.to_json())
    console.print(ladder_table(ladder))
    for note in notes + ladder_notes(ladder):
        console.print(note)
    if not tell_written(console, options.json, written):
        return 1
    return 130 if ladder.interrupted else 0


def make_ladder(options: argparse.Namespace, source: Path, console: Console, games: int) -> tuple[Ladder, list[str]]:
    """Returns the ladder of a run or checkpoint, its missing games played, and notes about what was found damaged.

    Args:
        options: of the command line; `checkpoints` and those that all modes share are used.
        source: the run or checkpoint.
        console: for a progress bar.
        games: wanted of each checkpoint.

    Raises:
        ValueError: something asked for cannot be.
        GamesNotKept: games cannot be kept.
    """
    check_fit_library()
    if not 1 <= options.checkpoints <= MOST_CHECKPOINTS:
        raise ValueError(f"--checkpoints {options.checkpoints}: allowed are 1 to {MOST_CHECKPOINTS}")
    with tempfile.TemporaryDirectory(prefix="branan-ladder-") as copies:
        notes: list[str] = []
        with busy(console, "looking at the checkpoints"):
            rungs = find_rungs(source, Path(copies), options.checkpoints, notes)
        rules = game_of([rung.game for rung in rungs], source, options.game)
        known = load_anchors(rules, options.layout)
        openings = load_openings(rules, options.layout)
        with GameStore(source if source.is_dir() else None) as store, ladder_progress(console) as progress:
            ladder = play_ladder(
                source,
                rungs,
                rules,
                known,
                openings,
                store,
                games=games,
                simulations=options.simulations or SIMULATIONS,
                seed=options.seed,
                device=options.device,
                threads=options.threads,
                progress=progress,
            )
    if (wanted := whole_batches(games)) != games:
        notes.append(f"--games {games} makes {wanted} of each checkpoint: they are played in batches of {BATCH}.")
    return ladder, notes + store.notes


def check_fit_library() -> None:
    """Refuses to play games for ratings that could not be fitted.

    Raises:
        LadderError: statsmodels is missing.
    """
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        raise LadderError("ratings need statsmodels: pip install -c constraints.txt -e '.[report]'") from None


def game_of(games: list[str], source: Path, wanted: str | None) -> Rules:
    """The game that all checkpoints play.

    Raises:
        LadderError: they play several, or not the one wanted.
    """
    found = set(games)
    if len(found) > 1:
        raise LadderError(f"{source} holds checkpoints of several games: {', '.join(sorted(found))}")
    (name,) = found
    if wanted not in (None, name):
        raise LadderError(f"{source} plays {name}, not {wanted}")
    return get_rules(name)


@contextmanager
def ladder_progress(console: Console) -> Iterator[Callable[[str, int, int, Standing], None]]:
    """Shows a bar of the games played; yields what `play_ladder` is to tell about its progress."""
    with progress_bar(console, "games · now") as show:

        def told(name: str, done: int, total: int, standing: Standing) -> None:
            show(done + standing.ended, total, name)

        yield told


def ladder_table(ladder: Ladder) -> Group:
    """The ratings as a table, the strongest first, the known players among them."""
    title = Text(f"{ladder.source}", style="bold", overflow="fold")
    subtitle = Text(
        f"{ladder.rules.title}, layout {ladder.layout}, openings {ladder.known.openings}, {ladder.simulations} "
        f"simulations a move, anchors {ladder.known.name}"
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("player", overflow="fold", min_width=20)
    for heading in ("core-min", "overall", *(f"as {side}" for side in SIDES), "games"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows: list[tuple[tuple[float, float], list[str], str]] = []
    for rung in ladder.rungs:
        if (rating := ladder.ratings.get(rung.name)) is None:
            continue
        assert rating.overall is not None  # every batch has games of both sides
        cells = [
            rung.name,
            f"{rung.core_minutes:.1f}" if rung.core_minutes else "-",
            estimate_text(rating.overall, rating.open_end),
            *(side_text(rating.side(side)) for side in SIDES),
            str(rating.attackers.games + rating.defenders.games),
        ]
        rows.append((standing(rating), cells, ""))
    for name, parts in ladder.known.estimates.items():
        cells = [name, "", *(f"{parts[part].elo:.0f}" for part in ("overall", *SIDES)), ""]
        rows.append(((parts["overall"].elo, parts["overall"].high), cells, "dim"))
    for _, cells, style in sorted(rows, key=lambda row: row[0], reverse=True):
        table.add_row(*cells, style=style)
    return Group(title, subtitle, table)


def standing(rating: Rating) -> tuple[float, float]:
    """What rows are sorted by: the overall rating as far as games show it, then the interval's upper end.

    Who won everything stands at the lower end of the interval; who lost everything as a side is not shown to beat
    anybody, and stands below all others.
    """
    assert rating.overall is not None
    overall = rating.overall
    shown = {None: overall.elo, "high": overall.low}.get(rating.open_end, -math.inf)
    return shown, overall.high


def estimate_text(estimate: Estimate, open_end: str | None = None) -> str:
    """A rating with the half width of its interval, in whole points; where an end is open, the other one."""
    if open_end is not None:
        ends = {"low": f"< {estimate.high:.0f}", "high": f"> {estimate.low:.0f}"}
        return ends.get(open_end, "?")
    return f"{estimate.elo:.0f} ±{(estimate.high - estimate.low) / 2:.0f}"


def side_text(rating: SideRating) -> str:
    """A rating as one side; only a bound where every game was won or lost."""
    return "-" if rating.estimate is None else estimate_text(rating.estimate, rating.open_end)


def ladder_notes(ladder: Ladder) -> list[str]:
    """What has to be said beside the table, a sentence each."""
    notes = [
        "Elo points above random play, which is 0 as either side; 95 % intervals given the anchors (dim), which stay "
        f"where they are. {ladder.games} games."
    ]
    ratings = ladder.ratings.values()
    if any(rating.side(side).open_end for rating in ratings for side in SIDES):
        notes.append(
            "< and >: as that side (or one of them) every game was lost or won, so there is no rating, only the end of "
            "the interval that games bound. Whoever is `<` is not shown to beat anybody, and stands below all others."
        )
    if len(ladder.rungs) == 1 and ladder.source.is_dir():
        notes.append(
            "There is one checkpoint to be seen: a run keeps another every run.checkpoint_every iterations, for the "
            "ladder to tell how it has improved."
        )
    if ladder.interrupted:
        notes.append("Interrupted: the games that were going on are forgotten, all others are kept.")
    return notes
