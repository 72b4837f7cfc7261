"""Simulations per second of a search of one game, as at the board, with a network.

    python benchmarks/board_search.py [CHECKPOINT] [--game brandubh] [--simulations 128 800] [--leaves 0 1 8] [--json F]

`leaves` positions of the tree go to the network together; 0 is what a player takes. Without a checkpoint the network is
one of random weights, as large as the shipped one. Processor time is that of one thread, which does everything.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import at_least, machine, parser, report
from tree_search import positions

from env import RULES
from models.checkpoint import CheckpointError, load
from models.evaluator import Evaluator
from models.network import NetworkConfig, PolicyValueNet
from search.config import MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from search.mcts import Search


class Counting:
    """An evaluator that counts calls and positions."""

    def __init__(self, network: PolicyValueNet) -> None:
        self._evaluator = Evaluator(network, dtype="float32")
        self.calls = self.rows = 0

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        self.calls += 1
        self.rows += len(inputs)
        self._evaluator(inputs, actions, counts, logits, values)


def measure(network: PolicyValueNet, game: str, simulations: int, leaves: int, games: int) -> dict[str, Any]:
    """Search positions one after the other."""
    evaluator = Counting(network)
    search = Search(game, evaluator, SearchConfig(leaves=leaves))
    going_on = positions(RULES[game], games)
    search.run(going_on[:1], simulations)
    evaluator.calls = evaluator.rows = done = 0
    began, cpu = time.perf_counter(), time.thread_time()
    for position in going_on:
        done += search.run([position], simulations)[0].simulations
    cpu, seconds = time.thread_time() - cpu, time.perf_counter() - began
    return {
        "game": game,
        "simulations a search": simulations,
        "leaves": leaves,
        "batch": evaluator.rows / evaluator.calls,
        "simulations/s": done / seconds,
        "simulations/s of processor time": done / cpu,
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("checkpoint", nargs="?", type=Path, help="its game is the one that is searched")
    options.add_argument("--game", choices=list(RULES), default=next(iter(RULES)))
    options.add_argument("--simulations", nargs="+", type=at_least(1), default=[128, 800], help="simulations a search")
    options.add_argument("--leaves", nargs="+", type=at_least(0), default=[0, 1, 4, 8, 16, 32])
    options.add_argument("--games", type=at_least(1), default=8, help="positions")
    given = options.parse_args()
    torch.set_num_threads(1)
    if given.checkpoint is not None:
        try:
            checkpoint = load(given.checkpoint)
        except CheckpointError as error:
            options.error(str(error))
        game, network = checkpoint.header.game, checkpoint.network
    else:
        game, network = given.game, PolicyValueNet(RULES[given.game].size, NetworkConfig(blocks=4, channels=32))
    if max(given.simulations) > MOST_SIMULATIONS or max(given.leaves) > MOST_LEAVES:
        options.error(f"at most {MOST_SIMULATIONS} simulations and {MOST_LEAVES} leaves are allowed")
    rows = [
        measure(network, game, simulations, leaves, given.games)
        for simulations in given.simulations
        for leaves in given.leaves
    ]
    report("Search of one game", machine("torch", "numba", "numpy"), rows, given.json)


if __name__ == "__main__":
    main()
