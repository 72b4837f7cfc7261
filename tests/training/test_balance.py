"""The controller of the budget ratio, against a simple model of a lopsided game."""

import math

import numpy as np
import pytest

from training.balance import Balance
from training.config import BalanceConfig
from training.slots import QUARTERS


def play(balance: Balance, bias: float, iterations: int, games: int = 100) -> list[float]:
    """Expected win shares of the attackers, whose log-odds are `bias` plus log2 of the ratio."""
    rng = np.random.default_rng(0)
    shares, positions = [], 0
    for _ in range(iterations):
        share = 1 / (1 + math.exp(-bias - balance.ratio(positions) / QUARTERS))
        positions += 10 * games
        balance.update(float(rng.binomial(games, share)), games, positions)
        shares.append(share)
    return shares


@pytest.mark.parametrize("bias", [-1.5, 0.0, 1.5])
def test_it_brings_win_shares_to_the_target_and_keeps_them_there(bias: float) -> None:
    shares = play(Balance(BalanceConfig(maximum=3, memory=300)), bias, 80)
    assert np.abs(np.array(shares[40:]) - 0.5).max() < 0.13
    assert abs(np.mean(shares[40:]) - 0.5) < 0.04


def test_it_obeys_another_target() -> None:
    shares = play(Balance(BalanceConfig(maximum=3, memory=300, target=0.35)), -2.0, 80)
    assert abs(np.mean(shares[40:]) - 0.35) < 0.04


def test_it_stays_within_its_maximum_and_comes_back_from_there_without_delay() -> None:
    balance = Balance(BalanceConfig(maximum=1, memory=100))
    play(balance, -8.0, 100)
    assert balance.ratio(0) == QUARTERS
    assert balance.level == 1
    play(balance, +8.0, 8)
    assert balance.ratio(0) < 0


def test_the_maximum_can_shrink_to_nothing() -> None:
    balance = Balance(BalanceConfig(maximum=2, memory=100, anneal_positions=10_000))
    play(balance, -8.0, 50)
    assert [balance.ratio(positions) for positions in (0, 5_000, 10_000, 99_000)] == [0, 0, 0, 0]
    balance = Balance(BalanceConfig(maximum=2, initial=2, anneal_positions=10_000))
    assert [balance.ratio(positions) for positions in (0, 2_500, 5_000, 10_000)] == [8, 6, 4, 0]


def test_the_other_modes_do_not_follow_results() -> None:
    fixed, off = (Balance(BalanceConfig(mode=mode, initial=-0.75)) for mode in ("fixed", "off"))
    for balance in (fixed, off):
        balance.update(0.0, 1000, 1000)
    assert (fixed.ratio(1000), off.ratio(1000)) == (-3, 0)


def test_no_games_change_nothing_and_state_is_all_there_is() -> None:
    balance = Balance(BalanceConfig())
    before = balance.state()
    balance.update(0.0, 0, 50)
    assert balance.state() == before
    balance.update(12.5, 40, 100)
    other = Balance(BalanceConfig())
    other.restore(balance.state())
    for each in (balance, other):
        each.update(3.0, 40, 200)
    assert other.state() == balance.state() != before
