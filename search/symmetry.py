"""An evaluation averaged over symmetries of the board: the network sees each position turned and mirrored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from env.encoding import action_symmetries, square_symmetries
from search.simulation import Batch, new_batch


def average_over_symmetries(evaluator: Callable[..., None], size: int, symmetries: int, batch: Batch) -> None:
    """Answer the questions of a batch with the mean of logits and values over the first `symmetries` symmetries.

    Args:
        evaluator: see `search.mcts.Evaluate`; it is called once, with `symmetries` times as many rows.
        size: squares on a side of the board.
        symmetries: 1 to 8.
        batch: B rows; its logits and values are written.
    """
    rows, cells = len(batch.counts), size * size
    seen = new_batch(size, symmetries * rows)
    squares, actions = square_symmetries(size)[:symmetries], action_symmetries(size)[:symmetries]
    seen.counts[:] = np.tile(batch.counts, symmetries)
    legal = np.arange(batch.actions.shape[1]) < batch.counts[:, None]
    for symmetry in range(symmetries):
        part = slice(symmetry * rows, (symmetry + 1) * rows)
        seen.inputs[part, cells:] = batch.inputs[:, cells:]
        seen.inputs[part, squares[symmetry]] = batch.inputs[:, :cells]
        # In the order of the untouched position, so that the answers need no sorting.
        seen.actions[part][legal] = actions[symmetry, batch.actions[legal]]
    evaluator(*seen)
    batch.logits[:] = seen.logits.reshape(symmetries, rows, -1).mean(axis=0)
    batch.values[:] = seen.values.reshape(symmetries, rows).mean(axis=0)
