"""`evaluate.py --suite`: how often a player keeps a win that is there, by solved positions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from arena.command_line import busy, check_players, choose_rules, progress_bar, tell_written, write_result
from arena.player_text import read_player
from arena.players import default_player, parse_player
from arena.suite import OPEN_NODES, Share, SuiteResult, load_suite, read_suite, run_suite
from env.rules import SIDES

NEWEST = True
"""What `--suite` without a file stands for: the newest suite of the game."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the option that asks for this mode."""
    group = parser.add_argument_group("solved positions: one move in each, does it keep the win?")
    group.add_argument(
        "--suite", nargs="?", type=Path, const=NEWEST, metavar="FILE", help="a suite (default: the game's newest)"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Asks and reports.

    Raises:
        ValueError: something asked for cannot be; the player has not been asked anything.
    """
    # A file says by itself which game it is of.
    suite = None if options.suite is NEWEST else read_suite(options.suite, options.game)
    game = options.game if suite is None else suite.rules.name
    text = options.player or default_player(game)
    parts = [read_player(text)]
    check_players(options, parts)
    rules = choose_rules(game, parts)
    suite = suite or load_suite(rules)
    with busy(console, "loading the player"):
        player = parse_player(
            text, rules, simulations=options.simulations, device=options.device, threads=options.threads
        )
        # The first move may have to compile kernels, which is not to be counted as thinking.
        player.choose([suite.entries[0].game(rules)])
    with suite_progress(console) as progress:
        result = run_suite(player, suite, options.seed, progress)
    written = write_result(options.json, result.to_json())
    console.print(suite_table(result))
    for note in suite_notes(result):
        console.print(note)
    if not tell_written(console, options.json, written):
        return 1
    return 130 if result.interrupted else 0


@contextmanager
def suite_progress(console: Console) -> Iterator[Callable[[int, int, int], None]]:
    """Shows a bar of the positions answered; yields what `run_suite` is to tell about its progress."""
    with progress_bar(console, "positions ·") as show:

        def told(answered: int, positions: int, kept: int) -> None:
            show(answered, positions, f"kept so far {kept / answered:.1%}")

        yield told


def suite_table(result: SuiteResult) -> Group:
    """The shares kept, a row for each length and one for all, a column for each side that wins and one for both."""
    title = Text(f"{result.player} in {result.suite.name}", style="bold", overflow="fold")
    about = Text(f"{result.suite.rules.title}, {len(result.answers)} solved positions, seed {result.seed}")
    table = Table()
    table.add_column("win kept")
    columns = (*SIDES, None)
    for side in columns:
        table.add_column("overall" if side is None else f"as {side}", justify="right")
    lengths = result.lengths
    for plies in lengths:
        row = [_of(result.share(side, plies)) for side in columns]
        table.add_row(f"wins in {plies} plies", *row, end_section=plies == lengths[-1])
    table.add_row("all", *(_of(result.share(side)) for side in columns), style="bold")
    table.add_row("95 % interval", *(_interval(result.share(side)) for side in columns), end_section=True)
    table.add_row("seconds a move", "", "", f"{result.seconds_per_move:.3g}")
    return Group(title, about, table)


def suite_notes(result: SuiteResult) -> list[str]:
    """What has to be said beside the table, a sentence each."""
    notes = []
    if result.unsettled:
        notes.append(
            f"Of {result.unsettled} the solver cannot tell in {OPEN_NODES:,} nodes whether they keep the win; "
            "a share is from what is shown to be kept to what may be."
        )
    if result.interrupted:
        notes.append(
            f"Interrupted: {len(result.answers)} of {len(result.suite.entries)} positions were answered, in the order "
            "of the file, so these shares are not those of the whole suite."
        )
    return notes


def _of(share: Share) -> str:
    return "-" if share.share is None else f"{share.text} of {share.positions}"


def _interval(share: Share) -> str:
    if share.share is None:
        return "-"
    low, high = share.reach
    return f"{low:.1%} to {high:.1%}"
