"""The board of the full-screen terminal: drawn as large as there is room, played with keys or mouse."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from app.board_text import Signs
from env import Rules
from env.notation import parse_position, square_index, square_name
from env.position import ATTACKER, DEFENDER, EMPTY, KING
from env.render import special_sign

CELLS = tuple((2 * high + 1, high) for high in range(8, 0, -1))
"""Columns and lines of a square, the largest first."""

PANEL = 34
"""Columns that the panel beside the board needs."""

_GROUND = "#1d1a17"

_GROUNDS = {
    "plain": "#dfc08c",
    "other": "#d6b57e",
    "goal": "#aecb85",
    "throne": "#cfa78c",
    "last": "#f3d250",
    "chosen": "#6fb3ef",
    "target": "#bfe0a8",
    "hint": "#9fd0e6",
}
_INKS = {ATTACKER: "#1b1613", DEFENDER: "#fffbea", KING: "#a10d0d", EMPTY: "#6b5733"}
_LABEL = Style(color="#b09a72", bgcolor=_GROUND)

_SMALL = {
    3: {
        ATTACKER: (" ▄███▄ ", " █████ ", " ▀███▀ "),
        DEFENDER: ("  ▄▄▄  ", " █   █ ", "  ▀▀▀  "),
        KING: ("  ▄▄▄  ", " █ ? █ ", "  ▀▀▀  "),
    },
    2: {
        ATTACKER: (" ▄▄▄ ", " ▀▀▀ "),
        DEFENDER: (" ╭─╮ ", " ╰─╯ "),
        KING: (" ╭?╮ ", " ╰─╯ "),
    },
}


@lru_cache(maxsize=64)
def shape(piece: int, wide: int, high: int, king: str) -> tuple[str, ...]:
    """A piece as lines of half blocks: attackers are solid stones, defenders rings, the king a ring with a crown.

    So they are told apart without colour.
    """
    if high in _SMALL:
        return tuple(line.replace("?", king) for line in _SMALL[high][piece])
    dots = [[_inside(piece, x, y, wide, high) for x in range(wide)] for y in range(2 * high)]
    blocks = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    lines = ["".join(blocks[upper, lower] for upper, lower in zip(*dots[y : y + 2])) for y in range(0, 2 * high, 2)]
    if piece == KING:
        middle, line = wide // 2, lines[(high - 1) // 2]
        lines[(high - 1) // 2] = line[:middle] + king + line[middle + 1 :]
    return tuple(lines)


def _inside(piece: int, x: int, y: int, wide: int, high: int) -> bool:
    """Whether a dot, half a character high, belongs to a piece."""
    across = abs(x + 0.5 - wide / 2) / (wide / 2 - 0.9)
    down = abs(y + 0.5 - high) / (high - 0.9)
    if piece == ATTACKER:
        return max(across, down, (across + down) / 1.45) <= 1.02
    return 0.66 < (across**2 + down**2) ** 0.5 <= 1.04


@dataclass
class Picture:
    """What the board shows.

    Attributes:
        rules: the game.
        position: ranks from the top.
        last: squares of the last move.
        captured: squares of what it took.
        targets: squares that the chosen piece may go to, each with "", or the sign of how that would end the game.
        chosen: square of the chosen piece.
        hint: squares of a hint.
    """

    rules: Rules
    position: str
    last: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    targets: dict[str, str] = field(default_factory=dict)
    chosen: str | None = None
    hint: tuple[str, ...] = ()


class Board(Widget, can_focus=True):
    """Shows a picture; says which square was chosen."""

    BINDINGS: ClassVar = [
        Binding("up", "step(0, 1)", show=False),
        Binding("down", "step(0, -1)", show=False),
        Binding("left", "step(-1, 0)", show=False),
        Binding("right", "step(1, 0)", show=False),
        Binding("enter,space", "choose", show=False),
        Binding("escape", "drop", show=False),
    ]

    class Chosen(Message):
        """A square was chosen, by key or mouse."""

        def __init__(self, square: str) -> None:
            self.square = square
            super().__init__()

    class Dropped(Message):
        """The choice is given up."""

    def __init__(self, picture: Picture, signs: Signs) -> None:
        super().__init__(id="board")
        self._signs = signs
        self.flipped = False
        self.cursor = picture.rules.throne
        self.picture = picture
        self._board = parse_position(picture.rules, picture.position)

    def show(self, picture: Picture) -> None:
        """Draw another picture."""
        self.picture = picture
        self._board = _pieces(picture)
        if int(self.cursor[1:]) > picture.rules.size or ord(self.cursor[0]) - 97 >= picture.rules.size:
            self.cursor = picture.rules.throne
        self.refresh(layout=True)

    # Size

    def cell(self, width: int, height: int) -> tuple[int, int]:
        """Columns and lines of a square in so much room."""
        size = self.picture.rules.size
        for wide, high in CELLS:
            if wide * size + 6 <= width and high * size + 2 <= height:
                return wide, high
        return CELLS[-1]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self.cell(*self._room(viewport))[0] * self.picture.rules.size + 6

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.cell(*self._room(viewport))[1] * self.picture.rules.size + 2

    def _room(self, viewport: Size) -> tuple[int, int]:
        """What is left beside the panel and between the lines above and below."""
        beside = viewport.width - PANEL
        if beside < CELLS[-1][0] * self.picture.rules.size + 6:
            return viewport.width, max(0, viewport.height - 10)
        return beside, max(0, viewport.height - 3)

    # Drawing

    def render_line(self, y: int) -> Strip:
        size = self.picture.rules.size
        wide, high = self.cell(self.size.width, self.size.height)
        if y in (0, high * size + 1):
            letters = "".join(f"{chr(97 + file):^{wide}}" for file in self._files())
            return Strip([Segment(f"   {letters}   ", _LABEL)])
        row, line = divmod(y - 1, high)
        if not 0 <= row < size:
            return Strip.blank(self.size.width, Style(bgcolor=_GROUND))
        rank = row if self.flipped else size - 1 - row
        number = f"{rank + 1:>2} " if line == (high - 1) // 2 else "   "
        tail = f" {rank + 1:<2}" if line == (high - 1) // 2 else "   "
        cells = [self._cell(file, rank, line, wide, high) for file in self._files()]
        return Strip([Segment(number, _LABEL), *cells, Segment(tail, _LABEL)])

    def _files(self) -> list[int]:
        files = list(range(self.picture.rules.size))
        return files[::-1] if self.flipped else files

    def _cell(self, file: int, rank: int, line: int, wide: int, high: int) -> Segment:
        picture, rules = self.picture, self.picture.rules
        square = square_name(rules.size, rank * rules.size + file)
        piece = int(self._board[rank * rules.size + file])
        text, ink, bold = self._content(square, piece, line, wide, high)
        middle = line == (high - 1) // 2
        if middle and square in picture.last and high == 1:
            text = f"[{text[1:-1]}]"
        if square == self.cursor and self.has_focus:
            if middle:
                text = f"▸{text[1:-1]}◂" if self._signs.attacker == "●" else f">{text[1:-1]}<"
                bold = True
        return Segment(text, Style(color=ink, bgcolor=self._ground(square, file + rank), bold=bold))

    def _content(self, square: str, piece: int, line: int, wide: int, high: int) -> tuple[str, str, bool]:
        """Text of one line of a square, its colour, and whether it is bold."""
        picture, signs = self.picture, self._signs
        middle = line == (high - 1) // 2
        if piece != EMPTY:
            plain = {ATTACKER: signs.attacker, DEFENDER: signs.defender, KING: signs.king}[piece]
            ink = _INKS[piece] if high > 1 or piece != DEFENDER else "#0a3f9e"
            if high > 1 and signs.attacker == "●":
                return shape(piece, wide, high, signs.king)[line], ink, True
            return (f"{plain:^{wide}}" if middle else " " * wide), ink, True
        if not middle:
            return " " * wide, _INKS[EMPTY], False
        if square in picture.targets:
            sign = picture.targets[square] or ("•" if signs.attacker == "●" else "o")
            return f"{sign:^{wide}}", "#1d5c12", True
        if square in picture.captured:
            return f"{signs.taken:^{wide}}", "#a10d0d", True
        sign = special_sign(picture.rules, square) or (signs.empty if high == 1 else " ")
        return f"{sign:^{wide}}", _INKS[EMPTY], False

    def _ground(self, square: str, parity: int) -> str:
        picture, rules = self.picture, self.picture.rules
        if square == picture.chosen:
            return _GROUNDS["chosen"]
        if square in picture.targets:
            return _GROUNDS["target"]
        if square in picture.hint:
            return _GROUNDS["hint"]
        if square in picture.last:
            return _GROUNDS["last"]
        if square in rules.goal:
            return _GROUNDS["goal"]
        if square == rules.throne:
            return _GROUNDS["throne"]
        return _GROUNDS["plain" if parity % 2 else "other"]

    # Keys and mouse

    def action_step(self, files: int, ranks: int) -> None:
        """Move the cursor."""
        size = self.picture.rules.size
        turn = -1 if self.flipped else 1
        file = (ord(self.cursor[0]) - 97 + turn * files) % size
        rank = (int(self.cursor[1:]) - 1 + turn * ranks) % size
        self.cursor = f"{chr(97 + file)}{rank + 1}"
        self.refresh()

    def action_choose(self) -> None:
        """Choose the square under the cursor."""
        self.post_message(self.Chosen(self.cursor))

    def action_drop(self) -> None:
        """Give the choice up."""
        self.post_message(self.Dropped())

    def on_click(self, event: events.Click) -> None:
        """Choose the square under the mouse."""
        square = self.square_at(event.x, event.y)
        if square is not None:
            self.cursor = square
            self.post_message(self.Chosen(square))
            self.refresh()

    def square_at(self, x: int, y: int) -> str | None:
        """The square at a place of this widget."""
        size = self.picture.rules.size
        wide, high = self.cell(self.size.width, self.size.height)
        file, row = (x - 3) // wide, (y - 1) // high
        if x < 3 or y < 1 or not (0 <= file < size and 0 <= row < size):
            return None
        rank = row if self.flipped else size - 1 - row
        return square_name(size, rank * size + self._files()[file])

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()


def _pieces(picture: Picture):
    """Piece codes by square; positions in which the game is over, the king on his goal, are drawn too."""
    import numpy as np

    from env.notation import PIECES

    rules = picture.rules
    board = np.zeros(rules.cells, np.int8)
    for row, text in enumerate(picture.position.strip("/").split("/")):
        file, digits = 0, ""
        for character in text + " ":
            if character.isdecimal():
                digits += character
                continue
            file, digits = file + int(digits or 0), ""
            if character != " ":
                square = square_index(rules.size, f"{chr(97 + file)}{rules.size - row}")
                board[square] = PIECES.index(character)
                file += 1
    return board
