"""Who can play, as the full-screen terminal lists it: in words, and as the JSON that stands for it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from app.catalogue import Catalogue
from app.engines import AnySeat
from app.language import Language
from app.levels import LEVELS
from app.schemas import AlphaBetaSeat, LevelSeat, PersonSeat, RandomSeat, Seat
from app.screen_words import player_name

_SEAT: TypeAdapter[AnySeat] = TypeAdapter(Seat)


def known_players(catalogue: Catalogue, say: Language, *present: AnySeat) -> list[tuple[str, str]]:
    """Everybody who can play, those who are `present` among them."""
    seats: list[AnySeat] = [PersonSeat(), *(LevelSeat(kind="level", level=name) for name in LEVELS)]
    seats += [AlphaBetaSeat(kind="alphabeta", depth=depth) for depth in range(1, 7)]
    seats += [AlphaBetaSeat(kind="alphabeta", version="v2", depth=depth) for depth in (2, 4, 6, 8)]
    seats.append(RandomSeat(kind="random"))
    found = {seat_text(seat): player_name(seat.model_dump(), say) for seat in seats}
    for entry in catalogue.checkpoints():
        seat = _SEAT.validate_python({"kind": "checkpoint", "checkpoint": entry.checkpoint})
        found[seat_text(seat)] = f"{entry.checkpoint} ({entry.game})"
    for seat in present:
        found.setdefault(seat_text(seat), player_name(seat.model_dump(), say))
    return [(words, text) for text, words in found.items()]


def seat_text(seat: AnySeat) -> str:
    """A seat as JSON."""
    return seat.model_dump_json(exclude_none=True)


def read_seat(text: str) -> AnySeat:
    """The seat that `seat_text` wrote."""
    return _SEAT.validate_json(text)


def seat_of(view: dict[str, Any], side: str) -> AnySeat:
    """Who plays a side in a game's view."""
    return _SEAT.validate_python({name: value for name, value in view["players"][side].items() if name != "name"})
