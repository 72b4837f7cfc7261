"""A match for people: a progress bar while it runs, a table when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from arena.command_line import progress_bar
from arena.match import AT_ONCE
from arena.match_result import ROLES, UNFINISHED, MatchResult, Standing
from arena.player_text import ENGINE
from arena.sprt import SprtResult
from env.rules import SIDES

MOST_FAULTS = 5
_NAMES = {"player": "first player", "opponent": "opponent"}


@contextmanager
def match_progress(console: Console) -> Iterator[Callable[[Standing], None]]:
    """Shows a bar of the games that are over; yields what `play_match` is to tell about its progress."""
    with progress_bar(console, "games over ·") as show:

        def told(standing: Standing) -> None:
            score = f"score so far {standing.points / standing.ended:.1%}" if standing.ended else "none over yet"
            note = ", ".join(part for part in (f"{standing.plies:,} plies", score, standing.note) if part)
            show(standing.ended, standing.games, note)

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
    for role, name in _NAMES.items():
        for kind, count in result.faults[role].items():
            table.add_row(f"forfeited by the {name}: {kind}", "", "", str(count))
    if any(result.faults.values()):
        table.add_section()
    for role, name in _NAMES.items():
        times = result.times[role]
        table.add_row(f"seconds, {name}", "", "", f"{result.seconds.get(role, 0.0):.1f}")
        table.add_row("... mean, longest move", "", "", f"{times.mean:.3f}, {times.longest:.3f}")
    return Group(players, played, table)


def match_notes(result: MatchResult, asked: int, openings: int, at_once: int = AT_ONCE) -> list[str]:
    """What has to be said beside the table, a sentence each.

    Args:
        result: the match.
        asked: games that were asked for.
        openings: how many openings there were to choose from.
        at_once: games that went at a time.
    """
    notes = []
    faulty = [game for game in result.played if game.fault is not None]
    pairs = (result.planned if result.sprt is None else result.games) // 2
    if asked != result.planned:
        notes.append(f"{asked} games were asked for; {result.planned} make whole pairs (each opening from both sides).")
    if pairs > openings:
        notes.append(f"{pairs} pairs share {openings} openings: some were played more than once.")
    if result.distinct < result.games:
        notes.append(
            f"Only {result.distinct} of {result.games} games differ; a pair that repeats another does not narrow the "
            "interval."
        )
    for game in faulty[:MOST_FAULTS]:
        name = _NAMES[ROLES[int(game.score)]]
        notes.append(f"Game {game.number + 1}, forfeited by the {name}: {game.fault}.")
    if len(faulty) > MOST_FAULTS:
        notes.append(f"{len(faulty) - MOST_FAULTS} more games were forfeited; the records tell why.")
    if any(name.startswith(f"{ENGINE}:") for name in (result.player, result.opponent)):
        notes.append("The time of a program's first move has its loading in it.")
    if result.sprt is not None:
        notes += _sprt_notes(result.sprt, result)
    if result.interrupted:
        notes.append(
            f"Interrupted: {result.games} of {result.planned} games were over. "
            + ("Short games end first, so this score leans to whoever wins quickly; the" if at_once > 1 else "The")
            + " overall interval takes whole pairs only."
        )
    return notes


def _sprt_notes(sprt: SprtResult, result: MatchResult) -> list[str]:
    elo0, elo1 = sprt.elo
    low, high = sprt.bounds
    found = {
        "H0": f"H0 accepted: at these error rates the difference is taken to be {elo0:g} rather than {elo1:g}",
        "H1": f"H1 accepted: at these error rates the difference is taken to be {elo1:g} rather than {elo0:g}",
        "": "undecided",
    }[sprt.accepted]
    counts = ", ".join(str(count) for count in sprt.counts)
    notes = [
        f"Sequential test of {elo0:g} against {elo1:g} Elo (logistic, of pairs): {found}; LLR {sprt.llr:.2f} in "
        f"({low:.2f}, {high:.2f}), alpha {sprt.errors[0]:g}, beta {sprt.errors[1]:g}; {sum(sprt.counts)} pairs with 0, "
        f"1/2, 1, 1 1/2, 2 points: {counts}."
    ]
    if sprt.decided:
        notes.append(
            "A match that stops when it is sure stops at a lucky moment: score and interval lean to the side that was "
            "found, and only the decision keeps its error rates."
        )
    if sprt.taken > sum(sprt.counts):
        notes.append(f"{sprt.taken - sum(sprt.counts)} pairs repeated earlier ones and were not taken by the test.")
    return notes


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{score:.1%}"
