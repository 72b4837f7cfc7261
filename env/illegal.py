"""What is wrong with a move, in words: the rule that it breaks, and what may be played instead."""

from __future__ import annotations

from env.notation import PIECE_NAMES, Move, square_name
from env.position import ATTACKER, EMPTY, KING, TO_PLAY, Position
from env.rules import ATTACKERS, SIDES, Rules


class IllegalMove(ValueError):
    """A move that the rules forbid. The message names the rule and lists what may be played instead.

    Attributes:
        move: the move that was tried.
        problem: the rule that it breaks, one sentence.
        legal_moves: what the piece may do; where the side to play has no piece there, all that it may do.
    """

    def __init__(self, move: Move, problem: str, legal_moves: list[Move], instead: str) -> None:
        self.move = move
        self.problem = problem
        self.legal_moves = legal_moves
        self._instead = instead
        super().__init__(f"{move} is illegal: {problem}{instead}")

    def __reduce__(self) -> tuple[type[IllegalMove], tuple[Move, str, list[Move], str]]:
        return type(self), (self.move, self.problem, self.legal_moves, self._instead)


def broken_rule(rules: Rules, position: Position, origin: int, target: int) -> str:
    """Return which rule a move between two squares of the board breaks, or the empty text."""
    size, board, to_play = rules.size, position.board, position.info[TO_PLAY]
    piece = int(board[origin])
    origin_name, target_name = square_name(size, origin), square_name(size, target)
    if piece == EMPTY:
        return f"there is no piece on {origin_name}"
    if (piece == ATTACKER) != (to_play == ATTACKERS):
        return f"not your piece: the {PIECE_NAMES[piece]} on {origin_name}; {SIDES[to_play]} are to play"
    if origin == target:
        return "a move ends on another square than it begins on"
    ranks, files = target // size - origin // size, target % size - origin % size
    if ranks and files:
        return f"{target_name} is not on a line with {origin_name}; pieces move along ranks and files"
    step = (size if ranks > 0 else -size) if ranks else (1 if files > 0 else -1)
    for square in range(origin + step, target + step, step):
        if board[square] != EMPTY:
            return f"blocked by the {PIECE_NAMES[board[square]]} on {square_name(size, square)}"
    if target_name in rules.closed:
        return f"restricted square: nobody may stop on {target_name}"
    if piece != KING and target_name in rules.king_only:
        return f"restricted square: only the king may stop on {target_name}"
    return ""


def illegal_move(position: Position, move: Move, origin: int, problem: str, legal: list[Move]) -> IllegalMove:
    """Return the error for a move from `origin`, a square index, that breaks the rule `problem`.

    `legal` is all that the side to play may do.
    """
    piece, to_play = position.board[origin], position.info[TO_PLAY]
    if piece == EMPTY or (piece == ATTACKER) != (to_play == ATTACKERS):
        origins = ", ".join(dict.fromkeys(other.origin for other in legal))
        return IllegalMove(move, problem, legal, f"; the {SIDES[to_play]} may move from {origins}")
    legal = [other for other in legal if other.origin == move.origin]
    may = f"may play {', '.join(map(str, legal))}" if legal else "has no legal move"
    return IllegalMove(move, problem, legal, f"; the {PIECE_NAMES[piece]} on {move.origin} {may}")
