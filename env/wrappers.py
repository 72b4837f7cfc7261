"""A wrapper that turns the two-sided game into a task for one agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from env.rules import SIDES
from env.tafl_env import TaflEnv

Policy = Callable[[TaflEnv], int]
DRAWN = "random"


def random_policy(env: TaflEnv) -> int:
    """Return a legal action, all alike likely, drawn from the environment's own generator."""
    return int(env.np_random.choice(np.flatnonzero(env.action_masks())))


class SingleSideEnv(gym.Wrapper[np.ndarray, np.int64, np.ndarray, np.int64]):
    """The agent plays one side, a given policy the other: every observation is the agent's to act on.

    `reset` and `step` let the opponent act until the agent is to play or the game has ended. Rewards are the agent's:
    a win of the opponent is -1. `info` gets ``opponent_moves`` (list of str, what the opponent did since the agent
    acted) and ``agent`` (the agent's side). After `reset(seed=...)` everything that `env.np_random` decides comes out
    the same: the side where it is drawn, and the moves of `random_policy`.

    Attributes:
        agent: the side that the agent plays in this game.
    """

    def __init__(
        self, env: gym.Env[np.ndarray, np.int64], side: str = "defenders", opponent: Policy = random_policy
    ) -> None:
        """Wrap a `TaflEnv`.

        Args:
            env: the environment, as `gymnasium.make` returns it.
            side: the agent's: "attackers", "defenders", or "random" to draw it at every reset.
            opponent: called with the `TaflEnv` when the other side is to play; returns a legal action. It may read
                `env.game`, `env.action_masks()` and `env.np_random`.

        Raises:
            ValueError: unknown side.
            TypeError: `env` is no tafl environment.
        """
        super().__init__(env)
        if not isinstance(env.unwrapped, TaflEnv):
            raise TypeError(f"SingleSideEnv plays tafl; {env.unwrapped} is not a TaflEnv")
        if side not in (*SIDES, DRAWN):
            raise ValueError(f"side={side!r}: allowed are {', '.join((*SIDES, DRAWN))}")
        self.tafl: TaflEnv = env.unwrapped
        self.side, self.opponent = side, opponent
        self.agent = SIDES[0] if side == DRAWN else side

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a game and let the opponent move first where it is its turn; arguments are those of `TaflEnv.reset`.

        Raises:
            ValueError: the game ends before the agent is to play.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        if self.side == DRAWN:
            self.agent = SIDES[self.tafl.np_random.integers(2)]
        observation, _, terminated, truncated, info = self._answer(observation, 0.0, False, False, info)
        if terminated or truncated:
            raise ValueError(f"the game ends before the {self.agent} are to play: {', '.join(info['opponent_moves'])}")
        return observation, info

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let the agent act and the opponent answer; see `TaflEnv.step`. The reward is the agent's.

        Raises:
            ValueError: the opponent chose an illegal action.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._answer(observation, float(reward), terminated, truncated, info)

    def action_masks(self) -> np.ndarray:
        """Return bool (actions,), True where an action is legal."""
        return self.tafl.action_masks()

    def _answer(
        self, observation: np.ndarray, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let the opponent act for as long as it is to play; the arguments are what a step has returned."""
        acted: list[str] = []
        while not (terminated or truncated) and self.tafl.game.to_play != self.agent:
            action = int(self.opponent(self.tafl))
            if not (0 <= action < len(info["action_mask"]) and info["action_mask"][action]):
                raise ValueError(
                    f"the opponent chose action {action}, which is illegal in {self.tafl.game.position} "
                    f"({self.tafl.game.to_play} to play)"
                )
            observation, gained, terminated, truncated, info = self.env.step(np.int64(action))
            reward = -float(gained)
            acted.append(self.tafl.action_text(action))
        return observation, reward, terminated, truncated, info | {"opponent_moves": acted, "agent": self.agent}
