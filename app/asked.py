"""What the command line asks for: a game with its players, for the page and for the full-screen terminal."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import ValidationError

from app.catalogue import GIVEN, Catalogue
from app.engines import AnySeat, EngineMaker
from app.problems import Problem, first_line
from app.saved import load_game
from app.schemas import AlphaBetaSeat, CheckpointSeat, LevelSeat, PersonSeat, RandomSeat
from app.session import Session
from arena.player_text import ALPHABETA, ALPHABETA_V2, PlayerError, PlayerText, read_player
from arena.players import default_player
from env import RULES, Game
from env.rules import SIDES, get_rules


def asked_for(options: argparse.Namespace) -> tuple[Session | None, EngineMaker]:
    """The game that a command line begins, None where it says nothing of one, and what makes its engine.

    Raises:
        ValueError: it cannot be.
    """
    wanted = options.game
    text = options.player
    if text is None and (options.simulations or options.seconds):
        text = usual_player(wanted, options.seconds or 1.0, options.runs)
    player = None if text is None else read_player(text)
    runs = None if options.runs is None else [options.runs]
    maker = EngineMaker(Catalogue(runs, given=None if player is None else player.path), options.device)
    try:
        return _session(options, player, maker), maker
    except Problem as problem:
        raise ValueError(str(problem)) from None


def usual_player(game: str | None, seconds: float, runs: Path | None = None) -> str:
    """The engine when none is named: a checkpoint if there is one, else alpha-beta with `seconds` a move."""
    try:
        return default_player(game, runs)
    except PlayerError:
        return f"{ALPHABETA}:seconds={seconds:g}"


def _session(options: argparse.Namespace, player: PlayerText | None, maker: EngineMaker) -> Session | None:
    game = None if options.load is None else load_game(options.load)
    if game is not None and options.layout is not None:
        raise ValueError("--layout is for a new game, and --load brings its own start")
    if game is not None and options.game not in (None, game.rules.name):
        raise ValueError(f"{options.load} is a game of {game.rules.name}, not of {options.game}")
    if player is None and game is None and options.game is None and options.layout is None:
        return None
    if options.player and player and player.options and (options.simulations or options.seconds):
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
        return LevelSeat(kind="level")
    limits = {**limits, **player.options}
    if player.path is not None:
        return CheckpointSeat(kind="checkpoint", checkpoint=_id(player.path, maker.catalogue), **limits)
    if "simulations" in limits:
        raise ValueError(f"--simulations is for checkpoints, and {player.name} is none")
    if player.name == ALPHABETA:
        return AlphaBetaSeat(kind="alphabeta", **limits)
    if player.name == ALPHABETA_V2:
        return AlphaBetaSeat(kind="alphabeta", version="v2", **limits)
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
