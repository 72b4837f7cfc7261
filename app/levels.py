"""The levels that people choose from, weakest first.

A level is told by what it does, not by a rating: how many simulations, how deep, how often it plays just anything.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Strength:
    """How hard an engine tries; of the limits the first that is reached counts.

    Attributes:
        simulations: of a network's search, a move.
        depth: of alpha-beta, in plies.
        nodes: of `alphabeta-v2`, moves made in its search.
        seconds: time, a move.
        noise: Gumbel noise on a network's choice of moves, 1 chooses about as often as the policy says, 0 the best; of
            `alphabeta-v2`, the greatest bonus of a move in hundredths of an attacker.
        mistakes: share of moves that are just any legal move.
    """

    simulations: int | None = None
    depth: int | None = None
    nodes: int | None = None
    seconds: float | None = None
    noise: float = 0.0
    mistakes: float = 0.0


@dataclass(frozen=True, slots=True)
class Level:
    """One level: with a network where there is one for the game, with alpha-beta where there is none."""

    name: str
    network: Strength
    alphabeta: Strength


LEVELS = {
    level.name: level
    for level in (
        Level(
            "beginner",
            Strength(simulations=2, noise=1.0, mistakes=0.3),
            Strength(depth=1, mistakes=0.4),
        ),
        Level(
            "easy",
            Strength(simulations=8, noise=1.0, mistakes=0.08),
            Strength(depth=1, mistakes=0.1),
        ),
        Level("normal", Strength(simulations=48), Strength(depth=2)),
        Level("hard", Strength(simulations=400), Strength(depth=4, seconds=2.0)),
        Level("expert", Strength(seconds=4.0), Strength(seconds=4.0)),
    )
}
DEFAULT_LEVEL = "normal"
