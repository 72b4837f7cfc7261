"""A match for people: a progress bar while it runs, a table when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from arena.match import UNFINISHED, MatchResult, Standing
from env.rules import SIDES


@contextmanager
def match_progress(console: Console) -> Iterator[Callable[[Standing], None]]:
    """Shows a bar of the games that are over; yields what `play_match` is to tell about its progress."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("games over · {task.fields[note]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, note="starting")

        def told(standing: Standing) -> None:
            score = f"score so far {standing.points / standing.ended:.1%}" if standing.ended else "none over yet"
            note = f"{standing.plies:,} plies, {score}"
            progress.update(task, total=standing.games, completed=standing.ended, note=note)

        yield told


def match_table(result: MatchResult) -> Group:
    """The match's result as a table, one column for each side of the first player and one for both."""
    players = Text(f"{result.player} against {result.opponent}", style="bold", overflow="fold")
    played = Text(f"{result.rules.title}, layout {result.layout}, openings {result.openings}, seed {result.seed}")
    table = Table()
    table.add_column("")
    columns = (*SIDES, "overall")
    for column in columns:
        table.add_column(column if column == "overall" else f"as {column}", justify="right")
    score = result.score
    table.add_row("score", *(_percent(score[column]) for column in columns), style="bold")
    intervals = (*result.intervals.values(), result.interval)
    table.add_row("95 % interval", *(f"{low:.1%} to {high:.1%}" for low, high in intervals), end_section=True)
    by_side = [result.results(side) for side in (*SIDES, None)]
    for kind in ("won", "drawn", "lost", UNFINISHED):
        table.add_row(kind, *(str(counts[kind]) for counts in by_side))
    table.add_row("games", *(str(sum(counts.values())) for counts in by_side))
    table.add_row("distinct games", "", "", str(result.distinct), end_section=True)
    lengths = result.lengths
    for key in ("mean", "min", "max"):
        table.add_row(f"plies, {key}", "", "", f"{lengths[key]:.1f}" if key == "mean" else str(lengths[key]))
    for number, (reason, count) in enumerate(result.ends.items(), start=1):
        table.add_row(f"ended: {reason.replace('_', ' ')}", "", "", str(count), end_section=number == len(result.ends))
    for role, name in (("player", "first player"), ("opponent", "opponent")):
        table.add_row(f"seconds, {name}", "", "", f"{result.seconds.get(role, 0.0):.1f}")
    return Group(players, played, table)


def match_notes(result: MatchResult, asked: int, openings: int) -> list[str]:
    """What has to be said beside the table, a sentence each.

    Args:
        result: the match.
        asked: games that were asked for.
        openings: how many openings there were to choose from.
    """
    notes = []
    pairs = result.planned // 2
    if asked != result.planned:
        notes.append(f"{asked} games were asked for; {result.planned} make whole pairs (each opening from both sides).")
    if pairs > openings:
        notes.append(f"{pairs} pairs share {openings} openings: some were played more than once.")
    if result.distinct < result.games:
        notes.append(
            f"Only {result.distinct} of {result.games} games differ; a pair that repeats another does not narrow the "
            "interval."
        )
    if result.interrupted:
        notes.append(
            f"Interrupted: {result.games} of {result.planned} games were over. Short games end first, so this score "
            "leans to whoever wins quickly; the overall interval takes whole pairs only."
        )
    return notes


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{score:.1%}"
