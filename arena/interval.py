"""How sure a score is."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def wilson(mean: float, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Score interval for the mean of `count` independent results that lie in [0, 1].

    Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
    Statistical Association 22 (1927), 209-212. It is stated for results of 0 and 1. A result anywhere in [0, 1] with
    mean m has a variance of at most m(1 - m), that of a coin, so for draws, half points and scores of pairs of games
    the interval is wider than it need be, never narrower; and it keeps a width where every result is the same.

    Args:
        mean: mean of the results, in [0, 1].
        count: how many there are; without any, nothing is known and the interval is (0, 1).
        confidence: in (0, 1).

    Raises:
        ValueError: for a mean, count or confidence outside its range.
    """
    if not 0.0 <= mean <= 1.0 or count < 0 or not 0.0 < confidence < 1.0:
        raise ValueError(f"no interval for mean {mean}, count {count}, confidence {confidence}")
    if count == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    shrink = 1.0 / (1.0 + z * z / count)
    centre = shrink * (mean + z * z / (2 * count))
    reach = shrink * z * sqrt(mean * (1.0 - mean) / count + z * z / (4 * count * count))
    return max(0.0, centre - reach), min(1.0, centre + reach)
