"""The Gumbel search against whole trees that DeepMind's mctx grew (`tools/make_golden_py`)."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator

from env import RULES, Game
from env.position import PLY, copy_position
from env.tables import tables
from search.config import SearchConfig
from search.gumbel import best_edge, improved_policy, plan
from search.mcts import Search
from search.simulation import Batch, advance, new_batch, start
from search.tree import ROOT, Tree, new_tree

GOLDEN = Path(__file__).parent / "golden"
CASES = [case for game in RULES for case in json.loads((GOLDEN / f"{game}.json").read_text())]
CLOSE = 1e-5


def grow(case: dict[str, Any]) -> tuple[Tree, SearchConfig]:
    """Search a case's position as mctx did: the same evaluator, the same noise, no proofs."""
    config = SearchConfig(
        simulations=case["simulations"],
        considered=case["considered"],
        visit_offset=case["visit_offset"],
        value_scale=case["value_scale"],
        discount=case["discount"],
        proofs=False,
    )
    game = Game.from_position(case["game"], *case["start"])
    for move in case["moves"]:
        game.play(move)
    t, settings = tables(game.rules), config.settings()
    tree: Tree = new_tree(game.rules.size, 1, case["simulations"], game.ply)
    batch: Batch = new_batch(game.rules.size, 1)
    root = tree.nodes[0, ROOT].position
    copy_position(game.arrays, root)
    tree.history[0, : game.ply + 1] = game.history[: game.ply + 1]
    assert root.info[PLY] == game.ply
    start(t, settings, tree, batch, 0, case["simulations"], 0.0, 0)
    tree.slots[0].noise[: len(case["gumbel"])] = case["gumbel"]
    evaluator = HashEvaluator(case["evaluator"])
    waiting = 1
    while waiting:
        evaluator(*batch)
        waiting = advance(t, settings, tree, batch, 0)
    return tree, config


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['game']}-{case['evaluator']}-{case['simulations']}")
def test_the_tree_is_that_of_mctx(case: dict[str, Any]) -> None:
    tree, config = grow(case)
    settings, count = config.settings(), len(case["actions"])
    nodes, choices, edges = tree.nodes[0], tree.choices[0], tree.edges[0]
    assert nodes[ROOT].count == count
    assert choices["action"][:count].tolist() == case["actions"]
    assert edges["visits"][:count].tolist() == case["visits"]
    for edge, expected in zip(edges, case["values"]):
        assert (edge.visits == 0) == (expected is None)
        assert expected is None or edge.value == pytest.approx(expected, abs=CLOSE)
    policy = np.zeros(count, np.float32)
    assert improved_policy(settings, tree, 0, policy)
    np.testing.assert_allclose(policy, case["policy"], atol=CLOSE)
    assert choices[best_edge(settings, tree, 0)].action == case["chosen"]

    assert tree.slots[0].nodes == len(case["nodes"])
    for node, (parent, action, visits, value) in zip(nodes, case["nodes"]):
        assert node.parent == parent
        assert node.visits == visits
        if parent >= 0:
            assert choices[node.edge].action == action
        if value is not None:
            assert node.total / visits == pytest.approx(value, abs=CLOSE)


def test_the_golden_trees_meet_what_matters() -> None:
    """Ends of games, deep trees, noise, roots whose moves were all tried: without them the comparison says little."""
    assert sum(value is None for case in CASES for *_, value in case["nodes"]) > 10
    assert any(max(case["visits"]) > 40 for case in CASES)
    assert any(min(case["visits"]) > 0 for case in CASES)
    assert any(any(case["gumbel"]) for case in CASES) and any(not any(case["gumbel"]) for case in CASES)
    assert {case["discount"] for case in CASES} == {1.0, 0.98}


def test_sequential_halving_plans_as_mctx_does() -> None:
    expected = json.loads((GOLDEN / "plans.json").read_text())
    checksum = 0
    for considered in range(1, expected["considered"] + 1):
        for simulations in range(1, expected["simulations"] + 1):
            schedule = np.full(simulations, -1, np.int32)
            plan(schedule, considered, simulations)
            checksum = zlib.crc32(schedule.astype("<i4").tobytes(), checksum)
            if full := expected["plans"].get(f"{considered},{simulations}"):
                assert schedule.tolist() == full
    assert checksum == expected["crc32"]


def test_the_least_range_keeps_small_differences_small() -> None:
    """Where an evaluator sees next to no difference, the policy stays the prior's instead of magnifying noise."""

    def nearly_flat(
        inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        logits[:] = 0
        values[:] = [1e-3 * (zlib.crc32(row.tobytes()) % 101 / 50 - 1) for row in inputs]

    def largest_gain(least_range: float) -> float:
        search = Search("brandubh", nearly_flat, SearchConfig(least_range=least_range, discount=1.0, proofs=False))
        (result,) = search.run([Game("brandubh")], simulations=32)
        return float((result.policy / result.prior).max())

    assert largest_gain(0.0) > 3
    assert largest_gain(0.5) < 1.1
