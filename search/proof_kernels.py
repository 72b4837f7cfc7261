"""The kernels of the exact solver: depth-first proof-number search on an explicit stack.

After Nagai, "Df-pn algorithm for searching AND/OR trees and its applications" (2002). A node's number to be summed is
the greatest of its children's plus one for each other open child, as in Ueda, Hashimoto, Hashimoto & Iida, "Weak
proof-number search" (2008), since many ways lead to the same position here and a sum would count it many times.
`search.proof` says what is proven and why it is true.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import NO_MOVES, NONE, make, unmake, winner
from env.jit import kernel
from env.moves import has_move, immediate_win, write_moves
from env.position import ATTACKER, EMPTY, KING_SQUARE, PLY, REVERSIBLE, TO_PLAY, Position
from env.rules import ATTACKERS, Rules
from env.tables import KING_KIND, SOLDIER, Tables
from search.proof_table import FOREVER, INFINITE, LONGEST, NEVER, claim, find

LEVELS = 160  # plies that a search may look ahead
HORIZON = -1  # the ply that a disproof depends on which was only not looked for any further

# Columns of `Work.nodes`, one row a level: limits of the two numbers; legal moves; child being searched; moves made
# before the node was opened; plies left; child that settles the node, or -1.
PROOF_LIMIT, DISPROOF_LIMIT, COUNT, CHOSEN, BEGUN, LEFT, SETTLED = range(7)
# Columns of `Work.children` and of `Work.result`: proof and disproof number, plies of a proof, earliest ply that a
# disproof depends on.
PROOF, DISPROOF, PLIES, DEPENDS = range(4)
MADE, BUDGET, PROVER, ROOT_PLY, BEST = range(5)  # places in `Work.state`

QUIET = 3  # proof number at first of a node in which the prover threatens nothing; 1 where he does
MIX = np.uint64(0x9E3779B97F4A7C15)


class Work(NamedTuple):
    """Working memory of one search; D = LEVELS + 2 levels, M = 4S moves at most.

    Attributes:
        nodes: int64 (D, 7), the stack; columns above.
        moves: int16 (D, M), legal actions of each level.
        children: int32 (D, M, 4), what is known of the positions that they lead to; columns above.
        undo: int16 (D, 8), see `env.board.make`.
        mix: uint64 (D,), sum of the mixed keys of the path before a level, since the last capture.
        salt: uint64 (1,), keeps apart what different sides, rules and pasts have stored in one table.
        result: int32 (4,), of the root; columns as of children.
        state: int64 (5,), moves made; how many are allowed; proving side; ply of the root; action that proves the root,
            -1 none.
        stop: int64 (1,), set from outside to end the search soon.
    """

    nodes: np.ndarray
    moves: np.ndarray
    children: np.ndarray
    undo: np.ndarray
    mix: np.ndarray
    salt: np.ndarray
    result: np.ndarray
    state: np.ndarray
    stop: np.ndarray


def new_work(rules: Rules) -> Work:
    levels, most = LEVELS + 2, rules.most_moves
    return Work(
        nodes=np.zeros((levels, 7), np.int64),
        moves=np.zeros((levels, most), np.int16),
        children=np.zeros((levels, most, 4), np.int32),
        undo=np.zeros((levels, 8), np.int16),
        mix=np.zeros(levels, np.uint64),
        salt=np.zeros(1, np.uint64),
        result=np.zeros(4, np.int32),
        state=np.zeros(5, np.int64),
        stop=np.zeros(1, np.int64),
    )


@kernel
def _may_be_stalled(t: Tables, pos: Position) -> bool:
    """Return whether one move of the side to play could leave the other side without a legal move.

    A necessary condition: a move takes away moves only of the first piece that is met from its target in each of four
    directions. One that is not taken must have had a single way to go; the king is not taken in such a move.
    """
    n = t.size
    own = (1 - pos.info[TO_PLAY]) * n
    mobile = 0
    for rank in range(n):
        rest = pos.lines[own + rank]
        while rest:
            square = rank * n + int(t.lowest[rest])
            rest &= rest - 1
            is_king = square == pos.info[KING_SQUARE]
            kind = KING_KIND if is_king else SOLDIER
            ways = 0
            for direction in range(4):
                beside = t.neighbour[square, direction]
                while beside >= 0 and pos.board[beside] == EMPTY:
                    if t.may_stop[kind, beside]:
                        ways += 1
                        break
                    beside = t.neighbour[beside, direction]
            if ways:
                mobile += 1
                if mobile > 4 or (is_king and ways > 1):
                    return False
    return True


@kernel
def wins_now(t: Tables, pos: Position, undo: np.ndarray) -> int:
    """Return an action with which the side to play wins at once in whatever way but repetition, or -1.

    `pos` is as before when it returns. Where the side that cannot move loses, moves that leave it without any are
    looked for, and tried without a list of them.
    """
    action = immediate_win(t, pos)
    if action >= 0 or t.no_moves_result != -1 or not _may_be_stalled(t, pos):
        return int(action)
    n = t.size
    mine_is_attacker = pos.info[TO_PLAY] == ATTACKERS
    for square in range(n * n):
        piece = pos.board[square]
        if piece == EMPTY or (piece == ATTACKER) != mine_is_attacker:
            continue
        kind = KING_KIND if square == pos.info[KING_SQUARE] else SOLDIER
        for direction in range(4):
            target = t.neighbour[square, direction]
            distance = 0
            while target >= 0 and pos.board[target] == EMPTY:
                if t.may_stop[kind, target]:
                    action = (square * 4 + direction) * (n - 1) + distance
                    reason = make(t, pos, action, undo)
                    stalled = reason == NONE and not has_move(t, pos)
                    unmake(t, pos, undo)
                    if stalled:
                        return action
                target = t.neighbour[target, direction]
                distance += 1
    return -1


@kernel
def _threat(t: Tables, pos: Position) -> bool:
    """Return whether the side that is not to play would win at once if it were."""
    pos.info[TO_PLAY] ^= 1
    found = immediate_win(t, pos) >= 0
    pos.info[TO_PLAY] ^= 1
    return found


@kernel
def _met_before(pos: Position, work: Work, history: np.ndarray, endless: bool) -> int:
    """Return the ply at which the present position came about before, NEVER - 1 for the game's past, or NEVER.

    With a limit of plies the path of the search itself is no matter (`endless` is False).
    """
    state, key, reversible = work.state, pos.key[0], pos.info[REVERSIBLE]
    root = state[ROOT_PLY]
    last = pos.info[PLY] - 4
    if not endless and last >= root:
        last -= (last - root) // 2 * 2
        if last >= root:
            last -= 2
    for earlier in range(last, reversible - 1, -2):
        if history[earlier] == key:
            return earlier if earlier >= root else NEVER - 1
    return NEVER


@kernel
def _judge(
    t: Tables,
    pos: Position,
    work: Work,
    table: np.ndarray,
    history: np.ndarray,
    level: int,
    reason: int,
    child: np.ndarray,
) -> None:
    """Write what is known of the position just reached, `level` plies below the root, to `child`, int32 (4,)."""
    prover, to_play = work.state[PROVER], pos.info[TO_PLAY]
    history[pos.info[PLY]] = pos.key[0]
    child[PROOF], child[DISPROOF], child[PLIES], child[DEPENDS] = INFINITE, 0, 0, NEVER
    if reason == NONE and not has_move(t, pos):
        reason = NO_MOVES
    if reason != NONE:
        if winner(t, reason, 1 - to_play) == (1 if prover == ATTACKERS else -1):
            child[PROOF], child[DISPROOF] = 0, INFINITE
        return
    left = int(work.nodes[level - 1, LEFT])
    endless = left == FOREVER
    if not endless:
        left -= 1
        if left <= 1 - (to_play == prover):
            return
    met = _met_before(pos, work, history, endless)
    if met != NEVER:
        if met != NEVER - 1:
            child[DEPENDS] = met
        return
    if to_play == prover:
        if left == 1:
            if wins_now(t, pos, work.undo[level]) >= 0:
                child[PROOF], child[DISPROOF], child[PLIES] = 0, INFINITE, 1
            return
        if immediate_win(t, pos) >= 0:
            child[PROOF], child[DISPROOF], child[PLIES] = 0, INFINITE, 1
            return
    elif immediate_win(t, pos) >= 0:
        return
    if level >= LEVELS:
        child[DEPENDS] = HORIZON
        return
    key = pos.key[0] ^ work.salt[0]
    slot = find(table, key)
    if slot >= 0:
        entry = table[slot]
        if entry["won"] <= left and entry["won"] != FOREVER:
            child[PROOF], child[DISPROOF], child[PLIES] = 0, INFINITE, entry["won"]
            return
        if entry["safe"] >= left:
            return
        if endless and entry["tied"]:
            tied = find(table, key ^ (work.mix[level] | np.uint64(1)))
            if tied >= 0 and table[tied]["safe"] == FOREVER:
                child[DEPENDS] = max(work.state[ROOT_PLY], pos.info[REVERSIBLE])
                return
        if entry["left"] == left and entry["proof"] > 0 and entry["disproof"] > 0:
            child[PROOF], child[DISPROOF] = entry["proof"], entry["disproof"]
            return
    threat = _threat(t, pos)
    if to_play == prover:
        child[PROOF] = 1
        child[DISPROOF] = 1 if threat else QUIET
    else:
        child[PROOF] = 1 if threat else QUIET
        child[DISPROOF] = 1


@kernel
def _make(t: Tables, pos: Position, work: Work, level: int, action: int) -> int:
    """Play a move on the level's place in the stack; returns what `make` does."""
    key = pos.key[0]
    reason = make(t, pos, action, work.undo[level])
    mixed = (key ^ (key >> np.uint64(29))) * MIX
    work.mix[level + 1] = np.uint64(0) if work.undo[level, 2] else work.mix[level] + mixed
    work.state[MADE] += 1
    return reason


@kernel
def _open(t: Tables, pos: Position, work: Work, table: np.ndarray, history: np.ndarray, level: int) -> None:
    """Begin a node: its moves and what is known of each; ends with the first that settles it."""
    node, moves, children = work.nodes[level], work.moves[level], work.children[level]
    count = write_moves(t, pos, moves)
    node[COUNT], node[SETTLED], node[BEGUN] = count, -1, work.state[MADE]
    own = pos.info[TO_PLAY] == work.state[PROVER]
    for index in range(count):
        reason = _make(t, pos, work, level, int(moves[index]))
        _judge(t, pos, work, table, history, level + 1, reason, children[index])
        unmake(t, pos, work.undo[level])
        child = children[index]
        if child[PROOF if own else DISPROOF] == 0 and child[DEPENDS] == NEVER:
            node[SETTLED] = index
            return


@kernel
def _sum_up(pos: Position, work: Work, level: int, out: np.ndarray) -> tuple[int, int]:
    """Write a node's numbers, plies and dependence to `out`, int32 (4,).

    Returns the child to go on with, and the second smallest of the numbers by which it was chosen.
    """
    node, children = work.nodes[level], work.children[level]
    own = pos.info[TO_PLAY] == work.state[PROVER]
    least, most = (PROOF, DISPROOF) if own else (DISPROOF, PROOF)
    best, first, second, greatest, unsettled = 0, INFINITE, INFINITE, 0, 0
    longest, depends = 0, NEVER
    if node[SETTLED] >= 0:
        best, first, greatest = int(node[SETTLED]), 0, INFINITE
        longest, depends = int(children[best, PLIES]), int(children[best, DEPENDS])
    else:
        for index in range(node[COUNT]):
            child = children[index]
            number = int(child[least])
            if child[most] > 0:
                unsettled += 1
                greatest = max(greatest, int(child[most]))
            # Of disproofs that depend on the path the latest one counts where one is enough, the earliest of all else.
            if own or number == 0:
                if number == 0 and first == 0:
                    depends = max(depends, int(child[DEPENDS]))
                elif own:
                    depends = min(depends, int(child[DEPENDS]))
                else:
                    depends = int(child[DEPENDS])
            if child[PROOF] == 0:
                longest = max(longest, int(child[PLIES]))
            if number < first or (number == first and child[most] < children[best, most]):
                best, first, second = index, number, first
            elif number < second:
                second = number
    if first == 0:
        greatest = INFINITE
        if own:
            longest = int(children[best, PLIES])
    elif unsettled == 0:
        greatest = 0
        first = INFINITE
    else:
        greatest = min(greatest + unsettled - 1, INFINITE - 1)
    out[least], out[most] = first, greatest
    out[PLIES] = min(longest + 1, LONGEST)
    out[DEPENDS] = NEVER
    if out[DISPROOF] == 0 and depends < pos.info[PLY]:
        out[DEPENDS] = depends
    return best, second


@kernel
def _close(pos: Position, work: Work, table: np.ndarray, level: int, out: np.ndarray) -> None:
    """Keep what is known of a node for later."""
    node = work.nodes[level]
    left, effort = int(node[LEFT]), int(min(work.state[MADE] - node[BEGUN], INFINITE))
    key = pos.key[0] ^ work.salt[0]
    entry = table[claim(table, key, effort)]
    entry["work"] = min(int(entry["work"]) + effort, INFINITE)
    if out[PROOF] == 0:
        entry["won"] = min(int(entry["won"]), int(out[PLIES]))
    elif out[DISPROOF] == 0 and out[DEPENDS] == NEVER:
        entry["safe"] = max(int(entry["safe"]), left)
    elif out[DISPROOF] == 0:
        if out[DEPENDS] != HORIZON:
            entry["tied"] = 1
            tied = table[claim(table, key ^ (work.mix[level] | np.uint64(1)), effort)]
            tied["safe"], tied["work"] = FOREVER, effort
    else:
        entry["proof"], entry["disproof"], entry["left"] = out[PROOF], out[DISPROOF], left


@kernel
def search_proof(t: Tables, pos: Position, work: Work, table: np.ndarray, history: np.ndarray, left: int) -> None:
    """Search whether PROVER wins by force from a position in which the game is not over; `pos` is as before afterwards.

    Args:
        t: tables of the game.
        pos: the root.
        work: BUDGET, PROVER and `salt` are set; MADE counts on. Written: `result` of the root (open where both
            numbers are above 0) and BEST.
        table: see `search.proof_table`.
        history: uint64, keys up to the root, room for LEVELS + 2 more.
        left: plies within which he has to win, or FOREVER.
    """
    nodes, state = work.nodes, work.state
    state[ROOT_PLY], state[BEST] = pos.info[PLY], -1
    level = 0
    nodes[0, PROOF_LIMIT], nodes[0, DISPROOF_LIMIT], nodes[0, LEFT] = INFINITE, INFINITE, left
    work.mix[0] = 0
    _open(t, pos, work, table, history, 0)
    while True:
        node = nodes[level]
        out = work.result if level == 0 else work.children[level - 1, nodes[level - 1, CHOSEN]]
        best, second = _sum_up(pos, work, level, out)
        proof, disproof = int(out[PROOF]), int(out[DISPROOF])
        own = pos.info[TO_PLAY] == state[PROVER]
        if (
            proof == 0
            or disproof == 0
            or proof >= node[PROOF_LIMIT]
            or disproof >= node[DISPROOF_LIMIT]
            or state[MADE] >= state[BUDGET]
            or work.stop[0]
        ):
            _close(pos, work, table, level, out)
            if level == 0:
                if proof == 0 and own:
                    state[BEST] = work.moves[0, best]
                return
            level -= 1
            unmake(t, pos, work.undo[level])
            continue
        # The child is searched until it is no longer the best one, and a quarter beyond, or the node reaches a limit.
        children = work.children[level]
        least, most = (PROOF, DISPROOF) if own else (DISPROOF, PROOF)
        unsettled = 0
        for index in range(node[COUNT]):
            unsettled += children[index, most] > 0
        node[CHOSEN] = best
        limit = min(int(node[least]), second + 1 + second // 4)
        other = int(node[most]) - (unsettled - 1)
        _make(t, pos, work, level, int(work.moves[level, best]))
        level += 1
        history[pos.info[PLY]] = pos.key[0]
        nodes[level, least], nodes[level, most] = limit, other
        nodes[level, LEFT] = left if left == FOREVER else left - level
        _open(t, pos, work, table, history, level)
