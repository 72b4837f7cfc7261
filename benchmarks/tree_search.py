"""Simulations per second of the tree search on one core, the evaluator left out.

    python benchmarks/tree_search.py [--game brandubh] [--simulations 64] [--slots 64] [--json F]

The answers of the evaluator are random numbers that lie ready, so that what is measured is selection, the rules, the
input rows and the backup. The positions are those of games of random moves.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
from machine import best_of, machine, parser, report

from env import RULES, Game, Rules
from env.position import PLY, copy_position
from env.tables import tables
from search.config import SearchConfig
from search.simulation import advance, new_batch, start
from search.tree import ROOT, new_tree

MOST_PLIES = 40


def positions(rules: Rules, count: int, seed: int = 0) -> list[Game]:
    """Return positions of random games that are going on, from all over the first `MOST_PLIES` plies."""
    choose = random.Random(seed)
    found: list[Game] = []
    while len(found) < count:
        game = Game(rules)
        for _ in range(choose.randrange(MOST_PLIES)):
            if game.outcome is None:
                game.play_action(choose.choice(game.legal_actions().tolist()))
        if game.outcome is None:
            found.append(game)
    return found


class Bench:
    """Searches of the same positions again and again."""

    def __init__(self, rules: Rules, slots: int, config: SearchConfig) -> None:
        self.tables, self.settings, self.config = tables(rules), config.settings(), config
        self.tree = new_tree(rules.size, slots, config.simulations, MOST_PLIES)
        self.batch = new_batch(rules.size, slots)
        for slot, game in enumerate(positions(rules, slots)):
            root = self.tree.nodes[slot, ROOT].position
            copy_position(game.arrays, root)
            self.tree.history[slot, : game.ply + 1] = game.history[: game.ply + 1]
            assert root.info[PLY] == game.ply
        rng = np.random.default_rng(0)
        self.batch.logits[:] = rng.normal(0, 1.5, self.batch.logits.shape)
        self.answers = rng.uniform(-0.5, 0.5, (16, slots)).astype(np.float32)

    def search(self) -> tuple[int, int]:
        """Search every position once; return simulations and how many of them asked the evaluator."""
        slots = self.tree.nodes.shape[0]
        for slot in range(slots):
            start(self.tables, self.settings, self.tree, self.batch, slot, self.config.simulations, 1.0, 0)
        asked, step, waiting = 0, 0, slots
        while waiting:
            self.batch.values[:] = self.answers[step % len(self.answers)]
            waiting = advance(self.tables, self.settings, self.tree, self.batch, 0)
            asked, step = asked + waiting, step + 1
        return int(self.tree.slots["simulations"].sum()), asked


def measure(rules: Rules, simulations: int, slots: int) -> dict[str, Any]:
    """Return how fast one core searches, by the time in which it ran."""
    bench = Bench(rules, slots, SearchConfig(simulations=simulations))
    bench.search()
    seconds, (done, asked) = best_of(10, bench.search, time.thread_time)
    return {
        "game": rules.name,
        "simulations a search": simulations,
        "evaluated": asked / done,
        "us a simulation": seconds / done * 1e6,
        "simulations/s": done / seconds,
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--game", choices=list(RULES), action="append", help="may be given again (default: all)")
    options.add_argument("--simulations", nargs="+", type=int, default=[16, 64, 256], help="simulations a search")
    options.add_argument("--slots", type=int, default=64, help="positions searched at once")
    given = options.parse_args()
    games = given.game or list(RULES)
    rows = [measure(RULES[game], simulations, given.slots) for game in games for simulations in given.simulations]
    report(f"Tree search, one core, {given.slots} positions at once", machine("numba", "numpy"), rows, given.json)


if __name__ == "__main__":
    main()
