"""The sequential test of pairs: its ratio, its decisions and its rates of error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from arena.sprt import PAIR_SCORES, Sprt, SprtRun, score_of

COUNTS = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda counts: sum(counts) > 0)


def greatest_likelihood(counts: tuple[int, ...], mean: float) -> float:
    """By a general optimiser: the greatest log-likelihood of the counts under distributions of that mean."""
    scores, seen = np.array(PAIR_SCORES), np.array(counts) / sum(counts)
    # Between an even distribution and one at the ends, a start that has the mean already.
    ends = np.array([1 - mean, 0, 0, 0, mean])
    even = np.full(5, 0.2)
    start = 0.3 * even + 0.7 * ends
    start += (mean - start @ scores) * np.array([-1, 0, 0, 0, 1])
    found = minimize(
        lambda p: -float(seen @ np.log(p)),
        start,
        jac=lambda p: -seen / p,
        bounds=[(1e-6, 1.0)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(5)},
            {"type": "eq", "fun": lambda p: p @ scores - mean, "jac": lambda p: scores},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.success
    return -sum(counts) * float(found.fun)


@pytest.mark.parametrize("counts", [(3, 7, 21, 9, 4), (1, 1, 1, 1, 1), (40, 2, 9, 5, 1), (2, 3, 60, 1, 30)])
@pytest.mark.parametrize(("elo0", "elo1"), [(0, 30), (-20, 5), (50, 120)])
def test_the_ratio_is_that_of_the_greatest_likelihoods(counts: tuple[int, ...], elo0: float, elo1: float) -> None:
    expected = greatest_likelihood(counts, score_of(elo1)) - greatest_likelihood(counts, score_of(elo0))
    assert Sprt(elo0, elo1).llr(counts) == pytest.approx(expected, abs=1e-3)


@given(COUNTS, st.floats(-100, 100), st.floats(0.5, 100))
def test_the_other_players_ratio_is_the_opposite(counts: list[int], elo0: float, more: float) -> None:
    mine, theirs = Sprt(elo0, elo0 + more).llr(counts), Sprt(-elo0 - more, -elo0).llr(counts[::-1])
    assert mine == pytest.approx(-theirs, abs=1e-6)


@given(COUNTS, st.integers(0, 3))
def test_a_better_pair_never_speaks_for_h0(counts: list[int], kind: int) -> None:
    worse, better = list(counts), list(counts)
    worse[kind] += 1
    better[kind + 1] += 1
    assert Sprt(0, 20).llr(better) > Sprt(0, 20).llr(worse)


def test_boundaries_are_walds() -> None:
    low, high = Sprt(0, 5, alpha=0.05, beta=0.1).bounds
    assert (low, high) == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))


def test_clear_pairs_decide_and_even_ones_do_not() -> None:
    sprt = Sprt(0, 50)
    won, lost = sprt.run([1.0] * 200), sprt.run([0.25, 0.0] * 100)
    assert (won.accepted, lost.accepted) == ("H1", "H0")
    assert won.llr >= won.bounds[1] and lost.llr <= lost.bounds[0]
    assert won.taken < 60 and lost.taken < 60
    assert not Sprt(0, 5).run([0.5, 0.75, 0.25] * 4).decided
    assert sprt.run([]).llr == 0.0


def test_it_stops_at_the_deciding_pair_and_takes_no_repetitions() -> None:
    sprt = Sprt(0, 50)
    alone = sprt.run([1.0] * 200)
    with_repetitions = sprt.run([1.0, None] * 200)
    assert with_repetitions.counts == alone.counts
    assert with_repetitions.taken == 2 * alone.taken - 1
    run = SprtRun(sprt)
    for _ in range(alone.taken):
        run.take(1.0)
    assert run.result == alone
    with pytest.raises(ValueError, match="has accepted H1 already"):
        run.take(1.0)
    with pytest.raises(ValueError, match=r"0\.3 is no score of a pair"):
        SprtRun(sprt).take(0.3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((5, 5), "has to be the smaller one"),
        ((5, 0), "has to be the smaller one"),
        ((0, math.nan), "Elo lies between"),
        ((0, 5000), "Elo lies between"),
        ((0, 5, 0.0), "alpha 0"),
        ((0, 5, 0.05, 0.5), "beta 0.5"),
    ],
)
def test_what_can_be_no_test_is_refused(arguments: tuple[float, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Sprt(*arguments)


# Pairs as games of unequal sides give them: mostly one game each, seldom a half point.
EVEN = np.array([0.17, 0.06, 0.54, 0.06, 0.17])


def shifted(mean: float) -> np.ndarray:
    """`EVEN` tilted to that mean, as little as possible."""
    low, high, p = -20.0, 20.0, EVEN
    scores = np.array(PAIR_SCORES)
    for _ in range(80):
        tilt = (low + high) / 2
        p = EVEN * np.exp(tilt * scores)
        p /= p.sum()
        low, high = (tilt, high) if p @ scores < mean else (low, tilt)
    return p


def errors(elo: float, wrong: str, matches: int, seed: int) -> float:
    """Share of simulated matches, with a player that is `elo` stronger, in which the wrong hypothesis is accepted."""
    rng, sprt = np.random.default_rng(seed), Sprt(0, 80)
    probabilities = shifted(score_of(elo))
    decisions = []
    for _ in range(matches):
        result = sprt.run(float(score) for score in rng.choice(PAIR_SCORES, 2000, p=probabilities))
        assert result.decided
        decisions.append(result.accepted == wrong)
    return sum(decisions) / matches


@pytest.mark.slow
@pytest.mark.parametrize(("elo", "wrong"), [(0, "H1"), (80, "H0")])
def test_errors_are_as_rare_as_promised(elo: float, wrong: str) -> None:
    matches = 1000
    rate = errors(elo, wrong, matches, seed=1)
    # 5 % are promised; three standard errors of a simulation of this size are 2 %.
    assert 0.01 < rate < 0.05 + 3 * math.sqrt(0.05 * 0.95 / matches)


def test_errors_are_rare() -> None:
    assert errors(0, "H1", 40, seed=2) <= 0.15
    assert errors(80, "H0", 40, seed=3) <= 0.15
    assert errors(200, "H0", 20, seed=4) == errors(-200, "H1", 20, seed=5) == 0
