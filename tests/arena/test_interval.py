"""Score intervals: known values, limits, and that they hold what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from arena.interval import wilson


@pytest.mark.parametrize(("wins", "count"), [(0, 10), (10, 10), (7, 10), (81, 263), (15, 148), (1, 1)])
def test_equals_scipy_for_wins_and_losses(wins: int, count: int) -> None:
    expected = binomtest(wins, count).proportion_ci(method="wilson")
    assert wilson(wins / count, count) == pytest.approx((expected.low, expected.high))


def test_nothing_played_is_nothing_known() -> None:
    assert wilson(0.5, 0) == (0.0, 1.0)


def test_keeps_a_width_where_every_result_is_the_same() -> None:
    low, high = wilson(1.0, 20)
    assert low < 0.9
    assert high == pytest.approx(1.0)


@given(st.floats(0, 1), st.integers(1, 1000))
def test_holds_the_mean_and_stays_in_range(mean: float, count: int) -> None:
    low, high = wilson(mean, count)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1


def test_covers_the_truth_for_scores_of_pairs(rng: np.random.Generator) -> None:
    chances = [0.05, 0.15, 0.5, 0.1, 0.2]
    truth = float(np.dot(chances, [0, 0.25, 0.5, 0.75, 1]))
    held = 0
    for _ in range(400):
        scores = rng.choice([0, 0.25, 0.5, 0.75, 1], 30, p=chances)
        low, high = wilson(float(scores.mean()), 30)
        held += low <= truth <= high
    assert held / 400 >= 0.95


@pytest.mark.parametrize(
    ("mean", "count", "confidence"), [(1.1, 5, 0.95), (-0.1, 5, 0.95), (0.5, -1, 0.95), (0.5, 5, 1)]
)
def test_refuses_what_cannot_be(mean: float, count: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="no interval"):
        wilson(mean, count, confidence)
