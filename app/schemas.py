"""What a request may hold. Whatever does not fit is refused before anything else looks at it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.levels import DEFAULT_LEVEL, LEVELS

MOST_SIMULATIONS = 20_000
MOST_SECONDS = 60.0
MOST_DEPTH = 12
MOST_NODES = 10**9
MOST_NOISE = 10_000
MOST_DELAY = 10.0
MOST_PLIES = 1_000
RECORD_BYTES = 200_000

Side = Literal["attackers", "defenders"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=300)]
MoveText = Annotated[str, StringConstraints(min_length=5, max_length=7)]
PositionText = Annotated[str, StringConstraints(min_length=1, max_length=400)]
RecordText = Annotated[str, StringConstraints(max_length=RECORD_BYTES)]
Ply = Annotated[int, Field(ge=0, le=100_000)]
Simulations = Annotated[int, Field(ge=1, le=MOST_SIMULATIONS)]
Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS)]
Delay = Annotated[float, Field(ge=0, le=MOST_DELAY)]


class Schema(BaseModel):
    """Of every request: nothing beyond what is known, and no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PersonSeat(Schema):
    """A person at this board."""

    kind: Literal["person"] = "person"


class RandomSeat(Schema):
    """Any legal move."""

    kind: Literal["random"]


class LevelSeat(Schema):
    """An engine by its level (`app.levels`)."""

    kind: Literal["level"]
    level: Literal[tuple(LEVELS)] = DEFAULT_LEVEL  # type: ignore[valid-type]


class AlphaBetaSeat(Schema):
    """Alpha-beta to a depth in plies, or for a time a move; depth 2 where neither is said.

    The measuring stick, `alphabeta-v1`, unless `version` says `v2`; only that one counts nodes and knows noise.
    """

    kind: Literal["alphabeta"]
    version: Literal["v2"] | None = None
    depth: Annotated[int, Field(ge=1, le=MOST_DEPTH)] | None = None
    nodes: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None
    seconds: Seconds | None = None
    noise: Annotated[int, Field(ge=1, le=MOST_NOISE)] | None = None


class CheckpointSeat(Schema):
    """A checkpoint by its id (`app.catalogue`)."""

    kind: Literal["checkpoint"]
    checkpoint: Key
    simulations: Simulations | None = None
    seconds: Seconds | None = None


EngineSeat = Annotated[RandomSeat | LevelSeat | AlphaBetaSeat | CheckpointSeat, Field(discriminator="kind")]
Seat = Annotated[PersonSeat | RandomSeat | LevelSeat | AlphaBetaSeat | CheckpointSeat, Field(discriminator="kind")]


class SelfPlayGame(Schema):
    """A saved game of a run's self-play."""

    run: Key
    iteration: Ply
    number: Ply


class NewGame(Schema):
    """A game to begin: from a layout, a position, a record, or a saved game of self-play."""

    game: Name | None = None
    layout: Name | None = None
    position: PositionText | None = None
    to_play: Side | None = None
    record: RecordText | None = None
    selfplay: SelfPlayGame | None = None
    attackers: Seat = PersonSeat()
    defenders: Seat = PersonSeat()
    running: bool = True
    delay: Delay = 0.5


class PlayMove(Schema):
    """A person's move; `ply` is where the page believes the game to be."""

    move: MoveText
    offer_draw: bool = False
    ply: Ply | None = None


class Undo(Schema):
    """Back to a ply, or to before the last thing that happened."""

    ply: Ply | None = None


class Resign(Schema):
    """The side that gives up; may be left out where one person plays."""

    side: Side | None = None


class Nothing(Schema):
    """A command without particulars."""


class Run(Schema):
    """Whether engines go on by themselves, and how many seconds lie between their moves."""

    running: bool
    delay: Delay | None = None


class Seats(Schema):
    """Who plays from now on."""

    attackers: Seat | None = None
    defenders: Seat | None = None


class RecordCheck(Schema):
    """A record to be read."""

    record: RecordText


class PositionCheck(Schema):
    """A position that was set up by hand."""

    game: Name
    position: PositionText
    to_play: Side


class Analyse(Schema):
    """Over the socket: analyse the position at a ply, again and again with more simulations."""

    type: Literal["analyse"]
    ply: Ply
    engine: EngineSeat | None = None
    simulations: Simulations = 2_048


class StopAnalysis(Schema):
    """Over the socket: no analysis any more."""

    type: Literal["stop_analysis"]


class Graph(Schema):
    """Over the socket: values of all positions of the game."""

    type: Literal["graph"]
    engine: EngineSeat | None = None
    simulations: Annotated[int, Field(ge=1, le=512)] = 64


Message = Annotated[Analyse | StopAnalysis | Graph, Field(discriminator="type")]
