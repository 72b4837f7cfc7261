"""What is recorded of an iteration, under the names of its curves."""

from __future__ import annotations

import numpy as np

from arena import PlayerError
from arena.anchors import AnchorsError, known_name, load_anchors
from env.rules import SIDES, Rules
from training.measure import Strength
from training.shard import Shard
from training.slots import QUARTERS

Metrics = dict[str, int | float]


def attackers_points(shard: Shard, ratio: int) -> tuple[float, int]:
    """Return what the controller of a budget ratio learns from: the attackers' points and the number of games.

    Those are the games that ended by the rules (a draw is half a point), without the even ones if there is a ratio.
    """
    ended = shard.reason != 0
    if ratio:
        ended &= (shard.balance != 0) | (shard.missing > 0)
    return float((shard.winner[ended] / 2 + 0.5).sum()), int(ended.sum())


def handicap_metrics(by: str, ratio: int) -> dict[str, float]:
    """Return a handicap (`training.config.BalanceConfig.by`; in quarter steps) as metrics.

    "selfplay/attackers_budget" is how many times the defenders' simulations the attackers have; where the handicap is a
    temperature, "selfplay/SIDE_temperature" is that of a side's moves, 0 where it plays the best it found.
    """
    level = ratio / QUARTERS
    if by == "simulations":
        return {"selfplay/attackers_budget": 2**level}
    return {
        "selfplay/attackers_budget": 1.0,
        "selfplay/attackers_temperature": max(0.0, -level),
        "selfplay/defenders_temperature": max(0.0, level),
    }


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


def strength_metrics(strength: Strength, rules: Rules, opponent: str) -> dict[str, float]:
    """Return a measurement as metrics: the scores, and ratings where the opponent is a player of known rating.

    `strength/elo/attackers` and `strength/elo/defenders` are the Elo points above random play of `evaluate.py --ladder`
    (`arena.rating`), `strength/elo/overall` their mean. They come from the games of the measurement alone. A side that
    won, or lost, every game has a bound and no rating, so that it is left out, and the mean with it.
    """
    metrics = {f"strength/{part}": getattr(strength, part) for part in (*SIDES, "overall")}
    try:
        known = known_name(opponent)
        anchors = load_anchors(rules).anchors
    except (AnchorsError, PlayerError):
        return metrics
    if known is None or known not in anchors.strengths or not strength.games:
        return metrics
    games = strength.games // 2
    elo = {
        f"strength/elo/{side}": anchors.single(side, known, getattr(strength, side) * games, games)
        for side in SIDES
        if 0 < getattr(strength, side) < 1
    }
    if len(elo) == len(SIDES):
        elo["strength/elo/overall"] = sum(elo.values()) / len(SIDES)
    return metrics | elo
