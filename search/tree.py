"""The search tree of a batch of games: flat arrays, and the kernels that grow it.

Every game of the batch has a *slot* of its own in each array and its own random generator, so that what happens in one
slot depends on nothing but that slot. A simulation walks from the root to a new leaf (`descend`); the leaf's input row
and legal actions are laid out for the evaluator, and `receive` takes the answer and backs it up. A leaf that ends the
game, or whose side to play wins at once, needs no evaluator and is backed up on the spot.

The root follows Gumbel AlphaZero (Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022): sampling
without replacement by Gumbel noise, sequential halving, and policy targets from completed, rescaled values (sections 3
and 4, appendix D). Below the root the deterministic rule of the same paper (section 5) is used. Exact results are
backed up as in MCTS-solver (Winands et al., "Monte-Carlo tree search solver", CG 2008). The tree has no transpositions,
since repetition makes a proof hold only for the path it was found on.

The moves of an inner node are ordered as they are tried. Of moves that have not been tried only the one with the
largest prior can be next, since all are credited with the same value; so it stands at their head, what has been tried
stands before it, and a visit looks at no more than that. The root's moves stay in the order of their action numbers.

Letters in shapes: G slots, N nodes a slot, E edges a slot, M = 4S legal moves at most, B simulations at most.
Values are from the view of the side to play in a node, an edge's from the view of the side that plays it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import (
    DEFENDERS,
    NONE,
    TO_PLAY,
    Position,
    copy_position,
    immediate_win,
    new_positions,
    play,
    winner,
    write_moves,
)
from env.encoding import EXTRA_INPUTS, write_input
from env.jit import kernel
from env.tables import Tables
from search.config import Settings

UNKNOWN, WIN, LOSS, DRAW = 0, 1, -1, 2
ROOT = 0
NOBODY = -1
TINY = 1e-30


class Tree(NamedTuple):
    """The trees of G games.

    Attributes:
        parent, edge: int32 (G, N), the node above and the edge from there; -1 at the root.
        first, edge_count: int32 (G, N), the node's edges are first to first + edge_count - 1.
        tried: int32 (G, N), how many of these are in use: all at the root, else those that have been tried. Of the
            others only `action` and `prior` hold anything, and the first of them has the largest prior.
        visits: int32 (G, N), simulations that came through the node, its own evaluation included.
        total: float64 (G, N), sum of the values backed up to the node.
        raw: float32 (G, N), the evaluator's value.
        proof: int8 (G, N), UNKNOWN, WIN, LOSS or DRAW of the side to play.
        plies: int16 (G, N), plies to the end of the game by the proof that is known; an upper bound for a win.
        action: int16 (G, E), action number. All arrays (G, E) hold a node's moves in the order of the node.
        prior: float32 (G, E), the evaluator's policy over the node's legal moves.
        edge_visits: int32 (G, E).
        edge_value: float32 (G, E), mean value below the edge, or the exact one; of no meaning before the first visit.
        edge_proof: int8 (G, E), edge_plies: int16 (G, E), as `proof` and `plies`, the move included.
        child: int32 (G, E), the node below, or -1.
        nodes, edges: int32 (G,), how many are in use.
        pending: int32 (G,), the node that waits for the evaluator, or -1.
        simulations, budget: int32 (G,), simulations done and wanted.
        logit: float32 (G, M), the evaluator's logits at the root.
        gumbel: float32 (G, M), noise of the root's moves.
        schedule: int32 (G, B), visits that the move tried by each simulation should have (sequential halving).
        random: uint64 (G,), generator states.
        root: array (G,) of Position.
        history: uint64 (G, H), keys of the root's past since its last capture, then of the path that is being walked.
        scratch: Position, where paths are walked.
        undo: int16 (8,), weight: float64 (M,), buffers.
    """

    parent: np.ndarray
    edge: np.ndarray
    first: np.ndarray
    edge_count: np.ndarray
    tried: np.ndarray
    visits: np.ndarray
    total: np.ndarray
    raw: np.ndarray
    proof: np.ndarray
    plies: np.ndarray
    action: np.ndarray
    prior: np.ndarray
    edge_visits: np.ndarray
    edge_value: np.ndarray
    edge_proof: np.ndarray
    edge_plies: np.ndarray
    child: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    pending: np.ndarray
    simulations: np.ndarray
    budget: np.ndarray
    logit: np.ndarray
    gumbel: np.ndarray
    schedule: np.ndarray
    random: np.ndarray
    root: np.ndarray
    history: np.ndarray
    scratch: Position
    undo: np.ndarray
    weight: np.ndarray


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


def tree_bytes(size: int, simulations: int) -> int:
    """Return about how many bytes the edges of one slot of `new_tree` span."""
    return 20 * 4 * size * size * simulations


def new_tree(size: int, slots: int, simulations: int, history: int) -> Tree:
    """Return an empty tree for `slots` games on a board of `size`, up to `simulations` a search.

    `history` is the number of plies that a root's past may have. Arrays are sized for the worst case; the operating
    system gives memory only to the part that is used.
    """
    cells = size * size
    most_moves = 4 * cells
    nodes = simulations + 2
    edges = nodes * most_moves

    def per_node(dtype: type) -> np.ndarray:
        return np.empty((slots, nodes), dtype)

    def per_edge(dtype: type) -> np.ndarray:
        return np.empty((slots, edges), dtype)

    return Tree(
        parent=per_node(np.int32),
        edge=per_node(np.int32),
        first=per_node(np.int32),
        edge_count=per_node(np.int32),
        tried=per_node(np.int32),
        visits=per_node(np.int32),
        total=per_node(np.float64),
        raw=per_node(np.float32),
        proof=per_node(np.int8),
        plies=per_node(np.int16),
        action=per_edge(np.int16),
        prior=per_edge(np.float32),
        edge_visits=per_edge(np.int32),
        edge_value=per_edge(np.float32),
        edge_proof=per_edge(np.int8),
        edge_plies=per_edge(np.int16),
        child=per_edge(np.int32),
        nodes=np.zeros(slots, np.int32),
        edges=np.zeros(slots, np.int32),
        pending=np.full(slots, NOBODY, np.int32),
        simulations=np.zeros(slots, np.int32),
        budget=np.zeros(slots, np.int32),
        logit=np.zeros((slots, most_moves), np.float32),
        gumbel=np.zeros((slots, most_moves), np.float32),
        schedule=np.zeros((slots, simulations), np.int32),
        random=np.zeros(slots, np.uint64),
        root=new_positions(size, slots),
        history=np.zeros((slots, history + nodes + 1), np.uint64),
        scratch=new_positions(size, 1)[0],
        undo=np.zeros(8, np.int16),
        weight=np.zeros(most_moves, np.float64),
    )


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
def random_bits(random: np.ndarray, slot: int) -> np.uint64:
    """Advance one generator (SplitMix64; Steele et al., OOPSLA 2014) of `random`, uint64 (G,), and return 64 bits."""
    random[slot] += np.uint64(0x9E3779B97F4A7C15)
    bits = random[slot]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def random_unit(random: np.ndarray, slot: int) -> float:
    """Return a number in (0, 1) from one generator of `random`, uint64 (G,)."""
    return (float(random_bits(random, slot) >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


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
def exact_value(proof: int, plies: int, discount: float) -> float:
    """Return the discounted value of a proven result `plies` before the end."""
    if proof == WIN:
        return discount**plies
    if proof == LOSS:
        return -(discount**plies)
    return 0.0


@kernel
def _add_node(tree: Tree, slot: int, parent: int, edge: int) -> int:
    node = tree.nodes[slot]
    tree.nodes[slot] = node + 1
    tree.parent[slot, node] = parent
    tree.edge[slot, node] = edge
    tree.first[slot, node] = tree.edges[slot]
    tree.edge_count[slot, node] = 0
    tree.tried[slot, node] = 0
    tree.visits[slot, node] = 0
    tree.total[slot, node] = 0.0
    tree.raw[slot, node] = 0.0
    tree.proof[slot, node] = UNKNOWN
    tree.plies[slot, node] = 0
    return node


@kernel
def _use_edge(tree: Tree, slot: int, edge: int) -> None:
    tree.edge_visits[slot, edge] = 0
    tree.edge_value[slot, edge] = 0.0
    tree.edge_proof[slot, edge] = UNKNOWN
    tree.edge_plies[slot, edge] = 0
    tree.child[slot, edge] = NOBODY


@kernel
def _ask(t: Tables, tree: Tree, batch: Batch, slot: int, node: int, pos: Position, balance: int) -> None:
    """Reserve an edge of `node` for every legal move and lay its position out for the evaluator."""
    actions = batch.actions[slot]
    count = write_moves(t, pos, actions)
    tree.edges[slot] += count
    tree.edge_count[slot, node] = count
    write_input(t, pos, tree.history[slot], balance, actions, count, batch.inputs[slot])
    batch.counts[slot] = count
    tree.pending[slot] = node


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
    """Begin a search of `budget` simulations from the slot's root, which is not the end of a game.

    The root waits for the evaluator afterwards. Where its side wins at once the proof is entered first, so that
    `finished` holds as soon as the answer has come.
    """
    tree.nodes[slot] = 0
    tree.edges[slot] = 0
    tree.simulations[slot] = 0
    tree.budget[slot] = min(budget, tree.schedule.shape[1])
    root = tree.root[slot]
    _add_node(tree, slot, NOBODY, NOBODY)
    _ask(t, tree, batch, slot, ROOT, root, balance)
    count = tree.edge_count[slot, ROOT]
    tree.tried[slot, ROOT] = count
    for edge in range(count):
        tree.action[slot, edge] = batch.actions[slot, edge]
        tree.prior[slot, edge] = 0.0
        _use_edge(tree, slot, edge)
    plan(tree.schedule[slot], min(settings.considered, count), tree.budget[slot])
    for index in range(count):
        noise = 0.0
        if gumbel_scale > 0:
            noise = -np.log(-np.log(random_unit(tree.random, slot))) * gumbel_scale
        tree.gumbel[slot, index] = noise
    if settings.proofs:
        action = immediate_win(t, root)
        if action >= 0:
            for edge in range(count):
                if tree.action[slot, edge] == action:
                    tree.edge_proof[slot, edge] = WIN
                    tree.edge_plies[slot, edge] = 1
                    tree.edge_value[slot, edge] = settings.discount
            tree.proof[slot, ROOT] = WIN
            tree.plies[slot, ROOT] = 1


@kernel
def _prove(tree: Tree, slot: int, node: int) -> None:
    """Enter what the edges of `node` prove about it: a win by the quickest, else the best of all when all are known."""
    first = tree.first[slot, node]
    shortest, longest, draw_plies = 32767, -1, -1
    unknown = tree.tried[slot, node] < tree.edge_count[slot, node]
    for edge in range(first, first + tree.tried[slot, node]):
        proof, plies = tree.edge_proof[slot, edge], tree.edge_plies[slot, edge]
        if proof == WIN:
            shortest = min(shortest, plies)
        elif proof == UNKNOWN:
            unknown = True
        elif proof == DRAW:
            draw_plies = max(draw_plies, plies)
        else:
            longest = max(longest, plies)
    if shortest < 32767:
        tree.proof[slot, node] = WIN
        tree.plies[slot, node] = shortest
    elif not unknown:
        if draw_plies >= 0:
            tree.proof[slot, node] = DRAW
            tree.plies[slot, node] = draw_plies
        else:
            tree.proof[slot, node] = LOSS
            tree.plies[slot, node] = longest


@kernel
def _back_up(settings: Settings, tree: Tree, slot: int, node: int, value: float) -> None:
    """Add `value`, of the side to play in `node`, to the node and all above it; proofs go up with it."""
    while True:
        tree.visits[slot, node] += 1
        tree.total[slot, node] += value
        edge = tree.edge[slot, node]
        if edge < 0:
            return
        parent = tree.parent[slot, node]
        tree.edge_visits[slot, edge] += 1
        proof = tree.proof[slot, node]
        if settings.proofs and proof != UNKNOWN:
            plies = tree.plies[slot, node]
            tree.edge_value[slot, edge] = -settings.discount * exact_value(proof, plies, settings.discount)
            tree.edge_proof[slot, edge] = proof if proof == DRAW else -proof
            tree.edge_plies[slot, edge] = plies + 1
            _prove(tree, slot, parent)
        else:
            mean = tree.total[slot, node] / tree.visits[slot, node]
            tree.edge_value[slot, edge] = -settings.discount * mean
        value = -settings.discount * value
        if settings.proofs and tree.proof[slot, parent] != UNKNOWN:
            value = exact_value(tree.proof[slot, parent], tree.plies[slot, parent], settings.discount)
        node = parent


@kernel
def first_bad_answer(batch: Batch) -> int:
    """Return the first row in which the evaluator answered with something that is no finite number, or -1."""
    for slot in range(batch.counts.shape[0]):
        sound = np.isfinite(batch.values[slot])
        for index in range(batch.counts[slot]):
            sound &= np.isfinite(batch.logits[slot, index])
        if batch.counts[slot] > 0 and not sound:
            return slot
    return -1


@kernel
def _bring_next(tree: Tree, slot: int, node: int) -> None:
    """Bring the move with the largest prior to the head of those that have not been tried."""
    head = tree.first[slot, node] + tree.tried[slot, node]
    best, largest = head, np.float32(-1.0)
    for edge in range(head, tree.first[slot, node] + tree.edge_count[slot, node]):
        if tree.prior[slot, edge] > largest:
            best, largest = edge, tree.prior[slot, edge]
    if best > head:
        tree.action[slot, best], tree.action[slot, head] = tree.action[slot, head], tree.action[slot, best]
        tree.prior[slot, best], tree.prior[slot, head] = tree.prior[slot, head], tree.prior[slot, best]


@kernel
def receive(settings: Settings, tree: Tree, batch: Batch, slot: int) -> None:
    """Take the evaluator's answer for the slot's pending node and back it up."""
    node = tree.pending[slot]
    if node < 0:
        return
    tree.pending[slot] = NOBODY
    batch.counts[slot] = 0
    first, count = tree.first[slot, node], tree.edge_count[slot, node]
    logits, prior = batch.logits[slot, :count], tree.prior[slot, first : first + count]
    highest, total = np.float32(-np.inf), np.float32(0)
    for index in range(count):
        highest = max(highest, logits[index])
    for index in range(count):
        prior[index] = np.exp(logits[index] - highest)
        total += prior[index]
    for index in range(count):
        prior[index] /= total
    if node == ROOT:
        for index in range(count):
            tree.logit[slot, index] = logits[index] - highest
    else:
        for index in range(count):
            tree.action[slot, first + index] = batch.actions[slot, index]
        _bring_next(tree, slot, node)
    value = min(1.0, max(-1.0, float(batch.values[slot])))
    tree.raw[slot, node] = value
    _back_up(settings, tree, slot, node, value)


@kernel
def completed_values(settings: Settings, tree: Tree, slot: int, node: int) -> tuple[float, float, float, float]:
    """Return what completes and rescales the values of a node's edges: (mixed value, lowest, factor, peak).

    Edges without visits take the mixed value: the evaluator's, joined with the visited edges' values weighted by
    their priors (Danihelka et al. 2022, appendix D, equation 33). A value q becomes (q - lowest) * factor, which is
    added to the logit: the range of all q scaled to [0, 1], times (visit_offset + most visits) * value_scale (section
    3.4). The peak is the largest of these, to be taken off before exponentiation. Edges proven lost are left out, as
    if they were illegal.
    """
    first = tree.first[slot, node]
    visits, most, prior, weighted = 0, 0, 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    unvisited = tree.tried[slot, node] < tree.edge_count[slot, node]
    for edge in range(first, first + tree.tried[slot, node]):
        proof = tree.edge_proof[slot, edge]
        if proof == LOSS:
            continue
        edge_visits = tree.edge_visits[slot, edge]
        if edge_visits == 0 and proof == UNKNOWN:
            unvisited = True
            continue
        value = tree.edge_value[slot, edge]
        weight = max(float(tree.prior[slot, edge]), TINY)
        visits += edge_visits
        most = max(most, edge_visits)
        prior += weight
        weighted += weight * value
        lowest, highest = min(lowest, value), max(highest, value)
    mixed = float(tree.raw[slot, node])
    if prior > 0.0:
        mixed = (mixed + visits * weighted / prior) / (visits + 1)
    if unvisited or prior == 0.0:
        lowest, highest = min(lowest, mixed), max(highest, mixed)
    scale = (settings.visit_offset + most) * settings.value_scale
    factor = scale / max(highest - lowest, 1e-8)
    return mixed, lowest, factor, (highest - lowest) * factor


@kernel
def _edge_bonus(tree: Tree, slot: int, edge: int, mixed: float, lowest: float, factor: float) -> float:
    visited = tree.edge_visits[slot, edge] > 0 or tree.edge_proof[slot, edge] != UNKNOWN
    return ((tree.edge_value[slot, edge] if visited else mixed) - lowest) * factor


@kernel
def _choose_inside(settings: Settings, tree: Tree, slot: int, node: int) -> int:
    """Return the edge of an inner node whose visits lag most behind the improved policy, or -1 if all are lost.

    A move that has not been tried is made ready for it.
    """
    first, head = tree.first[slot, node], tree.first[slot, node] + tree.tried[slot, node]
    last = first + tree.edge_count[slot, node]
    mixed, lowest, factor, peak = completed_values(settings, tree, slot, node)
    untried = np.exp((mixed - lowest) * factor - peak)
    total, rest = 0.0, 1.0
    for edge in range(first, head):
        prior = float(tree.prior[slot, edge])
        rest -= prior
        weight = 0.0
        if tree.edge_proof[slot, edge] != LOSS:
            weight = prior * np.exp((tree.edge_value[slot, edge] - lowest) * factor - peak)
        tree.weight[edge - first] = weight
        total += weight
    best, best_score = -1, -np.inf
    if head < last:
        # Rounding may leave less than there is.
        rest = max(rest, float(tree.prior[slot, head]))
        total += rest * untried
        best, best_score = head, tree.prior[slot, head] * untried / max(total, TINY)
    visits = max(1, tree.visits[slot, node])
    for edge in range(first, head):
        if tree.edge_proof[slot, edge] == LOSS:
            continue
        score = tree.weight[edge - first] / max(total, TINY) - tree.edge_visits[slot, edge] / visits
        if score > best_score:
            best, best_score = edge, score
    if best == head:
        _use_edge(tree, slot, head)
        tree.tried[slot, node] += 1
        _bring_next(tree, slot, node)
    return best


@kernel
def _choose_at_root(settings: Settings, tree: Tree, slot: int) -> int:
    """Return the edge that the plan wants tried: of those with the planned visits the best by noise, logit and value.

    A move proven lost leaves the competition. Its visits go to the move nearest to the plan.
    """
    mixed, lowest, factor, _ = completed_values(settings, tree, slot, ROOT)
    planned = tree.schedule[slot, tree.simulations[slot]]
    best, best_gap, best_score = -1, 2147483647, -np.inf
    for edge in range(tree.edge_count[slot, ROOT]):
        if tree.edge_proof[slot, edge] == LOSS:
            continue
        gap = abs(tree.edge_visits[slot, edge] - planned)
        if gap > best_gap:
            continue
        score = tree.gumbel[slot, edge] + tree.logit[slot, edge] + _edge_bonus(tree, slot, edge, mixed, lowest, factor)
        if gap < best_gap or score > best_score:
            best, best_gap, best_score = edge, gap, score
    return best


@kernel
def descend(t: Tables, settings: Settings, tree: Tree, batch: Batch, slot: int, balance: int) -> bool:
    """Walk one simulation from the root to its leaf.

    Returns True where the leaf now waits for the evaluator, False where the simulation is complete already.
    """
    pos, history, discount = tree.scratch, tree.history[slot], settings.discount
    copy_position(tree.root[slot], pos)
    edge = _choose_at_root(settings, tree, slot)
    tree.simulations[slot] += 1
    node = ROOT
    while True:
        reason = play(t, pos, history, tree.action[slot, edge], tree.undo)
        child = tree.child[slot, edge]
        if child < 0:
            child = _add_node(tree, slot, node, edge)
            tree.child[slot, edge] = child
            if reason != NONE:
                to_play = pos.info[TO_PLAY]
                result = winner(t, reason, 1 - to_play)
                proof = DRAW if result == 0 else (WIN if (result < 0) == (to_play == DEFENDERS) else LOSS)
                tree.proof[slot, child] = proof
                _back_up(settings, tree, slot, child, exact_value(proof, 0, discount))
                return False
            if settings.proofs and immediate_win(t, pos) >= 0:
                tree.proof[slot, child] = WIN
                tree.plies[slot, child] = 1
                _back_up(settings, tree, slot, child, discount)
                return False
            _ask(t, tree, batch, slot, child, pos, balance)
            return True
        node = child
        if tree.proof[slot, node] != UNKNOWN:
            value = exact_value(tree.proof[slot, node], tree.plies[slot, node], discount)
            _back_up(settings, tree, slot, node, value)
            return False
        edge = _choose_inside(settings, tree, slot, node)


@kernel
def finished(tree: Tree, slot: int) -> bool:
    """Return whether the slot's search is over: the budget spent, or the root proven.

    A single move that is not lost is searched on, since it may be lost as well.
    """
    if tree.pending[slot] >= 0:
        return False
    return tree.proof[slot, ROOT] != UNKNOWN or tree.simulations[slot] >= tree.budget[slot]


@kernel
def best_edge(settings: Settings, tree: Tree, slot: int) -> int:
    """Return the edge to play: a proven win, the quickest; or the best of the most visited; or the slowest loss."""
    quickest, slowest, most = -1, -1, -1
    for edge in range(tree.edge_count[slot, ROOT]):
        proof, plies = tree.edge_proof[slot, edge], tree.edge_plies[slot, edge]
        if proof == WIN:
            if quickest < 0 or plies < tree.edge_plies[slot, quickest]:
                quickest = edge
        elif proof == LOSS:
            if slowest < 0 or plies > tree.edge_plies[slot, slowest]:
                slowest = edge
        else:
            most = max(most, tree.edge_visits[slot, edge])
    if quickest >= 0:
        return quickest
    if most < 0:
        return slowest
    mixed, lowest, factor, _ = completed_values(settings, tree, slot, ROOT)
    best, best_score = -1, -np.inf
    for edge in range(tree.edge_count[slot, ROOT]):
        if tree.edge_proof[slot, edge] == LOSS or tree.edge_visits[slot, edge] != most:
            continue
        score = tree.gumbel[slot, edge] + tree.logit[slot, edge] + _edge_bonus(tree, slot, edge, mixed, lowest, factor)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def improved_policy(settings: Settings, tree: Tree, slot: int, out: np.ndarray) -> bool:
    """Write the root's improved policy over its legal moves to `out`, float32 (at least count,).

    It is the softmax of logits plus completed, rescaled values (Danihelka et al. 2022, section 4). A proven win is the
    whole policy; moves proven lost get nothing.

    Returns whether there is something to learn: not where all moves are lost.
    """
    count = tree.edge_count[slot, ROOT]
    if tree.proof[slot, ROOT] == WIN:
        for edge in range(count):
            out[edge] = 0.0
        out[best_edge(settings, tree, slot)] = 1.0
        return True
    mixed, lowest, factor, _ = completed_values(settings, tree, slot, ROOT)
    highest = -np.inf
    for edge in range(count):
        if tree.edge_proof[slot, edge] != LOSS:
            score = tree.logit[slot, edge] + _edge_bonus(tree, slot, edge, mixed, lowest, factor)
            highest = max(highest, score)
    if highest == -np.inf:
        for edge in range(count):
            out[edge] = tree.prior[slot, edge]
        return False
    total = 0.0
    for edge in range(count):
        out[edge] = 0.0
        if tree.edge_proof[slot, edge] != LOSS:
            score = tree.logit[slot, edge] + _edge_bonus(tree, slot, edge, mixed, lowest, factor)
            out[edge] = np.exp(score - highest)
            total += out[edge]
    for edge in range(count):
        out[edge] /= total
    return True


@kernel
def root_value(settings: Settings, tree: Tree, slot: int) -> float:
    """Return the search's value of the root: exact where proven, else the mixed value of its moves."""
    if tree.proof[slot, ROOT] != UNKNOWN:
        return exact_value(tree.proof[slot, ROOT], tree.plies[slot, ROOT], settings.discount)
    best = best_edge(settings, tree, slot)
    if tree.edge_visits[slot, best] > 0:
        return float(tree.edge_value[slot, best])
    return tree.total[slot, ROOT] / max(1, tree.visits[slot, ROOT])


@kernel
def advance(t: Tables, settings: Settings, tree: Tree, batch: Batch, balance: int) -> int:
    """Take the evaluator's answers and carry every search on to its next question.

    Returns the number of slots that wait for the evaluator.
    """
    waiting = 0
    for slot in range(tree.nodes.shape[0]):
        receive(settings, tree, batch, slot)
        while not finished(tree, slot):
            if descend(t, settings, tree, batch, slot, balance):
                waiting += 1
                break
    return waiting
