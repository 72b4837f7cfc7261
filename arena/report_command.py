"""`evaluate.py --report DIR`: a page about a run that can be handed on."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from arena.command_line import tell_written, write_result
from arena.ladder import Ladder
from arena.ladder_command import CHECKPOINTS, ladder_notes, ladder_table, make_ladder
from arena.ladder_games import GamesNotKept
from arena.openings import load_openings
from arena.player_text import read_player
from arena.players import Player, default_player, parse_player
from arena.report import BLUNDERS, Report, SuiteSummary, check_folder, write_report
from arena.report_boards import position_picture
from arena.report_figures import check_matplotlib
from arena.report_game import annotate, choose_game
from arena.report_run import read_run
from arena.report_words import last_rung
from arena.suite import Share, SuiteError, load_suite, run_suite
from arena.suite_command import suite_progress
from env import Game, Rules
from env.paths import path_of
from env.rules import SIDES

GAMES = 32
"""Games of each checkpoint that a report sees to; what the run has already counts."""

NODES = 20_000
"""Nodes that the solver may spend on a question about an open move: a report is not to wait for minutes."""

THINKING = 400
"""Simulations with which the network looks at each position of the annotated game."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that belong to reports."""
    group = parser.add_argument_group("a report: an HTML page and PNGs about a run, its ratings included")
    group.add_argument("--report", type=Path, metavar="DIR", help="write it here (the run is PLAYER or --ladder RUN)")
    group.add_argument("--no-suite", action="store_true", help="leave the solved positions out")


def run(options: argparse.Namespace, console: Console) -> int:
    """Plays what ratings are missing, draws, writes.

    Raises:
        ValueError: something asked for cannot be; nothing has been written.
    """
    check_matplotlib()
    check_folder(options.report)
    if options.player is not None and options.ladder is not None:
        raise ValueError("a report is about one run: give PLAYER or --ladder RUN, not both")
    source = options.ladder or source_of(options.player or default_player(options.game))
    try:
        ladder, notes = make_ladder(options, source, console, GAMES if options.games is None else options.games)
        if ladder.interrupted:
            console.print("Interrupted: no report is written; the games that were played whole are kept.")
            return 130
        written = write_result(options.json, ladder.to_json())
        report = make_report(ladder, source, options, notes, console)
    except GamesNotKept as error:
        print(f"evaluate.py: the games cannot be kept: {error}", file=sys.stderr)
        return 1
    try:
        write_report(report, options.report)
    except OSError as error:
        print(f"evaluate.py: the report cannot be written: {error}", file=sys.stderr)
        return 1
    console.print(ladder_table(ladder))
    for note in notes + ladder_notes(ladder):
        console.print(note)
    console.print(f"report written to {options.report / 'index.html'}")
    return 0 if tell_written(console, options.json, written) else 1


def source_of(player: str) -> Path:
    """The run that a player's text means, or its checkpoint where it belongs to none.

    Raises:
        ValueError: it names no checkpoint.
    """
    folder = path_of(player)
    if not folder.is_dir():
        parts = read_player(player)
        if parts.path is None:
            raise ValueError(f"a report is about a run or a checkpoint, and {player} is neither")
        if parts.options:
            raise ValueError(f"{player}: a report takes --simulations for all checkpoints, none of one player")
        folder = parts.path
        if (folder.parent / "metrics.jsonl").is_file():
            return folder.parent
    return folder


def make_report(
    ladder: Ladder, source: Path, options: argparse.Namespace, notes: list[str], console: Console
) -> Report:
    """Gathers everything that a report tells beside the ratings."""
    run_data = read_run(source, ladder.rules) if source.is_dir() else None
    if run_data is not None:
        notes += run_data.notes
    rung = last_rung(ladder)
    path = _checkpoint_file(source, rung.name)
    more = _ladder_words(options, source, 2 * (GAMES if options.games is None else options.games))
    report = Report(ladder, run_data, None, None, _command(options, source), shlex.join(more), notes=notes)
    player = parse_player(
        f"{path}:simulations={ladder.simulations}", ladder.rules, device=options.device, threads=options.threads
    )
    if options.no_suite:
        report.suite_note = "Left out: the report was asked for with --no-suite."
    else:
        with suite_progress(console) as progress:
            report.suite, report.suite_note = look_at_suite(
                player, rung.name, ladder.rules, ladder.simulations, progress
            )
    if (chosen := choose_game(ladder)) is not None:
        rung, batch, game = chosen
        openings = load_openings(ladder.rules, options.layout)
        opening = next((each for each in openings if each.number == game.opening), None)
        given = len(opening.moves) if opening else 0
        thinker = parse_player(f"{_checkpoint_file(source, rung.name)}:simulations={THINKING}", ladder.rules,
                               device=options.device, threads=options.threads)  # fmt: skip
        report.sample = annotate(ladder, rung, batch, game, given, thinker)
    return report


def look_at_suite(
    player: Player,
    name: str,
    rules: Rules,
    simulations: int,
    progress: Callable[[int, int, int], None] | None = None,
) -> tuple[SuiteSummary | None, str]:
    """How a checkpoint does on the solved positions of its game, or why that cannot be told."""
    try:
        suite = load_suite(rules)
    except SuiteError as error:
        return None, f"{str(error)[:1].upper()}{str(error)[1:]}."
    try:
        result = run_suite(player, suite, progress=progress, nodes=NODES)
    except KeyboardInterrupt:
        return None, "Left out: it was interrupted before the first position was answered."
    rows: dict[int | None, dict[str, Share]] = {}
    for plies in (*result.lengths, None):
        rows[plies] = {}
        for side in (*SIDES, "both"):
            rows[plies][side] = result.share(None if side == "both" else side, plies)
    worst = sorted(result.blunders, key=lambda answer: (answer.entry.plies, answer.entry.number))
    shown = []
    for answer in worst[:BLUNDERS]:
        entry = answer.entry
        winning = sorted(entry.keeps, key=lambda move: (entry.keeps[move], move))
        game = Game.from_position(rules, entry.position, entry.side)
        pictures = (position_picture(game, move) for move in (answer.move, winning[0]))
        shown.append((entry.number, entry.side, entry.plies, answer.move, winning, *pictures))
    label = f"{name} with {simulations} simulations"
    return SuiteSummary(suite.name, label, rows, shown, len(worst), result.unsettled, NODES, len(suite.entries)), ""


def _checkpoint_file(source: Path, name: str) -> Path:
    if source.is_file():
        return source
    numbered = source / "checkpoints" / f"{name}.safetensors"
    return numbered if numbered.is_file() else source / f"{name}.safetensors"


def _command(options: argparse.Namespace, source: Path) -> str:
    words = _ladder_words(options, source, options.games)
    words[2:2] = ["--report", str(options.report)]
    return shlex.join(words + (["--no-suite"] if options.no_suite else []))


def _ladder_words(options: argparse.Namespace, source: Path, games: int | None) -> list[str]:
    """The command that rates the same checkpoints by so many games each."""
    words = ["python", "evaluate.py", "--ladder", str(source)]
    for name, value in (("games", games), ("simulations", options.simulations), ("layout", options.layout)):
        if value is not None:
            words += [f"--{name}", str(value)]
    if options.checkpoints != CHECKPOINTS:
        words += ["--checkpoints", str(options.checkpoints)]
    return words
