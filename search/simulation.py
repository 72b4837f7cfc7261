"""Simulations: from the root to a new leaf, to the evaluator with it, and the answer back up.

A simulation walks from the root to a new leaf (`descend`); the leaf's input row and legal actions are laid out for the
evaluator, and `receive` takes the answer and backs it up. A leaf that ends the game, or whose side to play wins at
once, needs no evaluator and is backed up on the spot.

A slot has L rows in a batch, so that up to L of its simulations wait for the evaluator at a time (`collect`). A
position that is remembered (`search.cache`) does not go to the evaluator.

Letters in shapes as in `search.tree`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import NONE, play, winner
from env.encoding import EXTRA_INPUTS, write_network_input
from env.jit import kernel
from env.moves import immediate_win, write_moves
from env.position import PLY, TO_PLAY, copy_position
from env.rules import DEFENDERS
from env.tables import Tables
from search.cache import Entry, recall, remember
from search.config import PUCT, Settings
from search.rule import choose_at_root, choose_inside, prepare_root, wait_at
from search.tree import (
    DRAW,
    LOSS,
    NOBODY,
    ROOT,
    UNKNOWN,
    WIN,
    Node,
    Slot,
    Tree,
    add_node,
    back_up,
    bring_next,
    exact_value,
    hold,
    use_edge,
)

COMPLETE, WAITING, MET, STUCK = 0, 1, 2, 3  # what became of a simulation; see `descend`


class Batch(NamedTuple):
    """What goes to the evaluator and comes back: GL rows, those of slot g from gL on.

    Attributes:
        inputs: int8 (GL, S + 3), input rows (`env.encoding`).
        actions: int16 (GL, M), legal actions of the position, ascending.
        counts: int32 (GL,), how many; 0 where the row asks nothing.
        logits: float32 (GL, M), answer: policy logits at those actions.
        values: float32 (GL,), answer: value in [-1, 1] for the side to play.
    """

    inputs: np.ndarray
    actions: np.ndarray
    counts: np.ndarray
    logits: np.ndarray
    values: np.ndarray


def new_batch(size: int, slots: int) -> Batch:
    """Return an empty batch of `slots` questions to an evaluator, or of `slots * leaves`."""
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
def _ask(
    t: Tables, state: Slot, node: Node, history: np.ndarray, balance: int, actions: np.ndarray, inputs: np.ndarray
) -> int:
    """Reserve an edge of the node for every legal move, lay its position out in a row and return how many they are.

    What is called for every simulation gets the few arrays that it needs: handing on all of a tree takes time.
    """
    count = write_moves(t, node.position, actions)
    state.edges += count
    node.count = count
    write_network_input(t, node.position, history, balance, actions, count, inputs)
    state.pending += 1
    return count


@kernel
def _enter(
    settings: Settings,
    state: Slot,
    nodes: np.ndarray,
    choices: np.ndarray,
    edges: np.ndarray,
    index: int,
    actions: np.ndarray,
    logits: np.ndarray,
    answer: float,
) -> None:
    """Enter the evaluator's answer for a node and back it up."""
    state.pending -= 1
    node: Node = nodes[index]
    first, count = node.first, node.count
    highest, total = np.float32(-np.inf), np.float32(0)
    for move in range(count):
        highest = max(highest, logits[move])
    for move in range(count):
        prior = np.exp(logits[move] - highest)
        choices[first + move].prior = prior
        total += prior
    for move in range(first, first + count):
        choices[move].prior /= total
    if index == ROOT:
        for move in range(count):
            state.logit[move] = logits[move] - highest
    else:
        for move in range(count):
            choices[first + move].action = actions[move]
        bring_next(node, choices)
    value = min(1.0, max(-1.0, answer))
    node.raw = value
    back_up(settings, nodes, edges, index, value)


@kernel
def start(
    t: Tables,
    settings: Settings,
    tree: Tree,
    batch: Batch,
    slot: int,
    budget: int,
    noise_scale: float,
    balance: int,
) -> None:
    """Begin a search of `budget` simulations from the root's position, which is not the end of a game.

    The root waits for the evaluator afterwards, in the slot's first row, unless it is remembered. Where its side wins
    at once the proof is entered first, so that `finished` holds as soon as the answer has come.
    """
    state, nodes, choices, edges = tree.slots[slot], tree.nodes[slot], tree.choices[slot], tree.edges[slot]
    leaves = tree.waiting.shape[1] // 2
    root = nodes[ROOT]
    state.nodes = 0
    state.edges = 0
    state.pending = 0
    state.simulations = 0
    state.budget = min(budget, tree.schedule.shape[1])
    for column in range(leaves):
        batch.counts[slot * leaves + column] = 0
        tree.waiting[slot, column] = tree.waiting[slot, leaves + column] = NOBODY
    add_node(state, nodes, NOBODY, NOBODY)
    row = slot * leaves
    batch.counts[row] = _ask(t, state, root, tree.history[slot], balance, batch.actions[row], batch.inputs[row])
    tree.waiting[slot, 0] = ROOT
    root.tried = root.count
    for index in range(root.count):
        choices[index].action = batch.actions[row, index]
        choices[index].prior = 0.0
        state.kept[index] = 0
        use_edge(edges[index])
    prepare_root(settings, tree, slot, noise_scale)
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
    # Where the root is to be averaged over symmetries it has to be asked for.
    found = NOBODY
    if settings.symmetries <= 1:
        found = int(recall(tree.known, tree.memory[0], batch.inputs[row]))
    if found >= 0:
        batch.counts[row] = 0
        tree.waiting[slot, 0] = NOBODY
        entry: Entry = tree.known[found]
        _enter(settings, state, nodes, choices, edges, ROOT, batch.actions[row], entry.logits, float(entry.value))


@kernel
def _top(settings: Settings, nodes: np.ndarray, index: int) -> int:
    """Return the node below which a simulation that met a waiting one is to go another way.

    A plan of the root has to be kept, so there it is the root's child.
    """
    if settings.rule == PUCT:
        return ROOT
    while nodes[index].parent != ROOT:
        index = nodes[index].parent
    return index


@kernel
def receive(settings: Settings, tree: Tree, batch: Batch, slot: int) -> None:
    """Take the evaluator's answers for all of the slot's nodes that wait, and back them up."""
    leaves = tree.waiting.shape[1] // 2
    state, nodes, choices, edges = tree.slots[slot], tree.nodes[slot], tree.choices[slot], tree.edges[slot]
    waiting = tree.waiting[slot]
    for column in range(leaves):
        index = waiting[column]
        if index < 0:
            continue
        waiting[column] = NOBODY
        row = slot * leaves + column
        logits, value = batch.logits[row], float(batch.values[row])
        remember(tree.known, tree.memory[0], batch.inputs[row], batch.counts[row], logits, value)
        batch.counts[row] = 0
        if leaves > 1:
            hold(nodes, edges, index, ROOT, -1)
        _enter(settings, state, nodes, choices, edges, index, batch.actions[row], logits, value)
    for column in range(leaves, 2 * leaves):
        if waiting[column] >= 0:
            hold(nodes, edges, waiting[column], _top(settings, nodes, waiting[column]), -1)
            waiting[column] = NOBODY


@kernel
def descend(
    t: Tables, settings: Settings, tree: Tree, batch: Batch, slot: int, column: int, met: int, balance: int
) -> int:
    """Walk one simulation from the root to its leaf.

    Args:
        t, settings, tree, batch: see there.
        slot: whose.
        column: which of the slot's rows is free.
        met: how many simulations have come to a node that waits already.
        balance: see `env.encoding.write_network_input`.

    Returns:
        COMPLETE: it is backed up; WAITING: its leaf waits for the evaluator in the row; MET: it came to a node that
        waits already. Then it does not count, but until the next `receive` the way that it took looks as if it had
        been gone, so that another way is tried next. STUCK: the same, but there is no other way.
    """
    state, nodes, history = tree.slots[slot], tree.nodes[slot], tree.history[slot]
    choices, edges = tree.choices[slot], tree.edges[slot]
    leaves = tree.waiting.shape[1] // 2
    index = ROOT
    chosen = choose_at_root(settings, state, nodes[ROOT], choices, edges, tree.schedule[slot])
    while edges[chosen].child >= 0:
        index = edges[chosen].child
        node = nodes[index]
        if node.proof != UNKNOWN:
            state.simulations += 1
            back_up(settings, nodes, edges, index, exact_value(node.proof, node.plies, settings.discount))
            return COMPLETE
        if node.visits == 0:
            top = _top(settings, nodes, index)
            if index == top:
                return STUCK
            hold(nodes, edges, index, top, 1)
            tree.waiting[slot, leaves + met] = index
            return MET
        history[node.position.info[PLY]] = node.position.key[0]
        chosen = choose_inside(settings, node, choices, edges)
    state.simulations += 1
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
        row = slot * leaves + column
        count = _ask(t, state, node, history, balance, batch.actions[row], batch.inputs[row])
        found = int(recall(tree.known, tree.memory[0], batch.inputs[row]))
        if found >= 0:
            entry: Entry = tree.known[found]
            _enter(settings, state, nodes, choices, edges, leaf, batch.actions[row], entry.logits, float(entry.value))
            return COMPLETE
        batch.counts[row] = count
        tree.waiting[slot, column] = leaf
        if leaves > 1:
            hold(nodes, edges, leaf, ROOT, 1)
        return WAITING
    back_up(settings, nodes, edges, leaf, exact_value(node.proof, node.plies, settings.discount))
    return COMPLETE


@kernel
def spent(tree: Tree, slot: int) -> bool:
    """Return whether no further simulation is wanted: the budget is spent, or the root proven.

    A single move that is not lost is searched on, since it may be lost as well.
    """
    state = tree.slots[slot]
    return tree.nodes[slot, ROOT].proof != UNKNOWN or state.simulations >= state.budget


@kernel
def finished(tree: Tree, slot: int) -> bool:
    """Return whether the slot's search is over: nothing more is wanted, and nothing waits for the evaluator."""
    return tree.slots[slot].pending == 0 and spent(tree, slot)


@kernel
def collect(t: Tables, settings: Settings, tree: Tree, batch: Batch, slot: int, balance: int) -> int:
    """Carry the slot's search on until its rows are full, or until it has to wait for answers; return rows in use.

    It has to wait at the end of a phase of the root's plan, and after as many simulations as there are rows have met
    nodes that wait already.
    """
    leaves = tree.waiting.shape[1] // 2
    state = tree.slots[slot]
    met, barrier = 0, -1
    while state.pending < leaves and met < leaves and not spent(tree, slot):
        if state.pending > 0:
            if barrier < 0:
                barrier = wait_at(settings, tree, slot, state.simulations - 1)
            if state.simulations >= barrier:
                break
        outcome = descend(t, settings, tree, batch, slot, state.pending, met, balance)
        if outcome == STUCK:
            break
        if outcome == MET:
            met += 1
    return state.pending


@kernel
def advance(t: Tables, settings: Settings, tree: Tree, batch: Batch, balance: int) -> int:
    """Take the evaluator's answers and carry every search on to its next questions.

    Returns the number of rows that wait for the evaluator.
    """
    waiting = 0
    for slot in range(tree.slots.shape[0]):
        receive(settings, tree, batch, slot)
        waiting += collect(t, settings, tree, batch, slot, balance)
    return waiting
