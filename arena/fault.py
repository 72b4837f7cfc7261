"""What a player did wrong that costs it the game."""

from __future__ import annotations

from dataclasses import dataclass

ILLEGAL, CRASHED, TIME, ERROR, FLOOD = "illegal move", "crashed", "no move in time", "gave up", "flooded"
KINDS = (ILLEGAL, CRASHED, TIME, ERROR, FLOOD)


def plain_line(text: str) -> str:
    """What another program has said, fit for a terminal and a record's tag.

    Square brackets become round ones; spaces, ends of lines and control characters (a terminal would obey them) become
    single spaces, none of them at either end.
    """
    text = text.replace("[", "(").replace("]", ")")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a game is forfeited.

    Attributes:
        kind: one of `KINDS`.
        text: what happened, in words on one line; made to be one that a record's tag can hold (`plain_line`).
    """

    kind: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain_line(self.text) or "without a word")

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Reads what `str` writes.

        Raises:
            ValueError: it begins with none of the kinds.
        """
        kind, colon, rest = text.partition(": ")
        if not colon or kind not in KINDS:
            raise ValueError(f"{text!r} is no fault: it begins with one of {', '.join(KINDS)} and a colon")
        return cls(kind, rest)
