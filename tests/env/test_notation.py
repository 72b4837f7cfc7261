"""Squares, moves and positions as text."""

from __future__ import annotations

import numpy as np
import pytest
from board_symmetry import turn_position
from hypothesis import given
from hypothesis import strategies as st

from env import RULES, Game, Move, NotationError
from env.notation import format_position, parse_position, square_index, square_name, square_names

LOPSIDED = "/1t5/7/5K1/7/2T4/7/3t3/"


@pytest.mark.parametrize("size", [7, 11])
def test_squares_have_one_name_each(size):
    names = [square_name(size, square) for square in range(size * size)]
    assert [square_index(size, name) for name in names] == list(range(size * size))
    assert names[0] == "a1"
    assert names[size - 1] == "abcdefghijk"[size - 1] + "1"
    assert names[-1] == "abcdefghijk"[size - 1] + str(size)


@pytest.mark.parametrize("name", ["", "a", "4d", "h1", "a8", "a0", "a01", "d4 ", "D4", "dd4", "a１"])
def test_names_of_no_square_are_refused(name):
    with pytest.raises(NotationError):
        square_index(7, name)


@pytest.mark.parametrize("square", [-1, 49])
def test_indices_of_no_square_are_refused(square):
    with pytest.raises(ValueError, match="0 to 48"):
        square_name(7, square)


def test_square_names_are_sorted_as_text():
    assert square_names(11, [110, 0, 1, 10 * 11 + 1]) == ["a1", "a11", "b1", "b11"]


@given(st.integers(0, 120), st.integers(0, 120))
def test_moves_round_trip(origin, target):
    move = Move(square_name(11, origin), square_name(11, target))
    assert Move.parse(str(move)) == move


def test_moves_are_values():
    assert Move.parse("d1-c1") == Move("d1", "c1")
    assert len({Move.parse("d1-c1"), Move("d1", "c1"), Move("c1", "d1")}) == 2


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("d", 2), ("d1", 3), ("d1-", 4), ("d1-c", 5), ("d1–c1", 3), ("-d1", 1), ("d1-c1-b1", 6)],
)
def test_a_move_points_at_what_is_wrong(text, column):
    with pytest.raises(NotationError) as raised:
        Move.parse(text)
    assert (raised.value.line, raised.value.column) == (1, column)


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@given(seed=st.integers(0, 2**32 - 1))
def test_positions_round_trip(rules, seed):
    rng = np.random.default_rng(seed)
    inner = rules.size - 2
    board = np.zeros((rules.size, rules.size), np.int8)
    board[1:-1, 1:-1] = rng.choice(3, (inner, inner), p=[0.6, 0.2, 0.2])
    board[rules.size // 2, rules.size // 2] = 3
    board = board.reshape(-1)
    text = format_position(rules.size, board)
    np.testing.assert_array_equal(parse_position(rules, text), board)
    reverse = format_position(rules.size, board, rank_one_first=True)
    np.testing.assert_array_equal(parse_position(rules, reverse, rank_one_first=True), board)
    assert reverse == turn_position(rules.name, text, 2)
    assert Game.from_position(rules, text, "attackers").position == text


def test_the_last_rank_is_written_first():
    board = parse_position(RULES["brandubh"], LOPSIDED)
    assert board[square_index(7, "b7")] == 1
    assert board[square_index(7, "f5")] == 3
    assert board[square_index(7, "c3")] == 2
    assert board[square_index(7, "d1")] == 1
    assert np.count_nonzero(board) == 4


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "begins with '/'"),
        ("/", 2, "ends with '/'"),
        ("1t5/7/5K1/7/2T4/7/3t3/", 1, "begins with '/'"),
        ("/1t5/7/5K1/7/2T4/7/3t3", 23, "ends with '/'"),
        ("/1t5/7/5K1/7/2T4/7/", 20, "has 6 ranks"),
        ("/1t5/7/5K1/7/2T4/7/3t3/7/", 26, "has 8 ranks"),
        ("/1t4/7/5K1/7/2T4/7/3t3/", 5, "has 6 squares"),
        ("/1t6/7/5K1/7/2T4/7/3t3/", 4, "more than 7 squares"),
        ("/1t5/7/5K1/7/2T4/70/3t3/", 18, "more than 7 squares"),
        ("/1t5/7/5K1/7/2T4/0/3t3/", 18, "'0' is no number"),
        ("/1t5/7/5K1/7/2X4/7/3t3/", 15, "'X' is no piece"),
        ("/1t5/7/5K1/7/2T4/7/3k3/", 21, "'k' is no piece"),
        ("/1t5/7/5K1/7/2.4/7/3t3/", 15, "'.' is no piece"),
        ("/1t5/7/7/7/2T4/7/3t3/", 1, "no king"),
        ("/1t5/7/5K1/7/2K4/7/3t3/", 15, "second king"),
        ("/t6/7/5K1/7/2T4/7/3t3/", 2, "attacker may stand on a7: only the king"),
        ("/1t5/7/5K1/3T3/7/7/3t3/", 13, "defender may stand on d4: only the king"),
        ("/1t5/7/7/7/2T4/7/3t2K/", 21, "already stands on his goal g1"),
    ],
)
def test_positions_that_cannot_be_are_pointed_at(text, column, problem):
    with pytest.raises(NotationError) as raised:
        Game.from_position("brandubh", text, "attackers")
    assert problem in str(raised.value)
    assert raised.value.column == column


def test_the_castle_is_closed_and_every_edge_square_a_goal():
    with pytest.raises(NotationError, match="on f6: nobody may stop there"):
        parse_position(RULES["tawlbwrdd"], "/11/11/10t/2K8/11/5t5/11/11/11/11/11/")
    with pytest.raises(NotationError, match="his goal e1"):
        parse_position(RULES["tawlbwrdd"], "/11/11/10t/11/11/11/11/11/11/11/4K6/")


def test_the_mark_stands_under_the_character():
    with pytest.raises(NotationError) as raised:
        parse_position(RULES["brandubh"], "/1t5/7/5K1/7/2X4/7/3t3/")
    _, shown, mark = str(raised.value).splitlines()
    assert shown[mark.index("^")] == "X"
    with pytest.raises(NotationError) as raised:
        parse_position(RULES["tawlbwrdd"], "/" + "/".join(["2t1t3t1t"] * 10) + "/2t1x3t1t/")
    _, shown, mark = str(raised.value).splitlines()
    assert shown[mark.index("^")] == "x"
    assert len(shown) < 120
