"""What OpenTafl and the programs that play through it say to each other: lines of ASCII over standard input and output.

Both ends are here, as text to be sent and read; `arena.engine_player` holds the host's end of the conversation,
`arena.engine_server` the engine's. Positions in these lines begin with rank 1, unlike our own text (`env.notation`).
docs/engines.md says what is spoken and what is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from env import Game, Rules
from env.notation import format_position, parse_position
from env.records import rules_text
from env.rules import SIDES

HELLO_SECONDS = 5.0
"""How long an engine may take from its start to its `hello`."""

ABORTED, DRAW, ATTACKERS_WON, DEFENDERS_WON = range(4)
"""Codes of `finish`."""

WRONG_SIDE, ILLEGAL_MOVE = 1, 2
"""Codes of the host's `error`."""

CRITICAL, NOT_CRITICAL = -1, 0
"""Codes of the engine's `error`."""


MOST_SECONDS = 86_400.0
"""Time that any one move or analysis gets at most, a day: timers of operating systems cannot wait for ever."""

_MOST_CLOCK = 10**12


@dataclass(frozen=True, slots=True)
class Clock:
    """The time that a side has left.

    Attributes:
        milliseconds: by side, attackers first.
        overtime: by side, whether its main time is over and these are what is left of the present period.
        period: seconds of an overtime period, 0 without overtime.
        periods: by side, overtime periods that are left.
    """

    milliseconds: tuple[int, int]
    overtime: tuple[bool, bool] = (False, False)
    period: int = 0
    periods: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        left = (f"{ms}{'*' if over else ''}" for ms, over in zip(self.milliseconds, self.overtime, strict=True))
        return f"clock {' '.join(left)} {self.period} {self.periods[0]} {self.periods[1]}"

    @classmethod
    def a_move(cls, seconds: float) -> Clock:
        """So much time for each move: main time is over, and a period that is used in time begins again."""
        left = max(1, round(1000 * seconds))
        return cls((left, left), (True, True), max(1, ceil(seconds)), (1, 1))

    @classmethod
    def parse(cls, text: str) -> Clock:
        """Reads what follows `clock`; what is missing at the end counts as no overtime.

        Raises:
            ValueError: it is no clock.
        """
        words = text.split()
        try:
            if len(words) < 2:
                raise ValueError
            left = tuple(int(word.rstrip("*")) for word in words[:2])
            period, *periods = (*(int(word) for word in words[2:5]), 0, 0, 0)[:3]
            if any(abs(number) > _MOST_CLOCK for number in (*left, period, *periods)):
                raise ValueError
        except ValueError:
            raise ValueError(f"{text[:60]!r} is no clock, as '60000 60000 10 3 3'") from None
        over = tuple(word.endswith("*") for word in words[:2])
        return cls((left[0], left[1]), (over[0], over[1]), period, (periods[0], periods[1]))

    def move_seconds(self, side: str, moves: int = 25) -> float | None:
        """A sensible time for the next move of a side, None where the clock does not run (a negative time).

        Of a main time it is the share of one of `moves` moves, and an overtime period is used nearly up: what is kept
        back is for the way through the pipes.
        """
        number = SIDES.index(side)
        left = self.milliseconds[number] / 1000
        if left < 0:
            return None
        share = 0.95 * left - 0.01
        if not self.overtime[number]:
            share = min(0.5 * left, left / moves + (0.8 * self.period if self.periods[number] else 0.0))
        return min(MOST_SECONDS, max(0.001, share))


def position_text(game: Game) -> str:
    """A game's position as the protocol has it, rank 1 first."""
    return format_position(game.rules.size, game.board, rank_one_first=True)


def parse_protocol_position(rules: Rules, text: str) -> str:
    """A position of the protocol, rank 1 first, as our own text, the last rank first.

    Raises:
        NotationError: it is none of that game.
    """
    return format_position(rules.size, parse_position(rules, text, rank_one_first=True))


def start_lines(game: Game, side: str) -> list[str]:
    """What an engine is told before its first move, where the game's present position is the start."""
    return [
        f"rules {rules_text(game.rules, game.position, game.to_play)}",
        f"position {position_text(game)}",
        f"side {side}",
    ]


def finish_code(game: Game) -> int:
    """The code of `finish` for a game as it stands."""
    if game.outcome is None:
        return ABORTED
    return {None: DRAW, SIDES[0]: ATTACKERS_WON, SIDES[1]: DEFENDERS_WON}[game.outcome.winner]


def command_of(line: str) -> tuple[str, str]:
    """A line's first word in small letters, and the rest."""
    word, _, rest = line.strip().partition(" ")
    return word.lower(), rest.strip()
