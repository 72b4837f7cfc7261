"""Opening lines: where the games of a match begin, so that they differ and neither side is favoured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from env import Game, Rules
from env.rules import get_rules

FOLDER = Path(__file__).resolve().parent.parent / "seeds" / "openings"
VERSION = "v1"


class OpeningsError(ValueError):
    """A file of openings is missing or damaged; the message names file, line and move."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A line of moves from the start of a layout.

    `source` is the name of its collection, `number` its place in it, counted from 1.
    """

    layout: str
    moves: tuple[str, ...]
    source: str = "start"
    number: int = 1

    def game(self, rules: Rules | str) -> Game:
        """A new game with the line played."""
        game = Game(rules, self.layout)
        for move in self.moves:
            game.play(move)
        return game

    def __str__(self) -> str:
        return f"{self.source}#{self.number}"


def openings_path(rules: Rules | str, layout: str | None = None, version: str = VERSION) -> Path:
    """Where the openings of a game's layout (`None`: the default one) are kept."""
    rules = get_rules(rules)
    stem = rules.name if layout in (None, rules.default_layout) else f"{rules.name}-{layout}"
    return FOLDER / f"{stem}-{version}.txt"


def load_openings(rules: Rules | str, layout: str | None = None, version: str = VERSION) -> list[Opening]:
    """The openings that the project measures with.

    Raises:
        OpeningsError: when there are none for that layout, or the file is damaged.
    """
    return read_openings(openings_path(rules, layout, version), rules, layout)


def read_openings(path: Path, rules: Rules | str, layout: str | None = None) -> list[Opening]:
    """Reads a file of openings and plays each to see that it can be played and leaves both sides alive.

    The file is text: `# key: value` lines describe it (`game` and `layout`, where given, must fit), every other line is
    an opening, its moves (`d1-c1`) separated by spaces. Empty lines are skipped.

    Raises:
        OpeningsError: naming the file, the line, and the move where there is one.
    """
    rules = get_rules(rules)
    layout = layout or rules.default_layout
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OpeningsError(f"there are no openings for {rules.name}, layout {layout}: no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise OpeningsError(f"{path}: cannot be read ({error})") from None
    openings: list[Opening] = []
    for number, line in _lines(text):
        where = f"{path}, line {number}"
        if line.startswith("#"):
            key, colon, value = line[1:].partition(":")
            expected = {"game": rules.name, "layout": layout}.get(key.strip().lower())
            if colon and expected is not None and value.strip() != expected:
                raise OpeningsError(f"{where}: the openings are for {key.strip()} {value.strip()}, not {expected}")
            continue
        opening = Opening(layout, tuple(line.split()), path.stem, len(openings) + 1)
        _check(opening, rules, where)
        openings.append(opening)
    if not openings:
        raise OpeningsError(f"{path}: holds no opening")
    return openings


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line := line.strip():
            yield number, line


def _check(opening: Opening, rules: Rules, where: str) -> None:
    game = Game(rules, opening.layout)
    for count, move in enumerate(opening.moves, start=1):
        try:
            game.play(move)
        except ValueError as error:
            raise OpeningsError(f"{where}, move {count} ({move}): {error}") from None
        if game.outcome is not None:
            raise OpeningsError(f"{where}, move {count} ({move}): the game is over ({game.outcome.reason})")
