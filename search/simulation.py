"""Simulations: from the root to a new leaf, to the evaluator with it, and the answer back up.

A simulation walks from the root to a new leaf (`descend`); the leaf's input row and legal actions are laid out for the
evaluator, and `receive` takes the answer and backs it up. A leaf that ends the game, or whose side to play wins at
once, needs no evaluator and is backed up on the spot.

Letters in shapes as in `search.tree`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import NONE, play, winner
from env.encoding import EXTRA_INPUTS, write_input
from env.jit import kernel
from env.moves import immediate_win, write_moves
from env.position import PLY, TO_PLAY, copy_position
from env.rules import DEFENDERS
from env.tables import Tables
from search.config import Settings
from search.gumbel import choose_at_root, choose_inside, plan
from search.tree import (
    DRAW,
    LOSS,
    NOBODY,
    ROOT,
    UNKNOWN,
    WIN,
    Tree,
    add_node,
    back_up,
    bring_next,
    exact_value,
    random_unit,
    use_edge,
)


class Batch(NamedTuple):
    """What goes to the evaluator and comes back, one row a slot.

    Attributes:
        inputs: int8 (G, S + 3), input rows (`env.encoding`).
        actions: int16 (G, M), legal actions of the position, ascending.
        counts: int32 (G,), how many; 0 where the slot asks nothing.
        logits: float32 (G, M), answer: policy logits at those actions.
        values: float32 (G,), answer: value in [-1, 1] for the side to play.
    """

    inputs: np.ndarray
    actions: np.ndarray
    counts: np.ndarray
    logits: np.ndarray
    values: np.ndarray


def new_batch(size: int, slots: int) -> Batch:
    """Return an empty batch of `slots` questions to an evaluator."""
    cells = size * size
    return Batch(
        inputs=np.zeros((slots, cells + EXTRA_INPUTS), np.int8),
        actions=np.zeros((slots, 4 * cells), np.int16),
        counts=np.zeros(slots, np.int32),
        logits=np.zeros((slots, 4 * cells), np.float32),
        values=np.zeros(slots, np.float32),
    )


def require_numbers(batch: Batch) -> None:
    """Check the evaluator's answers.

    Raises:
        FloatingPointError: one is no finite number, as from a network whose training has diverged.
    """
    row = first_bad_answer(batch)
    if row >= 0:
        logits = batch.logits[row, : batch.counts[row]]
        raise FloatingPointError(
            f"the evaluator answered row {row} of {len(batch.counts)} with value {batch.values[row]} and logits from "
            f"{logits.min()} to {logits.max()}: finite numbers are needed; has the network diverged?"
        )


@kernel
def first_bad_answer(batch: Batch) -> int:
    """Return the first row in which the evaluator answered with something that is no finite number, or -1."""
    for row in range(batch.counts.shape[0]):
        sound = np.isfinite(batch.values[row])
        for index in range(batch.counts[row]):
            sound &= np.isfinite(batch.logits[row, index])
        if batch.counts[row] > 0 and not sound:
            return row
    return -1


@kernel
def _ask(t: Tables, tree: Tree, batch: Batch, slot: int, index: int, balance: int) -> None:
    """Reserve an edge of the node for every legal move and lay its position out for the evaluator."""
    state, node = tree.slots[slot], tree.nodes[slot, index]
    actions = batch.actions[slot]
    count = write_moves(t, node.position, actions)
    state.edges += count
    node.count = count
    write_input(t, node.position, tree.history[slot], balance, actions, count, batch.inputs[slot])
    batch.counts[slot] = count
    state.pending = index


@kernel
def start(
    t: Tables,
    settings: Settings,
    tree: Tree,
    batch: Batch,
    slot: int,
    budget: int,
    gumbel_scale: float,
    balance: int,
) -> None:
    """Begin a search of `budget` simulations from the root's position, which is not the end of a game.

    The root waits for the evaluator afterwards. Where its side wins at once the proof is entered first, so that
    `finished` holds as soon as the answer has come.
    """
    state, nodes, choices, edges = tree.slots[slot], tree.nodes[slot], tree.choices[slot], tree.edges[slot]
    root = nodes[ROOT]
    state.nodes = 0
    state.edges = 0
    state.simulations = 0
    state.budget = min(budget, tree.schedule.shape[1])
    add_node(state, nodes, NOBODY, NOBODY)
    _ask(t, tree, batch, slot, ROOT, balance)
    root.tried = root.count
    for index in range(root.count):
        choices[index].action = batch.actions[slot, index]
        choices[index].prior = 0.0
        use_edge(edges[index])
    plan(tree.schedule[slot], min(settings.considered, root.count), state.budget)
    for index in range(root.count):
        noise = 0.0
        if gumbel_scale > 0:
            noise = -np.log(-np.log(random_unit(state))) * gumbel_scale
        state.gumbel[index] = noise
    if settings.proofs:
        action = immediate_win(t, root.position)
        if action >= 0:
            for index in range(root.count):
                if choices[index].action == action:
                    edge = edges[index]
                    edge.proof = WIN
                    edge.plies = 1
                    edge.value = settings.discount
            root.proof = WIN
            root.plies = 1


@kernel
def receive(settings: Settings, tree: Tree, batch: Batch, slot: int) -> None:
    """Take the evaluator's answer for the slot's pending node and back it up."""
    state, nodes, choices = tree.slots[slot], tree.nodes[slot], tree.choices[slot]
    pending = state.pending
    if pending < 0:
        return
    state.pending = NOBODY
    batch.counts[slot] = 0
    node = nodes[pending]
    first, count = node.first, node.count
    logits = batch.logits[slot]
    highest, total = np.float32(-np.inf), np.float32(0)
    for index in range(count):
        highest = max(highest, logits[index])
    for index in range(count):
        prior = np.exp(logits[index] - highest)
        choices[first + index].prior = prior
        total += prior
    for index in range(first, first + count):
        choices[index].prior /= total
    if pending == ROOT:
        for index in range(count):
            state.logit[index] = logits[index] - highest
    else:
        actions = batch.actions[slot]
        for index in range(count):
            choices[first + index].action = actions[index]
        bring_next(node, choices)
    value = min(1.0, max(-1.0, float(batch.values[slot])))
    node.raw = value
    back_up(settings, nodes, tree.edges[slot], pending, value)


@kernel
def descend(t: Tables, settings: Settings, tree: Tree, batch: Batch, slot: int, balance: int) -> bool:
    """Walk one simulation from the root to its leaf.

    Returns True where the leaf now waits for the evaluator, False where the simulation is complete already.
    """
    state, nodes, history = tree.slots[slot], tree.nodes[slot], tree.history[slot]
    choices, edges = tree.choices[slot], tree.edges[slot]
    index = ROOT
    chosen = choose_at_root(settings, tree, slot)
    state.simulations += 1
    while edges[chosen].child >= 0:
        index = edges[chosen].child
        node = nodes[index]
        if node.proof != UNKNOWN:
            back_up(settings, nodes, edges, index, exact_value(node.proof, node.plies, settings.discount))
            return False
        history[node.position.info[PLY]] = node.position.key[0]
        chosen = choose_inside(settings, node, choices, edges)
    leaf = add_node(state, nodes, index, chosen)
    edges[chosen].child = leaf
    node = nodes[leaf]
    pos = node.position
    copy_position(nodes[index].position, pos)
    reason = play(t, pos, history, choices[chosen].action, state.undo)
    if reason != NONE:
        to_play = pos.info[TO_PLAY]
        result = winner(t, reason, 1 - to_play)
        node.proof = DRAW if result == 0 else (WIN if (result < 0) == (to_play == DEFENDERS) else LOSS)
    elif settings.proofs and immediate_win(t, pos) >= 0:
        node.proof = WIN
        node.plies = 1
    else:
        _ask(t, tree, batch, slot, leaf, balance)
        return True
    back_up(settings, nodes, edges, leaf, exact_value(node.proof, node.plies, settings.discount))
    return False


@kernel
def finished(tree: Tree, slot: int) -> bool:
    """Return whether the slot's search is over: the budget spent, or the root proven.

    A single move that is not lost is searched on, since it may be lost as well.
    """
    state = tree.slots[slot]
    if state.pending >= 0:
        return False
    return tree.nodes[slot, ROOT].proof != UNKNOWN or state.simulations >= state.budget


@kernel
def advance(t: Tables, settings: Settings, tree: Tree, batch: Batch, balance: int) -> int:
    """Take the evaluator's answers and carry every search on to its next question.

    Returns the number of slots that wait for the evaluator.
    """
    waiting = 0
    for slot in range(tree.slots.shape[0]):
        receive(settings, tree, batch, slot)
        while not finished(tree, slot):
            if descend(t, settings, tree, batch, slot, balance):
                waiting += 1
                break
    return waiting
