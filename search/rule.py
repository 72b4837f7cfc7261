"""The rule by which a search goes on, as the settings name it: Gumbel AlphaZero's or PUCT."""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from search import gumbel, puct
from search.config import PUCT, Settings
from search.tree import ROOT, UNKNOWN, Node, Slot, Tree, exact_value, random_unit


@kernel
def prepare_root(settings: Settings, tree: Tree, slot: int, noise_scale: float) -> None:
    """Plan the visits of the slot's root and draw its noise, `noise_scale` times as much as the settings say."""
    state, root = tree.slots[slot], tree.nodes[slot, ROOT]
    state.noise_share = 0.0
    if settings.rule == PUCT:
        if noise_scale > 0:
            state.noise_share = min(1.0, settings.noise_share * noise_scale)
            puct.draw_noise(settings, state, root.count)
        return
    gumbel.plan(tree.schedule[slot], min(settings.considered, root.count), state.budget)
    for index in range(root.count):
        noise = 0.0
        if noise_scale > 0:
            noise = -np.log(-np.log(random_unit(state))) * noise_scale
        state.noise[index] = noise


@kernel
def choose_inside(settings: Settings, node: Node, choices: np.ndarray, edges: np.ndarray) -> int:
    """Return the edge of an inner node to go on by."""
    if settings.rule == PUCT:
        return puct.choose_inside(settings, node, choices, edges)
    return gumbel.choose_inside(settings, node, choices, edges)


@kernel
def choose_at_root(
    settings: Settings, state: Slot, node: Node, choices: np.ndarray, edges: np.ndarray, schedule: np.ndarray
) -> int:
    """Return the edge of the root to go on by."""
    if settings.rule == PUCT:
        return puct.choose_at_root(settings, state, node, choices, edges)
    return gumbel.choose_at_root(settings, state, node, choices, edges, schedule[state.simulations])


@kernel
def wait_at(settings: Settings, tree: Tree, slot: int, simulation: int) -> int:
    """Return the simulation that must not begin while `simulation` waits for the evaluator (`gumbel.phase_end`)."""
    state = tree.slots[slot]
    if settings.rule == PUCT:
        return state.budget
    considered = min(settings.considered, tree.nodes[slot, ROOT].count)
    return gumbel.phase_end(considered, state.budget, simulation)


@kernel
def best_edge(settings: Settings, tree: Tree, slot: int) -> int:
    """Return the edge to play."""
    if settings.rule == PUCT:
        return puct.best_edge(tree, slot)
    return gumbel.best_edge(settings, tree, slot)


@kernel
def improved_policy(settings: Settings, tree: Tree, slot: int, out: np.ndarray) -> bool:
    """Write the policy that the search recommends to `out`, float32 (at least count,).

    Returns whether there is something to learn: not where all moves are lost.
    """
    if settings.rule == PUCT:
        return puct.visit_policy(tree, slot, out)
    return gumbel.improved_policy(settings, tree, slot, out)


@kernel
def root_value(settings: Settings, tree: Tree, slot: int) -> float:
    """Return the search's value of the root: exact where proven, else that of the best move, or the evaluator's."""
    node = tree.nodes[slot, ROOT]
    if node.proof != UNKNOWN:
        return exact_value(node.proof, node.plies, settings.discount)
    edge = tree.edges[slot, best_edge(settings, tree, slot)]
    if edge.visits > 0:
        return float(edge.value)
    return node.total / max(1, node.visits)
