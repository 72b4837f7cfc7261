"""Several leaves of one tree at a time: fewer calls of the evaluator, the same rules for where simulations go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator

from env import RULES, Game
from env.position import PLY, copy_position
from env.tables import tables
from search.config import SearchConfig
from search.gumbel import phase_end, plan
from search.mcts import Search, leaves_for
from search.simulation import advance, new_batch, start
from search.tree import ROOT, Node, Tree, new_tree

GAMES = tuple(RULES)


def grow(name: str, simulations: int, leaves: int, **settings: Any) -> tuple[Tree, HashEvaluator]:
    """Return the tree of one search from the start."""
    config, game = SearchConfig(**settings), Game(name)
    tree, batch = new_tree(game.rules.size, 1, simulations, 0, leaves), new_batch(game.rules.size, leaves)
    copy_position(game.arrays, tree.nodes[0, ROOT].position)
    tree.history[0, 0] = game.history[0]
    arguments = (tables(game.rules), config.settings(), tree, batch)
    start(*arguments, 0, simulations, 0.0, 0)
    evaluator = HashEvaluator(7, spread=4.0)
    waiting = 1
    while waiting:
        evaluator(*(array[:waiting] for array in batch))
        waiting = advance(*arguments, 0)
    return tree, evaluator


@pytest.mark.parametrize("rule", ["gumbel", "puct"])
@pytest.mark.parametrize("name", GAMES)
def test_nothing_is_left_in_the_air(name: str, rule: str) -> None:
    """After the last answer no edge waits, and the visits add up in every node."""
    tree, _ = grow(name, 500, 16, rule=rule, discount=1.0, proofs=False)
    state = tree.slots[0]
    nodes, edges = tree.nodes[0, : state.nodes], tree.edges[0]
    assert state.pending == 0 and (tree.waiting == -1).all()
    assert nodes["visits"][ROOT] == 501
    for node in nodes:
        mine = edges[node.first : node.first + node.tried]
        assert not mine["waiting"].any()
        if node.count:
            assert mine["visits"].sum() == node.visits - 1
            parent: Node = nodes[int(node.parent)]
            assert node.position.info[PLY] == 0 or parent.position.info[PLY] == node.position.info[PLY] - 1
            below = sum(edge.visits * float(edge.value) for edge in mine)
            assert node.total == pytest.approx(node.raw + below, abs=1e-3)


@pytest.mark.parametrize("name", GAMES)
def test_a_batch_is_filled(name: str) -> None:
    for leaves in (4, 16):
        _, evaluator = grow(name, 400, leaves)
        assert evaluator.rows / evaluator.calls > 0.7 * leaves


@pytest.mark.parametrize("considered", [4, 16])
def test_the_plan_of_the_root_is_kept(considered: int) -> None:
    """Sequential halving gives each phase's moves the same visits, however many leaves are taken at once."""
    simulations = 128
    alone, together = (grow("brandubh", simulations, leaves, considered=considered)[0] for leaves in (1, 8))
    visits = [np.sort(tree.edges[0]["visits"][: tree.nodes[0, ROOT].count]) for tree in (alone, together)]
    np.testing.assert_array_equal(visits[0], visits[1])


def test_a_phase_ends_where_fewer_moves_are_left() -> None:
    for considered in range(1, 40):
        for budget in (1, 7, 16, 100, 333):
            schedule, index = np.zeros(budget, np.int32), 0
            plan(schedule, considered, budget)
            while index < budget:
                end = phase_end(considered, budget, index)
                assert index < end <= budget
                rounds, counts = np.unique(schedule[index:end], return_counts=True)
                assert len(set(counts.tolist())) == 1 or end == budget
                assert index == 0 or rounds[0] > schedule[index - 1]
                index = end


def test_leaves_follow_from_games_and_simulations() -> None:
    assert leaves_for(1, 100_000) > leaves_for(1, 128) > leaves_for(1, 32) >= 1
    assert leaves_for(200, 100_000) == 1 == leaves_for(1, 8)


@pytest.mark.parametrize("name", GAMES)
def test_the_same_search_twice(name: str) -> None:
    games = [Game(name)]
    runs = [Search(name, HashEvaluator(2), SearchConfig(leaves=12)).run(games, 300)[0] for _ in range(2)]
    assert runs[0].visits.tolist() == runs[1].visits.tolist()
    assert runs[0].policy.tolist() == runs[1].policy.tolist()
