"""Which move a search looks at next by PUCT, and what it makes of its visits.

The rule is AlphaZero's (Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play", Science 2018, supplement): the move with the largest

    value + c * prior * sqrt(visits of the node) / (1 + visits of the move),
    c = c_puct + log((1 + visits of the node + c_base) / c_base),

where priors of the root are mixed with Dirichlet noise in self-play. Moves without visits are credited with the node's
mean value less `first_play_reduction` times the root of the visited moves' share of the policy, as Leela Chess Zero and
KataGo do. Simulations that wait for the evaluator count in the visits and not in the value (Liu et al., "Watch the
unobserved", ICLR 2020).
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from search.config import Settings
from search.tree import LOSS, ROOT, UNKNOWN, WIN, Edge, Node, Slot, Tree, random_unit, try_next

C_BASE = 19652.0


@kernel
def _exploration(settings: Settings, visits: int) -> float:
    """Return c * sqrt(visits) of a node."""
    return (settings.c_puct + np.log((1.0 + visits + C_BASE) / C_BASE)) * np.sqrt(visits)


@kernel
def _first_play(settings: Settings, node: Node, visited: float) -> float:
    """Return the value of moves without visits; `visited` is the share of the policy that the others have."""
    return node.total / max(1, node.visits) - settings.first_play_reduction * np.sqrt(max(0.0, visited))


@kernel
def _known(edge: Edge) -> bool:
    return edge.visits > 0 or edge.proof != UNKNOWN


@kernel
def choose_inside(settings: Settings, node: Node, choices: np.ndarray, edges: np.ndarray) -> int:
    """Return the edge of an inner node that PUCT prefers, or -1 if all are lost.

    A move that has not been tried is made ready for it.
    """
    first, head, last = node.first, node.first + node.tried, node.first + node.count
    visits, visited = max(1, node.visits), 0.0
    for index in range(first, head):
        visits += edges[index].waiting
        if _known(edges[index]):
            visited += choices[index].prior
    exploration = _exploration(settings, visits)
    unknown = _first_play(settings, node, visited)
    best, best_score = -1, -np.inf
    if head < last:
        best, best_score = head, unknown + exploration * choices[head].prior
    for index in range(first, head):
        edge = edges[index]
        if edge.proof == LOSS:
            continue
        value = float(edge.value) if _known(edge) else unknown
        score = value + exploration * choices[index].prior / (1 + edge.visits + edge.waiting)
        if score > best_score:
            best, best_score = index, score
    if best == head:
        try_next(node, choices, edges)
    return best


@kernel
def choose_at_root(settings: Settings, state: Slot, node: Node, choices: np.ndarray, edges: np.ndarray) -> int:
    """Return the edge of the root that PUCT prefers, noise included; -1 if all are lost."""
    visits, visited = max(1, node.visits), 0.0
    for index in range(node.count):
        visits += edges[index].waiting
        if _known(edges[index]):
            visited += choices[index].prior
    exploration = _exploration(settings, visits)
    unknown = _first_play(settings, node, visited)
    share = state.noise_share
    best, best_score = -1, -np.inf
    for index in range(node.count):
        edge = edges[index]
        if edge.proof == LOSS:
            continue
        prior = (1.0 - share) * choices[index].prior + share * state.noise[index]
        value = float(edge.value) if _known(edge) else unknown
        score = value + exploration * prior / (1 + edge.visits + edge.waiting)
        if score > best_score:
            best, best_score = index, score
    return best


@kernel
def best_edge(tree: Tree, slot: int) -> int:
    """Return the edge to play: a proven win, the quickest; or the most visited, then best; or the slowest loss."""
    node, choices, edges = tree.nodes[slot, ROOT], tree.choices[slot], tree.edges[slot]
    quickest, slowest, best = -1, -1, -1
    for index in range(node.count):
        edge = edges[index]
        if edge.proof == WIN:
            if quickest < 0 or edge.plies < edges[quickest].plies:
                quickest = index
        elif edge.proof == LOSS:
            if slowest < 0 or edge.plies > edges[slowest].plies:
                slowest = index
        elif best < 0 or edge.visits > edges[best].visits:
            best = index
        elif edge.visits == edges[best].visits:
            better = edge.value > edges[best].value if edge.visits > 0 else choices[index].prior > choices[best].prior
            if better:
                best = index
    if quickest >= 0:
        return quickest
    return best if best >= 0 else slowest


@kernel
def visit_policy(tree: Tree, slot: int, out: np.ndarray) -> bool:
    """Write each move's share of the root's visits to `out`, float32 (at least count,).

    A proven win is the whole policy; moves proven lost get nothing. Without visits it is the evaluator's policy.

    Returns whether there is something to learn: not where all moves are lost.
    """
    node, choices, edges = tree.nodes[slot, ROOT], tree.choices[slot], tree.edges[slot]
    total, prior, open_moves = 0.0, 0.0, 0
    for index in range(node.count):
        out[index] = 0.0
        if edges[index].proof != LOSS:
            open_moves += 1
            total += edges[index].visits
            prior += choices[index].prior
    if node.proof == WIN:
        out[best_edge(tree, slot)] = 1.0
        return True
    for index in range(node.count):
        if open_moves == 0:
            out[index] = choices[index].prior
        elif edges[index].proof != LOSS:
            out[index] = edges[index].visits / total if total > 0 else choices[index].prior / max(prior, 1e-30)
    return open_moves > 0


@kernel
def _normal(state: Slot) -> float:
    """Return a standard normal number (Box and Muller 1958)."""
    return np.sqrt(-2.0 * np.log(random_unit(state))) * np.cos(2.0 * np.pi * random_unit(state))


@kernel
def _log_gamma_sample(state: Slot, shape: float) -> float:
    """Return the logarithm of a gamma number (Marsaglia and Tsang, "A simple method", ACM TOMS 2000)."""
    boost = 0.0
    if shape < 1.0:
        boost = np.log(random_unit(state)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = _normal(state)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and np.log(random_unit(state)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return np.log(d * v) + boost


@kernel
def draw_noise(settings: Settings, state: Slot, count: int) -> None:
    """Draw the root's Dirichlet noise: `noise_total` spread over its `count` moves, as KataGo and others scale it."""
    concentration = settings.noise_total / count
    highest, total = -np.inf, 0.0
    for index in range(count):
        state.noise[index] = _log_gamma_sample(state, concentration)
        highest = max(highest, state.noise[index])
    for index in range(count):
        state.noise[index] = np.exp(state.noise[index] - highest)
        total += state.noise[index]
    for index in range(count):
        state.noise[index] /= total
