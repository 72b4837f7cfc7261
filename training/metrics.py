"""What is recorded of an iteration, under the names of its curves."""

from __future__ import annotations

import numpy as np

from training.measure import Strength
from training.shard import Shard

Metrics = dict[str, int | float]


def attackers_points(shard: Shard, ratio: int) -> tuple[float, int]:
    """Return what the controller of a budget ratio learns from: the attackers' points and the number of games.

    Those are the games that ended by the rules (a draw is half a point), without the even ones if there is a ratio.
    """
    ended = shard.reason != 0
    if ratio:
        ended &= (shard.balance != 0) | (shard.missing > 0)
    return float((shard.winner[ended] / 2 + 0.5).sum()), int(ended.sum())


def selfplay_metrics(shard: Shard) -> dict[str, float]:
    """Return shares of a shard's games, their mean length, and the entropy of the policy targets in nats."""
    metrics: dict[str, float] = {}
    if count := shard.games:
        ended = shard.reason != 0
        metrics |= {
            "selfplay/attackers_win_share": float((shard.winner[ended] > 0).sum() / count),
            "selfplay/defenders_win_share": float((shard.winner[ended] < 0).sum() / count),
            "selfplay/draws": float((shard.winner[ended] == 0).sum() / count),
            "selfplay/truncated": float((~ended).sum() / count),
            "selfplay/game_length": float(shard.length.mean()),
        }
        even = ended & (shard.balance == 0) & (shard.missing == 0)
        if even.any():
            metrics["selfplay/attackers_win_share_even"] = float((shard.winner[even] > 0).mean())
    trained = int((shard.policy_weight > 0).sum())
    if trained:
        row = np.repeat(np.arange(shard.positions), np.diff(shard.policy_offsets))
        probs = shard.policy_probs[shard.policy_weight[row] > 0].astype(np.float64)
        metrics["selfplay/policy_entropy"] = float(-(probs * np.log(np.maximum(probs, 1e-12))).sum() / trained)
    return metrics


def strength_metrics(strength: Strength) -> dict[str, float]:
    """Return a measurement as metrics."""
    return {
        "strength/attackers": strength.attackers,
        "strength/defenders": strength.defenders,
        "strength/overall": strength.overall,
    }
