"""PUCT against the formula of the paper, computed plainly on `Game`s."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import ending

from env import RULES, Game
from env.encoding import position_input
from env.tables import tables
from search.config import SearchConfig
from search.mcts import Search
from search.puct import draw_noise
from search.tree import new_tree

GAMES = tuple(RULES)
DISCOUNT, C_PUCT, REDUCTION = 0.97, 1.5, 0.3


@dataclass
class Plain:
    """A node: `worth` is the sum of the values found through it, for the side to play in it."""

    game: Game
    result: float | None = None
    prior: dict[int, float] = field(default_factory=dict)
    children: dict[int, Plain] = field(default_factory=dict)
    visits: int = 0
    worth: float = 0.0


def evaluated(game: Game, evaluator: HashEvaluator) -> tuple[Plain, float]:
    if game.outcome is not None:
        value = 0.0 if game.outcome.winner is None else 1.0 if game.outcome.winner == game.to_play else -1.0
        return Plain(game, value), value
    row, actions = position_input(tables(game.rules), game.arrays, game.history)
    logits, values = np.zeros((1, len(actions)), np.float32), np.zeros(1, np.float32)
    evaluator(row[None], actions[None], np.array([len(actions)], np.int32), logits, values)
    weights = np.exp(logits[0].astype(float))
    return Plain(game, None, dict(zip(actions.tolist(), (weights / weights.sum()).tolist()))), float(values[0])


def best(node: Plain) -> int:
    c = C_PUCT + math.log((1 + node.visits + 19652) / 19652)
    seen = sum(node.prior[action] for action in node.children)
    unknown = node.worth / node.visits - REDUCTION * math.sqrt(seen)

    def score(action: int) -> float:
        child = node.children.get(action)
        visits = child.visits if child else 0
        value = -DISCOUNT * child.worth / visits if child else unknown
        return value + c * node.prior[action] * math.sqrt(node.visits) / (1 + visits)

    return max(node.prior, key=score)


def simulate(root: Plain, evaluator: HashEvaluator) -> None:
    path = [root]
    while True:
        node = path[-1]
        if node.result is not None:
            value = node.result
            break
        action = best(node)
        if action in node.children:
            path.append(node.children[action])
            continue
        after = node.game.copy()
        after.play_action(action)
        node.children[action], value = evaluated(after, evaluator)
        path.append(node.children[action])
        break
    for node in reversed(path):
        node.visits += 1
        node.worth += value
        value *= -DISCOUNT


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", range(3))
def test_visits_and_values_are_those_of_the_formula(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    game, evaluator, simulations = ending(name, rng), HashEvaluator(seed), 120
    root, value = evaluated(game, evaluator)
    root.visits, root.worth = 1, value
    for _ in range(simulations):
        simulate(root, evaluator)
    config = SearchConfig(
        rule="puct", proofs=False, discount=DISCOUNT, c_puct=C_PUCT, first_play_reduction=REDUCTION, leaves=1
    )
    result = Search(name, evaluator, config).run([game], simulations)[0]
    assert root.visits == simulations + 1
    for action, visits, value in zip(result.actions.tolist(), result.visits, result.values):
        child = root.children.get(action)
        assert visits == (child.visits if child else 0)
        assert child is None or value == pytest.approx(-DISCOUNT * child.worth / child.visits, abs=1e-5)
    np.testing.assert_allclose(result.policy, result.visits / simulations, atol=1e-6)
    assert result.visits[result.actions == game.action_of(result.move)] == result.visits.max()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**63), st.integers(1, 196), st.floats(0.5, 100))
def test_noise_is_a_distribution(seed: int, count: int, total: float) -> None:
    state = new_tree(7, 1, 1, 0).slots[0]
    state.random = np.uint64(seed)
    draw_noise(SearchConfig(rule="puct", noise_total=total).settings(), state, count)
    noise = state.noise[:count]
    assert (noise >= 0).all() and noise.sum() == pytest.approx(1, abs=1e-4)


def test_noise_spreads_as_its_concentration_says() -> None:
    """The variance of a Dirichlet share is p (1 - p) / (total + 1), for p = 1 / moves."""
    state, moves = new_tree(7, 1, 1, 0).slots[0], 20
    for total in (2.0, 40.0):
        config = SearchConfig(rule="puct", noise_total=total).settings()
        shares = []
        for _ in range(2000):
            draw_noise(config, state, moves)
            shares.append(state.noise[:moves].copy())
        expected = 1 / moves * (1 - 1 / moves) / (total + 1)
        assert np.var(shares, axis=0).mean() == pytest.approx(expected, rel=0.1)
        np.testing.assert_allclose(np.mean(shares, axis=0), 1 / moves, atol=0.02)


def test_noise_follows_the_seed_and_is_none_by_default() -> None:
    search = Search("brandubh", HashEvaluator(1), SearchConfig(rule="puct", noise_share=1.0))
    game = Game("brandubh")
    noisy = [search.run([game], 60, gumbel_scale=1.0, seeds=[seed])[0].visits.tolist() for seed in (1, 1, 2)]
    assert noisy[0] == noisy[1] != noisy[2]
    assert len({tuple(search.run([game], 60, seeds=[seed])[0].visits.tolist()) for seed in range(3)}) == 1
