"""The weights of `alphabeta-v2`'s evaluation: a file of data for each game, numbers set by hand where there is none."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from env.notation import parse_position, square_name
from env.position import ATTACKER, DEFENDER, KING
from env.rules import ATTACKERS, DEFENDERS, SIDES, Rules
from env.tables import HOSTILE_ALWAYS, HOSTILE_WHILE_EMPTY, tables
from search.v2.evaluation import (
    APPROACH,
    CAPTOR,
    FORK,
    MOBILITY,
    OPEN_ROAD,
    PINCH,
    ROAD,
    TERMS,
    Evaluation,
)

FOLDER = Path(__file__).resolve().parent / "weights"
UNIT = 100  # what an attacker is worth, on the average of all squares
WON = 2000  # against the attackers: the king reaches the goal with his next move
PIECES = {"attacker": ATTACKER, "defender": DEFENDER, "king": KING}
MOST = 20_000  # no weight is greater: sums stay far below a forced win


def orbits(size: int) -> np.ndarray:
    """Return int16 (S,): the lowest square that each square is brought to by the eight symmetries of the board."""
    squares = np.arange(size * size).reshape(size, size)
    images = [np.rot90(grid, turns) for grid in (squares, squares.T) for turns in range(4)]
    return np.min(images, axis=0).reshape(-1).astype(np.int16)


def with_numbers(rules: Rules, squares: np.ndarray, terms: np.ndarray) -> Evaluation:
    """Return weights by square, int32 (4, S), and by term, int32 (2, TERMS), made ready for the kernels."""
    size, cells = rules.size, rules.cells
    rank, file = np.divmod(np.arange(cells), size)
    middle = size // 2
    quarter = np.zeros((4, cells), np.int64)
    for byte, (up, right) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        inside = (rank > middle) if up else (rank < size - 1 - middle)
        inside &= (file > middle) if right else (file < size - 1 - middle)
        quarter[ATTACKER, inside] = 1 << 8 * byte
    hostile = tables(rules).hostile.reshape(size, size)
    bits = 1 << np.arange(size)
    anvils = np.stack([(hostile == kind) @ bits for kind in (HOSTILE_ALWAYS, HOSTILE_WHILE_EMPTY)]).astype(np.int32)
    fields = {"quarter": quarter, "squares": squares, "terms": terms, "anvils": anvils}
    layout = [(name, value.dtype, value.shape) for name, value in fields.items()]
    record = np.zeros(1, np.dtype((Evaluation, np.dtype(layout, align=True))))
    for name, value in fields.items():
        record[name] = value
    return record[0]


def hand_weights(rules: Rules) -> Evaluation:
    """Return weights set by hand, those of `alphabeta-v1`, for any game."""
    board = parse_position(rules, rules.layouts[rules.default_layout])
    attackers, defenders = int((board == ATTACKER).sum()), int((board == DEFENDER).sum())
    squares = np.zeros((4, rules.cells), np.int32)
    squares[ATTACKER] = UNIT
    squares[DEFENDER] = -UNIT * attackers // max(1, defenders)
    terms = np.zeros((2, len(TERMS)), np.int32)
    terms[DEFENDERS, OPEN_ROAD] = -WON
    terms[ATTACKERS, ROAD], terms[ATTACKERS, FORK] = -60, -WON // 2
    terms[:, APPROACH], terms[:, MOBILITY] = -20, -4
    terms[:, CAPTOR] = terms[:, PINCH] = 25
    return with_numbers(rules, squares, terms)


def to_data(rules: Rules, e: Evaluation) -> dict[str, Any]:
    """Return weights as data for a file: by piece and the lowest square of each orbit, and by side to play and term."""
    lowest = sorted(set(orbits(rules.size).tolist()))
    return {
        "squares": {
            name: {square_name(rules.size, square): int(e.squares[piece, square]) for square in lowest}
            for name, piece in PIECES.items()
        },
        "terms": {
            side: {term: int(e.terms[row, place]) for place, term in enumerate(TERMS)} for row, side in enumerate(SIDES)
        },
    }


def from_data(rules: Rules, data: Any) -> Evaluation:
    """Return the weights that `to_data` wrote.

    Raises:
        ValueError: something is missing, is no whole number or out of range, or the board has another size.
    """
    squares = np.zeros((4, rules.cells), np.int32)
    terms = np.zeros((2, len(TERMS)), np.int32)
    orbit = orbits(rules.size)
    for name, piece in PIECES.items():
        for lowest in sorted(set(orbit.tolist())):
            value = _number(data, "squares", name, square_name(rules.size, lowest))
            squares[piece, orbit == lowest] = value
    for row, side in enumerate(SIDES):
        for place, term in enumerate(TERMS):
            terms[row, place] = _number(data, "terms", side, term)
    return with_numbers(rules, squares, terms)


def _number(data: Any, *keys: str) -> int:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    if not isinstance(data, int) or isinstance(data, bool) or abs(data) > MOST:
        raise ValueError(f"weight {'.'.join(keys)} is {data!r}: a whole number of at most {MOST} is needed")
    return data


@lru_cache(maxsize=64)
def load_weights(rules: Rules, path: Path | None = None) -> Evaluation:
    """Return the weights of a file, by default the one that comes with the game, else those set by hand.

    Raises:
        ValueError: the file cannot be read or is damaged; the message names it.
    """
    chosen = path or FOLDER / f"{rules.name}.json"
    if path is None and not chosen.exists():
        return hand_weights(rules)
    try:
        return from_data(rules, json.loads(chosen.read_text(encoding="utf-8")).get("weights"))
    except (OSError, ValueError, AttributeError) as error:
        raise ValueError(f"{chosen}: these weights cannot be used: {error}") from None
