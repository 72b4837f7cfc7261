"""The Gumbel search against whole trees that DeepMind's mctx grew (`tools/make_golden_trees.py`)."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator

from env import RULES, Game
from env.board import PLY, copy_position
from env.tables import tables
from search import tree as trees
from search.config import SearchConfig
from search.tree import Batch, Tree

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
    tree: Tree = trees.new_tree(game.rules.size, 1, case["simulations"], game.ply)
    batch: Batch = trees.new_batch(game.rules.size, 1)
    root = tree.root[0]
    copy_position(game.arrays, root)
    tree.history[0, : game.ply + 1] = game.history[: game.ply + 1]
    assert root.info[PLY] == game.ply
    trees.start(t, settings, tree, batch, 0, case["simulations"], 0.0, 0)
    tree.gumbel[0, : len(case["gumbel"])] = case["gumbel"]
    evaluator = HashEvaluator(case["evaluator"])
    waiting = 1
    while waiting:
        evaluator(*batch)
        waiting = trees.advance(t, settings, tree, batch, 0)
    return tree, config


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['game']}-{case['evaluator']}-{case['simulations']}")
def test_the_tree_is_that_of_mctx(case: dict[str, Any]) -> None:
    tree, config = grow(case)
    settings, count = config.settings(), len(case["actions"])
    assert tree.edge_count[0, 0] == count
    assert tree.action[0, :count].tolist() == case["actions"]
    assert tree.edge_visits[0, :count].tolist() == case["visits"]
    for visits, value, expected in zip(tree.edge_visits[0], tree.edge_value[0], case["values"]):
        assert (visits == 0) == (expected is None)
        assert expected is None or value == pytest.approx(expected, abs=CLOSE)
    policy = np.zeros(count, np.float32)
    assert trees.improved_policy(settings, tree, 0, policy)
    np.testing.assert_allclose(policy, case["policy"], atol=CLOSE)
    assert tree.action[0, trees.best_edge(settings, tree, 0)] == case["chosen"]

    assert tree.nodes[0] == len(case["nodes"])
    for node, (parent, action, visits, value) in enumerate(case["nodes"]):
        assert tree.parent[0, node] == parent
        assert tree.visits[0, node] == visits
        if node:
            assert tree.action[0, tree.edge[0, node]] == action
        if value is not None:
            assert tree.total[0, node] / visits == pytest.approx(value, abs=CLOSE)


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
            trees.plan(schedule, considered, simulations)
            checksum = zlib.crc32(schedule.astype("<i4").tobytes(), checksum)
            if full := expected["plans"].get(f"{considered},{simulations}"):
                assert schedule.tolist() == full
    assert checksum == expected["crc32"]
