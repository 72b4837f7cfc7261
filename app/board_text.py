"""A board for the terminal: colours where there are any, signs that tell everything without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from env import Game, Rules
from env.notation import square_name
from env.render import SPECIAL, special_sign

# Every sign has to be read against every ground, so the grounds are light and the signs dark.
_LAST_MOVE = "on #f6d64a"
_PLAIN = "on #e3c793"
_GOAL = "on #b9d38f"
_THRONE = "on #d9b8a0"
_STYLES = {"attacker": "bold #14110f", "defender": "bold #0a3f9e", "king": "bold #a00000", None: "#5e4d30"}
_TAKEN, _SPECIAL = "bold #a00000", "bold #3c3019"


@dataclass(frozen=True)
class Signs:
    """One character for each thing on a board; `taken` marks squares of soldiers that the last move took.

    Empty squares of special meaning have the signs of `env.render.SPECIAL`.
    """

    attacker: str = "●"
    defender: str = "○"
    king: str = "♚"
    empty: str = "·"
    taken: str = "×"

    @classmethod
    def for_encoding(cls, encoding: str | None) -> Signs:
        """Signs that a terminal of this encoding can show."""
        try:
            "●○♚·×".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls("t", "T", "K", ".", "x")
        return cls()

    def legend(self, rules: Rules) -> str:
        """What the signs mean on this game's board, in one line."""
        signs: dict[str, set[str]] = {}
        for square in (square_name(rules.size, index) for index in range(rules.cells)):
            signs.setdefault(special_sign(rules, square), set()).add(square)
        special = [
            f"{sign} {'throne' if signs[sign] == {rules.throne} else meaning}"
            for sign, meaning in SPECIAL.items()
            if sign in signs
        ]
        pieces = (f"{self.attacker} attackers", f"{self.defender} defenders", f"{self.king} king")
        return "  ".join((*pieces, *special, "[ ] last move", f"{self.taken} taken"))


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
        special = special_sign(rules, square)
        sign, style = (special, _SPECIAL) if special else (signs.empty, _STYLES[None])
        if piece is not None:
            sign, style = getattr(signs, piece), _STYLES[piece]
        elif square in taken:
            sign, style = signs.taken, _TAKEN
        if square in touched:
            ground = _LAST_MOVE
        elif square in rules.goal:
            ground = _GOAL
        else:
            ground = _THRONE if special or square == rules.throne else _PLAIN
        yield f"[{sign}]" if square in touched else f" {sign} ", f"{style} {ground}"
