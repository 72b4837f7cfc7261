"""Score intervals: known values, limits, and that they hold what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from arena.interval import of_pairs, wilson


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


def test_scores_of_a_coin_have_a_coins_interval() -> None:
    wins = [0.0] * 30 + [1.0] * 70
    assert of_pairs(wins, 100) == pytest.approx(wilson(0.7, 100))
    assert of_pairs([1.0] * 20, 20) == pytest.approx(wilson(1.0, 20))


@pytest.mark.parametrize("pairs", [8, 30, 200])
@pytest.mark.parametrize(
    "chances", [(0.05, 0.15, 0.5, 0.1, 0.2), (0.25, 0, 0.5, 0, 0.25), (0.0, 0.0, 0.8, 0.0, 0.2), (0.1, 0, 0, 0, 0.9)]
)
def test_covers_the_truth_for_scores_of_pairs(rng: np.random.Generator, chances: tuple[float, ...], pairs: int) -> None:
    outcomes = [0, 0.25, 0.5, 0.75, 1]
    truth = float(np.dot(chances, outcomes))
    held = width = coins = 0
    for _ in range(1000):
        scores = rng.choice(outcomes, pairs, p=chances)
        low, high = of_pairs(scores.tolist(), pairs)
        held += low <= truth <= high
        width += high - low
        coin = wilson(float(scores.mean()), pairs)
        coins += coin[1] - coin[0]
    assert held >= 935
    assert width <= coins + 1e-9


def test_pairs_that_hardly_differ_tell_more_than_coins() -> None:
    scores = [0.5] * 82 + [1.0] * 18
    (low, high), (widest_low, widest_high) = of_pairs(scores, 100), wilson(0.59, 100)
    assert high - low < 0.5 * (widest_high - widest_low)
    assert low > 0.5  # always equal or better, 18 times better: no doubt


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=60), st.data())
def test_repeated_pairs_only_widen(scores: list[float], data: st.DataObject) -> None:
    mean = sum(scores) / len(scores)
    low, high = of_pairs(scores, len(scores))
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    distinct = data.draw(st.integers(0, len(scores)))
    wider_low, wider_high = of_pairs(scores, distinct)
    assert wider_low <= low + 1e-12
    assert wider_high >= high - 1e-12
    thrice_low, thrice_high = of_pairs(3 * scores, len(scores))
    assert (thrice_low, thrice_high) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("mean", "count", "confidence"), [(1.1, 5, 0.95), (-0.1, 5, 0.95), (0.5, -1, 0.95), (0.5, 5, 1)]
)
def test_refuses_what_cannot_be(mean: float, count: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="no interval"):
        wilson(mean, count, confidence)


@pytest.mark.parametrize(("scores", "distinct"), [([0.5], 2), ([0.5], -1), ([1.5], 1), ([float("nan")], 1)])
def test_refuses_scores_that_cannot_be(scores: list[float], distinct: int) -> None:
    with pytest.raises(ValueError, match="no interval"):
        of_pairs(scores, distinct)
