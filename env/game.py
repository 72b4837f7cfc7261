"""`Game`: one game for people's code, with its history and its end.

A thin layer over the kernels of `env.moves` and `env.board`; programs that play many games at once use those directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from env import board as kernels
from env.board import AGREEMENT, FORFEIT, NONE, REASONS, RESIGNATION
from env.encoding import action_number, action_squares
from env.illegal import IllegalMove, broken_rule, illegal_move
from env.moves import is_legal, write_moves
from env.notation import (
    PIECE_NAMES,
    Move,
    NotationError,
    board_text,
    format_position,
    parse_position,
    square_index,
    square_index_of,
    square_name,
    square_names,
)
from env.position import KING_SQUARE, PLY, TO_PLAY, Position, load, new_position
from env.rules import ATTACKERS, DEFENDERS, SIDES, Rules, get_rules
from env.tables import tables


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended: the winning side, None for a draw, and why.

    `reason` is one of king_escaped, king_captured, no_moves, repetition, agreement, resignation, forfeit.
    """

    winner: str | None
    reason: str


class _Played(NamedTuple):
    """One move that can be taken back."""

    action: int
    undo: np.ndarray  # int16 (8,), see env.board
    captured: tuple[str, ...]


class Game:
    """A game from its start to its end.

    Attributes:
        rules: the rules it is played by.
        layout: name of the start, None where it was loaded from a position.
        start: (position text, side to play) of ply 0.
        outcome: how it ended, None while it goes on.
    """

    def __init__(self, rules: Rules | str, layout: str | None = None) -> None:
        """Set up a layout of a game, the first one unless named.

        Raises:
            ValueError: unknown game or layout; the message lists those there are.
        """
        rules = get_rules(rules)
        layout = rules.default_layout if layout is None else layout
        if not isinstance(layout, str) or layout not in rules.layouts:
            raise ValueError(f"{rules.title} has no layout {layout!r}; there are: {', '.join(rules.layouts)}")
        self._load(rules, layout, rules.layouts[layout], rules.first)

    @classmethod
    def from_position(cls, rules: Rules | str, position: str, to_play: str) -> Game:
        """Set up a position; it is its own first occurrence, and a side without a move in it is judged at once.

        Args:
            rules: the game, or its name.
            position: ranks from the top (see `env.notation`).
            to_play: "attackers" or "defenders".

        Raises:
            NotationError: the position cannot be read, or cannot be.
            ValueError: unknown game or side.
        """
        game = cls.__new__(cls)
        game._load(get_rules(rules), None, position, to_play)
        return game

    def _load(self, rules: Rules, layout: str | None, position: str, to_play: str) -> None:
        side = _side(to_play)
        if not isinstance(position, str):
            raise TypeError(f"position is {position!r}: a text, ranks from the top, is needed")
        board = parse_position(rules, position)
        self.rules = rules
        self.layout = layout
        self.start = (format_position(rules.size, board), to_play)
        self.outcome: Outcome | None = None
        self._tables = tables(rules)
        self._position = new_position(rules)
        self._history = np.zeros(64, np.uint64)
        self._played: list[_Played] = []
        self._draw_offered = False
        load(self._tables, board, side, self._position, self._history)
        self._conclude(kernels.judge(self._tables, self._position, self._history))

    # What there is to see

    @property
    def arrays(self) -> Position:
        """The live arrays of the position, for kernels; not to be written."""
        return self._position

    @property
    def history(self) -> np.ndarray:
        """uint64 (capacity,), capacity > `ply`: history[p] is the key of the position at ply p; not to be written."""
        return self._history

    @property
    def board(self) -> np.ndarray:
        """int8 (size**2,), piece codes by square index (see `env.position`); a copy."""
        return self._position.board.copy()

    @property
    def position(self) -> str:
        """The position as text, ranks from the top."""
        return format_position(self.rules.size, self._position.board)

    @property
    def to_play(self) -> str:
        """The side to play, "attackers" or "defenders"; once the game is over, the side that would play."""
        return SIDES[self._position.info[TO_PLAY]]

    @property
    def ply(self) -> int:
        """Moves made since the start or the loaded position."""
        return int(self._position.info[PLY])

    @property
    def moves(self) -> list[Move]:
        """The moves made since then."""
        return [self.move_of(played.action) for played in self._played]

    @property
    def actions(self) -> list[int]:
        """The action numbers of those moves."""
        return [played.action for played in self._played]

    @property
    def captured(self) -> list[str]:
        """Squares that the last move took, sorted; the king is not among them."""
        return list(self._played[-1].captured) if self._played else []

    @property
    def draw_offered(self) -> bool:
        """Whether the side that has just moved offers a draw."""
        return self._draw_offered

    @property
    def king(self) -> str:
        """Square of the king; he stays on it when he is taken."""
        return square_name(self.rules.size, int(self._position.info[KING_SQUARE]))

    def occurrences(self) -> int:
        """Return how often the present position has come about, this time included."""
        return int(kernels.occurrences(self._position, self._history))

    def piece(self, square: str) -> str | None:
        """Return what stands on a square: "attacker", "defender", "king" or None.

        Raises:
            NotationError: no such square.
        """
        code = int(self._position.board[square_index(self.rules.size, square)])
        return PIECE_NAMES[code] if code else None

    def __str__(self) -> str:
        end = self.outcome
        state = f"{self.to_play} to play" if end is None else f"{end.winner or 'nobody'} won: {end.reason}"
        return f"{board_text(self.rules.size, self._position.board)}\n{state}"

    def __repr__(self) -> str:
        state = f"{self.to_play} to play" if self.outcome is None else str(self.outcome)
        return f"<Game {self.rules.name} {self.position} ply {self.ply}, {state}>"

    # Moves

    def legal_actions(self) -> np.ndarray:
        """Return the legal action numbers (see `env.encoding`), int16 (K,), ascending; none once the game is over."""
        out = np.empty(self.rules.most_moves, np.int16)
        if self.outcome is not None:
            return out[:0]
        return out[: write_moves(self._tables, self._position, out)]

    def legal_moves(self) -> list[Move]:
        """Return the legal moves in the order of their action numbers; none once the game is over."""
        return [self.move_of(action) for action in self.legal_actions()]

    def move_of(self, action: int) -> Move:
        """Return the move that an action number, of this board's size, stands for."""
        size = self.rules.size
        origin, target = action_squares(self.rules, int(action))
        return Move(square_name(size, origin), square_name(size, target))

    def action_of(self, move: Move | str) -> int:
        """Return the action number of a legal move.

        Raises:
            NotationError: not a move on this board.
            IllegalMove: the rules forbid it.
        """
        if isinstance(move, str):
            move = Move.parse(move)
        elif not isinstance(move, Move):
            raise TypeError(f"move is {move!r}: a Move or a text such as 'd1-c1' is needed")
        text, size = str(move), self.rules.size
        for name, at in ((move.origin, 0), (move.target, len(move.origin) + 1)):
            try:
                square_index(size, name)
            except NotationError as error:
                raise NotationError(error.problem, text, at + error.column - 1) from None
        origin, target = square_index_of(move.origin, size), square_index_of(move.target, size)
        if self.outcome is not None:
            raise IllegalMove(move, self._over(), [], "")
        problem = broken_rule(self.rules, self._position, origin, target)
        if problem:
            raise illegal_move(self._position, move, origin, problem, self.legal_moves())
        return action_number(self.rules, origin, target)

    def play(self, move: Move | str) -> list[str]:
        """Play a move and return the squares of the soldiers it took, sorted.

        Raises:
            NotationError: the text is no move on this board.
            IllegalMove: the rules forbid it; the game is as it was.
        """
        return self._play(self.action_of(move))

    def play_action(self, action: int) -> list[str]:
        """Play a move by its action number; otherwise as `play`.

        Raises:
            IllegalMove: the rules forbid it.
            ValueError: the number leaves the board.
        """
        action = int(action)
        if not 0 <= action < self.rules.actions:
            raise ValueError(f"action {action}: {self.rules.title} has actions 0 to {self.rules.actions - 1}")
        if self.outcome is not None or not is_legal(self._tables, self._position, action):
            self.action_of(self.move_of(action))  # raises, and says why
        return self._play(action)

    def _play(self, action: int) -> list[str]:
        if self.ply + 1 == len(self._history):
            self._history = np.concatenate([self._history, np.zeros_like(self._history)])
        undo = np.zeros(8, np.int16)
        reason = kernels.play(self._tables, self._position, self._history, action, undo)
        captured = square_names(self.rules.size, undo[3 : 3 + undo[2]])
        self._played.append(_Played(action, undo, tuple(captured)))
        self._draw_offered = False
        self._conclude(reason)
        return captured

    def _conclude(self, reason: int) -> None:
        """End the game for a reason found on the board; NONE lets it go on."""
        if reason != NONE:
            mover = ATTACKERS if self._position.info[TO_PLAY] == DEFENDERS else DEFENDERS
            won = kernels.winner(self._tables, reason, mover)
            self.outcome = Outcome((None, SIDES[ATTACKERS], SIDES[DEFENDERS])[won], REASONS[reason])

    def undo(self) -> None:
        """Take back the last thing that happened: an ending by word (resignation, agreement, forfeit), else a move.

        A standing draw offer lapses either way.

        Raises:
            ValueError: nothing has happened since the start.
        """
        self._draw_offered = False
        if self.outcome is not None and self.outcome.reason in (
            REASONS[RESIGNATION],
            REASONS[AGREEMENT],
            REASONS[FORFEIT],
        ):
            self.outcome = None
            return
        if not self._played:
            raise ValueError("there is no move to take back")
        kernels.unmake(self._tables, self._position, self._played.pop().undo)
        self.outcome = None

    def copy(self) -> Game:
        """Return an independent copy, history and undo included."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._position = self._position.copy()
        other._history = self._history.copy()
        other._played = self._played.copy()
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> Game:
        return self.copy()

    # Endings by word

    def resign(self, side: str) -> None:
        """End the game: `side` gives up, the other side wins.

        Raises:
            ValueError: unknown side, or the game is over.
        """
        self._lose(side, RESIGNATION)

    def forfeit(self, side: str) -> None:
        """End the game: `side` loses for a fault outside the rules, such as an illegal move or a lost clock.

        Raises:
            ValueError: unknown side, or the game is over.
        """
        self._lose(side, FORFEIT)

    def _lose(self, side: str, reason: int) -> None:
        loser = _side(side)
        self._require_going_on()
        self._draw_offered = False
        self.outcome = Outcome(SIDES[1 - loser], REASONS[reason])

    def offer_draw(self) -> None:
        """Offer a draw in the name of the side that has just moved; it stands until the other moves or `undo`.

        Raises:
            ValueError: the rules know no agreement, no move has been made, or the game is over.
        """
        self._require_agreement()
        if not self._played:
            raise ValueError("nobody has moved yet; a draw is offered by the side that has just moved")
        self._draw_offered = True

    def accept_draw(self) -> None:
        """Accept, in the name of the side to play, the draw that the other side offers.

        Raises:
            ValueError: the rules know no agreement, there is no offer, or the game is over.
        """
        self._require_agreement()
        if not self._draw_offered:
            raise ValueError("there is no draw offer to accept")
        self._draw_offered = False
        self.outcome = Outcome(None, REASONS[AGREEMENT])

    def _require_agreement(self) -> None:
        if not self.rules.agreement:
            raise ValueError(f"the rules of {self.rules.title} know no draw by agreement")
        self._require_going_on()

    def _require_going_on(self) -> None:
        if self.outcome is not None:
            raise ValueError(self._over())

    def _over(self) -> str:
        assert self.outcome is not None
        winner = f"{self.outcome.winner} won" if self.outcome.winner else "draw"
        return f"the game is over ({winner}: {self.outcome.reason})"


def _side(name: str) -> int:
    if not isinstance(name, str) or name not in SIDES:
        raise ValueError(f"no side is called {name!r}; there are: {', '.join(SIDES)}")
    return SIDES.index(name)
