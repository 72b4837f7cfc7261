"""An evaluator without a network: answers that look random and depend on nothing but the input row and the action."""

from __future__ import annotations

import numpy as np

from env.encoding import EXTRA_INPUTS, REACH_ATTACKERS


def _mix(bits: np.ndarray) -> np.ndarray:
    """Return uint64 of the same shape, every bit of which depends on all bits given (the end of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _unit(bits: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1), float64."""
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**53


class HashEvaluator:
    """Logits within +-`spread`, values within +-`certainty`; `calls` counts the batches, `rows` the positions."""

    def __init__(self, seed: int = 0, spread: float = 2.0, certainty: float = 0.9) -> None:
        self.seed, self.spread, self.certainty = seed, spread, certainty
        self.calls = self.rows = 0

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        self.calls += 1
        self.rows += len(inputs)
        # What can come to an empty square follows from the rest of the row, and the golden trees were made without it.
        inputs = np.concatenate((inputs[:, :-EXTRA_INPUTS] & (REACH_ATTACKERS - 1), inputs[:, -EXTRA_INPUTS:]), axis=1)
        place = _mix(np.arange(1, inputs.shape[1] + 1, dtype=np.uint64) + np.uint64(1000 * self.seed))
        row = _mix((_mix(inputs.astype(np.uint64)[:, :] + place)).sum(axis=1, dtype=np.uint64))
        values[:] = (2 * _unit(row) - 1) * self.certainty
        each = _mix(row[:, None] ^ _mix(actions.astype(np.uint64) + np.uint64(1)))
        logits[:] = (2 * _unit(each) - 1) * self.spread
