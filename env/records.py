"""Game records as text, in the form that OpenTafl writes and other tafl programs read.

    [attackers:Ann]
    [defenders:Ben]
    [result:-1]
    [termination:resignation]
    [rules:dim:7 name:Brandubh atkf:y surf:n tfr:l ks:w cenh: cenhe:tcnkm start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/]

    1. d2-e2 c4-c5
    [the usual opening|]
    2. d6-c6 Kd4-d6xd7
    3. ---

The tags come first, `rules` the last of them; then the turns, each followed by its comments if it has any. `result` is
1 where the attackers won, -1 where the defenders did, 0 for a draw, ? for anything else. Reading accepts other
programs' spellings too: several captures as `xc3xd4`, moves without captures, without `K`, captures without squares;
and it passes over variations. Every record is played through as it is read; what disagrees with the rules is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from env.board import REASONS
from env.game import Game
from env.illegal import IllegalMove
from env.notation import (
    Move,
    NotationError,
    WrittenMove,
    format_move,
    format_position,
    parse_move,
    parse_position,
)
from env.rules import RULES, SIDES, Rules

RESULTS = {"attackers": "1", "defenders": "-1", "draw": "0", None: "?"}
_WINNERS = {text: winner for winner, text in RESULTS.items()}
_BY_WORD = ("agreement", "resignation", "forfeit")
_OWN_TAGS = ("result", "rules")
_TURN = re.compile(r"(\d+)([a-z][0-9a-z.]*)?\.")
_SETTING = re.compile(r"([a-z]+):(\S*)")
RESIGNS = "---"


@dataclass
class Record:
    """A game that has been played, or part of one.

    Attributes:
        rules: the game.
        position: where it started, ranks from the top.
        to_play: the side that moved first.
        moves: the moves made.
        result: "attackers" or "defenders" for the winner, "draw", or None where it is not known.
        reason: why it ended (see `env.game.Outcome`), None where it did not, or where the record does not say so.
        tags: what else is known, text by name, such as event, date (YYYY.MM.DD), attackers, defenders.
        comments: texts by the ply of the move they belong to, from 1.
    """

    rules: Rules
    position: str
    to_play: str
    moves: list[Move] = field(default_factory=list)
    result: str | None = None
    reason: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)

    @property
    def layout(self) -> str | None:
        """Name of the layout that the game started from, None for another position."""
        if self.to_play != self.rules.first:
            return None
        return next((name for name, text in self.rules.layouts.items() if text == self.position), None)

    def game(self) -> Game:
        """Play the record through and return the game, with everything that can be undone.

        Raises:
            IllegalMove: a move is against the rules.
            ValueError: the game did not end as the record says.
        """
        game = self._start()
        for move in self.moves:
            game.play(move)
        self._end(game)
        return game

    def _start(self) -> Game:
        if self.layout is not None:
            return Game(self.rules, self.layout)
        return Game.from_position(self.rules, self.position, self.to_play)

    def _end(self, game: Game) -> None:
        """End a game whose moves have been played the way the record says it ended; ValueError where that cannot be."""
        if self.reason in _BY_WORD and game.outcome is None:
            if self.reason == "agreement":
                game.offer_draw()
                game.accept_draw()
            elif self.result not in SIDES:
                raise ValueError(f"a {self.reason} has a winner, but the result is {RESULTS[self.result]}")
            else:
                loser = SIDES[1 - SIDES.index(self.result)]
                (game.resign if self.reason == "resignation" else game.forfeit)(loser)
        if game.outcome is None:
            if self.reason:
                raise ValueError(f"the record ends by {self.reason}, but after its last move the game goes on")
            return
        result = game.outcome.winner or "draw"
        if self.result not in (None, result) or self.reason not in (None, game.outcome.reason):
            said = f"result {RESULTS[self.result]}" + (f" by {self.reason}" if self.reason else "")
            raise ValueError(
                f"the record has {said}, but by the rules it is {RESULTS[result]} by {game.outcome.reason}"
            )


def record_of(game: Game, comments: dict[int, str] | None = None, **tags: str) -> Record:
    """Return the record of a game as it stands; underscores in the tags' names become hyphens."""
    outcome = game.outcome
    return Record(
        rules=game.rules,
        position=game.start[0],
        to_play=game.start[1],
        moves=game.moves,
        result=None if outcome is None else outcome.winner or "draw",
        reason=None if outcome is None else outcome.reason,
        tags={name.replace("_", "-"): value for name, value in tags.items()},
        comments=dict(comments or {}),
    )


def play_written(game: Game, move: Move) -> WrittenMove:
    """Play a move and return it with its captures, the king's letter and whether it decided the game.

    Raises:
        IllegalMove: the rules forbid it; the game is as it was.
    """
    symbol = "K" if game.piece(move.origin) == "king" else ""
    captured = game.play(move)
    info = {"king_captured": "++", "king_escaped": "--"}.get(game.outcome.reason if game.outcome else "", "")
    return WrittenMove(move, symbol, frozenset(captured) if captured else None, info)


def rules_text(rules: Rules, position: str, to_play: str) -> str:
    """Return the rules string of OpenTafl that comes nearest to a game, with a start of one's own.

    Its `start:` lists rank 1 first, unlike `position`.
    """
    board = parse_position(rules, position)
    parts = [
        f"dim:{rules.size}",
        f"name:{rules.title.replace(' ', '_')}",
        f"atkf:{'y' if to_play == SIDES[0] else 'n'}",
        *([rules.opentafl] if rules.opentafl else []),
        f"start:{format_position(rules.size, board, rank_one_first=True)}",
    ]
    return " ".join(parts)


# Writing


def format_record(record: Record) -> str:
    """Write a record, with the captures, the king's letter and how the game ended.

    Raises:
        ValueError: the record is against the rules, or a tag or comment holds a sign that would end it early.
    """
    lines = []
    for name, value in record.tags.items():
        if name in _OWN_TAGS or (name == "termination" and record.reason):
            raise ValueError(f"the tag {name!r} is written from the record itself")
        if not re.fullmatch(r"[^\s\[\]:|]+", name):
            raise ValueError(f"{name!r} is no name for a tag: no spaces, brackets, colons or bars")
        lines.append(f"[{name}:{_sound(value, '[]', f'the tag {name!r}')}]")
    lines.append(f"[result:{RESULTS[record.result]}]")
    if record.reason:
        lines.append(f"[termination:{record.reason}]")
    lines += [f"[rules:{rules_text(record.rules, record.position, record.to_play)}]", ""]

    game, spelled = record._start(), []
    for move in record.moves:
        spelled.append(format_move(play_written(game, move)))
    resigns = record.reason == "resignation" and record.result != game.to_play
    record._end(game)
    if resigns:
        spelled.append(RESIGNS)
    strangers = [ply for ply in record.comments if not 1 <= ply <= len(record.moves)]
    if strangers:
        raise ValueError(f"there is a comment on ply {strangers[0]}; the record has plies 1 to {len(record.moves)}")
    for first in range(0, len(spelled), 2):
        lines.append(f"{first // 2 + 1}. {' '.join(spelled[first : first + 2])}")
        comments = [
            _sound(record.comments.get(ply, ""), "[]|", f"the comment on ply {ply}") for ply in (first + 1, first + 2)
        ]
        if any(comments):
            lines.append(f"[{'|'.join(comments)}]")
    return "\n".join(lines) + "\n"


def _sound(text: str, forbidden: str, what: str) -> str:
    for sign in forbidden:
        if sign in text:
            raise ValueError(f"{what} holds {sign!r}, which a record cannot say: {text!r}")
    return text.strip()


# Reading


def parse_record(text: str, rules: Rules | None = None, source: str = "") -> Record:
    """Read a record and play it through.

    Args:
        text: the record.
        rules: the game that it is of; None takes it from the tags `variant` or `rules`.
        source: name of the file, for error messages.

    Raises:
        NotationError: the text cannot be read, or disagrees with the rules; names line and column.
    """
    return _Reader(text, source).record(rules)


class _Reader:
    """One pass over the text of a record; `at` is the index of the next character."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0

    def fail(self, problem: str, at: int | None = None) -> NotationError:
        return NotationError(problem, self.text, self.at if at is None else at, self.source)

    def skip_space(self) -> bool:
        """Go to the next character that is not white space; return whether there is one."""
        while self.at < len(self.text) and (self.text[self.at].isspace() or self.text[self.at] == "\ufeff"):
            self.at += 1
        return self.at < len(self.text)

    def bracket(self) -> str:
        """Read what stands between `[` and `]`; there are no brackets inside brackets."""
        end = self.text.find("]", self.at)
        if end < 0 or "[" in self.text[self.at + 1 : end]:
            raise self.fail("this bracket is never closed")
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def record(self, rules: Rules | None) -> Record:
        tags, places = self.header()
        record = self.start(rules, tags, places)
        result = tags.pop("result", "?").strip()
        if result not in _WINNERS:
            raise self.fail(f"{result!r} is no result; results are 1, 0, -1 and ?", places["result"])
        record.result = _WINNERS[result]
        if tags.get("termination") in REASONS[1:]:
            record.reason = tags.pop("termination")
        record.tags = tags
        game = record._start()
        resigned = self.turns(record, game)
        if resigned:
            loser = game.to_play
            if record.result in (loser, "draw") or record.reason not in (None, "resignation"):
                raise self.fail(f"the {loser} resign, but the tags say otherwise", places.get("result", 0))
            record.reason, record.result = "resignation", SIDES[1 - SIDES.index(loser)]
        try:
            record._end(game)
        except ValueError as error:
            raise self.fail(str(error), places.get("result", places.get("termination", 0))) from None
        if game.outcome is not None:
            record.result, record.reason = game.outcome.winner or "draw", game.outcome.reason
        return record

    def header(self) -> tuple[dict[str, str], dict[str, int]]:
        """Read the tags; return their values and where each value begins."""
        tags: dict[str, str] = {}
        places: dict[str, int] = {}
        while self.skip_space() and self.text[self.at] == "[":
            begin = self.at
            name, colon, value = self.bracket().partition(":")
            if not colon:
                raise self.fail("a tag is written [name:value]", begin)
            if name in tags:
                raise self.fail(f"the tag {name!r} appears twice", begin)
            tags[name] = value.strip()
            places[name] = begin + len(name) + 2 + len(value) - len(value.lstrip())
        return tags, places

    def start(self, rules: Rules | None, tags: dict[str, str], places: dict[str, int]) -> Record:
        """Find out the game and its start, from the tags and the rules string among them."""
        if "position" in tags:
            raise self.fail("a tag 'position' is not read: put the start into the rules string", places["position"])
        at = places.get("rules", 0)
        settings = {found[1]: (found[2], at + found.start(2)) for found in _SETTING.finditer(tags.pop("rules", ""))}
        names = [tags["variant"]] if "variant" in tags else []
        names += [settings["name"][0]] if "name" in settings else []
        if rules is None:
            spellings = {s.casefold(): r for r in RULES.values() for s in (r.name, r.title, r.title.replace(" ", "_"))}
            rules = next((spellings[name.casefold()] for name in names if name.casefold() in spellings), None)
        if rules is None:
            said = f"no game is called {names[-1]!r}" if names else "the record does not say which game it is"
            where = settings["name"][1] if "name" in settings else places.get("variant", 0)
            raise self.fail(f"{said}; a tag such as [variant:{next(iter(RULES))}] does ({', '.join(RULES)})", where)
        size, where = settings.get("dim", (str(rules.size), at))
        if size != str(rules.size):
            raise self.fail(f"dim:{size}, but {rules.title} has {rules.size} squares on a side", where)
        first, where = settings.get("atkf", ("y" if rules.first == SIDES[0] else "n", at))
        if first not in ("y", "n"):
            raise self.fail(f"atkf:{first}; allowed are y (attackers first) and n", where)
        position = rules.layouts[rules.default_layout]
        for key, rank_one_first in (("start", True), ("starti", False)):
            if key in settings:
                start, where = settings[key]
                try:
                    board = parse_position(rules, start, rank_one_first=rank_one_first)
                except NotationError as error:
                    raise self.fail(error.problem, where + error.column - 1) from None
                position = format_position(rules.size, board)
        return Record(rules, position, SIDES[0] if first == "y" else SIDES[1])

    def turns(self, record: Record, game: Game) -> bool:
        """Read the turns into `record` and play them in `game`; return whether the last of them is a resignation."""
        turn, variation, resigned = 0, False, False
        while self.skip_space():
            numbered = _TURN.match(self.text, self.at)
            if self.text[self.at] == "[":
                begin = self.at
                comments = self.bracket().split("|")
                if turn == 0:
                    raise self.fail("a comment before the first turn", begin)
                if len(comments) > 2:
                    raise self.fail("more than two comments on one turn", begin)
                for ply, comment in enumerate(comments, 2 * turn - 1):
                    if comment.strip() and not variation:
                        if ply > len(record.moves):
                            raise self.fail("a comment on a move that is not there", begin)
                        record.comments[ply] = comment.strip()
            elif numbered:
                variation = bool(numbered[2])
                if not variation:
                    if len(record.moves) != 2 * turn:
                        raise self.fail(f"turn {turn} has {len(record.moves) - 2 * turn + 2} moves, not two")
                    turn += 1
                    if numbered[1] != str(turn):
                        raise self.fail(f"turn {turn} is expected here, not {numbered[1]}")
                self.at = numbered.end()
            else:
                end = next((i for i in range(self.at, len(self.text)) if self.text[i].isspace()), len(self.text))
                if not variation:
                    if turn == 0:
                        raise self.fail("a turn begins with its number, such as '1.'")
                    if resigned:
                        raise self.fail("nothing follows a resignation")
                    if len(record.moves) == 2 * turn:
                        raise self.fail(f"turn {turn} has two moves already")
                    resigned = self.text[self.at : end] == RESIGNS
                    if resigned and game.outcome is not None:
                        raise self.fail(f"a resignation after the game is over ({game.outcome.reason})")
                    if not resigned:
                        record.moves.append(self.move(game, turn, end))
                self.at = end
        return resigned

    def move(self, game: Game, turn: int, end: int) -> Move:
        """Read the move that ends before `end`, play it, and compare what is said of it with what happened."""
        begin = self.at
        word = self.text[begin:end]
        try:
            written = parse_move(word, game.rules.size)
        except NotationError as error:
            raise self.fail(f"turn {turn}: {error.problem}", begin + error.column - 1) from None
        move, claimed = written.move, written.captured
        if written.symbol in ("k", "K") and game.piece(move.origin) != "king":
            raise self.fail(f"turn {turn}, {move}: the king is not on {move.origin}", begin)
        try:
            captured = set(game.play(move))
        except IllegalMove as error:
            raise self.fail(f"turn {turn}, {error}", begin) from None
        if claimed is not None:
            # Some programs list the king among what is taken; some write an x without saying what.
            taken = captured | ({game.king} if game.outcome and game.outcome.reason == "king_captured" else set())
            if not (claimed in (captured, taken) if claimed else taken):
                said, real = (", ".join(sorted(squares)) or "nothing" for squares in (claimed, taken))
                at = begin + word.index("x")
                raise self.fail(f"turn {turn}, {move}: takes {real} by the rules, not {said}", at)
        if written.info in ("++", "--") and game.outcome is None:
            at = end - len(written.info)
            raise self.fail(f"turn {turn}, {move}: said to end the game, but by the rules it goes on", at)
        return move
