"""The kernels of `alphabeta-v2`: principal variation search on an explicit stack, with selective features.

After Marsland & Campbell, "Parallel search of strongly ordered game trees" (1982); killer moves after Akl & Newborn
(1977), history heuristic after Schaeffer (1983), countermoves after Uiterwijk (1992). With all of
`search.v2.settings.Settings` zero the result, ties at the root included, is that of plain minimax.
"""

from __future__ import annotations

import numpy as np

from env.board import make, unmake
from env.jit import kernel
from env.moves import immediate_win
from env.position import ATTACKER, DEFENDER, PLY, TO_PLAY, Position
from env.tables import Tables
from search.alphabeta_kernels import DECIDED, INFINITE, NEVER, WIN, from_node, judge_node, settled
from search.transposition import (
    EXACT,
    LOWER,
    NO_BOUND,
    UPPER,
    Path,
    find,
    store,
)
from search.v2.candidates import threats
from search.v2.evaluation import Evaluation, advantage
from search.v2.listing import next_move, open_node, open_quiescence
from search.v2.work import (
    ACTION,
    ALPHA,
    BEST,
    BEST_ACTION,
    BETA,
    COUNT,
    CUT,
    DEEPER,
    DEPENDS,
    EXTENSIONS,
    FIRST,
    FLOOR,
    FULL,
    GENERATION,
    HINT,
    LATE,
    LEFT,
    LEVELS,
    LIMIT,
    NODES,
    PRUNING,
    QUIESCENCE,
    QUIET,
    RAW,
    REDUCTIONS,
    ROOT_DEPTH,
    STAGE,
    THREAT,
    TRIED,
    UNCUT,
    Work,
)

MOST_SUCCESS = 1 << 14
BEYOND = 4  # plies that extensions and quiescence are taken to add to a depth where the past is concerned


@kernel
def _begin(work: Work, level: int, left: int, threat: int, alpha: int, beta: int) -> None:
    """Set up an open node's row."""
    node = work.nodes[level]
    node[ALPHA], node[BETA], node[FLOOR] = alpha, beta, alpha
    node[BEST], node[BEST_ACTION] = -INFINITE, -1
    node[COUNT], node[TRIED], node[STAGE], node[DEPENDS] = 0, 0, FIRST, NEVER
    node[LEFT], node[THREAT], node[CUT] = left, threat, 0
    work.length[level] = 0


@kernel
def _look_up(
    t: Tables, pos: Position, work: Work, path: Path, table: np.ndarray, level: int, left: int, alpha: int, beta: int
) -> int:
    """Return the table's score where it settles the node in the window (alpha, beta), else INFINITE; sets HINT."""
    slot = find(table, pos.key[0], work.state[GENERATION])
    if slot < 0:
        work.nodes[level, HINT] = -1
        return INFINITE
    entry = table[slot]
    work.nodes[level, HINT] = entry["action"]
    bound = entry["state"] & 3
    # Full windows are searched for the sake of the line.
    if bound == NO_BOUND or beta - alpha > 1:
        return INFINITE
    score = -from_node(-int(entry["score"]), -level)
    reach = left
    if work.settings[DEEPER]:
        if entry["depth"] < left and abs(score) < DECIDED:
            return INFINITE
        reach = max(left, int(entry["depth"])) + BEYOND
    elif entry["depth"] != left:
        return INFINITE
    return settled(t, pos, path, score, bound, reach, alpha, beta)


@kernel
def _make(t: Tables, e: Evaluation, pos: Position, work: Work, path: Path, level: int, action: int) -> int:
    """Play a move on the level's place in the stack; the path and the evaluation follow."""
    undo = work.undo[level]
    reason = make(t, pos, action, undo)
    ply, origin, target = pos.info[PLY], undo[0], undo[1]
    path.moved[ply, 0] = origin
    path.moved[ply, 1] = target
    piece = pos.board[target]
    squares = work.static[level, 0] + e.squares[piece, target] - e.squares[piece, origin]
    quarters = work.static[level, 1] + e.quarter[piece, target] - e.quarter[piece, origin]
    enemy = DEFENDER if piece == ATTACKER else ATTACKER
    for index in range(undo[2]):
        squares -= e.squares[enemy, undo[3 + index]]
        quarters -= e.quarter[enemy, undo[3 + index]]
    work.static[level + 1, 0] = squares
    work.static[level + 1, 1] = quarters
    return reason


@kernel
def _credit(work: Work, side: int, action: int, amount: int) -> None:
    """Let an action's success grow or shrink, the less the nearer it is to its bounds."""
    known = work.success[side, action]
    work.success[side, action] = known + amount - known * abs(amount) // MOST_SUCCESS


@kernel
def _close(t: Tables, pos: Position, work: Work, table: np.ndarray, level: int) -> None:
    """Learn from a finished node, and keep its result for later."""
    node = work.nodes[level]
    best, action, left = int(node[BEST]), int(node[BEST_ACTION]), int(node[LEFT])
    side = int(pos.info[TO_PLAY])
    if left <= 0:
        return
    if best >= node[BETA]:
        bound = LOWER
        if action >= 0:
            amount = min(left * left, 400)
            _credit(work, side, action, amount)
            captured = work.undo[level, 2] > 0
            if not captured:
                killers = work.killers[level]
                if killers[0] != action:
                    killers[1] = killers[0]
                    killers[0] = action
                if level > 0:
                    work.replies[side, work.nodes[level - 1, ACTION]] = action
                for index in range(node[TRIED] - 1):
                    _credit(work, side, int(work.moves[level, index]), -amount)
    elif best > node[FLOOR]:
        bound = EXACT
    else:
        bound = UPPER
    if node[DEPENDS] < pos.info[PLY]:
        bound = NO_BOUND
    store(table, pos.key[0], work.state[GENERATION], left, bound, from_node(best, level), action)


@kernel
def _window(work: Work, level: int) -> tuple[int, int]:
    """Return the window for the move being tried: the node's, or a minimal one where the move is only to be refuted."""
    node = work.nodes[level]
    alpha, beta = int(node[ALPHA]), int(node[BETA])
    if level == 0:
        action, best = node[ACTION], node[BEST_ACTION]
        alpha -= int(work.bonus[action])
        beta -= int(work.bonus[action])
        if best >= 0 and work.rank[action] > work.rank[best]:
            alpha -= 1  # an equal score is enough for a move of higher rank
    if node[TRIED] > 1 and node[STAGE] != FULL and node[LEFT] > 1:
        beta = alpha + 1
    return alpha, beta


@kernel
def _accept_at_root(work: Work, score: int) -> bool:
    """Take a finished move's score into account at the root; returns whether it is the best so far."""
    node = work.nodes[0]
    action, best = node[ACTION], node[BEST_ACTION]
    valued = score if abs(score) >= DECIDED else score + work.bonus[action]
    ties = best >= 0 and work.rank[action] > work.rank[best]
    if valued < node[ALPHA] or (valued == node[ALPHA] and not ties):
        return False
    node[BEST], node[ALPHA], node[BEST_ACTION] = valued, valued, action
    work.state[RAW] = score
    return True


@kernel
def _reduce(work: Work, level: int, left: int) -> int:
    """Return by how many plies to cut short the move being tried at `level`, of `left` plies after it."""
    node = work.nodes[level]
    if not node[QUIET] or node[STAGE] != FIRST or node[THREAT] or left < 2 or node[TRIED] < 3:
        return 0
    cut = int(work.reductions[min(left, LATE - 1), min(node[TRIED], LATE - 1)])
    if node[BETA] - node[FLOOR] > 1 and cut > 0:
        cut -= 1
    return min(cut, left - 1)


@kernel
def search_position(
    t: Tables,
    e: Evaluation,
    pos: Position,
    work: Work,
    path: Path,
    table: np.ndarray,
    depth: int,
    low: int,
    high: int,
) -> bool:
    """Search a position to `depth` plies; the result is in row 0 of `work.nodes` and of `work.line`.

    Args:
        t: tables of the game.
        e: weights of the evaluation.
        pos: the root, in which the game is not over; restored only if the search is finished.
        work: settings, rank, bonus, GENERATION, LIMIT, the root's HINT and row of `static` are set; NODES counts on.
        path: history up to the root, made ready by `retrace`.
        table: the transposition table.
        depth: 1 to MAX_DEPTH.
        low, high: the window for the root, its moves' bonuses included.

    Returns:
        Whether the search is finished; after a stop the root's BEST_ACTION is the best of the moves searched so far
        whose score is above `low`, or -1.
    """
    settings = work.settings
    selective = settings[QUIESCENCE] > 0
    level = 0
    work.state[ROOT_DEPTH] = depth
    _begin(work, 0, depth, 0, low, high)
    open_node(t, e, pos, work, 0, 0)
    while True:
        node = work.nodes[level]
        if node[STAGE] != FIRST or (node[TRIED] < node[COUNT] and node[BEST] < node[BETA]):
            if node[STAGE] == FIRST:
                next_move(work, level)
                if (
                    settings[PRUNING]
                    and level > 0
                    and node[QUIET]
                    and 0 < node[LEFT] <= 3
                    and node[BEST] > -DECIDED
                    and not node[THREAT]
                    and node[TRIED] > settings[PRUNING] * node[LEFT] * node[LEFT]
                    and node[BETA] - node[FLOOR] == 1
                ):
                    node[TRIED] = node[COUNT]
                    continue
            if work.stop[0] or work.state[NODES] >= work.state[LIMIT]:
                return False
            alpha, beta = _window(work, level)
            work.state[NODES] += 1
            action = int(node[ACTION])
            reason = _make(t, e, pos, work, path, level, action)
            level += 1
            over, score, depends = judge_node(t, pos, path, level, reason)
            work.length[level] = 0
            left = int(node[LEFT]) - 1
            if not over:
                if left == 0 and not selective:
                    score = advantage(t, e, pos, work.static[level])
                elif level >= LEVELS - 1:
                    score = advantage(t, e, pos, work.static[level])
                elif WIN - level - 1 <= -beta:
                    # The game ends with the next move at the earliest.
                    score = WIN - level - 1
                elif immediate_win(t, pos) >= 0:
                    score = WIN - level - 1
                    work.line[level, 0] = immediate_win(t, pos)
                    work.length[level] = 1
                elif level + 2 - WIN >= -alpha and selective:
                    # Nobody who does not win at once can lose earlier than two plies from now.
                    score = level + 2 - WIN
                elif level + 1 - WIN >= -alpha:
                    score = level + 1 - WIN
                else:
                    threat = threats(t, pos) if selective else 0
                    if selective and node[LEFT] > 0:
                        if threat and settings[EXTENSIONS] and level < 2 * depth:
                            left += 1
                        elif not threat and settings[REDUCTIONS]:
                            node[CUT] = _reduce(work, level - 1, left)
                            left -= node[CUT]
                    _begin(work, level, left, threat, -beta, -alpha)
                    if left <= 0:
                        if open_quiescence(t, e, pos, work, level, left, threat):
                            continue
                        score = int(work.nodes[level, BEST])
                    else:
                        score = _look_up(t, pos, work, path, table, level, left, -beta, -alpha)
                        if score == INFINITE:
                            open_node(t, e, pos, work, level, threat)
                            continue
        else:
            if level == 0:
                return True
            _close(t, pos, work, table, level)
            score, depends = int(node[BEST]), int(node[DEPENDS])

        # The score of the child at `level` goes back to its parent.
        level -= 1
        node = work.nodes[level]
        score = -score
        unmake(t, pos, work.undo[level])
        action = int(node[ACTION])
        alpha, narrow_beta = _window(work, level)
        beta = int(node[BETA])
        if level == 0:
            beta -= work.bonus[action]
        if score > alpha and node[STAGE] == FIRST and node[CUT] > 0:
            node[STAGE] = UNCUT
            continue
        if alpha < score < beta and narrow_beta < beta:
            node[STAGE] = FULL
            continue
        node[STAGE] = FIRST
        node[DEPENDS] = min(int(node[DEPENDS]), depends)
        if level == 0:
            better = _accept_at_root(work, score)
        else:
            if score > node[BEST]:
                node[BEST] = score
                node[BEST_ACTION] = action
                if score >= beta:
                    node[DEPENDS] = depends  # this move alone proves it
            better = score > node[ALPHA]
            if better:
                node[ALPHA] = score
        if better:
            work.line[level, 0] = action
            for index in range(work.length[level + 1]):
                work.line[level, index + 1] = work.line[level + 1, index]
            work.length[level] = work.length[level + 1] + 1
