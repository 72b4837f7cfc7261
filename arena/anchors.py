"""Players whose ratings are known: measured once, kept in a file, and held where they are in every later fit.

A file `seeds/ratings/GAME-v1.json` is made by `tools/make_ratings.py` and never changed; better ratings get the next
version. It holds the ratings, and every game that they were fitted to:

    {"ratings": "brandubh-v1", "game": ..., "layout": ..., "openings": ..., "command": ..., "date": ...,
     "advantage": [elo, low, high],
     "players": {"random": {"attackers": [elo, low, high], "defenders": [...], "overall": [...], "games": n}, ...},
     "matches": [{"player": ..., "opponent": ..., "seed": n, "openings": "1 2 ...", "attackers": "1 0 ...",
                  "defenders": "1 0 ..."}, ...]}

`openings` of a match are numbers, `attackers` and `defenders` the first player's points as that side, in their order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arena.match import MatchResult
from arena.player_text import ALPHABETA, read_player
from arena.rating import Anchors, Estimate, RatedGame
from env.rules import SIDES, Rules, get_rules

FOLDER = Path(__file__).resolve().parent.parent / "seeds" / "ratings"
VERSION = "v1"


class AnchorsError(ValueError):
    """A file of ratings is missing or damaged; one sentence says what to do."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Triple = tuple[float, float, float]
"""Elo points, lower and upper end of the 95 % interval."""


class KnownPlayer(_Model):
    """A player's ratings, and how many games they come from."""

    attackers: Triple
    defenders: Triple
    overall: Triple
    games: Annotated[int, Field(ge=1)]


class KnownMatch(_Model):
    """The games of two players, see the file's form above."""

    player: str
    opponent: str
    seed: Annotated[int, Field(ge=0)]
    openings: str
    attackers: str
    defenders: str

    @model_validator(mode="after")
    def _equal_lengths(self) -> KnownMatch:
        if len({len(text.split()) for text in (self.openings, self.attackers, self.defenders)}) != 1:
            raise ValueError("openings and points of a match are not equally many")
        return self

    def games(self, source: str) -> Iterator[RatedGame]:
        """Its games, openings being named after their `source`."""
        for number, won, defended in zip(self.openings.split(), self.attackers.split(), self.defenders.split()):
            opening = f"{source}#{number}"
            yield RatedGame(self.player, self.opponent, float(won), opening)
            yield RatedGame(self.opponent, self.player, 1 - float(defended), opening)


class KnownRatings(_Model):
    """A file of ratings."""

    ratings: str
    game: str
    layout: str
    openings: str
    command: str
    date: str
    advantage: Triple
    players: dict[str, KnownPlayer]
    matches: list[KnownMatch]

    def games(self) -> list[RatedGame]:
        """Every game that the ratings were fitted to."""
        return [game for match in self.matches for game in match.games(self.openings)]

    def anchors(self) -> Anchors:
        """The ratings as `arena.rating.fit` takes them."""
        strengths = {name: {side: getattr(each, side)[0] for side in SIDES} for name, each in self.players.items()}
        return Anchors(strengths, self.advantage[0])

    def text(self) -> str:
        """The file's text, a line for each player and match."""
        plain = self.model_dump(mode="json")
        lines = [f' "{key}": {json.dumps(value)}' for key, value in plain.items() if key not in ("players", "matches")]
        players = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in plain["players"].items())
        matches = ",\n".join(f"  {json.dumps(each)}" for each in plain["matches"])
        lines += [f' "players": {{\n{players}\n }}', f' "matches": [\n{matches}\n ]']
        return "{\n" + ",\n".join(lines) + "\n}\n"


@dataclass(frozen=True, slots=True)
class Known:
    """The anchors of a game, with where they come from."""

    name: str
    openings: str
    anchors: Anchors
    estimates: dict[str, dict[str, Estimate]]


def known_match(result: MatchResult) -> KnownMatch:
    """The part of a match that a file of ratings keeps; the match has to be complete."""
    pairs = list(zip(result.played[::2], result.played[1::2]))
    return KnownMatch(
        player=result.player,
        opponent=result.opponent,
        seed=result.seed,
        openings=" ".join(str(first.opening.number) for first, _ in pairs),
        attackers=" ".join(f"{first.score:g}" for first, _ in pairs),
        defenders=" ".join(f"{second.score:g}" for _, second in pairs),
    )


def ratings_path(rules: Rules | str, layout: str | None = None, version: str = VERSION) -> Path:
    """Where the ratings of a game's layout (`None`: the default one) are kept."""
    rules = get_rules(rules)
    stem = rules.name if layout in (None, rules.default_layout) else f"{rules.name}-{layout}"
    return FOLDER / f"{stem}-{version}.json"


def known_name(text: str) -> str | None:
    """The name under which ratings are kept of the player that a text names; `None` where it cannot have one.

    Raises:
        PlayerError: the text names no player.
    """
    parts = read_player(text)
    if parts.path is not None or "seconds" in parts.options:
        return None
    return f"{ALPHABETA}:depth={parts.options.get('depth', 2)}" if parts.name == ALPHABETA else parts.name


def read_ratings(path: Path) -> KnownRatings:
    """Reads a file of ratings.

    Raises:
        AnchorsError: it is missing or damaged.
    """
    try:
        return KnownRatings.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise AnchorsError(f"no known players to compare with: there is no file {path}") from None
    except OSError as error:
        raise AnchorsError(f"{path} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise AnchorsError(f"{path} is damaged: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}") from None


def load_anchors(rules: Rules | str, layout: str | None = None, version: str = VERSION) -> Known:
    """The known players of a game.

    Raises:
        AnchorsError: there are none for that layout, or their file is damaged.
    """
    rules = get_rules(rules)
    path = ratings_path(rules, layout, version)
    if not path.exists():
        make = f"python tools/make_ratings.py {rules.name}" + (f" --layout {layout}" if layout else "")
        raise AnchorsError(
            f"{rules.title}, layout {layout or rules.default_layout}, has no known players to compare with "
            f"(no file {path}): `{make}` measures them"
        )
    found = read_ratings(path)
    estimates = {
        name: {part: Estimate(*getattr(each, part)) for part in (*SIDES, "overall")}
        for name, each in found.players.items()
    }
    return Known(found.ratings, found.openings, found.anchors(), estimates)
