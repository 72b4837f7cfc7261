"""Going on with a tree after moves have been played: what lies below the position reached is kept, the rest goes.

What was proven below stays proven, since the path to it is the same as before.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.position import PLY, REVERSIBLE
from search.config import Settings
from search.rule import prepare_root
from search.tree import NOBODY, ROOT, Choice, Node, Slot, Tree, use_edge


@kernel
def node_after(tree: Tree, slot: int, actions: np.ndarray) -> int:
    """Return the node that `actions`, int16 (K,), lead to from the root, or -1 where it has not been evaluated."""
    nodes, choices, edges = tree.nodes[slot], tree.choices[slot], tree.edges[slot]
    index = ROOT
    for place in range(actions.shape[0]):
        node, child = nodes[index], NOBODY
        for edge in range(node.first, node.first + node.tried):
            if choices[edge].action == actions[place]:
                child = edges[edge].child
        if child < 0:
            return NOBODY
        index = child
    return index if nodes[index].count > 0 and nodes[index].visits > 0 else NOBODY


@kernel
def _order_by_action(first: int, count: int, choices: np.ndarray, edges: np.ndarray) -> None:
    """Bring a node's moves into the order of their action numbers (insertion sort)."""
    for last in range(first + 1, first + count):
        index = last
        while index > first and choices[index - 1].action > choices[index].action:
            one, other = choices[index - 1], choices[index]
            one.action, other.action = other.action, one.action
            one.prior, other.prior = other.prior, one.prior
            this, that = edges[index - 1], edges[index]
            this.value, that.value = that.value, this.value
            this.visits, that.visits = that.visits, this.visits
            this.child, that.child = that.child, this.child
            this.plies, that.plies = that.plies, this.plies
            this.proof, that.proof = that.proof, this.proof
            this.waiting, that.waiting = that.waiting, this.waiting
            index -= 1


@kernel
def _make_root(state: Slot, nodes: np.ndarray, choices: np.ndarray, edges: np.ndarray, index: int) -> None:
    """Give a node the form that roots have: all moves in use, in the order of their action numbers."""
    node: Node = nodes[index]
    for edge in range(node.first + node.tried, node.first + node.count):
        use_edge(edges[edge])
    node.tried = node.count
    _order_by_action(node.first, node.count, choices, edges)
    node.parent = node.edge = NOBODY
    for move in range(node.count):
        choice: Choice = choices[node.first + move]
        state.logit[move] = np.log(max(choice.prior, np.float32(1e-30)))


@kernel
def keep_below(tree: Tree, slot: int, root: int) -> None:
    """Make an evaluated node the root of its slot, in which nothing waits for the evaluator.

    Nodes and edges move to the front of their arrays. They never overtake each other, since children come after their
    parents, and moves lie in the order of their nodes.
    """
    state, nodes, choices, edges = tree.slots[slot], tree.nodes[slot], tree.choices[slot], tree.edges[slot]
    moved = tree.moved
    _make_root(state, nodes, choices, edges, root)
    kept_nodes, kept_edges = 0, 0
    for index in range(root, state.nodes):
        parent = nodes[index].parent
        if index != root and (parent < root or moved[parent] < 0):
            moved[index] = NOBODY
            continue
        moved[index] = kept_nodes
        node = nodes[index]
        first = node.first
        for move in range(node.count):
            choices[kept_edges + move] = choices[first + move]
        for move in range(node.tried):
            edges[kept_edges + move] = edges[first + move]
            child = edges[kept_edges + move].child
            if child >= 0:
                nodes[child].edge = kept_edges + move
        node.first = kept_edges
        kept_edges += node.count
        nodes[kept_nodes] = node
        kept_nodes += 1
    for index in range(1, kept_nodes):
        node = nodes[index]
        node.parent = moved[node.parent]
        edges[node.edge].child = index
    state.nodes = kept_nodes
    state.edges = kept_edges


@kernel
def shift_plies(tree: Tree, slot: int, plies: int) -> None:
    """Count the plies of all positions from `plies` later on."""
    for index in range(tree.slots[slot].nodes):
        info = tree.nodes[slot, index].position.info
        info[PLY] -= plies
        info[REVERSIBLE] -= plies


@kernel
def go_on(settings: Settings, tree: Tree, slot: int, budget: int, noise_scale: float) -> None:
    """Begin a search of `budget` further simulations with the tree that is there."""
    state, edges = tree.slots[slot], tree.edges[slot]
    state.simulations = 0
    state.budget = min(budget, tree.schedule.shape[1])
    for move in range(tree.nodes[slot, ROOT].count):
        state.kept[move] = edges[move].visits
    prepare_root(settings, tree, slot, noise_scale)
