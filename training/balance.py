"""A handicap between the sides, steered by who wins.

Where one side wins nearly every game, neither learns: the loser sees no success, the winner no need. The remedy is a
handicap: the weaker side searches more, or the stronger one's moves are drawn at a temperature from what its search
recommends (`BalanceConfig.by`). Its level, the log2 of the ratio of simulations or the temperature, in quarter steps,
follows the attackers' share w of won games by integral control on log-odds:

    d level = gain * (logit(target) - logit(w)) * finished games / memory

w is an exponential average over `memory` games. Log-odds, because a ratio moves them about linearly however lopsided
the games are; with a slope of s log-odds per unit of level the loop's damping is 1 / (2 * sqrt(gain * s)), so that a
gain of 0.5 neither swings nor lags. The network is told the level (`env.encoding`), and matches are played without one.
"""

from __future__ import annotations

import math

from training.config import BalanceConfig
from training.slots import QUARTERS

PRIOR_GAMES = 50  # the first games count as if this many with the target's share had gone before
CERTAIN = 0.02  # a win share this close to 0 or 1 is as lopsided as it gets


class Balance:
    """The controller.

    Args:
        config: its settings.
    """

    def __init__(self, config: BalanceConfig) -> None:
        self.config = config
        self.level = config.initial
        self.share = config.target
        self.games = 0.0

    def ratio(self, positions: int) -> int:
        """Return the handicap for the attackers in quarter steps, when `positions` have been made."""
        match self.config.mode:
            case "off":
                return 0
            case "fixed":
                return round(QUARTERS * self.config.initial)
        limit = self._limit(positions)
        return round(QUARTERS * min(limit, max(-limit, self.level)))

    def update(self, attackers: float, games: int, positions: int) -> None:
        """Learn of games that ended by the rules.

        Args:
            attackers: the attackers' points in them: 1 for a win, 0.5 for a draw.
            games: how many.
            positions: all positions made so far.
        """
        if not games:
            return
        config = self.config
        self.games = min(self.games + games, float(config.memory))
        seen = self.games + min(PRIOR_GAMES, config.memory)
        keep = max(0.0, 1 - games / min(seen, config.memory))
        self.share = keep * self.share + (1 - keep) * attackers / games
        error = _log_odds(config.target) - _log_odds(self.share)
        limit = self._limit(positions)
        # Clamped here as well, so that the level does not wind up beyond what it may do.
        self.level = min(limit, max(-limit, self.level + config.gain * error * games / config.memory))

    def state(self) -> dict[str, float]:
        """Return what `restore` needs."""
        return {"level": self.level, "share": self.share, "games": self.games}

    def restore(self, state: dict[str, float]) -> None:
        """Go on from `state`."""
        self.level, self.share, self.games = (float(state[key]) for key in ("level", "share", "games"))

    def _limit(self, positions: int) -> float:
        left = 1 - positions / self.config.anneal_positions if self.config.anneal_positions else 1.0
        return self.config.maximum * max(0.0, left)


def _log_odds(share: float) -> float:
    share = min(1 - CERTAIN, max(CERTAIN, share))
    return math.log(share / (1 - share))
