"""The static evaluation of `alphabeta-v1`: material, the king's roads to the goal, the king's safety.

Everything is read off `env.tables.Tables`, so that it holds for any game; docs/alphabeta-v1.md says what the features
are and where the weights come from. Frozen together with the player.
"""

from __future__ import annotations

import numpy as np

from env.jit import kernel
from env.notation import parse_position
from env.position import ATTACKER, DEFENDER, EMPTY, KING_SQUARE, TO_PLAY, Position
from env.rules import DEFENDERS, Rules
from env.tables import KING_KIND, SOLDIER, Tables

# Places in the array of weights.
ATTACKER_VALUE, DEFENDER_VALUE, OPEN_ROAD, ROAD, FORK, APPROACH, MOBILITY, CAPTOR, PINCH = range(9)

UNIT = 100  # what an attacker is worth


def evaluation_weights(rules: Rules) -> np.ndarray:
    """Return the weights, int32 (9,), in hundredths of an attacker.

    A defender is worth as many attackers as there are attackers to each defender in the game's default layout.
    """
    board = parse_position(rules, rules.layouts[rules.default_layout])
    attackers, defenders = int((board == ATTACKER).sum()), int((board == DEFENDER).sum())
    weights = np.zeros(9, np.int32)
    weights[ATTACKER_VALUE] = UNIT
    weights[DEFENDER_VALUE] = UNIT * attackers // max(1, defenders)
    weights[OPEN_ROAD] = 2000
    weights[ROAD] = 60
    weights[FORK] = 1000
    weights[APPROACH] = 20
    weights[MOBILITY] = 4
    weights[CAPTOR] = 25
    weights[PINCH] = 25
    return weights


@kernel
def lookout(t: Tables, pos: Position, square: int, sideways: int) -> int:
    """Return the goal squares that the king would reach from `square` along its file (`sideways` 0) or rank (1)."""
    n = t.size
    rank, file = square // n, square % n
    if sideways:
        return t.goals[t.goal_kind[rank], pos.lines[rank] | pos.lines[n + rank], file]
    return t.goals[t.goal_kind[n + file], pos.lines[2 * n + file], rank]


@kernel
def evaluate(t: Tables, weights: np.ndarray, pos: Position, soldiers: np.ndarray) -> int:
    """Return how much better the attackers stand, in hundredths of an attacker, whoever is to play.

    Args:
        t: tables of the game.
        weights: int32 (9,), see `evaluation_weights`.
        pos: a position in which the game is not over.
        soldiers: int32 (2,), attackers and defenders (without the king) on the board.
    """
    king = int(pos.info[KING_SQUARE])
    score = weights[ATTACKER_VALUE] * soldiers[0] - weights[DEFENDER_VALUE] * soldiers[1]

    roads = lookout(t, pos, king, 0) + lookout(t, pos, king, 1)
    if roads > 0:
        if pos.info[TO_PLAY] == DEFENDERS:
            score -= weights[OPEN_ROAD]
        elif roads == 1:
            score -= weights[ROAD]
        else:
            score -= weights[FORK]

    mobility = approaches = captors = pinches = 0
    for direction in range(4):
        beside = t.neighbour[king, direction]
        square = int(beside)
        while square >= 0 and pos.board[square] == EMPTY:
            if t.may_stop[KING_KIND, square]:
                mobility += 1
                # North and south (even) leave a file, so the new road is along a rank.
                if lookout(t, pos, square, 1 - direction % 2) > 0:
                    approaches += 1
            square = int(t.neighbour[square, direction])
        if beside >= 0 and pos.board[beside] == ATTACKER:
            captors += 1
            if not t.king_surrounded[king]:
                across = t.neighbour[king, (direction + 2) % 4]
                if across >= 0 and pos.board[across] == EMPTY and t.may_stop[SOLDIER, across]:
                    pinches += 1
    score -= weights[APPROACH] * approaches + weights[MOBILITY] * mobility
    score += weights[CAPTOR] * captors + weights[PINCH] * pinches
    return score


@kernel
def count_soldiers(pos: Position, soldiers: np.ndarray) -> None:
    """Write the attackers and the defenders (without the king) on the board to `soldiers`, int32 (2,)."""
    soldiers[0] = soldiers[1] = 0
    for piece in pos.board:
        if piece == ATTACKER:
            soldiers[0] += 1
        elif piece == DEFENDER:
            soldiers[1] += 1
