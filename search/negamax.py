"""The kernels of `alphabeta-v1`: principal variation search on an explicit stack.

After Marsland & Campbell, "Parallel search of strongly ordered game trees" (1982); killer moves after Akl & Newborn
(1977), history heuristic after Schaeffer (1983). The result, ties at the root included, is that of plain minimax (see
`search.alphabeta`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.board import make, unmake
from env.jit import kernel
from env.moves import immediate_win, write_moves
from env.position import PLY, TO_PLAY, Position
from env.rules import ATTACKERS, Rules
from env.tables import Tables
from search.alphabeta_kernels import INFINITE, MAX_DEPTH, NEVER, WIN, bring_forward, from_node, judge_node, settled
from search.evaluation import evaluate
from search.transposition import (
    EXACT,
    LOWER,
    NO_BOUND,
    UPPER,
    Path,
    find,
    store,
)

# Columns of `Work.nodes`, one row for each level of the stack: window, best score and action so far, legal moves, moves
# tried, action being tried, whether it is tried again with the full window, the earliest ply that the result depends
# on, action from the table, lower end of the window at first.
ALPHA, BETA, BEST, BEST_ACTION, COUNT, TRIED, ACTION, AGAIN, DEPENDS, HINT, FLOOR = range(11)
NODES, GENERATION = 0, 1  # places in `Work.state`

KILLER_RANK, HINT_RANK = 1 << 60, 1 << 61


class Work(NamedTuple):
    """Working memory of one search; D = MAX_DEPTH + 2 levels, M = 4S moves at most, A actions.

    Attributes:
        nodes: int32 (D, 11), the stack; columns above.
        moves: int16 (D, M), legal actions of each level.
        order: int64 (D, M), how promising they are.
        undo: int16 (D, 8), see `env.board.make`.
        line: int16 (D, D), best line from each level on.
        length: int32 (D,), its length.
        killers: int16 (D, 2), last two actions that cut a level off, -1 none.
        success: int64 (2, A), sum of squared depths of cut-offs by side and action.
        rank: int32 (A,), how ties at the root fall: the higher rank is played.
        soldiers: int32 (2,), attackers and defenders on the board.
        state: int64 (2,), nodes searched; generation of the table.
        stop: int64 (1,), set from outside to end the search soon.
    """

    nodes: np.ndarray
    moves: np.ndarray
    order: np.ndarray
    undo: np.ndarray
    line: np.ndarray
    length: np.ndarray
    killers: np.ndarray
    success: np.ndarray
    rank: np.ndarray
    soldiers: np.ndarray
    state: np.ndarray
    stop: np.ndarray


def new_work(rules: Rules) -> Work:
    levels, most = MAX_DEPTH + 2, rules.most_moves
    return Work(
        nodes=np.zeros((levels, 11), np.int32),
        moves=np.zeros((levels, most), np.int16),
        order=np.zeros((levels, most), np.int64),
        undo=np.zeros((levels, 8), np.int16),
        line=np.zeros((levels, levels), np.int16),
        length=np.zeros(levels, np.int32),
        killers=np.zeros((levels, 2), np.int16),
        success=np.zeros((2, rules.actions), np.int64),
        rank=np.zeros(rules.actions, np.int32),
        soldiers=np.zeros(2, np.int32),
        state=np.zeros(2, np.int64),
        stop=np.zeros(1, np.int64),
    )


@kernel
def _open(t: Tables, pos: Position, work: Work, level: int, alpha: int, beta: int) -> None:
    """Begin a node: its window, its moves, and how promising they are. HINT is set already."""
    node = work.nodes[level]
    node[ALPHA], node[BETA], node[FLOOR] = alpha, beta, alpha
    node[BEST], node[BEST_ACTION] = -INFINITE, -1
    node[TRIED], node[AGAIN], node[DEPENDS] = 0, 0, NEVER
    work.length[level] = 0
    moves, order, success = work.moves[level], work.order[level], work.success[pos.info[TO_PLAY]]
    count = write_moves(t, pos, moves)
    node[COUNT] = count
    hint, first, second = node[HINT], work.killers[level, 0], work.killers[level, 1]
    for index in range(count):
        action = moves[index]
        if action == hint:
            order[index] = HINT_RANK
        elif action == first:
            order[index] = KILLER_RANK + 1
        elif action == second:
            order[index] = KILLER_RANK
        else:
            order[index] = success[action]


@kernel
def _next_move(work: Work, level: int) -> int:
    """Return the most promising action not yet tried, and count it as tried."""
    node, moves = work.nodes[level], work.moves[level]
    at = node[TRIED]
    bring_forward(moves, work.order[level], at, node[COUNT])
    node[TRIED] = at + 1
    return int(moves[at])


@kernel
def _look_up(
    t: Tables, pos: Position, work: Work, path: Path, table: np.ndarray, level: int, depth: int, alpha: int, beta: int
) -> int:
    """Return the table's score where it settles the node in the window (alpha, beta), else INFINITE; sets HINT."""
    slot = find(table, pos.key[0], work.state[GENERATION])
    if slot < 0:
        work.nodes[level, HINT] = -1
        return INFINITE
    entry = table[slot]
    work.nodes[level, HINT] = entry["action"]
    bound = entry["state"] & 3
    # Only results of exactly this depth: deeper ones are better, but no longer those of a search to a fixed depth.
    # Full windows are searched for the sake of the line.
    if entry["depth"] != depth or bound == NO_BOUND or beta - alpha > 1:
        return INFINITE
    score = -from_node(-int(entry["score"]), -level)
    return settled(t, pos, path, score, bound, depth, alpha, beta)


@kernel
def _make(t: Tables, pos: Position, work: Work, path: Path, level: int, action: int) -> int:
    """Play a move on the level's place in the stack; the path and the soldiers follow."""
    undo = work.undo[level]
    reason = make(t, pos, action, undo)
    work.soldiers[pos.info[TO_PLAY]] -= undo[2]
    ply = pos.info[PLY]
    path.moved[ply, 0] = undo[0]
    path.moved[ply, 1] = undo[1]
    return reason


@kernel
def _unmake(t: Tables, pos: Position, work: Work, level: int) -> None:
    """Take that move back."""
    undo = work.undo[level]
    work.soldiers[pos.info[TO_PLAY]] += undo[2]
    unmake(t, pos, undo)


@kernel
def _search_last_ply(t: Tables, weights: np.ndarray, pos: Position, work: Work, path: Path, level: int) -> None:
    """Search an open node whose moves lead to leaves: the same as the main loop does, without the stack."""
    node = work.nodes[level]
    alpha, beta = int(node[ALPHA]), int(node[BETA])
    best, best_action, depends = -INFINITE, -1, NEVER
    for _ in range(node[COUNT]):
        action = _next_move(work, level)
        over, score, met = judge_node(t, pos, path, level + 1, _make(t, pos, work, path, level, action))
        if not over:
            score = evaluate(t, weights, pos, work.soldiers)
            if pos.info[TO_PLAY] != ATTACKERS:
                score = -score
        _unmake(t, pos, work, level)
        depends = min(depends, met)
        if -score > best:
            best, best_action = -score, action
            if best >= beta:
                depends = met
                break
    work.state[NODES] += node[TRIED]
    node[BEST], node[BEST_ACTION], node[DEPENDS] = best, best_action, depends
    work.length[level] = 0
    if best > alpha:
        work.line[level, 0] = best_action
        work.length[level] = 1


@kernel
def _close(pos: Position, work: Work, table: np.ndarray, level: int, depth: int) -> None:
    """Keep the result of a finished node for later."""
    node = work.nodes[level]
    best, action = node[BEST], node[BEST_ACTION]
    if best >= node[BETA]:
        bound = LOWER
        work.success[pos.info[TO_PLAY], action] += depth * depth
        killers = work.killers[level]
        if killers[0] != action:
            killers[1] = killers[0]
            killers[0] = action
    elif best > node[FLOOR]:
        bound = EXACT
    else:
        bound = UPPER
    if node[DEPENDS] < pos.info[PLY]:
        bound = NO_BOUND
    store(table, pos.key[0], work.state[GENERATION], depth, bound, from_node(best, level), action)


@kernel
def _window(work: Work, level: int, depth: int) -> tuple[int, int]:
    """Return the window for the move being tried: the node's, or a minimal one where the move is only to be refuted."""
    node = work.nodes[level]
    alpha, beta = int(node[ALPHA]), int(node[BETA])
    best = node[BEST_ACTION]
    if level == 0 and best >= 0 and work.rank[node[ACTION]] > work.rank[best]:
        alpha -= 1  # at the root an equal score is enough for a move of higher rank
    if node[TRIED] > 1 and not node[AGAIN] and depth - level > 1:
        beta = alpha + 1
    return alpha, beta


@kernel
def search_position(
    t: Tables, weights: np.ndarray, pos: Position, work: Work, path: Path, table: np.ndarray, depth: int
) -> bool:
    """Search a position to `depth` plies; the result is in row 0 of `work.nodes` and of `work.line`.

    Args:
        t: tables of the game.
        weights: int32 (9,), see `search.evaluation`.
        pos: the root, in which the game is not over; restored only if the search is finished.
        work: soldiers, rank, GENERATION and the root's HINT are set; NODES counts on.
        path: history up to the root, made ready by `retrace`.
        table: the transposition table.
        depth: 1 to MAX_DEPTH.

    Returns:
        Whether the search is finished; after a stop the root's BEST_ACTION is the best of the moves searched so far,
        or -1.
    """
    nodes = work.nodes
    level = 0
    _open(t, pos, work, 0, -INFINITE, INFINITE)
    while True:
        node = nodes[level]
        if node[AGAIN] or (node[TRIED] < node[COUNT] and node[BEST] < node[BETA]):
            if not node[AGAIN]:
                node[ACTION] = _next_move(work, level)
            if work.stop[0]:
                return False
            alpha, beta = _window(work, level, depth)
            work.state[NODES] += 1
            reason = _make(t, pos, work, path, level, int(node[ACTION]))
            level += 1
            over, score, depends = judge_node(t, pos, path, level, reason)
            work.length[level] = 0
            if not over:
                left = depth - level
                if left == 0:
                    score = evaluate(t, weights, pos, work.soldiers)
                    if pos.info[TO_PLAY] != ATTACKERS:
                        score = -score
                elif immediate_win(t, pos) >= 0:
                    score = WIN - level - 1
                    work.line[level, 0] = immediate_win(t, pos)
                    work.length[level] = 1
                elif WIN - level - 1 <= -beta or level + 1 - WIN >= -alpha:
                    # The game ends with the next move at the earliest.
                    score = WIN - level - 1 if WIN - level - 1 <= -beta else level + 1 - WIN
                else:
                    score = _look_up(t, pos, work, path, table, level, left, -beta, -alpha)
                    if score == INFINITE:
                        _open(t, pos, work, level, -beta, -alpha)
                        if left == 1:
                            _search_last_ply(t, weights, pos, work, path, level)
                        continue
        else:
            if level == 0:
                return True
            _close(pos, work, table, level, depth - level)
            score, depends = int(node[BEST]), int(node[DEPENDS])

        # The score of the child at `level` goes back to its parent.
        level -= 1
        node = nodes[level]
        score = -score
        _unmake(t, pos, work, level)
        action = int(node[ACTION])
        alpha, narrow_beta = _window(work, level, depth)
        beta = int(node[BETA])
        if alpha < score < beta and narrow_beta < beta:
            node[AGAIN] = 1
            continue
        node[AGAIN] = 0
        node[DEPENDS] = min(int(node[DEPENDS]), depends)
        if score > node[BEST] or (level == 0 and score > alpha):
            node[BEST] = score
            node[BEST_ACTION] = action
            if score >= beta:
                node[DEPENDS] = depends  # this move alone proves it
        if score > alpha:
            node[ALPHA] = score
            work.line[level, 0] = action
            for index in range(work.length[level + 1]):
                work.line[level, index + 1] = work.line[level + 1, index]
            work.length[level] = work.length[level + 1] + 1
