"""A network's evaluator as matches use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# Importing torch takes seconds, so `models` is imported where a network is in play.
if TYPE_CHECKING:
    from models.evaluator import Evaluator

FEWEST_ROWS = 8


class Padded:
    """An evaluator that sees no batch of fewer than `FEWEST_ROWS`.

    Libraries compute very small batches in another order, so that the last bits of an answer would depend on how many
    games are asked together; a match that is stopped and goes on would come out differently (tests/arena/).
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.outlook = evaluator.outlook

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        rows = len(inputs)
        if rows >= FEWEST_ROWS:
            self._evaluator(inputs, actions, counts, logits, values)
            return
        full = [np.resize(array, (FEWEST_ROWS, *array.shape[1:])) for array in (inputs, actions, counts)]
        answers = [np.empty((FEWEST_ROWS, *array.shape[1:]), array.dtype) for array in (logits, values)]
        self._evaluator(*full, *answers)
        logits[:], values[:] = answers[0][:rows], answers[1][:rows]
