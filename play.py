"""Play against a checkpoint or against alpha-beta, in the browser or in the terminal.

python play.py                                            opens the page; choose there
python play.py runs/x/best.safetensors --side defenders   opens a game on it
python play.py alphabeta-v1:depth=4 --game tawlbwrdd --terminal
python play.py runs/x --engine                            is an engine of other programs (docs/engines.md)
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while the rest is imported there is nothing to save
if __name__ == "__main__" and "--engine" in sys.argv[1:]:
    print("hello", flush=True)  # a host waits five seconds for it, and the imports may take longer

from rich.console import Console

from app.asked import usual_player
from app.page import open_page
from app.saved import load_game
from app.terminal import Terminal
from arena.player_text import ALPHABETA, ALPHABETA_V2, read_player
from arena.players import Player, parse_player
from env import RULES, Game, Rules
from env.rules import SIDES, get_rules
from search.config import MOST_SIMULATIONS
from training.output import silence

SIMULATIONS = 256
MOST_SECONDS = 86_400


class PlainConsole(Console):
    """A console that leaves a closed pipe to `main`."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="play.py", description="Play against a checkpoint or against alpha-beta.")
    parser.add_argument(
        "player",
        nargs="?",
        metavar="PLAYER",
        help=f"a checkpoint's path, a run's folder, {ALPHABETA}:depth=4, {ALPHABETA_V2}:seconds=1 or random "
        f"(default: the newest run's best checkpoint, else the network that ships, else {ALPHABETA}:seconds=1)",
    )
    parser.add_argument("--terminal", action="store_true", help="play in this terminal instead of the browser")
    parser.add_argument(
        "--engine", action="store_true", help="speak OpenTafl's engine protocol on standard input and output"
    )
    parser.add_argument("--plain", action="store_true", help="with --terminal: plain lines instead of a full screen")
    parser.add_argument("--language", metavar="CODE", help="of the full screen, as en (default: your system's)")
    parser.add_argument("--game", choices=list(RULES), help="default: the checkpoint's, else the first of these")
    parser.add_argument("--layout", help="start of the game (default: its first layout)")
    parser.add_argument("--side", choices=SIDES, default=SIDES[0], help="yours (default: attackers, who move first)")
    parser.add_argument("--simulations", type=int, metavar="K", help=f"a checkpoint's, a move (default: {SIMULATIONS})")
    parser.add_argument("--seconds", type=float, metavar="S", help="the engine's time, a move")
    parser.add_argument("--load", type=Path, metavar="F", help="go on with a game from its record")
    parser.add_argument("--seed", type=int, metavar="N", help="decides what the engine leaves to chance")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one a core)")
    parser.add_argument("--device", default="auto", help="for networks: auto, cpu or cuda (default: auto)")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where runs are looked for (default: runs)")
    page = parser.add_argument_group("the page")
    page.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    page.add_argument("--port", type=int, metavar="N", help="port to listen on (default: the first free one from 8642)")
    page.add_argument("--no-browser", action="store_true", help="only print the page's address")
    page.add_argument("--data", type=Path, metavar="DIR", help="where games are kept (default: your data folder)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Plays; 2 for bad input, 0 however the person leaves."""
    options = arguments().parse_args(argv)
    try:
        check_limits(options)
        if options.engine:
            return play_as_engine(options)
        if options.terminal:
            play_in_terminal(options)
        else:
            open_page(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on; what is still buffered must not fail once more at exit.
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        print(f"play.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
    except ValueError as error:
        print(f"play.py: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("play.py: there is not enough memory: ask for fewer simulations", file=sys.stderr)
        return 2
    return 0


def set_up(options: argparse.Namespace) -> Terminal:
    """The board, the engine and the person that the command line asks for.

    Raises:
        ValueError: something asked for cannot be.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # odd bytes are a typing error, not a crash
    console = PlainConsole(highlight=False)
    game = None if options.load is None else load_game(options.load)
    if game is not None and options.layout is not None:
        raise ValueError("--layout is for a new game, and --load brings its own start")
    if game is not None and options.game not in (None, game.rules.name):
        raise ValueError(f"{options.load} is a game of {game.rules.name}, not of {options.game}")
    wanted = game.rules.name if game is not None else options.game
    text = options.player or usual_player(wanted, options.seconds or 1.0, options.runs)
    player = read_player(text)
    if options.player and player.options and (options.simulations or options.seconds):
        raise ValueError(f"{text!r} has its own limits; --simulations and --seconds are for players without")
    if player.path is None and options.simulations is not None:
        raise ValueError(f"--simulations is for checkpoints, and {player.name} is none")
    rules = get_rules(wanted or player.game or next(iter(RULES)))
    simulations = options.simulations
    if simulations is None and options.seconds is None:
        simulations = SIMULATIONS
    with console.status("loading the engine"):
        engine = parse_player(
            text,
            rules,
            simulations=simulations,
            seconds=options.seconds,
            device=options.device,
            threads=options.threads,
        )
    seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    return Terminal(engine, game or Game(rules, options.layout), options.side, console, seed=seed)


def play_as_engine(options: argparse.Namespace) -> int:
    """Plays for a program that is the host of a game, until it says goodbye.

    Raises:
        ValueError: something asked for cannot be.
    """
    from arena.engine_server import SECONDS, serve

    for name, value in (("terminal", options.terminal), ("load", options.load), ("layout", options.layout)):
        if value:
            raise ValueError(f"--engine and --{name}: the host of an engine has the board and knows the start")
    player = None if options.player is None else read_player(options.player)
    limited = bool((player and player.options) or options.simulations or options.seconds)
    game = options.game or (player and player.game)

    def make(rules: Rules) -> Player:
        return parse_player(
            options.player or usual_player(rules.name, SECONDS, options.runs),
            rules,
            simulations=options.simulations,
            seconds=options.seconds if limited else SECONDS,
            device=options.device,
            threads=options.threads,
        )

    rules = None if game is None else get_rules(game)
    greeted = __name__ == "__main__" and "--engine" in sys.argv[1:]
    return serve(make, not limited, rules, options.seed or 0, greeted)


def play_in_terminal(options: argparse.Namespace) -> None:
    """The whole terminal where there is one and the library for it is there, else plain lines.

    Raises:
        ValueError: something asked for cannot be.
    """
    if not options.plain and fills_a_terminal():
        with contextlib.suppress(ModuleNotFoundError):
            from app.full_screen import open_full_screen

            return open_full_screen(options)
    terminal = set_up(options)
    if hangup := getattr(signal, "SIGHUP", None):
        signal.signal(hangup, terminal.hang_up)
    terminal.run()


def fills_a_terminal() -> bool:
    """Whether there is a terminal that a program can draw in."""
    # The full screen is drawn on the standard error.
    return (
        all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def check_limits(options: argparse.Namespace) -> None:
    """Refuse numbers that cannot be.

    Raises:
        ValueError: one is out of range.
    """
    if options.simulations is not None and options.simulations > MOST_SIMULATIONS:
        raise ValueError(f"--simulations {options.simulations}: at most {MOST_SIMULATIONS}")
    if options.seconds is not None and not options.seconds <= MOST_SECONDS:
        raise ValueError(f"--seconds {options.seconds}: at most {MOST_SECONDS}")
    for name, above in (("simulations", 0), ("seconds", 0), ("threads", 0)):
        value = getattr(options, name)
        if value is not None and not value > above:
            raise ValueError(f"--{name} {value}: has to be more than {above}")


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
