"""Kernels of self-play: every slot of a search tree plays games on its own, one after another (`training.slots`)."""

from __future__ import annotations

import numpy as np

from env.board import NONE, play, winner
from env.encoding import write_network_input
from env.jit import kernel
from env.moves import write_moves
from env.position import ATTACKER, DEFENDER, PLY, TO_PLAY, copy_array, load
from env.rules import ATTACKERS
from env.tables import Tables
from search.config import Settings
from search.reuse import go_on, keep_below
from search.rule import best_edge, improved_policy, root_value
from search.simulation import Batch, descend, finished, receive, start
from search.tree import NOBODY, ROOT, UNKNOWN, WIN, Slot, Tree, random_unit
from training.slots import ENDED, QUARTERS, RUNNING, TRUNCATED, PlaySettings, Slots


@kernel
def searches_for(simulations: int, balance: int, to_play: int) -> int:
    """Return a side's simulations: the ratio of 2**(balance / 4) between the sides is split evenly on both."""
    steps = balance if to_play == ATTACKERS else -balance
    return max(2, int(np.rint(simulations * 2.0 ** (steps / (2 * QUARTERS)))))


@kernel
def _budget(rules: PlaySettings, slots: Slots, slot: int, to_play: int) -> int:
    """Return the simulations that the slot's next search gets; none in the opening."""
    if slots.opening[slot] != 0:
        return 0
    wanted = rules.simulations if slots.full[slot] else rules.fast_simulations
    return searches_for(wanted, 0 if rules.by_temperature else int(slots.balance[slot]), to_play)


@kernel
def begin_search(t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots, slot: int):
    """Start the search of the slot's present position with the budget that was drawn for it."""
    balance = int(slots.balance[slot])
    budget = _budget(rules, slots, slot, tree.nodes[slot, ROOT].position.info[TO_PLAY])
    start(t, settings, tree, batch, slot, budget, rules.gumbel_scale, balance)
    copy_array(batch.inputs[slot], slots.input[slot])


@kernel
def _go_on_below(
    t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots, slot: int, node: int
) -> bool:
    """Search on below a node that is the slot's present position; False where it is of no use or leaves no room."""
    if node < 0 or tree.nodes[slot, node].count == 0:
        return False
    position = tree.nodes[slot, node].position
    balance = int(slots.balance[slot])
    budget = _budget(rules, slots, slot, position.info[TO_PLAY])
    if tree.nodes[slot, node].visits + budget + 2 > tree.nodes.shape[1]:
        return False
    count = write_moves(t, position, batch.actions[slot])
    write_network_input(t, position, tree.history[slot], balance, batch.actions[slot], count, slots.input[slot])
    keep_below(tree, slot, node)
    go_on(settings, tree, slot, budget, rules.gumbel_scale)
    return True


@kernel
def _take_pieces(rules: PlaySettings, own: Slot, slots: Slots, slot: int, balance: int) -> None:
    """Take a random number of pieces off the start, of the side that would have to search less."""
    most = int(np.rint(rules.material_most * min(1.0, abs(balance) / max(1, rules.balance_limit))))
    piece = DEFENDER if balance > 0 else ATTACKER
    board = slots.start[slot]
    left = 0
    for square in range(board.shape[0]):
        left += board[square] == piece
    missing = min(left, int(random_unit(own) * (most + 1)))
    slots.missing[slot] = missing
    for square in range(board.shape[0]):
        # Selection sampling (Knuth, The Art of Computer Programming 2, algorithm 3.4.2 S).
        if board[square] == piece:
            if random_unit(own) * left < missing:
                board[square] = 0
                missing -= 1
            left -= 1


@kernel
def begin_game(
    t: Tables,
    settings: Settings,
    rules: PlaySettings,
    tree: Tree,
    batch: Batch,
    slots: Slots,
    slot: int,
    balance: int,
) -> None:
    """Start a game: draw layout, handicap and opening, and ask for the first evaluation."""
    own, root = tree.slots[slot], tree.nodes[slot, ROOT].position
    draw = random_unit(own)
    layout = 0
    while layout + 1 < rules.layout_shares.shape[0] and draw > rules.layout_shares[layout]:
        layout += 1
    slots.state[slot] = RUNNING
    slots.layout[slot] = layout
    copy_array(rules.layout_boards[layout], slots.start[slot])
    slots.missing[slot] = 0
    slots.records[slot] = 0
    slots.balance[slot] = 0
    if balance != 0 and random_unit(own) >= rules.even_share:
        if random_unit(own) < rules.material_share:
            _take_pieces(rules, own, slots, slot, balance)
        else:
            slots.balance[slot] = balance
    load(t, slots.start[slot], rules.first, root, tree.history[slot])
    slots.opening[slot] = 0
    if random_unit(own) < rules.policy_opening_share:
        _draw_opening(rules, own, slots, slot)
    slots.full[slot] = random_unit(own) < rules.full_share
    begin_search(t, settings, rules, tree, batch, slots, slot)


@kernel
def _draw_opening(rules: PlaySettings, own: Slot, slots: Slots, slot: int) -> None:
    """Draw the opening's length and kind."""
    # Rounding an exponential variable up gives a geometric one; its mean is about half a ply above the setting.
    plies = np.ceil(-np.log(random_unit(own)) * rules.policy_opening_plies)
    opening = 1 + int(min(plies, rules.max_plies // 2))
    slots.opening[slot] = -opening if random_unit(own) < rules.random_opening_share else opening


@kernel
def _leave_opening(rules: PlaySettings, tree: Tree, slots: Slots, slot: int) -> bool:
    """End the opening where its moves are made; return False where it favours a side too much and another is drawn.

    One in four of those is played all the same, so that the network hears of them and no start is without an opening.
    """
    own, node = tree.slots[slot], tree.nodes[slot, ROOT]
    slots.opening[slot] = 0
    even = node.proof == UNKNOWN and abs(node.raw) <= rules.opening_limit
    if even or random_unit(own) < 0.25:
        return True
    _draw_opening(rules, own, slots, slot)
    return False


@kernel
def _draw_from_prior(tree: Tree, slot: int) -> int:
    left = random_unit(tree.slots[slot])
    last = tree.nodes[slot, ROOT].count - 1
    for edge in range(last):
        left -= tree.choices[slot, edge].prior
        if left <= 0:
            return edge
    return last


@kernel
def _temperature(rules: PlaySettings, balance: int, to_play: int) -> float:
    """Return the temperature at which a side draws its moves under a handicap; 0 where it plays the best it found."""
    if not rules.by_temperature:
        return 0.0
    return max(0.0, (-balance if to_play == ATTACKERS else balance) / QUARTERS)


@kernel
def _draw_flattened(settings: Settings, tree: Tree, slot: int, policy: np.ndarray, temperature: float) -> int:
    """Return an edge of the root drawn from the improved policy to the power of 1 / `temperature`.

    Moves proven lost stay out, and proven ends are played as they are: a handicap of oversight, not of blindness.
    `policy` is float32 (at least the root's count,) to work in.
    """
    node = tree.nodes[slot, ROOT]
    best = best_edge(settings, tree, slot)
    if node.proof != UNKNOWN:
        return best
    improved_policy(settings, tree, slot, policy)
    total = 0.0
    for edge in range(node.count):
        total += float(policy[edge]) ** (1.0 / temperature)
    left = random_unit(tree.slots[slot]) * total
    for edge in range(node.count):
        if policy[edge] > 0.0:
            left -= float(policy[edge]) ** (1.0 / temperature)
            if left <= 0.0:
                return edge
    return best


@kernel
def _record(settings: Settings, tree: Tree, slots: Slots, slot: int) -> None:
    row, root = slots.records[slot], tree.nodes[slot, ROOT]
    slots.record_ply[slot, row] = root.position.info[PLY]
    copy_array(slots.input[slot], slots.record_input[slot, row])
    slots.record_count[slot, row] = root.count
    for edge in range(root.count):
        slots.record_actions[slot, row, edge] = tree.choices[slot, edge].action
    learn = improved_policy(settings, tree, slot, slots.record_policy[slot, row])
    slots.record_weight[slot, row] = 1.0 if learn else 0.0
    slots.records[slot] = row + 1


@kernel
def _move(
    t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots, slot: int
) -> None:
    """Play the move that the finished search (or the opening's draw) gives, and go on to the next search."""
    own, node = tree.slots[slot], tree.nodes[slot, ROOT]
    ply = node.position.info[PLY]
    slots.simulations[slot] += own.simulations
    opening = slots.opening[slot]
    if abs(opening) == 1:
        if not _leave_opening(rules, tree, slots, slot):
            load(t, slots.start[slot], rules.first, node.position, tree.history[slot])
        begin_search(t, settings, rules, tree, batch, slots, slot)
        return
    if opening != 0 and node.proof != WIN:
        slots.opening[slot] -= 1 if opening > 0 else -1
        if rules.opening_limit >= 1.0 and abs(slots.opening[slot]) == 1:
            slots.opening[slot] = 0  # nobody asks how even it is
        edge = _draw_from_prior(tree, slot) if opening > 0 else int(random_unit(own) * node.count)
        slots.values[slot, ply] = node.raw
    else:
        slots.opening[slot] = 0
        if slots.full[slot]:
            _record(settings, tree, slots, slot)
        temperature = _temperature(rules, int(slots.balance[slot]), node.position.info[TO_PLAY])
        if temperature > 0.0:
            # A place to work in: that of this very record, or a free one, as a game has no more records than plies.
            edge = _draw_flattened(settings, tree, slot, slots.record_policy[slot, ply], temperature)
        else:
            edge = best_edge(settings, tree, slot)
        slots.values[slot, ply] = root_value(settings, tree, slot)
    action = tree.choices[slot, edge].action
    below = tree.edges[slot, edge].child if rules.reuse else NOBODY
    root = node.position
    mover = root.info[TO_PLAY]
    slots.moves[slot, ply] = action
    reason = play(t, root, tree.history[slot], action, own.undo)
    if reason != NONE:
        slots.state[slot] = ENDED
        slots.reason[slot] = reason
        slots.result[slot] = winner(t, reason, mover)
    elif root.info[PLY] >= rules.max_plies:
        slots.state[slot] = TRUNCATED
        slots.reason[slot] = NONE
        slots.result[slot] = 0
    else:
        slots.full[slot] = random_unit(own) < rules.full_share
        if not _go_on_below(t, settings, rules, tree, batch, slots, slot, below):
            begin_search(t, settings, rules, tree, batch, slots, slot)


@kernel
def carry_on(
    t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots, slot: int
) -> bool:
    """Carry a slot's game on to its next question, or to its end; return whether it is over."""
    while slots.state[slot] == RUNNING and tree.slots[slot].pending == 0:
        if finished(tree, slot):
            _move(t, settings, rules, tree, batch, slots, slot)
        else:
            descend(t, settings, tree, batch, slot, 0, 0, int(slots.balance[slot]))
    return slots.state[slot] != RUNNING


@kernel
def advance_games(t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots) -> int:
    """Take the evaluator's answers and carry every game on to its next question, or to its end.

    Returns the number of games that are over and wait to be collected.
    """
    over = 0
    for slot in range(slots.state.shape[0]):
        receive(settings, tree, batch, slot)
        over += carry_on(t, settings, rules, tree, batch, slots, slot)
    return over


@kernel
def restart_searches(
    t: Tables, settings: Settings, rules: PlaySettings, tree: Tree, batch: Batch, slots: Slots
) -> None:
    """Begin the searches of all games anew."""
    for slot in range(slots.state.shape[0]):
        begin_search(t, settings, rules, tree, batch, slots, slot)


@kernel
def replay_moves(t: Tables, rules: PlaySettings, tree: Tree, slots: Slots, slot: int, plies: int) -> None:
    """Bring the slot's root to where the first `plies` of its moves lead from its start."""
    root = tree.nodes[slot, ROOT].position
    load(t, slots.start[slot], rules.first, root, tree.history[slot])
    for ply in range(plies):
        play(t, root, tree.history[slot], slots.moves[slot, ply], tree.slots[slot].undo)
