"""The search trees of a batch of games: flat arrays of records, and the kernels that grow, back up and prove.

Every game of the batch has a *slot* of its own in each array and its own random generator, so that what happens in one
slot depends on nothing but that slot. `search.gumbel` says which move is looked at next, `search.simulation` walks.

Exact results are backed up as in MCTS-solver (Winands et al., "Monte-Carlo tree search solver", CG 2008). The tree has
no transpositions, since repetition makes a proof hold only for the path it was found on.

The moves of an inner node are ordered as they are tried. Of moves that have not been tried only the one with the
largest prior can be next, since all are credited with the same value; so it stands at their head, what has been tried
stands before it, and a visit looks at no more than that. The root's moves stay in the order of their action numbers.

Letters in shapes: G slots, N nodes a slot, E edges a slot, M = 4S legal moves at most, B simulations at most.
Values are from the view of the side to play in a node, an edge's from the view of the side that plays it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.jit import kernel
from env.position import Position, new_positions
from search.cache import Cache, new_cache
from search.config import Settings

UNKNOWN, WIN, LOSS, DRAW = 0, 1, -1, 2
ROOT = 0
NOBODY = -1


class Slot(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """How far the search of one game is. Records and not tuples of arrays, as everywhere: see `env.tables.Tables`.

    Attributes:
        random: uint64, state of the generator.
        nodes, edges: int32, how many are in use.
        pending: int32, how many nodes wait for the evaluator.
        simulations, budget: int32, simulations begun and wanted.
        noise_share: float32, how much of the root's priors is noise (PUCT).
        logit: float32 (M,), the evaluator's logits at the root.
        noise: float32 (M,), noise of the root's moves: Gumbel's, or Dirichlet's under PUCT.
        kept: int32 (M,), visits of the root's moves that an earlier search made (`search.reuse`).
        undo: int16 (8,), buffer for `env.board.play`.
    """

    random: np.uint64
    nodes: int
    edges: int
    pending: int
    simulations: int
    budget: int
    noise_share: float
    logit: np.ndarray
    noise: np.ndarray
    kept: np.ndarray
    undo: np.ndarray


class Node(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A position that was reached.

    Attributes:
        position: the position itself. The root's is set before a search, and kept.
        total: float64, sum of the values backed up to the node.
        raw: float32, the evaluator's value.
        visits: int32, simulations that came through the node, its own evaluation included.
        parent, edge: int32, the node above and the edge from there; -1 at the root.
        first, count: int32, the node's edges are first to first + count - 1.
        tried: int32, how many of these are in use: all at the root, else those that have been tried. Of the others
            only the `Choice` holds anything, and the first of them has the largest prior.
        plies: int16, plies to the end of the game by the proof that is known; an upper bound for a win.
        proof: int8, UNKNOWN, WIN, LOSS or DRAW of the side to play.
    """

    position: Position
    total: float
    raw: float
    visits: int
    parent: int
    edge: int
    first: int
    count: int
    tried: int
    plies: int
    proof: int


class Choice(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A legal move of a node, in the node's order.

    Attributes:
        prior: float32, the evaluator's policy over the node's legal moves.
        action: int16, action number.
    """

    prior: float
    action: int


class Edge(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """What is known of a move that is in use.

    Attributes:
        value: float32, mean value below the edge, or the exact one; of no meaning before the first visit.
        visits: int32.
        child: int32, the node below, or -1.
        plies: int16, proof: int8, as those of a node, the move included.
        waiting: int8, simulations that went this way and wait for the evaluator; always 0 between two batches where
            a slot has one row in them.
    """

    value: float
    visits: int
    child: int
    plies: int
    proof: int
    waiting: int


class Tree(NamedTuple):
    """The trees of G games.

    Attributes:
        slots: Slot (G,).
        nodes: Node (G, N).
        choices: Choice (G, E), the legal moves of all nodes; the root's come first.
        edges: Edge (G, E), what is known of them.
        schedule: int32 (G, B), visits that the move tried by each simulation should have (sequential halving).
        history: uint64 (G, H), keys of the root's past since its last capture, then of the path that is being walked.
        waiting: int32 (G, 2L), first the node that each of the slot's L rows of the batch is about, or -1; then the
            nodes at which simulations met one that waits already (`search.simulation.descend`), or -1.
        moved: int32 (N,), room for `search.reuse`.
        known, memory: evaluations that are remembered, of all slots together (`search.cache`).
    """

    slots: np.ndarray
    nodes: np.ndarray
    choices: np.ndarray
    edges: np.ndarray
    schedule: np.ndarray
    history: np.ndarray
    waiting: np.ndarray
    moved: np.ndarray
    known: np.ndarray
    memory: np.ndarray


def _record(kind: type[np.record], *fields: tuple) -> np.dtype:
    return np.dtype((kind, np.dtype(list(fields), align=True)))


def _slot_dtype(size: int) -> np.dtype:
    counts = [(name, np.int32) for name in ("nodes", "edges", "pending", "simulations", "budget")]
    moves = (4 * size * size,)
    arrays = [("logit", np.float32, moves), ("noise", np.float32, moves), ("kept", np.int32, moves)]
    return _record(Slot, ("random", np.uint64), *counts, ("noise_share", np.float32), *arrays, ("undo", np.int16, (8,)))


def _node_dtype(size: int) -> np.dtype:
    places = [(name, np.int32) for name in ("visits", "parent", "edge", "first", "count", "tried")]
    position = ("position", new_positions(size, 1).dtype)  # first, since a record as a field is not aligned by NumPy
    return _record(
        Node, position, ("total", np.float64), ("raw", np.float32), *places, ("plies", np.int16), ("proof", np.int8)
    )


CHOICE = _record(Choice, ("prior", np.float32), ("action", np.int16))
EDGE = _record(
    Edge,
    ("value", np.float32),
    ("visits", np.int32),
    ("child", np.int32),
    ("plies", np.int16),
    ("proof", np.int8),
    ("waiting", np.int8),
)


def tree_bytes(size: int, simulations: int) -> int:
    """Return about how many bytes one slot of `new_tree` spans."""
    return simulations * (_node_dtype(size).itemsize + 4 * size * size * (CHOICE.itemsize + EDGE.itemsize))


def new_tree(
    size: int,
    slots: int,
    simulations: int,
    history: int,
    leaves: int = 1,
    kept: int = 0,
    cache: Cache | None = None,
) -> Tree:
    """Return empty trees for `slots` games on a board of `size`, up to `simulations` a search.

    `history` is the number of plies that a root's past may have, `leaves` how many rows a slot has in a batch, `kept`
    how many nodes may be there already when a search begins. Arrays are sized for the worst case; the operating system
    gives memory only to the part that is used. Without a `cache` nothing is remembered.
    """
    nodes = simulations + kept + 2
    cache = new_cache(size, 0) if cache is None else cache
    edges = nodes * 4 * size * size
    return Tree(
        slots=np.zeros(slots, _slot_dtype(size)),
        nodes=np.empty((slots, nodes), _node_dtype(size)),
        choices=np.empty((slots, edges), CHOICE),
        edges=np.empty((slots, edges), EDGE),
        schedule=np.zeros((slots, simulations), np.int32),
        history=np.zeros((slots, history + nodes + 1), np.uint64),
        waiting=np.full((slots, 2 * leaves), NOBODY, np.int32),
        moved=np.empty(nodes, np.int32),
        known=cache.entries,
        memory=cache.memory,
    )


@kernel
def random_bits(state: Slot) -> np.uint64:
    """Advance the slot's generator (SplitMix64; Steele et al., OOPSLA 2014) and return 64 bits."""
    state.random += np.uint64(0x9E3779B97F4A7C15)
    bits = state.random
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def random_unit(state: Slot) -> float:
    """Return a number in (0, 1) from the slot's generator."""
    return (float(random_bits(state) >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@kernel
def exact_value(proof: int, plies: int, discount: float) -> float:
    """Return the discounted value of a proven result `plies` before the end."""
    if proof == WIN:
        return discount**plies
    if proof == LOSS:
        return -(discount**plies)
    return 0.0


@kernel
def add_node(state: Slot, nodes: np.ndarray, parent: int, edge: int) -> int:
    """Take a new node into use, below `edge` of `parent`, and return it. Its position is the caller's."""
    index = state.nodes
    state.nodes = index + 1
    node = nodes[index]
    node.parent = parent
    node.edge = edge
    node.first = state.edges
    node.count = 0
    node.tried = 0
    node.visits = 0
    node.total = 0.0
    node.raw = 0.0
    node.proof = UNKNOWN
    node.plies = 0
    return index


@kernel
def use_edge(edge: Edge) -> None:
    """Clear an edge that comes into use."""
    edge.visits = 0
    edge.value = 0.0
    edge.proof = UNKNOWN
    edge.plies = 0
    edge.child = NOBODY
    edge.waiting = 0


@kernel
def bring_next(node: Node, choices: np.ndarray) -> None:
    """Bring the move with the largest prior to the head of those that have not been tried."""
    head, last = node.first + node.tried, node.first + node.count
    best, largest = head, np.float32(-1.0)
    for index in range(head, last):
        if choices[index].prior > largest:
            best, largest = index, choices[index].prior
    if best > head:
        one, other = choices[best], choices[head]
        one.action, other.action = other.action, one.action
        one.prior, other.prior = other.prior, one.prior


@kernel
def hold(nodes: np.ndarray, edges: np.ndarray, index: int, top: int, change: int) -> None:
    """Add `change` to the simulations that wait below every edge from the node up to node `top`, an ancestor."""
    while index != top:
        node: Node = nodes[index]
        edge: Edge = edges[node.edge]
        edge.waiting += change
        index = node.parent


@kernel
def try_next(node: Node, choices: np.ndarray, edges: np.ndarray) -> None:
    """Bring the first move that has not been tried into use."""
    use_edge(edges[node.first + node.tried])
    node.tried += 1
    bring_next(node, choices)


@kernel
def prove(node: Node, edges: np.ndarray) -> None:
    """Enter what the edges of `node` prove about it: a win by the quickest, else the best of all when all are known."""
    shortest, longest, draw_plies = 32767, -1, -1
    unknown = node.tried < node.count
    for index in range(node.first, node.first + node.tried):
        proof, plies = edges[index].proof, edges[index].plies
        if proof == WIN:
            shortest = min(shortest, plies)
        elif proof == UNKNOWN:
            unknown = True
        elif proof == DRAW:
            draw_plies = max(draw_plies, plies)
        else:
            longest = max(longest, plies)
    if shortest < 32767:
        node.proof = WIN
        node.plies = shortest
    elif not unknown:
        if draw_plies >= 0:
            node.proof = DRAW
            node.plies = draw_plies
        else:
            node.proof = LOSS
            node.plies = longest


@kernel
def back_up(settings: Settings, nodes: np.ndarray, edges: np.ndarray, index: int, value: float) -> None:
    """Add `value`, of the side to play in the node, to the node and all above it; proofs go up with it."""
    discount = settings.discount
    while True:
        node: Node = nodes[index]
        node.visits += 1
        node.total += value
        if node.edge < 0:
            return
        edge: Edge = edges[node.edge]
        parent: Node = nodes[node.parent]
        edge.visits += 1
        if settings.proofs and node.proof != UNKNOWN:
            edge.value = -discount * exact_value(node.proof, node.plies, discount)
            edge.proof = node.proof if node.proof == DRAW else -node.proof
            edge.plies = node.plies + 1
            prove(parent, edges)
        else:
            edge.value = -discount * (node.total / node.visits)
        value = -discount * value
        if settings.proofs and parent.proof != UNKNOWN:
            value = exact_value(parent.proof, parent.plies, discount)
        index = node.parent
