"""How strong a player is: a match against another one, every opening from both sides.

python evaluate.py runs/x/best.safetensors --depth 4 --games 128
python evaluate.py alphabeta-v1:depth=3 --opponent random --game tawlbwrdd
python evaluate.py --ladder runs/x
python evaluate.py --report runs/x/report --ladder runs/x
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while the rest is imported there is nothing to save

from rich.console import Console

from arena import ladder_command, match_command, report_command, suite_command
from arena.command_line import check_numbers, check_writable
from arena.players import SIMULATIONS
from env import RULES
from training.output import silence


class Mode(NamedTuple):
    """One thing that this door does.

    Attributes:
        module: has `add_arguments(parser)`, which adds the options that belong to this mode alone, and
            `run(options, console)`, which returns the exit status and raises ValueError for bad input.
        chosen_by: the option (its name in the parsed options) that asks for this mode; the empty text for the mode
            that is meant without any.
        unused: options of all modes, and of those that choose one, that this mode has no use for.
        shared: options of other modes that this mode takes too.
    """

    module: ModuleType
    chosen_by: str
    unused: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()


# The first whose option is given is meant.
MODES: Mapping[str, Mode] = {
    "a suite": Mode(suite_command, "suite", frozenset({"layout", "games"})),
    "a report": Mode(report_command, "report", shared=frozenset({"checkpoints"})),
    "a ladder": Mode(ladder_command, "ladder"),
    "a match": Mode(match_command, ""),
}


def arguments() -> tuple[argparse.ArgumentParser, dict[str, str]]:
    """The command line, and by the name of each option that belongs to one mode that mode's name."""
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description="How strong is a player?",
        epilog="players: random, alphabeta-v1:depth=4, alphabeta-v1:seconds=1, "
        "alphabeta-v2:depth=6 (or nodes=100000, seconds=1), a checkpoint's path or run folder, "
        "RUN/best.safetensors:simulations=128, engine:seconds=2:COMMAND (another program; docs/engines.md)",
    )
    parser.add_argument(
        "player", nargs="?", metavar="PLAYER", help="whose strength is told (default: the newest run's)"
    )
    parser.add_argument("--game", choices=list(RULES), help="default: the checkpoint's, else the first of these")
    parser.add_argument("--layout", help="start of the game (default: its first layout)")
    parser.add_argument("--games", type=int, metavar="N", help="games to play (default: 64)")
    parser.add_argument(
        "--simulations", type=int, metavar="K", help=f"a move, for checkpoints that name none (default: {SIMULATIONS})"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="order of openings, chance (default: 0)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one a core)")
    parser.add_argument("--device", default="auto", help="for networks: auto, cpu or cuda (default: auto)")
    parser.add_argument("--json", type=Path, metavar="F", help="also write the result to this file")
    owners: dict[str, str] = {}
    for name, mode in MODES.items():
        before = set(vars(parser.parse_args([])))
        mode.module.add_arguments(parser)
        owners |= dict.fromkeys(set(vars(parser.parse_args([]))) - before, name)
    return parser, owners


def choose_mode(parser: argparse.ArgumentParser, owners: Mapping[str, str], argv: Sequence[str] | None) -> Mode:
    """The mode that the command line asks for.

    Raises:
        ValueError: an option that belongs to another mode is given.
    """
    absent = object()
    # What is there already is not filled with defaults, so what is still there was not given.
    parsed = parser.parse_args(argv, argparse.Namespace(**dict.fromkeys(vars(parser.parse_args([])), absent)))
    given = [option for option, value in vars(parsed).items() if value is not absent and option != "player"]
    name, mode = next(entry for entry in MODES.items() if entry[1].chosen_by in ("", *given))
    choosers = {other.chosen_by for other in MODES.values()}
    for option in given:
        owner = owners.get(option, name)
        if (owner != name and option not in choosers | mode.shared) or option in mode.unused:
            whose = f" but to {owner}" if owner != name else ""
            raise ValueError(f"--{option.replace('_', '-')} does not belong to {name}{whose}")
    return mode


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the command line asks for; 2 for bad input, 130 when interrupted."""
    parser, owners = arguments()
    options = parser.parse_args(argv)
    console = Console(highlight=False, markup=False, emoji=False)  # paths and what programs say are text
    try:
        mode = choose_mode(parser, owners, argv)
        check_numbers(options)
        options.seed_given, options.seed = options.seed is not None, options.seed or 0
        if options.player == "":
            raise ValueError("'' names no player")
        if options.json is not None:
            check_writable("--json", options.json)
        status = mode.module.run(options, console)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as error:  # standard output is full or gone; what is still buffered must not fail at exit again
        silence(sys.stdout)
        where = "" if error.filename else "what there is to say cannot be printed: "
        print(f"evaluate.py: {where}{error}", file=sys.stderr)
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


def main_until_told_to_end() -> int:
    """As `main`; the signal that asks a process to end does what Ctrl-C does, and the status is then 143."""
    told = False

    def tell(*_: object) -> None:
        nonlocal told
        told = True
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, tell)
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    return 143 if told else status


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main_until_told_to_end())
