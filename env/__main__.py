"""`python -m env perft GAME DEPTH` counts move sequences and says how fast; `python -m env render GAME` draws."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from env import RULES, Game, perft
from env.perft import divide
from env.render import add_render_command
from env.rules import SIDES

Result = TypeVar("Result")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m env", description="Tools for the rules of the games.")
    commands = parser.add_subparsers(dest="command", required=True)
    count = commands.add_parser("perft", help="count the move sequences of a length")
    count.add_argument("game", choices=list(RULES), metavar="GAME", help=f"one of {', '.join(RULES)}")
    count.add_argument("depth", type=int, metavar="DEPTH", help="number of plies")
    count.add_argument("--layout", help="start of the game (default: its first)")
    count.add_argument("--position", help="start from this position instead, ranks from the top: /row/row/.../")
    count.add_argument("--to-play", choices=SIDES, help="side to play in --position (default: attackers)")
    count.add_argument("--divide", action="store_true", help="show the count after every first move")
    count.set_defaults(run=_perft)
    add_render_command(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, 2 for arguments that make no sense."""
    given = _parser().parse_args(arguments)
    return given.run(given)


def _interruptible(work: Callable[[], Result]) -> Result:
    """Do the work in a thread that Ctrl-C leaves behind, since a kernel hears nothing."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done.result()


def _perft(given: argparse.Namespace) -> int:
    try:
        if given.position is None and given.to_play is not None:
            raise ValueError("--to-play goes with --position; in a layout the rules say who begins")
        if given.position is None:
            game = Game(given.game, given.layout)
        elif given.layout is not None:
            raise ValueError("--layout and --position exclude each other")
        else:
            game = Game.from_position(given.game, given.position, given.to_play or SIDES[0])
        perft(game.copy(), given.depth and 1)  # compile, or fetch from the cache, before the clock starts
        start = time.perf_counter()
        if given.divide:
            counts = _interruptible(lambda: divide(game, given.depth))
            total = sum(counts.values())
        else:
            counts = {}
            total = _interruptible(lambda: perft(game, given.depth))
        seconds = time.perf_counter() - start
    except ValueError as error:
        print(f"python -m env perft: {error}", file=sys.stderr)
        return 2
    for move, count in counts.items():
        print(f"{move}: {count}")
    speed = f", {total / seconds / 1e6:.1f} M nodes/s" if total >= 100_000 else ""  # fewer say nothing
    print(f"{total} sequences of {given.depth} plies in {seconds:.3f} s{speed}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        os._exit(130)  # a kernel may still be counting
