"""Positions for tests of the search: few pieces, and a past that may come about again."""

from __future__ import annotations

import numpy as np

from env import RULES, Game
from env.notation import format_position
from env.position import ATTACKER, DEFENDER, KING
from env.rules import SIDES
from env.tables import tables


def wander(game: Game, plies: int, shuffle: float, rng: np.random.Generator) -> Game:
    """Return a game after random moves; with probability `shuffle` a move takes back the side's last one.

    It ends earlier where the next move would end the game.
    """
    for _ in range(plies):
        moves = game.legal_moves()
        if len(game.moves) > 1 and rng.random() < shuffle:
            last = game.moves[-2]
            moves = [move for move in moves if (move.origin, move.target) == (last.target, last.origin)] or moves
        after = game.copy()
        after.play(moves[int(rng.integers(len(moves)))])
        if after.outcome is not None:
            break
        game = after
    return game


def ending(name: str, rng: np.random.Generator) -> Game:
    """Return a game of few pieces after up to eleven plies of shuffling; in half of them the king has no free line."""
    rules, t = RULES[name], tables(RULES[name])
    free = t.may_stop[0] & (1 - t.goal)
    squares = np.flatnonzero(free)
    while True:
        board = np.zeros(rules.cells, np.int8)
        attackers, defenders = int(rng.integers(1, rules.size)), int(rng.integers(2))
        king, *others = rng.permutation(squares)[: attackers + defenders + 1]
        board[king], board[others] = 3, [1] * attackers + [2] * defenders
        if rng.random() < 0.5:
            for direction in range(4):
                line, square = [], t.neighbour[king, direction]
                while square >= 0 and free[square]:
                    line.append(square)
                    square = t.neighbour[square, direction]
                if line:
                    board[rng.choice(line)] = 1
        game = Game.from_position(rules, format_position(rules.size, board), SIDES[int(rng.integers(2))])
        if game.outcome is None:
            return wander(game, int(rng.integers(12)), 0.9, rng)


def shuffle(game: Game, plies: int, undoing: float, rng: np.random.Generator) -> Game:
    """Play random moves; with probability `undoing` a side takes back its last move, so that positions come again."""
    for _ in range(plies):
        if game.outcome is not None:
            break
        moves = game.legal_moves()
        if len(game.moves) > 1 and rng.random() < undoing:
            last = game.moves[-2]
            moves = [move for move in moves if (move.origin, move.target) == (last.target, last.origin)] or moves
        game.play(moves[int(rng.integers(len(moves)))])
    return game


def full_board(name: str, rng: np.random.Generator) -> Game:
    """A game that is going on, from one of the starts."""
    layouts = list(RULES[name].layouts)
    while True:
        game = Game(name, layouts[int(rng.integers(len(layouts)))])
        if shuffle(game, int(rng.integers(60)), 0.5, rng).outcome is None:
            return game


def few_pieces(name: str, rng: np.random.Generator) -> Game:
    """A game that is going on, of a king, up to two defenders and up to three attackers, much shuffled."""
    rules = RULES[name]
    free = np.flatnonzero(tables(rules).may_stop[0] & (1 - tables(rules).goal))
    while True:
        pieces = [KING] + [ATTACKER] * int(rng.integers(1, 4)) + [DEFENDER] * int(rng.integers(3))
        board = np.zeros(rules.cells, np.int8)
        board[rng.permutation(free)[: len(pieces)]] = pieces
        side = ("attackers", "defenders")[int(rng.integers(2))]
        game = Game.from_position(rules, format_position(rules.size, board), side)
        if shuffle(game, int(rng.integers(12)), 0.8, rng).outcome is None:
            return game
