"""The Gymnasium names of the games: `branan/Brandubh-v0` and so on, one for every entry of `RULES`."""

from __future__ import annotations

import gymnasium as gym

from env.rules import RULES, Rules

NAMESPACE, VERSION = "branan", 0


def environment_id(rules: Rules) -> str:
    """Return the name by which `gymnasium.make` knows a game."""
    return f"{NAMESPACE}/{rules.name.capitalize()}-v{VERSION}"


def register_environments() -> None:
    """Make every game known to Gymnasium; a second call does nothing."""
    for rules in RULES.values():
        if environment_id(rules) not in gym.registry:
            gym.register(
                environment_id(rules),
                entry_point="env.tafl_env:TaflEnv",
                vector_entry_point="env.vector:TaflVectorEnv",
                kwargs={"game": rules.name},
            )
