"""From the command line to the page in the browser."""

from __future__ import annotations

import argparse
import ipaddress
import socket
from pathlib import Path

from platformdirs import user_data_path
from pydantic import ValidationError

from app.catalogue import GIVEN, Catalogue
from app.engines import AnySeat, EngineMaker
from app.problems import Problem, first_line
from app.saved import load_game
from app.schemas import AlphaBetaSeat, CheckpointSeat, LevelSeat, PersonSeat, RandomSeat
from app.session import Session
from arena.player_text import ALPHABETA, PlayerText, read_player
from env import RULES, Game
from env.rules import SIDES, get_rules

INSTALL = "pip install -c constraints.txt -e '.[play]'"


def open_page(options: argparse.Namespace) -> None:
    """Serve the page until told to stop; where a game is asked for, it is begun and the page opens on it.

    Args:
        options: the command line of `play.py`.

    Raises:
        ValueError: something asked for cannot be.
    """
    try:
        from app.hall import Hall
        from app.serve import open_socket, serve
        from app.server import create_app
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("fastapi", "starlette", "uvicorn", "websockets"):
            raise ValueError(f"the page needs {error.name}: {INSTALL}, or play with --terminal") from None
        raise
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise ValueError(f"--port {options.port}: allowed are 0 to 65535")
    player = None if options.player is None else read_player(options.player)
    catalogue = Catalogue(
        None if options.runs is None else [options.runs],
        given=None if player is None else player.path,
    )
    maker = EngineMaker(catalogue, options.device)
    try:
        session = asked_for(options, player, maker)
    except Problem as problem:
        raise ValueError(str(problem)) from None
    folder = options.data or user_data_path("branan", appauthor=False) / "games"
    listener = open_socket(options.host, options.port)
    hall = Hall(maker, folder, options.threads)
    fragment = ""
    if session is not None:
        hall.take_in(session)
        fragment = f"#game={session.key}"
    if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
        print("Everybody who can reach this machine can play and see all games; there is no password.")
    names = {options.host, socket.gethostname()}
    print(f"Games are kept in {folder}. Ctrl-C stops.")
    serve(create_app(hall, names), hall, listener, fragment, not options.no_browser)


def asked_for(options: argparse.Namespace, player: PlayerText | None, maker: EngineMaker) -> Session | None:
    """The game that the command line begins, or None where it names neither player nor game nor record.

    Raises:
        ValueError: it cannot be.
        Problem: the player cannot play.
    """
    game = None if options.load is None else load_game(options.load)
    if game is not None and options.layout is not None:
        raise ValueError("--layout is for a new game, and --load brings its own start")
    if game is not None and options.game not in (None, game.rules.name):
        raise ValueError(f"{options.load} is a game of {game.rules.name}, not of {options.game}")
    if player is None and game is None and options.game is None and options.layout is None:
        for name in ("simulations", "seconds", "seed"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} is for an engine: name a player or a --game, or choose on the page")
        return None
    if player is not None and player.options and (options.simulations or options.seconds):
        raise ValueError(f"{options.player!r} has its own limits; --simulations and --seconds are for players without")
    wanted = game.rules.name if game is not None else options.game
    rules = get_rules(wanted or (player.game if player else None) or next(iter(RULES)))
    game = game or Game(rules, options.layout)
    try:
        seat = _seat(options, player, maker)
    except ValidationError as error:
        fault = error.errors()[0]
        raise ValueError(f"{options.player or 'the engine'}: {fault['loc'][-1]}: {fault['msg']}") from None
    maker.plan(seat, rules)
    sides: dict[str, AnySeat] = {options.side: PersonSeat(), SIDES[1 - SIDES.index(options.side)]: seat}
    session = Session(game, sides[SIDES[0]], sides[SIDES[1]])
    if options.seed is not None:
        session.seed = options.seed % 2**32
    return session


def _seat(options: argparse.Namespace, player: PlayerText | None, maker: EngineMaker) -> AnySeat:
    limits = {name: getattr(options, name) for name in ("simulations", "seconds") if getattr(options, name) is not None}
    if player is None:
        if limits:
            raise ValueError(f"--{next(iter(limits))} is for a player: name one, or choose on the page")
        return LevelSeat(kind="level")
    limits = {**limits, **player.options}
    if player.path is not None:
        return CheckpointSeat(kind="checkpoint", checkpoint=_id(player.path, maker.catalogue), **limits)
    if "simulations" in limits:
        raise ValueError(f"--simulations is for checkpoints, and {player.name} is none")
    if player.name == ALPHABETA:
        return AlphaBetaSeat(kind="alphabeta", **limits)
    return RandomSeat(kind="random")


def _id(path: Path, catalogue: Catalogue) -> str:
    """The id of a checkpoint's file, which for one outside of the runs' folders is `given`.

    Raises:
        ValueError: it is no checkpoint that can be used.
    """
    from models.checkpoint import CheckpointError, read_header

    try:
        read_header(path)
    except CheckpointError as error:
        raise ValueError(first_line(error)) from None
    for entry in catalogue.checkpoints():
        if entry.checkpoint != GIVEN and entry.path.resolve() == path.resolve():
            return entry.checkpoint
    return GIVEN
