"""Which move a search looks at next, and what it makes of its visits: Gumbel AlphaZero.

The root follows Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022: sampling without replacement
by Gumbel noise, sequential halving, and policy targets from completed, rescaled values (sections 3 and 4, appendix D).
Below the root the deterministic rule of the same paper (section 5) is used.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from search.config import Settings
from search.tree import LOSS, ROOT, UNKNOWN, WIN, Choice, Edge, Node, Slot, Tree, try_next

TINY = 1e-30


@kernel
def plan(schedule: np.ndarray, considered: int, budget: int) -> None:
    """Write a sequential-halving plan to `schedule`, int32 (at least budget,).

    Simulation i is to try a move that has been visited schedule[i] times. All `considered` moves get equal visits in
    the first phase, then the better half, and so on down to two (Danihelka et al. 2022, section 3.2; Karnin et al.
    2013); each of the log2(considered) phases takes about the same number of simulations.
    """
    if considered <= 1:
        for index in range(budget):
            schedule[index] = index
        return
    phases = int(np.ceil(np.log2(considered)))
    left, visited, index = considered, 0, 0
    while index < budget:
        rounds = max(1, budget // (phases * left))
        for _ in range(rounds):
            for _ in range(left):
                if index < budget:
                    schedule[index] = visited
                    index += 1
            visited += 1
        left = max(2, left // 2)


@kernel
def phase_end(considered: int, budget: int, index: int) -> int:
    """Return the first simulation after the phase of the plan that simulation `index` is part of.

    Within a phase every move that is left gets the same visits, whatever the values: only who is left in the next one
    depends on them.
    """
    if considered <= 1:
        return budget
    phases = int(np.ceil(np.log2(considered)))
    left, end = considered, 0
    while end <= index:
        end += max(1, budget // (phases * left)) * left
        left = max(2, left // 2)
    return min(end, budget)


@kernel
def completed_values(
    settings: Settings, node: Node, choices: np.ndarray, edges: np.ndarray
) -> tuple[float, float, float, float]:
    """Return what completes and rescales the values of a node's edges: (mixed value, lowest, factor, peak).

    Edges without visits take the mixed value: the evaluator's, joined with the visited edges' values weighted by
    their priors (Danihelka et al. 2022, appendix D, equation 33). A value q becomes (q - lowest) * factor, which is
    added to the logit: the range of all q, but at least `least_range`, scaled to [0, 1], times (visit_offset + most
    visits) * value_scale (section 3.4). The peak is the largest of these, to be taken off before exponentiation. Edges
    proven lost are left out, as if they were illegal.
    """
    visits, most, prior, weighted = 0, 0, 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    unvisited = node.tried < node.count
    for index in range(node.first, node.first + node.tried):
        edge = edges[index]
        if edge.proof == LOSS:
            continue
        if edge.visits == 0 and edge.proof == UNKNOWN:
            unvisited = True
            continue
        value = float(edge.value)
        weight = max(float(choices[index].prior), TINY)
        visits += edge.visits
        most = max(most, edge.visits)
        prior += weight
        weighted += weight * value
        lowest, highest = min(lowest, value), max(highest, value)
    mixed = float(node.raw)
    if prior > 0.0:
        mixed = (mixed + visits * weighted / prior) / (visits + 1)
    if unvisited or prior == 0.0:
        lowest, highest = min(lowest, mixed), max(highest, mixed)
    scale = (settings.visit_offset + most) * settings.value_scale
    factor = scale / max(highest - lowest, settings.least_range, 1e-8)
    return mixed, lowest, factor, (highest - lowest) * factor


@kernel
def _bonus(edge: Edge, mixed: float, lowest: float, factor: float) -> float:
    visited = edge.visits > 0 or edge.proof != UNKNOWN
    return ((edge.value if visited else mixed) - lowest) * factor


@kernel
def _weight(choice: Choice, edge: Edge, mixed: float, lowest: float, factor: float, peak: float) -> float:
    """Return an edge's share of the improved policy before it is scaled to sum to 1."""
    if edge.proof == LOSS:
        return 0.0
    return choice.prior * np.exp(_bonus(edge, mixed, lowest, factor) - peak)


@kernel
def choose_inside(settings: Settings, node: Node, choices: np.ndarray, edges: np.ndarray) -> int:
    """Return the edge of an inner node whose visits lag most behind the improved policy, or -1 if all are lost.

    Simulations that wait for the evaluator count as visits, which is enough to send those that follow elsewhere; they
    have no value as yet. A move that has not been tried is made ready for it.
    """
    first, head, last = node.first, node.first + node.tried, node.first + node.count
    mixed, lowest, factor, peak = completed_values(settings, node, choices, edges)
    untried = np.exp((mixed - lowest) * factor - peak)
    total, rest, visits = 0.0, 1.0, max(1, node.visits)
    for index in range(first, head):
        rest -= choices[index].prior
        total += _weight(choices[index], edges[index], mixed, lowest, factor, peak)
        visits += edges[index].waiting
    best, best_score = -1, -np.inf
    if head < last:
        # Rounding may leave less than there is.
        prior = float(choices[head].prior)
        rest = max(rest, prior)
        total += rest * untried
        best, best_score = head, prior * untried / max(total, TINY)
    for index in range(first, head):
        edge = edges[index]
        if edge.proof == LOSS:
            continue
        share = _weight(choices[index], edge, mixed, lowest, factor, peak) / max(total, TINY)
        score = share - (edge.visits + edge.waiting) / visits
        if score > best_score:
            best, best_score = index, score
    if best == head:
        try_next(node, choices, edges)
    return best


@kernel
def choose_at_root(
    settings: Settings, state: Slot, node: Node, choices: np.ndarray, edges: np.ndarray, planned: int
) -> int:
    """Return the root's edge that the plan wants tried: of those with `planned` visits the best by noise, logit, value.

    A move proven lost leaves the competition. Its visits go to the move nearest to the plan. Simulations that wait for
    the evaluator count as visits, those of earlier searches do not.
    """
    mixed, lowest, factor, _ = completed_values(settings, node, choices, edges)
    noise, logit, kept = state.noise, state.logit, state.kept
    best, best_gap, best_score = -1, 2147483647, -np.inf
    for index in range(node.count):
        edge = edges[index]
        if edge.proof == LOSS:
            continue
        gap = abs(edge.visits + edge.waiting - kept[index] - planned)
        if gap > best_gap:
            continue
        score = noise[index] + logit[index] + _bonus(edge, mixed, lowest, factor)
        if gap < best_gap or score > best_score:
            best, best_gap, best_score = index, gap, score
    return best


@kernel
def best_edge(settings: Settings, tree: Tree, slot: int) -> int:
    """Return the edge to play: a proven win, the quickest; or the best of the most visited; or the slowest loss."""
    state, node, edges = tree.slots[slot], tree.nodes[slot, ROOT], tree.edges[slot]
    quickest, slowest, most = -1, -1, -1
    for index in range(node.count):
        proof, plies = edges[index].proof, edges[index].plies
        if proof == WIN:
            if quickest < 0 or plies < edges[quickest].plies:
                quickest = index
        elif proof == LOSS:
            if slowest < 0 or plies > edges[slowest].plies:
                slowest = index
        else:
            most = max(most, edges[index].visits - state.kept[index])
    if quickest >= 0:
        return quickest
    if most < 0:
        return slowest
    mixed, lowest, factor, _ = completed_values(settings, node, tree.choices[slot], edges)
    best, best_score = -1, -np.inf
    for index in range(node.count):
        edge = edges[index]
        if edge.proof == LOSS or edge.visits - state.kept[index] != most:
            continue
        score = state.noise[index] + state.logit[index] + _bonus(edge, mixed, lowest, factor)
        if score > best_score:
            best, best_score = index, score
    return best


@kernel
def improved_policy(settings: Settings, tree: Tree, slot: int, out: np.ndarray) -> bool:
    """Write the root's improved policy over its legal moves to `out`, float32 (at least count,).

    It is the softmax of logits plus completed, rescaled values (Danihelka et al. 2022, section 4). A proven win is the
    whole policy; moves proven lost get nothing.

    Returns whether there is something to learn: not where all moves are lost.
    """
    node, edges, logit = tree.nodes[slot, ROOT], tree.edges[slot], tree.slots[slot].logit
    if node.proof == WIN:
        for index in range(node.count):
            out[index] = 0.0
        out[best_edge(settings, tree, slot)] = 1.0
        return True
    mixed, lowest, factor, _ = completed_values(settings, node, tree.choices[slot], edges)
    highest = -np.inf
    for index in range(node.count):
        if edges[index].proof != LOSS:
            highest = max(highest, logit[index] + _bonus(edges[index], mixed, lowest, factor))
    if highest == -np.inf:
        for index in range(node.count):
            out[index] = tree.choices[slot, index].prior
        return False
    total = 0.0
    for index in range(node.count):
        out[index] = 0.0
        if edges[index].proof != LOSS:
            score = logit[index] + _bonus(edges[index], mixed, lowest, factor)
            out[index] = np.exp(score - highest)
            total += out[index]
    for index in range(node.count):
        out[index] /= total
    return True
