"""How strong a player is: a match against another one, every opening from both sides.

python evaluate.py runs/x/best.safetensors --depth 4 --games 128
python evaluate.py alphabeta-v1:depth=3 --opponent random --game tawlbwrdd
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while the rest is imported there is nothing to save

from rich.console import Console

from arena.files import write_text
from arena.match import MatchResult, play_match
from arena.openings import load_openings
from arena.player_text import ALPHABETA, PlayerError, PlayerText, read_player
from arena.players import SIMULATIONS, default_player, parse_player
from arena.summary import match_notes, match_progress, match_table
from env import RULES, Rules
from env.files import wrong_name
from env.records import format_record
from search.config import MOST_SIMULATIONS

MOST_GAMES = 100_000


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description="Play a match: many games at once, each opening twice with the sides swapped.",
        epilog="players: random, alphabeta-v1:depth=4, alphabeta-v1:seconds=1, a checkpoint's path or run folder, "
        "RUN/best.safetensors:simulations=128",
    )
    parser.add_argument("player", nargs="?", metavar="PLAYER", help="whose score is told (default: the newest run's)")
    parser.add_argument("--opponent", metavar="PLAYER", default=ALPHABETA, help=f"default: {ALPHABETA} of depth 2")
    parser.add_argument("--game", choices=list(RULES), help="default: the checkpoint's, else the first of these")
    parser.add_argument("--layout", help="start of the game (default: its first layout)")
    clock = parser.add_mutually_exclusive_group()
    clock.add_argument("--depth", type=int, metavar="D", help=f"depth of {ALPHABETA} as opponent, in plies")
    clock.add_argument("--seconds", type=float, metavar="S", help=f"time a move of {ALPHABETA} as opponent")
    parser.add_argument("--games", type=int, default=64, metavar="N", help="games to play (default: 64)")
    parser.add_argument(
        "--simulations", type=int, metavar="K", help=f"a move, for checkpoints that name none (default: {SIMULATIONS})"
    )
    parser.add_argument("--max-plies", type=int, metavar="P", help="length at which a game is unfinished")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="order of openings, chance (default: 0)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one a core)")
    parser.add_argument("--device", default="auto", help="for networks: auto, cpu or cuda (default: auto)")
    parser.add_argument("--json", type=Path, metavar="F", help="also write the result to this file")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="also write the games' records to a new folder")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Plays the match that the command line asks for; 2 for bad input, 130 when interrupted."""
    options = arguments().parse_args(argv)
    console = Console(highlight=False)
    try:
        status = run(options, console)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as error:  # standard output is full or gone; what is still buffered must not fail at exit again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 1
    except (ValueError, FloatingPointError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("evaluate.py: there is not enough memory: ask for fewer games or simulations", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nevaluate.py: interrupted before the first move", file=sys.stderr)
        return 130


def run(options: argparse.Namespace, console: Console) -> int:
    """Plays and reports.

    Raises:
        ValueError: something asked for cannot be; nothing has been played.
    """
    for name, lowest in (("games", 1), ("simulations", 1), ("depth", 1), ("threads", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise ValueError(f"--{name} {value}: has to be at least {lowest}")
    for name, most in (("games", MOST_GAMES), ("simulations", MOST_SIMULATIONS)):
        value = getattr(options, name)
        if value is not None and value > most:
            raise ValueError(f"--{name} {value}: at most {most}")
    if options.player == "":
        raise ValueError("'' names no player")
    if options.json is not None and options.save is not None and options.json.absolute() == options.save.absolute():
        raise ValueError(f"--json and --save are both {options.json}: give them different names")
    if options.json is not None:
        check_writable("--json", options.json)
    if options.save is not None:
        check_writable("--save", options.save)
    player_text = options.player or default_player(options.game)
    opponent_text = with_clock(options.opponent, options.depth, options.seconds)
    players = [read_player(player_text), read_player(opponent_text)]
    if options.simulations is not None and all(player.path is None for player in players):
        raise ValueError("--simulations is for checkpoints, and neither player is one")
    if options.device != "auto" and all(player.path is None for player in players):
        raise ValueError("--device is for checkpoints, and neither player is one")
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
        result = play_match(player, opponent, rules, openings, options.games, options.max_plies, options.seed, progress)
    console.print(match_table(result))
    for note in match_notes(result, options.games, len(openings)):
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


def choose_rules(game: str | None, players: Sequence[PlayerText]) -> Rules:
    """The game to play: the one asked for, else that of the checkpoints, else the first there is."""
    games = {player.name: player.game for player in players if player.game is not None}
    wanted = game or next(iter(games.values()), next(iter(RULES)))
    for name, plays in games.items():
        if plays != wanted:
            raise PlayerError(f"{name} plays {plays}, not {wanted}")
    return RULES[wanted]


def check_writable(option: str, path: Path) -> None:
    """Refuses what could not be written, before any time is spent."""
    folder = path.absolute().parent
    if problem := wrong_name(path):
        raise ValueError(f"{option}: no file can have this name: {problem}")
    if path.is_dir():
        raise ValueError(f"{option} {path}: there is a folder of that name already")
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} {path}: that is not a regular file")
    if not folder.is_dir():
        raise ValueError(f"{option} {path}: the folder {folder} does not exist")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise ValueError(f"{option} {path}: the folder {folder} cannot be written to") from None
    if option == "--save" and path.exists():
        raise ValueError(f"{option} {path}: there is a file of that name already")


def save_records(folder: Path, result: MatchResult) -> None:
    """Writes a record for each game."""
    folder.mkdir()
    for played, record in zip(result.played, result.records()):
        write_text(folder / f"{played.number + 1:04d}.otg", format_record(record))


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
