"""Is a run still learning? What shows that it is not, iteration by iteration, and what to say about it.

Two things are watched that no single number of a single iteration tells:

*Collapse.* The value answers nearly the same to positions whose games ended differently, or a loss is far worse than
that of a network which knows nothing. Several iterations of that on end are no noise; the run is stopped.

*A side that never wins.* Then neither side learns: one sees no success, the other has no need. That is only said, and
what can be done about it, since runs do come out of it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from env.rules import ATTACKERS, SIDES
from search.mcts import Evaluate
from training.config import BalanceConfig
from training.metrics import Metrics
from training.shard import Shard
from training.slots import QUARTERS

SAMPLE = 1024  # positions of an iteration that the network is asked about
FEWEST = 100  # positions that say something about a spread
FIRST_STEPS = 1000  # of the optimiser, before which a network may be as flat as it began
MIXED = 0.3  # spread of results, as standard deviation, from which on they count as mixed
FLAT = 0.05  # share of the results' spread below which the value is as good as constant
WORSE = 2.0  # times the loss of a network that knows nothing
PATIENCE = 8  # iterations on end

RARE = 0.02  # share of games below which a side as good as never wins
GAMES = 1000  # over how many games, at least
QUIET = 50  # iterations between two warnings


class Collapse(RuntimeError):
    """A run does not learn any more; the message is a sentence for people.

    Attributes:
        since: the first iteration of which that is true.
    """

    def __init__(self, message: str, since: int) -> None:
        super().__init__(message)
        self.since = since


@dataclass(frozen=True)
class Values:
    """What the network says of an iteration's positions, beside what came of them.

    Attributes:
        spread, attackers_spread: standard deviation of its values, from the view of the side to play and of the
            attackers.
        outcomes, attackers_outcomes: those of the targets.
        explained: share of the targets' variance that the values explain; 0 for the best constant, 1 for an oracle,
            below 0 for what is worse than a constant.
        positions: how many they were.
    """

    spread: float
    attackers_spread: float
    outcomes: float
    attackers_outcomes: float
    explained: float
    positions: int

    @property
    def flat(self) -> bool:
        """Whether the value is as good as constant, for either view, where the results differ."""
        views = ((self.spread, self.outcomes), (self.attackers_spread, self.attackers_outcomes))
        return self.positions >= FEWEST and any(
            outcomes >= MIXED and spread < FLAT * outcomes for spread, outcomes in views
        )

    def metrics(self) -> Metrics:
        """Return them as curves."""
        return {
            "values/spread": self.spread,
            "values/outcome_spread": self.outcomes,
            "values/explained": self.explained,
        }


def compare_values(evaluator: Evaluate, shard: Shard) -> Values | None:
    """Ask the network for the values of some positions that it has not yet learnt from; None where there are none.

    Args:
        evaluator: of the network.
        shard: an iteration's games.
    """
    if not shard.positions:
        return None
    rows = np.unique(np.linspace(0, shard.positions - 1, min(SAMPLE, shard.positions)).astype(np.int64))
    inputs, count = np.ascontiguousarray(shard.inputs[rows]), len(rows)
    values = np.empty(count, np.float32)
    evaluator(
        inputs, np.zeros((count, 1), np.int16), np.zeros(count, np.int32), np.empty((count, 1), np.float32), values
    )
    found, target = values.astype(np.float64), shard.value[rows].astype(np.float64)
    sign = np.where(inputs[:, -3] == ATTACKERS, 1.0, -1.0)
    variance = float(target.var())
    return Values(
        spread=float(found.std()),
        attackers_spread=float((sign * found).std()),
        outcomes=float(target.std()),
        attackers_outcomes=float((sign * target).std()),
        explained=1 - float(((found - target) ** 2).mean()) / variance if variance > 1e-6 else 0.0,
        positions=count,
    )


class Health:
    """What has been seen of a run since this start.

    Args:
        balance: the settings that advice about lopsided games has to know.
    """

    def __init__(self, balance: BalanceConfig) -> None:
        self.balance = balance
        self._flat = self._worse = 0
        self._games: deque[np.ndarray] = deque()  # wins of each side and all games, a row an iteration
        self._quiet = 0

    def watch(self, iteration: int, learner_steps: int, values: Values | None, losses: Metrics, shard: Shard) -> None:
        """Take note of an iteration.

        Args:
            iteration: its number.
            learner_steps: all that were made.
            values: of its positions, before they are learnt from.
            losses: means of "losses/policy" and "losses/value", {} where nothing was learnt.
            shard: its games.

        Raises:
            Collapse: when learning has broken down.
        """
        if learner_steps < FIRST_STEPS or values is None:
            return
        self._flat = self._flat + 1 if values.flat else 0
        worse = _worse(losses, shard)
        self._worse = self._worse + 1 if worse else 0
        if self._flat >= PATIENCE:
            raise Collapse(
                f"The value has collapsed: for {PATIENCE} iterations the network has given nearly the same value to "
                f"all positions (spread {min(values.spread, values.attackers_spread):.3f}), though their games ended "
                f"differently (spread {values.outcomes:.2f}).",
                since=iteration - PATIENCE + 1,
            )
        if self._worse >= PATIENCE:
            raise Collapse(
                f"Learning has broken down: for {PATIENCE} iterations {worse}.", since=iteration - PATIENCE + 1
            )

    def lopsided(self, shard: Shard, ratio: int) -> str | None:
        """Take note of who won an iteration's games; return a warning when one side has not for long, once in a while.

        Args:
            shard: the games.
            ratio: log2 of attackers' to defenders' simulations in them, in quarter steps.
        """
        ended = shard.reason != 0
        wins = [int((shard.winner[ended] == sign).sum()) for sign in (1, -1)]
        self._games.append(np.array([*wins, shard.games]))
        while len(self._games) > 1 and sum(int(row[-1]) for row in self._games) - self._games[0][-1] >= GAMES:
            self._games.popleft()
        self._quiet -= 1
        total = sum(self._games, np.zeros(3, np.int64))
        rare = [number for number in range(2) if total[number] < RARE * total[-1]]
        if total[-1] < GAMES or not rare or self._quiet > 0:
            return None
        self._quiet = QUIET
        games = f"the last {total[-1]:,} games of self-play"
        if len(rare) == 2:
            return f"Hardly any of {games} was won by anybody; a larger --selfplay.max_plies may let them end."
        loser, sign = SIDES[rare[0]], (1, -1)[rare[0]]
        return (
            f"The {loser} have won {total[rare[0]] / total[-1]:.1%} of {games}: while that lasts, neither side learns "
            f"much. {self._advice(loser, sign * ratio)}"
        )

    def _advice(self, loser: str, favour: int) -> str:
        """Say what helps a side that a handicap of so many quarter steps favours at present."""
        config = self.balance
        if config.by == "simulations":
            now = f"They search with {2 ** (favour / QUARTERS):.1f} times the other side's simulations"
        else:
            now = f"The other side draws its moves at temperature {max(0, favour) / QUARTERS:.2f}"
        if config.mode != "steered":
            return f"{now}; --balance.mode steered gives them more until they win."
        if favour >= QUARTERS * config.maximum:
            return f"{now}, the most that is allowed; raise --balance.maximum, with --resume."
        return f"{now}, and more from game to game; that may be all it takes."


def _worse(losses: Metrics, shard: Shard) -> str:
    """Say which loss is far worse than that of a network that knows nothing; "" where none is."""
    if not losses or shard.positions < FEWEST:
        return ""
    counts = np.diff(shard.policy_offsets)[shard.policy_weight > 0]
    know_nothing = {
        "policy": float(np.log(np.maximum(counts, 1)).mean()) if len(counts) else 0.0,
        "value": float((shard.value.astype(np.float64) ** 2).mean()),
    }
    for name, blank in know_nothing.items():
        loss = losses.get(f"losses/{name}", 0.0)
        if blank > 0.05 and loss > WORSE * blank:
            return f"losses/{name} ({loss:.2f}) has been far worse than that of blind guesses ({blank:.2f})"
    return ""
