"""`evaluate.py` without another mode: a match of one player against another."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from arena.command_line import check_players, check_writable, choose_rules
from arena.files import write_text
from arena.match import MatchResult, play_match
from arena.openings import load_openings
from arena.player_text import ALPHABETA, read_player
from arena.players import default_player, parse_player
from arena.summary import match_notes, match_progress, match_table
from env.records import format_record

GAMES = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that belong to matches alone."""
    group = parser.add_argument_group("a match: many games at once, each opening twice with the sides swapped")
    group.add_argument("--opponent", metavar="PLAYER", default=ALPHABETA, help=f"default: {ALPHABETA} of depth 2")
    clock = group.add_mutually_exclusive_group()
    clock.add_argument("--depth", type=int, metavar="D", help=f"depth of {ALPHABETA} as opponent, in plies")
    clock.add_argument("--seconds", type=float, metavar="S", help=f"time a move of {ALPHABETA} as opponent")
    group.add_argument("--max-plies", type=int, metavar="P", help="length at which a game is unfinished")
    group.add_argument("--save", type=Path, metavar="FOLDER", help="also write the games' records to a new folder")


def run(options: argparse.Namespace, console: Console) -> int:
    """Plays and reports.

    Raises:
        ValueError: something asked for cannot be; nothing has been played.
    """
    games = GAMES if options.games is None else options.games
    if options.depth is not None and options.depth < 1:
        raise ValueError(f"--depth {options.depth}: has to be at least 1")
    if options.json is not None and options.save is not None and options.json.absolute() == options.save.absolute():
        raise ValueError(f"--json and --save are both {options.json}: give them different names")
    if options.save is not None:
        check_writable("--save", options.save)
        if options.save.exists():
            raise ValueError(f"--save {options.save}: there is a file of that name already")
    player_text = options.player or default_player(options.game)
    opponent_text = with_clock(options.opponent, options.depth, options.seconds)
    players = [read_player(player_text), read_player(opponent_text)]
    check_players(options, players)
    rules = choose_rules(options.game, players)
    openings = load_openings(rules, options.layout)
    with console.status("loading players"):
        player, opponent = (
            parse_player(text, rules, simulations=options.simulations, device=options.device, threads=options.threads)
            for text in (player_text, opponent_text)
        )
        # The first move may have to compile kernels, which is not to be counted as thinking.
        for each in (player, opponent):
            each.choose([openings[0].game(rules)])
    with match_progress(console) as progress:
        result = play_match(player, opponent, rules, openings, games, options.max_plies, options.seed, progress)
    console.print(match_table(result))
    for note in match_notes(result, games, len(openings)):
        console.print(note)
    try:
        if options.json is not None:
            write_text(options.json, json.dumps(result.to_json(), indent=2) + "\n")
            console.print(f"result written to {options.json}")
        if options.save is not None:
            save_records(options.save, result)
            console.print(f"{result.games} records written to {options.save}")
    except OSError as error:
        print(f"evaluate.py: the result cannot be written: {error}", file=sys.stderr)
        return 1
    return 130 if result.interrupted else 0


def with_clock(opponent: str, depth: int | None, seconds: float | None) -> str:
    """The opponent's text with `--depth` or `--seconds`, which are for alpha-beta without options of its own."""
    if depth is None and seconds is None:
        return opponent
    if opponent != ALPHABETA:
        raise ValueError(f"--depth and --seconds are for the opponent {ALPHABETA}; give {opponent!r} its own options")
    return f"{opponent}:depth={depth}" if seconds is None else f"{opponent}:seconds={seconds}"


def save_records(folder: Path, result: MatchResult) -> None:
    """Writes a record for each game."""
    folder.mkdir()
    for played, record in zip(result.played, result.records()):
        write_text(folder / f"{played.number + 1:04d}.otg", format_record(record))
