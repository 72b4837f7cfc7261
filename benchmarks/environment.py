"""Environment steps a second, with random legal actions, observations and masks: `python -m benchmarks.environment`.

Kernels are compiled, or fetched from the cache, before the clock runs. Everything happens in one thread.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import best_of, machine, parser, report
from env import RULES, TaflEnv
from env.vector import TaflVectorEnv


def play_single(env: TaflEnv, steps: int) -> None:
    """Make so many steps in one environment."""
    _, info = env.reset()
    for _ in range(steps):
        _, _, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
        if terminated:
            _, info = env.reset()


def play_vector(env: TaflVectorEnv, steps: int) -> None:
    """Make so many steps in each of the games."""
    for _ in range(steps):
        env.step(env.sample_legal())


def main() -> None:
    """Measure and report."""
    options = parser(__doc__)
    options.add_argument("--num-envs", type=int, default=1024, help="games side by side (default: %(default)s)")
    options.add_argument("--steps", type=int, default=500, help="steps of each game in a run (default: %(default)s)")
    options.add_argument("--runs", type=int, default=5, help="runs, of which the fastest counts (default: %(default)s)")
    given = options.parse_args()
    rows = []
    for name, rules in RULES.items():
        single = TaflEnv(rules)
        single.action_space.seed(0)
        play_single(single, 200)
        seconds, _ = best_of(given.runs, partial(play_single, single, 2000))
        rows.append({"game": name, "environment": "TaflEnv", "games": 1, "steps/s": round(2000 / seconds)})
        for copy in (True, False):
            several = TaflVectorEnv(rules, given.num_envs, copy=copy)
            several.reset(seed=0)
            play_vector(several, 100)  # until the games are of all ages
            seconds, _ = best_of(given.runs, partial(play_vector, several, given.steps))
            rate = round(given.steps * given.num_envs / seconds)
            kind = f"TaflVectorEnv, copy={copy}"
            rows.append({"game": name, "environment": kind, "games": given.num_envs, "steps/s": rate})
    report("Environment steps, random legal actions", machine("numba", "numpy", "gymnasium"), rows, given.json)


if __name__ == "__main__":
    main()
