"""Properties of the kernels, in random games and random positions of both games, and against the plain slow reading."""

from __future__ import annotations

import numpy as np
import pytest
from board_symmetry import SYMMETRIES, turn_move, turn_position
from hypothesis import given
from hypothesis import strategies as st
from slow_rules import MIDDLE, SIZE, SlowGame, name, read

from env import RULES, Game, Move
from env.board import KING_CAPTURED, KING_ESCAPED, make, unmake
from env.encoding import (
    REACH_ATTACKERS,
    REACH_DEFENDERS,
    REACH_KING,
    REACH_KING_TWICE,
    action_symmetries,
    position_input,
    square_symmetries,
)
from env.moves import count_moves, has_move, immediate_win, is_legal, nth_move, write_moves
from env.notation import format_position, square_index, square_name
from env.position import ATTACKER, DEFENDER, KING, KING_SQUARE, Position, load, new_position
from env.tables import tables

games = pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
seeds = st.integers(0, 2**32 - 1)


def random_position(rules, rng: np.random.Generator) -> Game:
    """A game from a random position that may be loaded, crowded or nearly empty; sometimes with the king hemmed in."""
    size, middle = rules.size, MIDDLE[rules.name]
    board = np.zeros((size, size), np.int8)
    squares = [(file, rank) for file in range(1, size + 1) for rank in range(1, size + 1)]
    goals = [s for s in squares if (s[0] in (1, size) and s[1] in (1, size)) or (size == 11 and {1, size} & set(s))]
    near = [s for s in squares if abs(s[0] - middle[0]) + abs(s[1] - middle[1]) <= 1]
    homes = [s for s in squares if s not in goals]
    king = homes[rng.integers(len(homes))] if rng.random() < 0.6 else near[rng.integers(len(near))]
    barred = {king, middle} | (set(goals) if size == 7 else set())
    free = [s for s in squares if s not in barred]
    rng.shuffle(free)
    if rng.random() < 0.5:  # the king's neighbourhood first
        free.sort(key=lambda s: abs(s[0] - king[0]) + abs(s[1] - king[1]) + rng.random())
    count = int(rng.integers(1, max(3, int(len(free) * rng.choice([0.1, 0.3, 0.6])))))
    for file, rank in free[:count]:
        board[rank - 1, file - 1] = ATTACKER if rng.random() < 0.6 else DEFENDER
    board[king[1] - 1, king[0] - 1] = KING
    text = format_position(size, board)
    return Game.from_position(rules, text, ("attackers", "defenders")[rng.integers(2)])


def start(rules, rng: np.random.Generator) -> Game:
    if rng.random() < 0.5:
        return random_position(rules, rng)
    return Game(rules, list(rules.layouts)[rng.integers(len(rules.layouts))])


def choose(game: Game, rng: np.random.Generator, going_back: float) -> int:
    """A random legal action; with probability `going_back` one's last move back, so that positions repeat."""
    actions = game.legal_actions()
    if game.ply >= 2 and rng.random() < going_back:
        last = game.moves[-2]
        if (back := Move(last.target, last.origin)) in game.legal_moves():
            return game.action_of(back)
    return int(actions[rng.integers(len(actions))])


def snapshot(position: Position) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in position)


def wins_by_trying(game: Game) -> set[int]:
    """Actions that bring the king to his goal or take him, found by playing them all."""
    wins, t, undo = set(), tables(game.rules), np.zeros(8, np.int16)
    for action in game.legal_actions():
        if make(t, game.arrays, action, undo) in (KING_ESCAPED, KING_CAPTURED):
            wins.add(int(action))
        unmake(t, game.arrays, undo)
    return wins


@games
@given(seed=seeds)
def test_every_move_of_a_position_can_be_taken_back(rules, seed):
    rng = np.random.default_rng(seed)
    game = start(rules, rng)
    t, undo, before = tables(rules), np.zeros(8, np.int16), snapshot(game.arrays)
    for action in game.legal_actions():
        make(t, game.arrays, action, undo)
        unmake(t, game.arrays, undo)
        assert snapshot(game.arrays) == before


@games
@given(seed=seeds)
def test_a_game_keeps_what_is_derived_and_is_undone_to_its_start(rules, seed):
    rng = np.random.default_rng(seed)
    game, going_back = start(rules, rng), rng.choice([0.0, 0.5])
    t, trail = tables(rules), []
    fresh, history = new_position(rules), np.zeros(1, np.uint64)
    while game.outcome is None and game.ply < 80:
        trail.append((snapshot(game.arrays), game.position, game.occurrences(), game.captured))
        board = game.board
        captured = game.play_action(choose(game, rng, going_back))
        move = game.moves[-1]
        load(t, game.board, int(game.arrays.info[0]), fresh, history)
        assert fresh.key[0] == game.arrays.key[0] == game.history[game.ply]
        np.testing.assert_array_equal(fresh.lines, game.arrays.lines)
        assert fresh.info[KING_SQUARE] == game.arrays.info[KING_SQUARE]
        # What changed: the two squares of the move, and what was taken, next to where it ended.
        changed = {square_name(rules.size, int(s)) for s in np.flatnonzero(board != game.board)}
        assert changed == {move.origin, move.target, *captured}
        target = square_index(rules.size, move.target)
        assert {square_index(rules.size, s) for s in captured} <= set(t.neighbour[target].tolist()) - {-1}
    while trail:
        game.undo()
        assert (snapshot(game.arrays), game.position, game.occurrences(), game.captured) == trail.pop()
        assert game.outcome is None
    assert game.ply == 0


@games
@given(seed=seeds)
def test_legal_actions_are_those_that_is_legal_admits(rules, seed):
    game = random_position(rules, np.random.default_rng(seed))
    t, pos = tables(rules), game.arrays
    out = np.empty(rules.most_moves, np.int16)
    count = write_moves(t, pos, out)
    actions = out[:count].tolist()
    assert actions == sorted(set(actions))
    assert actions == [a for a in range(-3, rules.actions + 3) if is_legal(t, pos, a)]
    assert count_moves(t, pos) == count
    assert actions == [nth_move(t, pos, index) for index in range(count)]
    assert has_move(t, pos) == (count > 0)


@games
@given(seed=seeds)
def test_immediate_wins_are_found_where_there_are_any(rules, seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        game = random_position(rules, rng)
        wins = wins_by_trying(game)
        found = immediate_win(tables(rules), game.arrays)
        assert found in wins if wins else found == -1


@games
@given(seed=seeds)
def test_kernels_follow_the_slow_reading(rules, seed):
    rng = np.random.default_rng(seed)
    game, going_back = start(rules, rng), rng.choice([0.0, 0.5])
    slow = SlowGame(rules.name, game.position, game.to_play)
    for _ in range(40):
        assert {(move.origin, move.target) for move in game.legal_moves()} == slow.legal()
        assert (game.outcome and (game.outcome.winner, game.outcome.reason)) == slow.outcome
        assert game.to_play == slow.to_play
        assert game.outcome is not None or game.occurrences() == slow.seen.count(slow.seen[-1])
        if game.outcome is not None:
            break
        captured = game.play_action(choose(game, rng, going_back))
        assert captured == slow.play(game.moves[-1].origin, game.moves[-1].target)
        assert standing(game) == {name(s): p for s, p in slow.pieces.items()}


def standing(game: Game) -> dict[str, str]:
    return {square_name(game.rules.size, s): ".tTK"[code] for s, code in enumerate(game.board) if code}


@pytest.mark.slow
@games
def test_kernels_follow_the_slow_reading_in_many_games(rules):
    ends = set()
    for seed in range(400):
        rng = np.random.default_rng(seed)
        game, going_back = start(rules, rng), rng.choice([0.0, 0.5])
        slow = SlowGame(rules.name, game.position, game.to_play)
        while game.outcome is None and game.ply < 200:
            assert {(move.origin, move.target) for move in game.legal_moves()} == slow.legal()
            captured = game.play_action(choose(game, rng, going_back))
            assert captured == slow.play(game.moves[-1].origin, game.moves[-1].target)
        assert (game.outcome and (game.outcome.winner, game.outcome.reason)) == slow.outcome
        ends.add(slow.outcome)
    assert {outcome[1] for outcome in ends if outcome} == {"king_escaped", "king_captured", "no_moves", "repetition"}


@games
@given(seed=seeds, symmetry=st.sampled_from(SYMMETRIES))
def test_symmetry_commutes_with_play(rules, seed, symmetry):
    rng = np.random.default_rng(seed)
    game, going_back = start(rules, rng), rng.choice([0.0, 0.5])
    turned = Game.from_position(rules, turn_position(rules.name, game.position, symmetry), game.to_play)
    while game.outcome is None and game.ply < 30:
        game.play_action(choose(game, rng, going_back))
        turned.play(turn_move(rules.name, str(game.moves[-1]), symmetry))
        assert turned.position == turn_position(rules.name, game.position, symmetry)
        assert turned.outcome == game.outcome
        assert turned.occurrences() == game.occurrences()


@games
@given(seed=seeds, symmetry=st.sampled_from(SYMMETRIES))
def test_the_tables_of_symmetries_carry_boards_and_actions(rules, seed, symmetry):
    game = random_position(rules, np.random.default_rng(seed))
    squares, actions = square_symmetries(rules.size)[symmetry], action_symmetries(rules.size)[symmetry]
    board = np.zeros_like(game.board)
    board[squares] = game.board
    turned = Game.from_position(rules, format_position(rules.size, board), game.to_play)
    assert turned.legal_actions().tolist() == sorted(actions[game.legal_actions()].tolist())


def stops(rules, text: str, pieces: dict[str, str]) -> dict[str, set[str]]:
    """The squares where each kind of piece could come with one move, by the plain reading, whoever is to play."""
    reached: dict[str, set[str]] = {"t": set(), "T": set(), "K": set()}
    for side in ("attackers", "defenders"):
        for origin, target in SlowGame(rules.name, text, side).legal():
            reached[pieces[origin]].add(target)
    return reached


@games
@given(seed=seeds)
def test_a_network_is_told_which_pieces_can_come_to_each_empty_square(rules, seed):
    game = random_position(rules, np.random.default_rng(seed))
    text = game.position
    pieces = {name(square): piece for square, piece in read(text).items()}
    row, _ = position_input(tables(rules), game.arrays, game.history)
    reached = stops(rules, text, pieces)
    king = next(square for square, piece in pieces.items() if piece == "K")
    twice: set[str] = set()
    for stop in reached["K"]:
        board = game.board.copy()
        board[square_index(rules.size, king)], board[square_index(rules.size, stop)] = 0, KING
        moved = format_position(rules.size, board)
        twice |= stops(rules, moved, {name(square): piece for square, piece in read(moved).items()})["K"]
    twice -= reached["K"] | {king}
    told = {
        bit: {square_name(rules.size, square) for square in range(rules.cells) if row[square] & bit}
        for bit in (REACH_ATTACKERS, REACH_DEFENDERS, REACH_KING, REACH_KING_TWICE)
    }
    assert told[REACH_ATTACKERS] == reached["t"]
    assert told[REACH_DEFENDERS] == reached["T"]
    assert told[REACH_KING] == reached["K"]
    assert told[REACH_KING_TWICE] == twice


def test_there_are_eight_different_symmetries():
    for size in SIZE.values():
        assert len({tuple(row) for row in square_symmetries(size)}) == 8
