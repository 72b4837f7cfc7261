"""Self-play: groups of games that the network plays against itself, for the positions it learns from.

A group is one batch: all its games search at once, and an evaluator answers them together. Groups run in parallel
threads, so that one searches (the kernels release the interpreter lock) while another's batch is evaluated. Every game
has a random generator of its own and every group does a fixed number of batches, so that results depend neither on
threads nor on time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from env.rules import Rules
from search.config import SearchConfig
from search.mcts import Evaluate
from training.config import SelfPlayConfig
from training.group import Group
from training.shard import Shard


def search_growth(config: SelfPlayConfig, positions: int) -> float:
    """Return how many times the configured simulations searches have when `positions` have been made."""
    if not config.growth_positions or positions <= config.growth_positions:
        return 1.0
    most = max(1.0, config.most_simulations / config.simulations)
    return min(most, math.sqrt(positions / config.growth_positions))


class SelfPlay:
    """Groups of games in play.

    Args:
        rules: the game.
        config: how games are played.
        search: how moves are searched; its `simulations` do not count here.
        evaluators: one for each group; their weights may change between two calls of `run`.
        seed: of all randomness.
        balance_limit: the largest balance that `run` will be given, in quarter steps; it is the one at which a side
            may lack the most pieces.
        by_temperature: whether a balance is a temperature (`training.config.BalanceConfig.by`).

    Raises:
        ValueError: there is not one evaluator for each group.
    """

    def __init__(
        self,
        rules: Rules,
        config: SelfPlayConfig,
        search: SearchConfig,
        evaluators: Sequence[Evaluate],
        seed: int,
        balance_limit: int = 0,
        by_temperature: bool = False,
    ) -> None:
        if len(evaluators) != config.groups:
            raise ValueError(f"{len(evaluators)} evaluators for {config.groups} groups: one for each is needed")
        self._groups = [
            Group(
                rules,
                config,
                search,
                evaluator,
                np.random.SeedSequence([seed, number]).generate_state(config.games_per_group, np.uint64),
                balance_limit,
                by_temperature,
            )
            for number, evaluator in enumerate(evaluators)
        ]

    def run(self, steps: int, balance: int, pool: ThreadPoolExecutor, growth: float = 1.0) -> Shard:
        """Let each group make `steps` evaluator batches; the searches of games in play begin anew.

        Args:
            steps: batches a group.
            balance: the handicap in games that begin from now on, in quarter steps: log2 of attackers' to defenders'
                simulations, or a temperature.
            pool: threads to run the groups on.
            growth: times the configured simulations, at least 1; see `search_growth`.

        Returns:
            the games that ended meanwhile, and their fully searched positions.
        """
        tasks = [pool.submit(group.run, steps, balance, growth) for group in self._groups]
        return Shard.concatenate([task.result() for task in tasks])

    def state(self) -> dict[str, np.ndarray]:
        """Return the games in play, so that after `restore` all goes on as if nothing had happened."""
        return {
            f"group{number}.{name}": array
            for number, group in enumerate(self._groups)
            for name, array in group.state().items()
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned for the same configuration.

        Raises:
            ValueError: the state is of another configuration.
        """
        for number, group in enumerate(self._groups):
            prefix = f"group{number}."
            own = {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
            if "random" not in own:
                raise ValueError(f"the saved games lack group {number}: the configuration says {len(self._groups)}")
            try:
                group.restore(own)
            except ValueError as error:
                raise ValueError(f"group {number}: {error}") from None
