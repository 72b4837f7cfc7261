"""A board for the terminal: colours where there are any, signs that tell everything without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from env import Game

_LAST_MOVE = "on #b58b3c"
_PLAIN = "on #d9b77f"
_GOAL = "on #9fb77a"
_THRONE = "on #a9876b"
_PIECE_STYLES = {"attacker": "bold #1d1a17", "defender": "bold #ffffff", "king": "bold #9c0d0d", None: "#6b5a3c"}


@dataclass(frozen=True)
class Signs:
    """One character for each thing on a board; `taken` marks squares of soldiers that the last move took."""

    attacker: str = "●"
    defender: str = "○"
    king: str = "♚"
    empty: str = "·"
    special: str = "□"
    taken: str = "×"

    @classmethod
    def for_encoding(cls, encoding: str | None) -> Signs:
        """Signs that a terminal of this encoding can show."""
        try:
            "●○♚·□×".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls("t", "T", "K", ".", "#", "x")
        return cls()

    def legend(self) -> str:
        """What the signs mean, in one line."""
        return (
            f"{self.attacker} attackers  {self.defender} defenders  {self.king} king  {self.special} special square  "
            f"[ ] last move  {self.taken} taken"
        )


def draw_board(game: Game, signs: Signs, flipped: bool = False) -> Text:
    """The board with file letters and rank numbers, the last move and what it took marked.

    Args:
        game: shown as it stands.
        signs: characters to use.
        flipped: rank 1 at the top.
    """
    size = game.rules.size
    files = [chr(ord("a") + file) for file in range(size)]
    ranks = list(range(size, 0, -1))
    if flipped:
        files, ranks = files[::-1], ranks[::-1]
    letters = "   " + "".join(f" {file} " for file in files) + "\n"
    text = Text(letters, end="")
    for rank in ranks:
        text.append(f"{rank:>2} ")
        for cell, style in _cells(game, signs, [f"{file}{rank}" for file in files]):
            text.append(cell, style)
        text.append(f" {rank}\n")
    return text.append(letters)


def _cells(game: Game, signs: Signs, squares: list[str]) -> Iterator[tuple[str, str]]:
    rules, last = game.rules, game.moves[-1:]
    touched = {square for move in last for square in (move.origin, move.target)}
    taken = set(game.captured)
    for square in squares:
        piece = game.piece(square)
        special = square == rules.throne or square in rules.king_only or square in rules.closed
        if piece is not None:
            sign = getattr(signs, piece)
        elif square in taken:
            sign = signs.taken
        else:
            sign = signs.special if special else signs.empty
        if square in touched:
            ground = _LAST_MOVE
        elif square in rules.goal:
            ground = _GOAL
        else:
            ground = _THRONE if special else _PLAIN
        yield f"[{sign}]" if square in touched else f" {sign} ", f"{_PIECE_STYLES[piece]} {ground}"
