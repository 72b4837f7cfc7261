"""Which moves a node of `alphabeta-v2` tries, and in which order."""

from __future__ import annotations

from env.jit import kernel
from env.moves import write_moves
from env.position import KING, PLY, REVERSIBLE, TO_PLAY, Position
from env.rules import ATTACKERS, DEFENDERS
from env.tables import Tables
from search.alphabeta_kernels import WIN, bring_forward
from search.evaluation import lookout
from search.v2.candidates import find_captures, find_closing_in, write_answers, write_king_moves, write_landings
from search.v2.evaluation import Evaluation, advantage
from search.v2.work import (
    ACTION,
    ALPHA,
    ANSWERS,
    BEST,
    BETA,
    CLOSING,
    COUNT,
    CUT,
    HINT,
    LEVELS,
    QUIESCENCE,
    QUIET,
    REPLIES,
    ROADS,
    TRIED,
    Work,
)

# Ranges of `Work.order`: quiet moves by success lie below QUIET_END.
QUIET_END = 1 << 24
REPLY_RANK, KILLER_RANK, CAPTURE_RANK, HINT_RANK = 1 << 26, 1 << 27, 1 << 28, 1 << 30


@kernel
def open_node(t: Tables, e: Evaluation, pos: Position, work: Work, level: int, threat: int) -> None:
    """List a node's moves and how promising they are; HINT is set already."""
    node, settings = work.nodes[level], work.settings
    side, n = int(pos.info[TO_PLAY]), t.size
    moves, order = work.moves[level], work.order[level]
    captures = find_captures(t, e, pos, work.captures)
    sound = t.repetition_result != 0 or pos.info[PLY] - pos.info[REVERSIBLE] < 3
    if threat > 0 and settings[ANSWERS] and sound and level > 0:
        count = write_answers(t, e, pos, work.captures, work.landing, moves)
        node[BEST] = level + 2 - WIN  # what every other move comes to
    else:
        count = write_moves(t, pos, moves)
    node[COUNT] = count
    hint, first, second = node[HINT], work.killers[level, 0], work.killers[level, 1]
    reply = -1
    if level > 0:
        reply = work.replies[side, work.nodes[level - 1, ACTION]]
    for index in range(count):
        action = moves[index]
        target = t.target[action]
        if action == hint:
            order[index] = HINT_RANK
        elif captures and work.captures[target // n] >> (target % n) & 1:
            order[index] = CAPTURE_RANK + work.success[side, action]
        elif action == first:
            order[index] = KILLER_RANK + 1
        elif action == second:
            order[index] = KILLER_RANK
        elif action == reply:
            order[index] = REPLY_RANK
        else:
            order[index] = work.success[side, action]
            if side == DEFENDERS and pos.board[action // (4 * (n - 1))] == KING:
                direction = action // (n - 1) % 4
                if lookout(t, pos, target, 1 - direction % 2) > 0:
                    order[index] = REPLY_RANK + 1


@kernel
def open_quiescence(t: Tables, e: Evaluation, pos: Position, work: Work, level: int, left: int, threat: int) -> bool:
    """List the moves of a node beyond the depth; window, BEST and so on are set already.

    Returns False where there is nothing to search; BEST is the score then.
    """
    node, settings = work.nodes[level], work.settings
    moves, order = work.moves[level], work.order[level]
    side = int(pos.info[TO_PLAY])
    further = level < LEVELS - 2 and -left < settings[QUIESCENCE]
    sound = t.repetition_result != 0 or pos.info[PLY] - pos.info[REVERSIBLE] < 3
    if threat > 0 and further and sound and -left < settings[REPLIES]:
        find_captures(t, e, pos, work.captures)
        count = write_answers(t, e, pos, work.captures, work.landing, moves)
        node[BEST] = level + 2 - WIN
    else:
        stand = advantage(t, e, pos, work.static[level])
        node[BEST] = stand
        if stand >= node[BETA] or not further:
            return False
        if stand > node[ALPHA]:
            node[ALPHA] = stand
        count = 0
        if find_captures(t, e, pos, work.captures):
            count = write_landings(t, pos, work.captures, True, moves, 0)
        if side == DEFENDERS and -left < settings[ROADS]:
            count = write_king_moves(t, pos, True, moves, count)
        if side == ATTACKERS and -left < settings[CLOSING] and find_closing_in(t, pos, work.landing):
            count = write_landings(t, pos, work.landing, False, moves, count)
    node[COUNT] = count
    for index in range(count):
        order[index] = work.success[side, moves[index]]
    return count > 0


@kernel
def next_move(work: Work, level: int) -> None:
    """Take up the most promising action not yet tried, and count it as tried."""
    node, moves, order = work.nodes[level], work.moves[level], work.order[level]
    at = int(node[TRIED])
    bring_forward(moves, order, at, node[COUNT])
    node[TRIED] = at + 1
    node[ACTION] = moves[at]
    node[QUIET] = 1 if order[at] < QUIET_END else 0
    node[CUT] = 0
