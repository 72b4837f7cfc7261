"""What a match came to: its games, scores, intervals, ends and times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from arena.fault import Fault
from arena.interval import of_pairs, wilson
from arena.openings import Opening
from arena.sprt import SprtResult
from env import Game, Rules
from env.records import Record, record_of
from env.rules import SIDES

UNFINISHED = "unfinished"
ROLES = ("player", "opponent")
_SECONDS = r"([0-9]{1,9}(?:\.[0-9]{1,9})?) s"
_TIMES = re.compile(rf"([0-9]{{1,9}}) moves, {_SECONDS}, longest {_SECONDS}")


@dataclass(frozen=True, slots=True)
class MoveTimes:
    """Time that one side of a match spent on its moves, in seconds; `longest` is that of the slowest."""

    moves: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    @property
    def mean(self) -> float:
        """Seconds a move."""
        return self.seconds / max(1, self.moves)

    def add(self, seconds: float) -> MoveTimes:
        """These and one move more."""
        return MoveTimes(self.moves + 1, self.seconds + seconds, max(self.longest, seconds))

    def __str__(self) -> str:
        return f"{self.moves} moves, {self.seconds:.4f} s, longest {self.longest:.4f} s"

    @classmethod
    def parse(cls, text: str) -> MoveTimes:
        """Reads what `str` writes.

        Raises:
            ValueError: it is something else.
        """
        if (match := _TIMES.fullmatch(text.strip())) is None:
            raise ValueError(f"{text!r} does not tell times, as '31 moves, 6.2000 s, longest 0.2100 s'")
        return cls(int(match[1]), float(match[2]), float(match[3]))

    @classmethod
    def total(cls, parts: Iterable[MoveTimes]) -> MoveTimes:
        """All of them together."""
        parts = list(parts)
        return cls(
            sum(part.moves for part in parts),
            sum(part.seconds for part in parts),
            max((part.longest for part in parts), default=0.0),
        )


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """One game of a match.

    Attributes:
        number: its place in the match, from 0; numbers 2k and 2k + 1 are the pair k.
        opening: where it began.
        side: the first player's side.
        game: the game as it stands at the end.
        score: the first player's: 1 for a win, 1/2 for a draw or an unfinished game, 0 for a loss.
        fault: what the loser did, where it lost by that.
        times: what each of `ROLES` spent on its moves.
    """

    number: int
    opening: Opening
    side: str
    game: Game
    score: float
    fault: Fault | None = None
    times: Mapping[str, MoveTimes] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why it ended; `"unfinished"` at the ply limit."""
        return self.game.outcome.reason if self.game.outcome else UNFINISHED

    @property
    def line(self) -> tuple[int, ...]:
        """The moves, as action numbers."""
        return tuple(self.game.actions)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a match has come: games ended, games in all, plies played, the first player's points, and a remark."""

    ended: int
    games: int
    plies: int
    points: float
    note: str = ""


@dataclass(frozen=True)
class MatchResult:
    """What a match came to, from the first player's view.

    Attributes:
        player, opponent: the players' names.
        rules, layout, openings: what was played, from which collection of openings.
        seed, max_plies: as given.
        planned: games that were to be played; more than `games` if the match was interrupted, and then the games
            that happened to be over first are counted, which are the short ones.
        played: the games that came to an end, in the order of their numbers; where a sequential test has decided, only
            those of the pairs that it took.
        seconds: time each side spent on its moves in this process, games that ran at the same time counted once,
            `{"player": s, "opponent": s}`.
        sprt: what the sequential test found, if there was one.
    """

    player: str
    opponent: str
    rules: Rules
    layout: str
    openings: str
    seed: int
    max_plies: int
    planned: int
    played: tuple[PlayedGame, ...]
    seconds: dict[str, float] = field(default_factory=dict)
    sprt: SprtResult | None = None

    @property
    def games(self) -> int:
        """Number of games that came to an end."""
        return len(self.played)

    @property
    def interrupted(self) -> bool:
        """Whether fewer games were played than planned, and no sequential test has decided."""
        return self.games < self.planned and not (self.sprt and self.sprt.decided)

    def side(self, side: str | None) -> list[PlayedGame]:
        """The games that the first player played as `side`; `None`: all."""
        return [game for game in self.played if side in (None, game.side)]

    @property
    def score(self) -> dict[str, float | None]:
        """Mean score as attackers, as defenders and overall, in [0, 1]; `None` where no game was played."""
        parts = {side: [game.score for game in self.side(side)] for side in SIDES}
        parts["overall"] = [game.score for game in self.played]
        return {name: sum(scores) / len(scores) if scores else None for name, scores in parts.items()}

    def pairs(self) -> list[tuple[PlayedGame, PlayedGame]]:
        """The pairs of which both games came to an end."""
        games = {game.number: game for game in self.played}
        return [(games[n], games[n + 1]) for n in sorted(games) if n % 2 == 0 and n + 1 in games]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % score interval of the overall score, from pairs of games.

        The two games of a pair share an opening, which may favour a side, so only whole pairs are independent; of
        pairs that were played move for move alike only one counts. See `arena.interval.of_pairs`.
        """
        whole = self.pairs()
        scores = [(first.score + second.score) / 2 for first, second in whole]
        distinct = {(first.line, second.line) for first, second in whole}
        return of_pairs(scores, len(distinct))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % score intervals as attackers and as defenders.

        A player has one game of each pair on either side, so the games of a side are independent; of those that were
        played move for move alike only one counts.
        """
        intervals = {}
        for side in SIDES:
            games = self.side(side)
            mean = sum(game.score for game in games) / len(games) if games else 0.5
            intervals[side] = wilson(mean, len({game.line for game in games}))
        return intervals

    @property
    def unfinished(self) -> int:
        """Games cut off at the ply limit."""
        return sum(game.game.outcome is None for game in self.played)

    @property
    def distinct(self) -> int:
        """Different sequences of moves among the games."""
        return len({game.line for game in self.played})

    @property
    def ends(self) -> dict[str, int]:
        """Games by the reason of their end, the commonest first."""
        return dict(Counter(game.reason for game in self.played).most_common())

    @property
    def faults(self) -> dict[str, dict[str, int]]:
        """Games that each of `ROLES` forfeited, by the kind of its fault, the commonest first."""
        kinds: dict[str, Counter[str]] = {role: Counter() for role in ROLES}
        for game in self.played:
            if game.fault is not None:
                kinds[ROLES[int(game.score)]][game.fault.kind] += 1
        return {role: dict(counts.most_common()) for role, counts in kinds.items()}

    @property
    def times(self) -> dict[str, MoveTimes]:
        """What each of `ROLES` spent on its moves in the games that came to an end."""
        return {role: MoveTimes.total(g.times[role] for g in self.played if role in g.times) for role in ROLES}

    @property
    def lengths(self) -> dict[str, float]:
        """Mean, shortest and longest length of the games in plies, the opening included."""
        plies = [game.game.ply for game in self.played] or [0]
        return {"mean": sum(plies) / len(plies), "min": min(plies), "max": max(plies)}

    def results(self, side: str | None = None) -> dict[str, int]:
        """How many games were won, drawn, lost and unfinished, as one side or as both (`None`)."""
        games = self.side(side)
        cut = sum(game.game.outcome is None for game in games)
        won, lost = (sum(game.score == score for game in games) for score in (1.0, 0.0))
        return {"won": won, "drawn": len(games) - won - lost - cut, "lost": lost, UNFINISHED: cut}

    def records(self) -> list[Record]:
        """The games as records, with the players, the opening and the number of each among the tags."""
        return [game_record(played, self.player, self.opponent) for played in self.played]

    def to_json(self) -> dict[str, Any]:
        """Everything but the games, ready for `json.dumps`."""
        return {
            "player": self.player,
            "opponent": self.opponent,
            "game": self.rules.name,
            "layout": self.layout,
            "openings": self.openings,
            "score": self.score,
            "interval": list(self.interval),
            "intervals": {side: list(interval) for side, interval in self.intervals.items()},
            "games": self.games,
            "planned": self.planned,
            "unfinished": self.unfinished,
            "distinct": self.distinct,
            "results": {side: self.results(side) for side in SIDES},
            "ends": self.ends,
            "faults": self.faults,
            "lengths": self.lengths,
            "seconds": {
                **self.seconds,
                "move_mean": {role: round(times.mean, 4) for role, times in self.times.items()},
                "move_max": {role: round(times.longest, 4) for role, times in self.times.items()},
            },
            "seed": self.seed,
            "max_plies": self.max_plies,
            "sprt": None if self.sprt is None else self.sprt.to_json(),
        }


def game_record(played: PlayedGame, player: str, opponent: str) -> Record:
    """One game as a record: players, opening, number, times and fault are among its tags."""
    attackers, defenders = (player, opponent) if played.side == SIDES[0] else (opponent, player)
    tags = {"round": str(played.number + 1), "opening": str(played.opening)}
    tags |= {f"{role}-time": str(played.times[role]) for role in ROLES if role in played.times}
    if played.fault is not None:
        tags["fault"] = tag_text(str(played.fault))
    return record_of(played.game, None, attackers=tag_text(attackers), defenders=tag_text(defenders), **tags)


def game_score(game: Game, side: str) -> float:
    """The score of the player of `side`: 1, 0, or 1/2 for a draw and an unfinished game."""
    if game.outcome is None or game.outcome.winner is None:
        return 0.5
    return float(game.outcome.winner == side)


def tag_text(text: str) -> str:
    """A text without what would end a record's tag early, and without control characters."""
    return re.sub(r"[\[\]\s\x00-\x1f\x7f-\x9f]", " ", text)
