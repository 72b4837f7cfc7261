"""Games as requests ask for them: from layouts, positions and records; what cannot be is refused in one sentence."""

from __future__ import annotations

from typing import Any

from app.problems import Problem, first_line, sentence
from app.schemas import MOST_PLIES, NewGame
from env import Game, NotationError
from env.records import parse_record


def begin(request: NewGame, selfplay: Game | None = None) -> Game:
    """The game that a request sets up; `selfplay` where it names a saved one.

    Raises:
        Problem: it cannot be.
    """
    starts = [name for name in ("layout", "position", "record", "selfplay") if getattr(request, name) is not None]
    if len(starts) > 1:
        raise Problem("bad_request", f"A game has one start, not {len(starts)}: {', '.join(starts)}.")
    if request.to_play is not None and request.position is None:
        raise Problem("bad_request", "to_play goes with a position; elsewhere the rules say who begins.")
    if selfplay is not None:
        game = selfplay
    elif request.record is not None:
        game = read_record(request.record)
    elif request.game is None:
        raise Problem("bad_request", "game is missing: which is to be played?")
    else:
        return new_game(request.game, request.layout, request.position, request.to_play)
    if request.game not in (None, game.rules.name):
        raise Problem("bad_request", f"This is a game of {game.rules.name}, not of {request.game}.")
    return game


def new_game(name: str, layout: str | None, position: str | None, to_play: str | None) -> Game:
    """A game from a layout or a position; Problem where it cannot be."""
    try:
        if position is None:
            return Game(name, layout)
        if to_play is None:
            raise Problem("bad_request", "to_play is missing: a position needs the side that is to play.")
        return Game.from_position(name, position, to_play)
    except NotationError as error:
        raise Problem("bad_position", f"This position cannot be: {error.problem}.", **position_fault(error)) from None
    except Problem:
        raise
    except ValueError as error:
        raise Problem("bad_request", sentence(error)) from None


def read_record(text: str) -> Game:
    """The game of a record; Problem where it cannot be read."""
    try:
        game = parse_record(text).game()
    except NotationError as error:
        where = {"line": error.line, "column": error.column, "problem": error.problem}
        message = f"This record cannot be read: line {error.line}, column {error.column}: {error.problem}."
        raise Problem("bad_record", message, **where) from None
    except ValueError as error:
        raise Problem("bad_record", f"This record cannot be read: {first_line(error)}", problem=str(error)) from None
    if game.ply > MOST_PLIES:
        raise Problem("bad_record", f"This record has {game.ply} plies; at most {MOST_PLIES} are kept.")
    return game


def position_fault(error: NotationError) -> dict[str, Any]:
    """What is wrong with a position, for programs."""
    for code, words in (
        ("no_king", "there is no king"),
        ("second_king", "a second king"),
        ("king_on_goal", "already stands on his goal"),
        ("piece_forbidden", "may stand on"),
    ):
        if words in error.problem:
            return {"problem": code, "column": error.column}
    return {"problem": "unreadable", "column": error.column}
