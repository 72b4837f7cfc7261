"""Squares, moves and positions as text. Game records are in `env.records`.

A square is a file letter and a rank number, `d4`; index = rank * size + file, so a1 is 0. A move is `d1-c1`; other
programs write more beside it (`parse_move`).

A position is written rank by rank between slashes, runs of empty squares as numbers, `t` an attacker, `T` a defender
and `K` the king. The text used throughout this project begins with the last rank, as one sees the board; OpenTafl's
`start:` begins with rank 1, and the functions here take `rank_one_first=True` for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from env.rules import Rules

PIECES = ".tTK"  # by piece code
INFO = ("", "+", "++", "-", "--")  # what may stand behind a move, see `WrittenMove`
PIECE_NAMES = ("empty square", "attacker", "defender", "king")
_DIGITS = re.compile(r"[0-9]{1,3}")
_SQUARE = re.compile(r"([a-z])([1-9][0-9]?)")


class NotationError(ValueError):
    """Text that cannot be read; the message shows the line with a mark under the offending character.

    Attributes:
        problem: what is wrong, one sentence.
        line: number of the line, from 1.
        column: number of the character in that line, from 1; one past the end where something is missing.
    """

    def __init__(self, problem: str, text: str, index: int = 0, source: str = "") -> None:
        """Point at `text[index]`; `source` names the file that the text is from, if it is from a file."""
        before = text[:index]
        self._given = (problem, text, index, source)
        self.problem = problem
        self.line = before.count("\n") + 1
        start = before.rfind("\n") + 1
        self.column = index - start + 1
        line_text = text[start:].split("\n", 1)[0].rstrip()
        where = f"column {self.column}" if "\n" not in text.rstrip("\n") else f"line {self.line}, column {self.column}"
        # Show a window of long lines; every character before the mark takes one place, tabs too.
        first = max(0, self.column - 60)
        shown = ("..." if first else "") + line_text[first : first + 100].replace("\t", " ")
        mark = " " * (self.column - 1 - first + (3 if first else 0)) + "^"
        super().__init__(f"{source + ', ' if source else ''}{where}: {problem}\n  {shown}\n  {mark}")

    def __reduce__(self) -> tuple[type[NotationError], tuple[str, str, int, str]]:
        return type(self), self._given  # worker processes send their errors home


def square_name(size: int, square: int) -> str:
    """Return the name of a square, 0 <= `square` < size**2."""
    if not 0 <= square < size * size:
        raise ValueError(f"square index {square}: a board of {size} by {size} has 0 to {size * size - 1}")
    rank, file = divmod(square, size)
    return f"{chr(ord('a') + file)}{rank + 1}"


def square_names(size: int, squares: Iterable[int]) -> list[str]:
    """Return the names of squares, sorted as text."""
    return sorted(square_name(size, int(square)) for square in squares)


def square_index(size: int, name: str) -> int:
    """Return the index of a square given by name.

    Raises:
        NotationError: not the name of a square, or not on the board.
    """
    square, end = scan_square(name, 0, size)
    if end != len(name):
        raise NotationError(f"a square ends before {name[end]!r}", name, end)
    return square_index_of(square, size)


def square_index_of(name: str, size: int) -> int:
    """Return the index of a square whose name is known to be sound (see `scan_square`)."""
    return (int(name[1:]) - 1) * size + ord(name[0]) - ord("a")


def scan_square(text: str, at: int, size: int | None = None) -> tuple[str, int]:
    """Read a square's name at `text[at]`; return it and the index behind it.

    Raises:
        NotationError: there is none, or it lies off a board of `size` (not looked at when None).
    """
    match = _SQUARE.match(text, at)
    if match is None:
        if at < len(text) and text[at].islower() and text[at].isascii():
            at += 1
            problem = "a rank number from 1 on belongs here"
        else:
            problem = "a square such as d4 belongs here"
        raise NotationError(problem + (f", not {text[at]!r}" if at < len(text) else ", but the text ends"), text, at)
    if size is not None:
        last = chr(ord("a") + size - 1)
        if match[1] > last:
            raise NotationError(f"there is no file {match[1]} on this board; its files are a to {last}", text, at)
        if int(match[2]) > size:
            raise NotationError(f"there is no rank {match[2]} on this board; its ranks are 1 to {size}", text, at + 1)
    return match[0], match.end()


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """A move by the names of two squares; whether it is legal is the game's business."""

    origin: str
    target: str

    @classmethod
    def parse(cls, text: str) -> Move:
        """Read `d1-c1`.

        Raises:
            NotationError: the text is no move.
        """
        origin, at = scan_square(text, 0)
        if text[at : at + 1] != "-":
            found = f"not {text[at]!r}" if at < len(text) else "but the text ends"
            raise NotationError(f"a hyphen and the target square belong here, {found}", text, at)
        target, at = scan_square(text, at + 1)
        if at != len(text):
            raise NotationError(f"a move ends before {text[at]!r}", text, at)
        return cls(origin, target)

    def __str__(self) -> str:
        return f"{self.origin}-{self.target}"


@dataclass(frozen=True, slots=True)
class WrittenMove:
    """A move with what programs write beside it.

    Attributes:
        move: the move itself.
        symbol: the letter of the piece before it, one of `kKtT`, or the empty text.
        captured: squares said to be taken; None where the text says nothing of captures, and without any square where
            it has an `x` alone.
        info: `+` the king may be taken, `-` he has a way out, `++` he is taken, `--` he has escaped, or the empty text.
    """

    move: Move
    symbol: str = ""
    captured: frozenset[str] | None = None
    info: str = ""


def parse_move(text: str, size: int | None = None) -> WrittenMove:
    """Read a move in any of the forms that tafl programs write: `d4-d6`, `Kd4-d6xc6/d7+`, `d4-d6xc6xd7`, `d4-d6x`.

    Args:
        text: the move.
        size: squares on a side of the board; None lets every square be.

    Raises:
        NotationError: it is no such move, or leaves the board.
    """
    symbol, at = _scan_symbol(text, 0)
    origin, at = scan_square(text, at, size)
    if text[at : at + 1] != "-":
        raise NotationError("a hyphen belongs here; jumps and double moves are not of this game", text, at)
    target, at = scan_square(text, at + 1, size)
    captured: set[str] | None = None
    if text[at : at + 1] == "x":
        captured = set()
        while at < len(text) and text[at] in "x/":
            at += 1
            if at < len(text) and text[at] not in "+-":
                square, at = scan_square(text, _scan_symbol(text, at)[1], size)
                captured.add(square)
    if text[at:] not in INFO:
        raise NotationError("this belongs to no move", text, at)
    return WrittenMove(Move(origin, target), symbol, None if captured is None else frozenset(captured), text[at:])


def format_move(move: WrittenMove) -> str:
    """Write a move in OpenTafl's long form, captures sorted and separated by `/`."""
    captured = "" if move.captured is None else "x" + "/".join(sorted(move.captured))
    return f"{move.symbol}{move.move}{captured}{move.info}"


def _scan_symbol(text: str, at: int) -> tuple[str, int]:
    """Read the letter of a piece, if there is one before the square at `at`; return it and the index behind it."""
    special = text[at : at + 1] in tuple("kKtT") and text[at + 1 : at + 2].isalpha()
    return (text[at], at + 1) if special else ("", at)


def parse_position(rules: Rules, text: str, *, rank_one_first: bool = False) -> np.ndarray:
    """Read a position of a game.

    Args:
        rules: the game.
        text: ranks between slashes, the last rank first.
        rank_one_first: the text begins with rank 1 instead, as OpenTafl's `start:` does.

    Returns:
        int8 (size**2,), piece codes by square index.

    Raises:
        NotationError: wrong size, unknown letter, no king or two, a soldier where none may stand, a king on his goal.
    """
    size = rules.size
    if not text.startswith("/"):
        raise NotationError("a position begins with '/'", text, 0)
    if len(text) < 2 or not text.endswith("/"):
        raise NotationError("a position ends with '/'", text, len(text))
    if (ranks := text.count("/") - 1) != size:
        raise NotationError(f"this position has {ranks} ranks; {rules.title} has {size}", text, len(text))
    board = np.zeros(size * size, np.int8)
    king_at = -1
    row = file = 0
    at = 1
    while at < len(text):
        character = text[at]
        if character == "/":
            if file != size:
                raise NotationError(f"this rank has {file} squares; {rules.title} has {size}", text, at)
            row, file = row + 1, 0
            at += 1
            continue
        run = _DIGITS.match(text, at)
        piece = PIECES.find(character, 1)
        if run is None and piece < 0:
            raise NotationError(f"{character!r} is no piece; pieces are t, T and K", text, at)
        width = int(run[0]) if run else 1
        if width == 0 or (run and character == "0"):
            raise NotationError(f"{run[0] if run else ''!r} is no number of empty squares", text, at)
        if file + width > size:
            raise NotationError(f"this rank has more than {size} squares", text, at)
        if piece > 0:
            rank = row if rank_one_first else size - 1 - row
            square = rank * size + file
            problem = _cannot_stand(rules, piece, square_name(size, square))
            if piece == 3 and king_at >= 0:
                problem = "a second king"
            if problem:
                raise NotationError(problem, text, at)
            king_at = at if piece == 3 else king_at
            board[square] = piece
        file += width
        at = run.end() if run else at + 1
    if king_at < 0:
        raise NotationError("there is no king", text, 0)
    return board


def _cannot_stand(rules: Rules, piece: int, square: str) -> str:
    """Return why no game goes on with this piece on this square, or the empty text."""
    if piece == 3:
        return f"the king already stands on his goal {square}" if square in rules.goal else ""
    if square in rules.king_only:
        return f"no {PIECE_NAMES[piece]} may stand on {square}: only the king may stop there"
    if square in rules.closed:
        return f"no {PIECE_NAMES[piece]} may stand on {square}: nobody may stop there"
    return ""


def format_position(size: int, board: np.ndarray, *, rank_one_first: bool = False) -> str:
    """Write a position, int8 (size**2,), as text; the last rank first unless `rank_one_first`."""
    ranks = ["".join(PIECES[code] for code in rank) for rank in np.asarray(board).reshape(size, size)]
    text = "/".join(ranks if rank_one_first else reversed(ranks))
    return "/" + re.sub(r"\.+", lambda run: str(len(run[0])), text) + "/"


def board_text(size: int, board: np.ndarray) -> str:
    """Draw a board, int8 (size**2,), with rank numbers and file letters, for terminals and error reports."""
    grid = np.asarray(board).reshape(size, size)
    lines = [f"{rank + 1:>2} " + " ".join(PIECES[code] for code in grid[rank]) for rank in reversed(range(size))]
    return "\n".join([*lines, "   " + " ".join(chr(ord("a") + file) for file in range(size))])
