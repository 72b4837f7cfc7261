"""Evaluations averaged over symmetries of the board."""

from __future__ import annotations

import numpy as np
import pytest
from hash_evaluator import HashEvaluator

from env import RULES, Game
from env.encoding import action_symmetries
from search.config import SearchConfig
from search.mcts import Search

GAMES = tuple(RULES)


@pytest.mark.parametrize("name", GAMES)
def test_what_looks_alike_is_judged_alike(name: str) -> None:
    """The start looks the same from all sides, which the evaluator does not know."""
    game = Game(name)
    one, averaged = (Search(name, HashEvaluator(5), SearchConfig(symmetries=n)).run([game], 2)[0] for n in (1, 8))
    prior = dict(zip(averaged.actions.tolist(), averaged.prior.tolist()))
    for symmetry in action_symmetries(game.rules.size):
        turned = [prior[int(symmetry[action])] for action in averaged.actions]
        np.testing.assert_allclose(turned, averaged.prior, rtol=1e-4)
    prior = dict(zip(one.actions.tolist(), one.prior.tolist()))
    turned = [prior[int(action_symmetries(game.rules.size)[1, action])] for action in one.actions]
    assert np.abs(turned - one.prior).max() > 0.01


def test_the_mean_is_over_as_many_as_are_asked_for() -> None:
    game = Game("brandubh")
    game.play("d1-b1")
    for symmetries in (1, 3, 8):
        evaluator = HashEvaluator(5)
        result = Search("brandubh", evaluator, SearchConfig(symmetries=symmetries, leaves=1)).run([game], 1)[0]
        assert evaluator.rows == symmetries + (result.simulations if result.proven is None else 0)


def test_a_kept_root_is_averaged_too() -> None:
    game = Game("brandubh")
    for cache in (0, 4096):
        search = Search("brandubh", HashEvaluator(5), SearchConfig(symmetries=8, reuse=True, cache=cache))
        line = search.run([game], 200)[0].line
        after = game.copy()
        after.play(line[0])
        after.play(line[1])
        kept = search.run([after], 60)[0]
        fresh = Search("brandubh", HashEvaluator(5), SearchConfig(symmetries=8)).run([after], 60)[0]
        assert kept.kept > 0
        np.testing.assert_allclose(kept.prior, fresh.prior, rtol=1e-4)
