"""`evaluate.py` without another mode: a match of one player against another."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from arena.command_line import busy, check_players, check_writable, choose_rules, tell_written, write_result
from arena.match import AT_ONCE, default_max_plies, pair_openings, play_match
from arena.match_folder import (
    MOST_PLIES,
    MOST_SEED,
    MatchFolder,
    is_begun,
    openings_checksum,
    player_checksum,
    read_settings,
)
from arena.match_result import ROLES, MatchResult
from arena.openings import Opening, load_openings
from arena.player_text import ALPHABETA, ENGINE, PlayerText, read_player
from arena.players import Player, default_player, parse_player
from arena.sprt import Sprt
from arena.summary import match_notes, match_progress, match_table
from env import Rules

GAMES = 64
SPRT_GAMES = 2000
"""Games after which a sequential test gives up."""

SPRT_AT_ONCE = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that belong to matches alone."""
    group = parser.add_argument_group("a match: many games at once, each opening twice with the sides swapped")
    group.add_argument(
        "--opponent",
        metavar="PLAYER",
        help=f"default: {ALPHABETA} of depth 2; another program: {ENGINE}:COMMAND or {ENGINE}:seconds=2:COMMAND "
        "(docs/engines.md)",
    )
    clock = group.add_mutually_exclusive_group()
    clock.add_argument("--depth", type=int, metavar="D", help=f"depth of {ALPHABETA} as opponent, in plies")
    clock.add_argument("--seconds", type=float, metavar="S", help=f"time a move of {ALPHABETA} as opponent")
    group.add_argument("--max-plies", type=int, metavar="P", help="length at which a game is unfinished")
    group.add_argument("--at-once", type=int, metavar="N", help="games that go at a time (with clocks: --threads)")
    group.add_argument(
        "--save", type=Path, metavar="FOLDER", help="keep each game's record here; go on if it was begun"
    )
    group.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with the match that was saved here")
    group.add_argument(
        "--sprt",
        type=float,
        nargs=2,
        metavar=("ELO0", "ELO1"),
        help="stop as soon as it is sure enough whether PLAYER is ELO0 stronger or ELO1 (logistic Elo), or after "
        f"--games (default: {SPRT_GAMES})",
    )
    group.add_argument("--alpha", type=float, metavar="A", help="rate of wrongly finding ELO1 (default: 0.05)")
    group.add_argument("--beta", type=float, metavar="B", help="rate of wrongly finding ELO0 (default: 0.05)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Plays and reports.

    Raises:
        ValueError: something asked for cannot be; nothing has been played.
    """
    _check(options)
    stored: Mapping[str, Any] = {} if options.resume is None else read_settings(options.resume)
    sprt = _sprt(options, stored)
    texts = _player_texts(options, stored)
    players = [read_player(text, programs=True) for text in texts]
    check_players(options, players)
    rules = choose_rules(options.game or stored.get("game"), players)
    openings = load_openings(rules, options.layout or stored.get("layout"))
    games = options.games or stored.get("games") or (GAMES if sprt is None else SPRT_GAMES)
    seed = options.seed if options.seed_given else stored.get("seed", 0)
    max_plies = options.max_plies or stored.get("max_plies") or default_max_plies(rules)
    with busy(console, "loading players"), contextlib.ExitStack() as stack:
        player, opponent = (_load(text, rules, options, stack) for text in texts)
        settings = {
            **{role: each.name for role, each in zip(ROLES, (player, opponent))},
            **{f"{role}_checksum": player_checksum(text) for role, text in zip(ROLES, players)},
            "game": rules.name,
            "layout": openings[0].layout,
            "openings": openings[0].source,
            "openings_checksum": openings_checksum(openings),
            "games": games,
            "max_plies": max_plies,
            "seed": seed,
            "sprt": None if sprt is None else [sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta],
        }
        folder_path = options.save or options.resume
        folder = None if folder_path is None else stack.enter_context(MatchFolder(folder_path, settings))
        chosen = pair_openings(openings, -(-games // 2), seed)
        finished = {} if folder is None else folder.finished(rules, chosen, max_plies)
        stack = stack.pop_all()
    with stack:
        if finished:
            console.print(f"goes on with the {len(finished)} games in {folder_path}")
        for each in (player, opponent):
            _warm_up(each, openings[0], rules)
        at_once = options.at_once or _at_once(players, sprt, options.threads)
        with match_progress(console) as progress:
            result = play_match(
                player,
                opponent,
                rules,
                openings,
                games,
                max_plies,
                seed,
                progress,
                at_once=at_once,
                finished=finished,
                keep=None if folder is None else folder.keep,
                sprt=sprt,
            )
    return _report(options, console, result, games, len(openings), len(finished), at_once)


def _check(options: argparse.Namespace) -> None:
    """Refuses options that cannot be, before anything is read."""
    for name in ("depth", "at_once"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} {value}: has to be at least 1")
    if options.max_plies is not None and options.max_plies < 1:
        raise ValueError(f"a limit of {options.max_plies} plies: at least 1")
    for name, most in (("max_plies", MOST_PLIES), ("seed", MOST_SEED)):
        if (value := getattr(options, name)) is not None and value > most:
            raise ValueError(f"--{name.replace('_', '-')} {value}: at most {most}")
    if options.save is not None and options.resume is not None:
        raise ValueError("--save and --resume: one folder is enough, and --resume goes on writing to its own")
    folder = options.save or options.resume
    if options.json is not None and folder is not None:
        name = "--save" if options.save is not None else "--resume"
        file, inside = (Path(os.path.realpath(path)) for path in (options.json, folder))
        if file == inside:
            raise ValueError(f"--json and {name} are both {options.json}: give them different names")
        if inside in file.parents:
            raise ValueError(f"--json {options.json} lies in the match's folder {folder}: put the result elsewhere")
    if options.save is not None:
        if not options.save.is_dir():
            check_writable("--save", options.save)
        is_begun(options.save)
    for name in ("alpha", "beta"):
        if getattr(options, name) is not None and options.sprt is None:
            raise ValueError(f"--{name} is for --sprt")


def _sprt(options: argparse.Namespace, stored: Mapping[str, Any]) -> Sprt | None:
    if options.sprt is None:
        values = stored.get("sprt")
        return None if values is None else Sprt(*values)
    rates = {name: getattr(options, name) for name in ("alpha", "beta") if getattr(options, name) is not None}
    return Sprt(*options.sprt, **rates)


def _player_texts(options: argparse.Namespace, stored: Mapping[str, Any]) -> tuple[str, str]:
    """The two players' texts: those asked for, else those of the match that goes on, else the usual ones."""
    clock = options.depth is not None or options.seconds is not None
    # A folder may come from a stranger, and a program runs only where the command line names it.
    for option, asked in (("player", options.player), ("opponent", options.opponent or clock)):
        text = str(stored.get(option, "")).strip()
        if not asked and text.startswith(f"{ENGINE}:"):
            named = "as PLAYER" if option == "player" else "with --opponent"
            raise ValueError(
                f"the {option} of this match is a program; to run it, name it {named}: {shlex.quote(text)}"
            )
    player = options.player or stored.get("player") or default_player(options.game)
    if options.opponent is None and not clock and "opponent" in stored:
        return player, stored["opponent"]
    return player, with_clock(options.opponent or ALPHABETA, options.depth, options.seconds)


def with_clock(opponent: str, depth: int | None, seconds: float | None) -> str:
    """The opponent's text with `--depth` or `--seconds`, which are for alpha-beta without options of its own."""
    if depth is None and seconds is None:
        return opponent
    if opponent != ALPHABETA:
        raise ValueError(f"--depth and --seconds are for the opponent {ALPHABETA}; give {opponent!r} its own options")
    return f"{opponent}:depth={depth}" if seconds is None else f"{opponent}:seconds={seconds}"


def _load(text: str, rules: Rules, options: argparse.Namespace, stack: contextlib.ExitStack) -> Player:
    player = parse_player(
        text,
        rules,
        simulations=options.simulations,
        device=options.device,
        threads=options.threads,
        programs=True,
    )
    if (close := getattr(player, "close", None)) is not None:
        stack.callback(close)
    return player


def _warm_up(player: Player, opening: Opening, rules: Rules) -> None:
    """Has a player move once, since that may have to compile kernels, which is not to be counted as thinking."""
    if not hasattr(player, "attempt"):  # a program starts anew for every game
        player.choose([opening.game(rules)])


def _at_once(players: Sequence[PlayerText], sprt: Sprt | None, threads: int | None) -> int:
    """How many games go at a time: with clocks no more than there are threads, or they would take each other's time."""
    if any(player.name == ENGINE or "seconds" in player.options for player in players):
        return max(1, threads or os.cpu_count() or 1)
    return AT_ONCE if sprt is None else SPRT_AT_ONCE


def _report(
    options: argparse.Namespace,
    console: Console,
    result: MatchResult,
    games: int,
    openings: int,
    before: int,
    at_once: int,
) -> int:
    written = write_result(options.json, result.to_json())
    console.print(match_table(result))
    for note in match_notes(result, games, openings, at_once):
        console.print(note)
    folder = options.save or options.resume
    if folder is not None:
        console.print(f"{result.games} records are in {folder}" + (f", {before} of them from before" if before else ""))
        if result.interrupted:
            console.print(f"go on with: python evaluate.py --resume {folder}")
    if not tell_written(console, options.json, written):
        return 1
    return 130 if result.interrupted else 0
