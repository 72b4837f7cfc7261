"""The rules once more, read plainly and slowly, for the tests to hold the kernels against.

Squares are pairs (file, rank) from 1, a board is a dict of the pieces on it, and nothing of `env` is used. Where the
games differ, the rule is written out for each.
"""

from __future__ import annotations

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
MIDDLE = {"brandubh": (4, 4), "tawlbwrdd": (6, 6)}
SIZE = {"brandubh": 7, "tawlbwrdd": 11}
ATTACKER, DEFENDER, KING = "t", "T", "K"

Square = tuple[int, int]


def name(square: Square) -> str:
    return "abcdefghijk"[square[0] - 1] + str(square[1])


def square_of(text: str) -> Square:
    return "abcdefghijk".index(text[0]) + 1, int(text[1:])


def read(text: str) -> dict[Square, str]:
    """Pieces of a position whose last rank comes first."""
    rows = text.strip("/").split("/")
    pieces = {}
    for rank, row in zip(range(len(rows), 0, -1), rows):
        file, digits = 1, ""
        for sign in row + " ":
            if sign.isdigit():
                digits += sign
                continue
            file += int(digits or 0)
            digits = ""
            if sign != " ":
                pieces[file, rank] = sign
                file += 1
    return pieces


class SlowGame:
    """A game by the plain reading: `legal()`, `play(origin, target)`, `outcome` as (winner, reason) or None."""

    def __init__(self, game: str, position: str, to_play: str) -> None:
        self.game = game
        self.size = SIZE[game]
        self.pieces = read(position)
        self.to_play = to_play
        self.outcome: tuple[str | None, str] | None = None
        self.seen: list[tuple[frozenset[tuple[Square, str]], str]] = []
        self._come_about(last_mover=self._other(to_play))

    @staticmethod
    def _other(side: str) -> str:
        return {"attackers": "defenders", "defenders": "attackers"}[side]

    @staticmethod
    def _side(piece: str) -> str:
        return "attackers" if piece == ATTACKER else "defenders"

    def _on_board(self, square: Square) -> bool:
        return 1 <= square[0] <= self.size and 1 <= square[1] <= self.size

    def _corner(self, square: Square) -> bool:
        return square[0] in (1, self.size) and square[1] in (1, self.size)

    def _edge(self, square: Square) -> bool:
        return 1 in square or self.size in square

    def _may_stop(self, piece: str, square: Square) -> bool:
        if self.game == "brandubh":
            return piece == KING or not (self._corner(square) or square == MIDDLE[self.game])
        return square != MIDDLE[self.game]

    def legal(self) -> set[tuple[str, str]]:
        if self.outcome:
            return set()
        moves = set()
        for (file, rank), piece in self.pieces.items():
            if self._side(piece) != self.to_play:
                continue
            for right, up in STEPS:
                target = (file + right, rank + up)
                while self._on_board(target) and target not in self.pieces:
                    if self._may_stop(piece, target):
                        moves.add((name((file, rank)), name(target)))
                    target = (target[0] + right, target[1] + up)
        return moves

    def _hostile_to_soldiers(self, square: Square) -> bool:
        empty_middle = square == MIDDLE[self.game] and square not in self.pieces
        return empty_middle or (self.game == "brandubh" and self._corner(square))

    def _taken(self, victim: Square, mover: Square) -> bool:
        """Whether the piece that has just come to `mover` takes the enemy soldier beside it."""
        across = (2 * victim[0] - mover[0], 2 * victim[1] - mover[1])
        if not self._on_board(across):
            return False
        if across in self.pieces and self._side(self.pieces[across]) != self._side(self.pieces[victim]):
            return True
        return self._hostile_to_soldiers(across)

    def _king_taken(self, king: Square, mover: Square) -> bool:
        """Whether the attacker that has just come to `mover` takes the king beside it."""
        neighbours = [(king[0] + right, king[1] + up) for right, up in STEPS]
        attackers = [square for square in neighbours if self.pieces.get(square) == ATTACKER]
        middle = MIDDLE[self.game]
        if king == middle:
            return len(attackers) == 4
        if self.game == "tawlbwrdd" and middle in neighbours:
            return len(attackers) == 3
        across = (2 * king[0] - mover[0], 2 * king[1] - mover[1])
        return across in attackers or (self.game == "brandubh" and self._on_board(across) and self._corner(across))

    def play(self, origin: str, target: str) -> list[str]:
        start, stop = square_of(origin), square_of(target)
        mover = self.to_play
        piece = self.pieces.pop(start)
        self.pieces[stop] = piece
        beside = [(stop[0] + right, stop[1] + up) for right, up in STEPS]
        enemies = [s for s in beside if s in self.pieces and self._side(self.pieces[s]) != mover]
        captured = [s for s in enemies if self.pieces[s] != KING and self._taken(s, stop)]
        king_taken = any(self.pieces[s] == KING and self._king_taken(s, stop) for s in enemies)
        for square in captured:
            del self.pieces[square]
        self.to_play = self._other(mover)
        if piece == KING and (self._corner(stop) if self.game == "brandubh" else self._edge(stop)):
            self.outcome = ("defenders", "king_escaped")
        elif king_taken:
            self.outcome = ("attackers", "king_captured")
        else:
            self._come_about(last_mover=mover)
        return sorted(map(name, captured))

    def _come_about(self, last_mover: str) -> None:
        position = (frozenset(self.pieces.items()), self.to_play)
        self.seen.append(position)
        times = self.seen.count(position)
        if self.game == "brandubh" and times == 3:
            self.outcome = (self._other(last_mover), "repetition")
        elif self.game == "tawlbwrdd" and times == 2:
            self.outcome = (None, "repetition")
        elif not self.legal():
            self.outcome = (last_mover if self.game == "brandubh" else None, "no_moves")
