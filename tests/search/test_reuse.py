"""Trees that are kept: what was found below the position reached is still there, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from test_leaves import grow

from env import RULES, Game
from search.config import SearchConfig
from search.mcts import Search
from search.reuse import keep_below, node_after
from search.tree import ROOT, Node, Tree

GAMES = tuple(RULES)
NODE = ("visits", "total", "raw", "proof", "plies")
EDGE = ("visits", "value", "proof", "plies")


def described(tree: Tree, root: int) -> dict[tuple[int, ...], tuple[Any, ...]]:
    """What the tree knows of every node and every tried move below `root`, by the moves that lead there."""
    nodes, choices, edges = tree.nodes[0], tree.choices[0], tree.edges[0]
    found: dict[tuple[int, ...], tuple[Any, ...]] = {}
    todo: list[tuple[int, tuple[int, ...]]] = [(root, ())]
    while todo:
        index, path = todo.pop()
        node = nodes[index]
        moves = slice(int(node.first), int(node.first + node.count))
        prior = dict(zip(choices[moves]["action"].tolist(), choices[moves]["prior"].tolist()))
        found[path] = (*(node[name] for name in NODE), node.position.key[0], prior)
        for edge in range(node.first, node.first + node.tried):
            after = (*path, int(choices[edge].action))
            if edges[edge].child >= 0:
                todo.append((int(edges[edge].child), after))
                found[after, "edge"] = tuple(edges[edge][name] for name in EDGE)  # pyright: ignore[reportArgumentType]
    return found


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("rule", ["gumbel", "puct"])
def test_what_is_below_stays_as_it_was(name: str, rule: str) -> None:
    tree, _ = grow(name, 400, 4, rule=rule)
    edges, choices = tree.edges[0], tree.choices[0]
    most = int(edges["visits"][: tree.nodes[0, ROOT].count].argmax())
    child: Node = tree.nodes[0, int(edges[most].child)]
    reply = max(range(child.first, child.first + child.tried), key=lambda edge: edges[edge].visits)
    path = np.array([choices[most].action, choices[reply].action], np.int16)
    root = int(node_after(tree, 0, path))
    assert root == edges[reply].child
    before = described(tree, root)
    keep_below(tree, 0, root)
    assert described(tree, ROOT) == before
    nodes = tree.nodes[0, : tree.slots[0].nodes]
    assert len(nodes) == sum(len(key) == 0 or not isinstance(key[-1], str) for key in before)
    assert nodes[ROOT].tried == nodes[ROOT].count
    actions = tree.choices[0]["action"][: nodes[ROOT].count].tolist()
    assert actions == sorted(actions)
    for index, node in enumerate(nodes[1:], 1):
        assert tree.edges[0][node.edge].child == index
        parent: Node = nodes[int(node.parent)]
        assert parent.first <= node.edge < parent.first + parent.tried


@pytest.mark.parametrize("name", GAMES)
def test_a_search_goes_on_where_the_game_has_gone(name: str) -> None:
    search = Search(name, HashEvaluator(4), SearchConfig(reuse=True))
    game, kept = Game(name), 0
    for _ in range(6):
        result = search.run([game], 100)[0]
        assert result.visits.sum() == result.simulations + result.kept
        assert result.actions.tolist() == game.legal_actions().tolist()
        assert result.policy.sum() == pytest.approx(1, abs=1e-5)
        assert result.simulations == 100 or result.proven
        kept += result.kept
        for move in result.line[:2]:
            game.play(move)
        if game.outcome is not None:
            break
    assert kept > 20
    again = search.run([game], 100)[0]
    assert search.run([game], 100)[0].kept >= again.simulations, "the same position: the whole tree"
    search.forget()
    assert search.run([game], 100)[0].kept == 0


def test_another_game_gets_no_tree_of_this_one() -> None:
    search = Search("brandubh", HashEvaluator(4), SearchConfig(reuse=True))
    first, other = Game("brandubh"), Game("brandubh")
    for move in ("d1-c1", "d3-c3", "d7-c7"):
        first.play(move)
    for move in ("d7-c7", "d3-c3", "d1-c1"):
        other.play(move)
    assert first.position == other.position
    search.run([first], 100)
    assert search.run([other], 100)[0].kept == 0
    assert search.run([first], 100)[0].kept == 0, "its tree is gone"
    fresh = Search("brandubh", HashEvaluator(4), SearchConfig()).run([first], 100)[0]
    assert search.run([other], 100)[0].kept == 0
    assert search.run([first], 100)[0].visits.tolist() == fresh.visits.tolist()


def test_games_find_their_trees_among_many() -> None:
    """Games come back in another order, some are gone and some are new."""
    search = Search("brandubh", HashEvaluator(4), SearchConfig(reuse=True))
    games = [Game("brandubh") for _ in range(6)]
    for number, game in enumerate(games):
        game.play(game.legal_moves()[5 * number])
    results = search.run(games, 80)
    for game, result in zip(games, results):
        for move in result.line[:2]:
            game.play(move)
    left = [game for game in games[::-1] if game.outcome is None][:4] + [Game("brandubh")]
    kept = [result.kept for result in search.run(left, 80)]
    assert all(number > 0 for number in kept[:-1]) and kept[-1] == 0


def test_an_error_in_the_evaluator_leaves_no_tree_behind() -> None:
    class Failing(HashEvaluator):
        def __call__(self, inputs, actions, counts, logits, values) -> None:
            super().__call__(inputs, actions, counts, logits, values)
            if self.calls == 5:
                values[:] = np.nan

    search = Search("brandubh", Failing(4), SearchConfig(reuse=True))
    with pytest.raises(FloatingPointError):
        search.run([Game("brandubh")], 200)
    result = search.run([Game("brandubh")], 200)[0]
    assert result.kept == 0 and result.visits.sum() == result.simulations
