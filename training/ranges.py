"""Stored arrays, which may be damaged or a stranger's: what kernels take from them must lie where it can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from env.encoding import REACH_KING_TWICE, REPEATS, input_size
from env.position import KING
from env.rules import Rules

MOST_BALANCE = 20
"""Quarter steps of log2: as many as `balance.maximum` allows at most."""

ROUNDING = 1e-3  # by which probabilities and values in float32 may be beyond their ends


class Range(NamedTuple):
    """Where the numbers of an array lie, both ends included; a float beyond by no more than rounding is no damage."""

    least: float
    most: float


SHARE = Range(-ROUNDING, 1 + ROUNDING)
VALUE = Range(-1 - ROUNDING, 1 + ROUNDING)
BALANCE = Range(-MOST_BALANCE, MOST_BALANCE)
SWITCH = Range(0, 1)
BOARD = Range(0, KING)


def actions(rules: Rules) -> Range:
    """Return the range of action numbers."""
    return Range(0, rules.actions - 1)


def layouts(rules: Rules) -> Range:
    """Return the range of numbers of layouts."""
    return Range(0, len(rules.layouts) - 1)


def moves(rules: Rules) -> Range:
    """Return the range of how many moves a position can have."""
    return Range(0, rules.most_moves)


def require_ranges(arrays: Mapping[str, np.ndarray], ranges: Mapping[str, Range]) -> None:
    """See that arrays hold only what they can.

    Raises:
        ValueError: where one does not, or lacks; the message names it.
    """
    for name, (least, most) in ranges.items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array = arrays[name]
        wrong = ~((array >= least) & (array <= most))  # which holds for what is no number, too
        if wrong.any():
            raise ValueError(f"{name} holds {array[wrong].flat[0]:.6g}; allowed are {least:.6g} to {most:.6g}")


def require_inputs(name: str, rows: np.ndarray, rules: Rules) -> None:
    """See that input rows (`env.encoding`) are such of a game's positions.

    Raises:
        ValueError: where they are not; the message names them as `name`.
    """
    if rows.ndim != 2 or rows.shape[1] != input_size(rules):
        raise ValueError(f"{name} has the shape {rows.shape}; expected are rows of {input_size(rules)}")
    cells = rows[:, : rules.cells]
    require_ranges(
        {f"{name} (squares)": cells, f"{name} (pieces)": cells & 7, f"{name} (side to play)": rows[:, rules.cells],
         f"{name} (occurrences)": rows[:, rules.cells + 1], f"{name} (balance)": rows[:, rules.cells + 2]},
        {f"{name} (squares)": Range(0, 2 * REACH_KING_TWICE - 1), f"{name} (pieces)": Range(0, REPEATS),
         f"{name} (side to play)": SWITCH, f"{name} (occurrences)": Range(0, 127), f"{name} (balance)": BALANCE},
    )  # fmt: skip


def require_total(name: str, array: np.ndarray, counts: np.ndarray) -> None:
    """See that an array has as many rows as `counts` add up to.

    Raises:
        ValueError: where it has not.
    """
    if len(array) != (total := int(counts.sum())):
        raise ValueError(f"{name} has {len(array)} rows, expected are {total}")
