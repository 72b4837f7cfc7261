"""One open game with the players at its sides: what may be done, what is shown, how it is kept. No searching here."""

from __future__ import annotations

import json
import secrets
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from app.draws import OFFER_PAUSE, accepts_draw, offers_draw
from app.engines import AnySeat, seat_name, seat_view
from app.problems import Problem, first_line, sentence
from app.schemas import MOST_PLIES, PersonSeat, PlayMove, RecordText, Schema, Seat
from app.views import attackers_chances, legal_view, move_row, outcome_view
from arena.players import Thought
from env import Game, IllegalMove, NotationError
from env.records import format_record, parse_record, record_of
from env.rules import SIDES

FORMAT = 1
BY_WORD = ("resignation", "agreement", "forfeit")


class Kept(Schema):
    """A session as it lies on the disk."""

    format: int = Field(ge=1, le=FORMAT)
    id: str
    record: RecordText
    attackers: Seat
    defenders: Seat
    running: bool
    delay: float = Field(ge=0, le=3600)
    seed: int = Field(ge=0, lt=2**32)
    offered: bool
    chances: list[tuple[float, float, float] | None] = Field(max_length=MOST_PLIES)


_KEPT = TypeAdapter(Kept)


class Session:
    """A game, its players and what has been said at the board.

    Attributes:
        key: the id by which a page finds it again.
        game: as it stands.
        seats: who plays, by side.
        running: whether two engines go on by themselves.
        delay: seconds between their moves.
        seed: decides what engines leave to chance.
        revision: grows with every change that is shown.
        thinking: the side whose engine searches at this moment.
        notice: what is to be said of the last event, as JSON.
    """

    def __init__(self, game: Game, attackers: AnySeat, defenders: AnySeat, key: str | None = None) -> None:
        self.key = key or secrets.token_urlsafe(16)
        self.game = game
        self.seats: dict[str, AnySeat] = {SIDES[0]: attackers, SIDES[1]: defenders}
        self.running, self.delay = True, 0.5
        self.seed = secrets.randbits(32)
        self.revision = 0
        self.thinking: str | None = None
        self.notice: dict[str, str] | None = None
        self._offered_at = -OFFER_PAUSE
        self._rows: list[dict[str, Any]] = []
        self._chances: list[tuple[float, float, float] | None] = []
        self._legal: tuple[tuple[Any, ...], list[dict[str, Any]]] | None = None
        self._catch_up()

    # Who is to act

    @property
    def seat(self) -> AnySeat:
        """Who is to play."""
        return self.seats[self.game.to_play]

    @property
    def watched(self) -> bool:
        """Whether no person plays."""
        return not any(isinstance(seat, PersonSeat) for seat in self.seats.values())

    @property
    def engine_is_due(self) -> bool:
        """Whether an engine has to move by itself now."""
        due = self.game.outcome is None and not isinstance(self.seat, PersonSeat) and self.game.ply < MOST_PLIES
        return due and (self.running or not self.watched)

    @property
    def engine_can_step(self) -> bool:
        """Whether an engine may be asked to move now."""
        person = isinstance(self.seat, PersonSeat)
        return self.game.outcome is None and not person and self.game.ply < MOST_PLIES and self.thinking is None

    def require_going_on(self) -> None:
        """Problem where the game is over."""
        if self.game.outcome is not None:
            raise Problem("game_over", "The game is over.")

    # What happens

    def play(self, request: PlayMove) -> None:
        """A person's move."""
        self.require_going_on()
        if not isinstance(self.seat, PersonSeat):
            raise Problem("not_your_turn", f"The {self.game.to_play} are to play, and an engine moves for them.")
        if request.ply not in (None, self.game.ply):
            raise Problem("not_your_turn", f"The game is at ply {self.game.ply}, not at {request.ply}.")
        if self.game.ply >= MOST_PLIES:
            raise Problem("not_possible", f"This game has {MOST_PLIES} plies; no more are kept.")
        if request.offer_draw and not self.game.rules.agreement:
            raise Problem("not_possible", f"The rules of {self.game.rules.title} know no draw by agreement.")
        try:
            self.game.play(request.move.lower())
        except (IllegalMove, NotationError) as error:
            raise Problem("illegal_move", first_line(error), move=request.move) from None
        if request.offer_draw and self.game.outcome is None:
            self.game.offer_draw()
        self.notice = None
        self._catch_up()

    def engine_plays(self, thought: Thought) -> None:
        """An engine's answer: it takes a standing offer, or moves, perhaps with an offer."""
        self.notice = None
        game = self.game
        if game.draw_offered:
            if accepts_draw(thought):
                game.accept_draw()
                self.notice = _notice("draw_accepted", "The draw is accepted.")
                self._changed()
                return
            self.notice = _notice("draw_declined", "The draw is declined.")
        side = game.to_play
        chances = attackers_chances(thought, side)
        game.play(thought.move)
        rested = game.ply - self._offered_at >= OFFER_PAUSE
        if game.rules.agreement and game.outcome is None and offers_draw(thought) and rested:
            game.offer_draw()
            self._offered_at = game.ply
        self._catch_up(chances)

    def undo(self, ply: int | None = None) -> None:
        """Back to a ply; without one to before a person's last move, or before an ending by word."""
        game = self.game
        by_word = game.outcome is not None and game.outcome.reason in BY_WORD
        if ply is None:
            ply = game.ply if by_word else self._person_ply()
        if ply is None or (ply >= game.ply and not by_word) or ply > game.ply:
            raise Problem("not_possible", "There is no move to take back.")
        while game.ply > ply or (game.outcome is not None and game.outcome.reason in BY_WORD):
            game.undo()
        self._offered_at = min(self._offered_at, game.ply)
        self.notice = None
        if self.watched:
            self.running = False
        self._catch_up()

    def _person_ply(self) -> int | None:
        """Where the last move of a person was made; where no person plays, the last ply."""
        plies = range(self.game.ply - 1, -1, -1)
        if self.watched:
            return next(iter(plies), None)
        return next((ply for ply in plies if isinstance(self.seats[self._side_at(ply)], PersonSeat)), None)

    def _side_at(self, ply: int) -> str:
        return SIDES[(SIDES.index(self.game.start[1]) + ply) % 2]

    def resign(self, side: str | None) -> None:
        """A person gives up."""
        self.require_going_on()
        persons = [name for name, seat in self.seats.items() if isinstance(seat, PersonSeat)]
        if side is None and len(persons) == 2:
            side = self.game.to_play
        side = side or next(iter(persons), None)
        if side not in persons:
            raise Problem("not_possible", "Only a person can resign, and only for the own side.")
        self.game.resign(side)
        self.notice = None
        self._changed()

    def offer_draw(self) -> None:
        """The person that has just moved offers a draw."""
        self.require_going_on()
        mover = SIDES[1 - SIDES.index(self.game.to_play)]
        if self.game.ply and not isinstance(self.seats[mover], PersonSeat):
            raise Problem("not_possible", "A draw is offered by the side that has just moved: make your move first.")
        try:
            self.game.offer_draw()
        except ValueError as error:
            raise Problem("not_possible", sentence(error)) from None
        self.notice = None
        self._changed()

    def accept_draw(self) -> None:
        """The person to play accepts the other side's offer."""
        self.require_going_on()
        if not isinstance(self.seat, PersonSeat):
            raise Problem("not_possible", "An engine answers this offer by itself.")
        try:
            self.game.accept_draw()
        except ValueError as error:
            raise Problem("not_possible", sentence(error)) from None
        self.notice = None
        self._changed()

    def set_seats(self, attackers: AnySeat | None, defenders: AnySeat | None) -> None:
        """Other players from now on."""
        for side, seat in zip(SIDES, (attackers, defenders)):
            if seat is not None:
                self.seats[side] = seat
        self.notice = None
        self._changed()

    def set_running(self, running: bool, delay: float | None = None) -> None:
        """Whether two engines go on, and how fast."""
        self.running = running
        self.delay = self.delay if delay is None else delay
        self._changed()

    def set_thinking(self, side: str | None) -> None:
        """An engine begins or ends its search."""
        if side != self.thinking:
            self.thinking = side
            self._changed()

    def say(self, code: str, message: str) -> None:
        """Something to be told at the board."""
        self.notice = _notice(code, message)
        self._changed()

    # What is shown

    def _changed(self) -> None:
        self.revision += 1

    def _catch_up(self, chances: tuple[float, float, float] | None = None) -> None:
        """Bring the rows of the move list into line with the game; `chances` belong to the last move."""
        game, rows = self.game, self._rows
        del rows[game.ply :], self._chances[game.ply :]
        if game.ply - len(rows) == 1:
            rows.append(move_row(game))
        elif game.ply > len(rows):
            rows.clear()
            trial = Game.from_position(game.rules, *game.start)
            for move in game.moves:
                trial.play(move)
                rows.append(move_row(trial))
        self._chances += [None] * (game.ply - len(self._chances))
        if chances is not None:
            self._chances[-1] = chances
        self._changed()

    def legal(self) -> list[dict[str, Any]]:
        """The legal moves with what each would do."""
        key = (*self.game.actions, self.game.outcome)
        if self._legal is None or self._legal[0] != key:
            self._legal = (key, legal_view(self.game))
        return self._legal[1]

    def view(self) -> dict[str, Any]:
        """The whole of it as JSON."""
        game = self.game
        going_on, person = game.outcome is None, isinstance(self.seat, PersonSeat)
        mover = SIDES[1 - SIDES.index(game.to_play)]
        offered = mover if game.draw_offered else None
        by_word = not going_on and game.outcome is not None and game.outcome.reason in BY_WORD
        agreement = going_on and game.rules.agreement
        return {
            "id": self.key,
            "revision": self.revision,
            "game": game.rules.name,
            "layout": game.layout,
            "start": {"position": game.start[0], "to_play": game.start[1]},
            "players": {side: seat_view(seat) for side, seat in self.seats.items()},
            "position": game.position,
            "to_play": game.to_play,
            "ply": game.ply,
            "king": game.king,
            "moves": [
                {**row, "chances": None if chances is None else dict(zip(("attackers", "draw", "defenders"), chances))}
                for row, chances in zip(self._rows, self._chances)
            ],
            "captured": game.captured,
            "occurrences": game.occurrences(),
            "legal": self.legal(),
            "outcome": outcome_view(game.outcome),
            "draw_offered": offered,
            "thinking": self.thinking,
            "running": self.running,
            "delay": self.delay,
            "can": {
                "move": going_on and person,
                "undo": by_word or self._person_ply() is not None,
                "resign": going_on and not self.watched,
                "offer_draw": agreement and not self.watched,
                "accept_draw": agreement and person and offered is not None,
                "step": self.engine_can_step,
                "run": going_on and self.watched,
            },
            "notice": self.notice,
        }

    def record(self, ply: int | None = None) -> str:
        """The game as a record, up to a ply where one is given."""
        game = self.game
        if ply is not None and ply < game.ply:
            game = game.copy()
            while game.ply > ply:
                game.undo()
        attackers, defenders = (_tag(seat_name(self.seats[side])) for side in SIDES)
        return format_record(record_of(game, attackers=attackers, defenders=defenders))

    # On the disk

    def kept(self) -> bytes:
        """All of it, to be written to a file."""
        fields = {
            "format": FORMAT,
            "id": self.key,
            "record": self.record(),
            **{side: seat.model_dump(exclude_none=True) for side, seat in self.seats.items()},
            "running": self.running,
            "delay": self.delay,
            "seed": self.seed,
            "offered": self.game.draw_offered,
            "chances": self._chances,
        }
        return json.dumps(fields, ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_kept(cls, data: bytes) -> Session:
        """The session that `kept` wrote.

        Raises:
            ValueError: the bytes are no such thing.
        """
        try:
            kept = _KEPT.validate_json(data)
        except ValidationError as error:
            raise ValueError(f"no kept game: {error.errors()[0]['msg']}") from None
        session = cls(parse_record(kept.record).game(), kept.attackers, kept.defenders, kept.id)
        session.running, session.delay, session.seed = kept.running, kept.delay, kept.seed
        if kept.offered and session.game.ply and session.game.outcome is None and session.game.rules.agreement:
            session.game.offer_draw()
        if len(kept.chances) == session.game.ply:
            session._chances = list(kept.chances)
        return session


def _notice(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}


def _tag(name: str) -> str:
    """A name as a record can hold it."""
    return "".join(" " if character in "[]|\r\n" else character for character in name)[:100]
