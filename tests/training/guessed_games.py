"""Self-play with an evaluator that guesses, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from env import RULES
from search.config import SearchConfig
from training.config import SelfPlayConfig
from training.selfplay import SelfPlay
from training.shard import Shard

DISCOUNT = 0.98
PLAIN: dict[str, Any] = {}
LIMIT = 8  # quarter steps of the balance


class Guess:
    """An evaluator that is quick and not quite blind: the answers follow from the input row; it counts who asks."""

    def __init__(self, certainty: float = 0.5) -> None:
        self.certainty = certainty
        self.asked = {}  # (to_play, balance) -> positions

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        cells = inputs.shape[1] - 3
        row = inputs[:, :cells].astype(np.int64) @ (np.arange(cells) * 7919 % 1009) + 131 * inputs[:, cells].astype(
            np.int64
        )
        values[:] = self.certainty * np.sin(row)
        logits[:] = 2 * np.sin(row[:, None] + actions * 0.37)
        for side, balance in zip(inputs[:, cells].tolist(), inputs[:, cells + 2].tolist()):
            self.asked[side, balance] = self.asked.get((side, balance), 0) + 1


def make(
    name: str,
    seed: int = 0,
    certainty: float = 0.5,
    search: Mapping[str, Any] = PLAIN,
    by_temperature: bool = False,
    **settings: Any,
) -> tuple[SelfPlay, list[Guess]]:
    chosen: dict[str, Any] = {
        "groups": 2,
        "games_per_group": 12,
        "simulations": 12,
        "fast_simulations": 4,
        "full_share": 0.5,
        "max_plies": 60,
    }
    config = SelfPlayConfig(**(chosen | settings))
    evaluators = [Guess(certainty) for _ in range(config.groups)]
    how = SearchConfig(discount=DISCOUNT, **search)
    return SelfPlay(RULES[name], config, how, evaluators, seed, LIMIT, by_temperature), evaluators


def run(play: SelfPlay, steps: int, balance: int = 0, threads: int = 1) -> Shard:
    with ThreadPoolExecutor(threads) as pool:
        return play.run(steps, balance, pool)
