"""What a request is answered with when it cannot be done: a code for programs, a sentence for people."""

from __future__ import annotations

from typing import Any

STATUS = {
    "bad_request": 422,
    "bad_position": 422,
    "bad_record": 422,
    "not_found": 404,
    "illegal_move": 409,
    "not_your_turn": 409,
    "game_over": 409,
    "not_possible": 409,
    "too_many": 429,
    "too_large": 413,
    "unsupported": 415,
    "unavailable": 503,
    "forbidden": 403,
    "method_not_allowed": 405,
    "failed": 500,
}


class Problem(ValueError):
    """A request that is refused.

    Attributes:
        code: one of `STATUS`.
        details: what else a program may want to know, as plain JSON.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.details = code, details

    @property
    def status(self) -> int:
        """HTTP status."""
        return STATUS[self.code]

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        return {"error": {"code": self.code, "message": str(self), "details": self.details}}


def first_line(error: Exception) -> str:
    """What an error says, without the lines that show the place."""
    return str(error).split("\n", 1)[0]


def sentence(error: Exception) -> str:
    """What an error says, as a sentence."""
    text = first_line(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
