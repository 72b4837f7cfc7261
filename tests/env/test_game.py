"""`Game` as people use it: starts, moves and their errors, undo, endings by word, copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from env import RULES, Game, IllegalMove, Move, NotationError, Outcome

BRANDUBH_START = "/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"


def test_a_game_begins_at_its_layout():
    game = Game("brandubh")
    assert game.rules is RULES["brandubh"]
    assert (game.position, game.to_play, game.ply, game.outcome) == (BRANDUBH_START, "attackers", 0, None)
    assert game.layout == "standard"
    assert game.moves == game.captured == []
    bell = Game("tawlbwrdd", "bell")
    assert (bell.layout, bell.position) == ("bell", RULES["tawlbwrdd"].layouts["bell"])
    assert bell.position != Game(RULES["tawlbwrdd"]).position


def test_unknown_names_are_told_apart():
    with pytest.raises(ValueError, match="brandubh, tawlbwrdd"):
        Game("chess")
    with pytest.raises(ValueError, match="serif, bell"):
        Game("tawlbwrdd", "round")
    with pytest.raises(ValueError, match="attackers, defenders"):
        Game.from_position("brandubh", BRANDUBH_START, "white")


def test_play_takes_moves_and_their_text():
    game = Game("brandubh")
    assert game.play("d2-e2") == []
    assert game.play(Move("c4", "c5")) == []
    assert (game.ply, game.to_play) == (2, "attackers")
    assert [str(move) for move in game.moves] == ["d2-e2", "c4-c5"]
    assert game.piece("c5") == "defender"
    assert game.piece("d4") == "king"
    assert game.piece("c4") is None
    assert game.king == "d4"


def test_play_returns_sorted_captures():
    game = Game.from_position("brandubh", "/2t4/5K1/7/7/tT1Tt2/2T4/2t4/", "attackers")
    assert game.play("c7-c3") == ["b3", "c2", "d3"] == game.captured


@pytest.mark.parametrize(
    ("move", "problem", "instead"),
    [
        ("d1-d3", "blocked by the attacker on d2", "d1-b1"),
        ("a4-d4", "blocked by the attacker on b4", "a4-a2"),
        ("d7-a7", "restricted square: only the king may stop on a7", "d7-b7"),
        ("d4-d1", "not your piece: the king on d4", "may move from d1, d2, a4"),
        ("c4-c5", "not your piece: the defender on c4", "may move from d1, d2, a4"),
        ("e1-e2", "no piece on e1", "may move from d1, d2, a4"),
        ("a4-b5", "not on a line with a4", "a4-a5"),
        ("a4-a4", "another square", "a4-a5"),
    ],
)
def test_an_illegal_move_says_why_and_what_may_be_played(move, problem, instead):
    game = Game("brandubh")
    with pytest.raises(IllegalMove) as raised:
        game.play(move)
    assert problem in str(raised.value)
    assert problem in raised.value.problem
    assert instead in str(raised.value)
    assert raised.value.move == Move.parse(move)
    assert set(raised.value.legal_moves) <= set(game.legal_moves())
    assert (game.position, game.ply) == (BRANDUBH_START, 0)


def test_restricted_squares_of_tawlbwrdd_are_closed_to_all():
    game = Game.from_position("tawlbwrdd", "/11/11/t10/11/11/3T7/11/5K5/11/11/11/", "defenders")
    with pytest.raises(IllegalMove, match="nobody may stop on f6"):
        game.play("f4-f6")


def test_a_piece_that_is_shut_in_is_said_to_be():
    game = Game.from_position("tawlbwrdd", "/11/11/11/7K3/11/11/11/11/2t8/T10/tT9/", "attackers")
    with pytest.raises(IllegalMove, match="attacker on a1 has no legal move"):
        game.play("a1-a2")


@pytest.mark.parametrize(
    ("text", "column"), [("d1c1", 3), ("", 1), ("d1-c1x", 6), ("d1-h1", 4), ("a9-a1", 2), ("D1-c1", 1), ("d0-d1", 2)]
)
def test_text_that_is_no_move_is_pointed_at(text, column):
    game = Game("brandubh")
    with pytest.raises(NotationError) as raised:
        game.play(text)
    assert raised.value.column == column
    assert str(raised.value).splitlines()[-1] == " " * (column + 1) + "^"
    assert not isinstance(raised.value, IllegalMove)


def test_nothing_is_played_once_the_game_is_over():
    game = Game.from_position("brandubh", "/7/6t/3T3/K6/7/7/3t3/", "defenders")
    game.play("a4-a1")
    assert game.outcome == Outcome("defenders", "king_escaped")
    assert game.legal_moves() == []
    assert game.legal_actions().size == 0
    with pytest.raises(IllegalMove, match="the game is over"):
        game.play("d1-c1")
    with pytest.raises(IllegalMove, match="the game is over"):
        game.play_action(0)
    with pytest.raises(ValueError, match="the game is over"):
        game.resign("attackers")
    game.undo()
    assert game.outcome is None
    assert game.play("a4-a7") == []


def test_actions_are_checked_like_moves():
    game = Game("brandubh")
    actions = game.legal_actions()
    assert [game.move_of(action) for action in actions] == game.legal_moves()
    assert [game.action_of(move) for move in game.legal_moves()] == actions.tolist()
    with pytest.raises(ValueError):
        game.play_action(-1)
    with pytest.raises(ValueError):
        game.play_action(10**6)
    with pytest.raises(IllegalMove):
        game.play_action(0)  # a1 is empty
    game.play_action(int(actions[3]))
    assert game.moves == [game.move_of(actions[3])]
    assert game.actions == [actions[3]]


def test_undo_goes_back_through_captures_to_the_start_and_no_further():
    game = Game("brandubh")
    moves = "d2-e2 c4-c5 f4-f5 c5-a5 d6-a6 d5-a5 f5-d5 d3-a3".split()
    trail = []
    for move in moves:
        trail.append((game.position, game.to_play, game.legal_moves()))
        game.play(move)
    while trail:
        game.undo()
        assert (game.position, game.to_play, game.legal_moves()) == trail.pop()
    with pytest.raises(ValueError, match="no move to take back"):
        game.undo()


def test_undo_of_a_repetition_lets_the_game_go_on():
    game = Game("tawlbwrdd")
    for move in "d1-c1 f8-g8 c1-d1 g8-f8".split():
        game.play(move)
    assert game.outcome == Outcome(None, "repetition")
    assert game.occurrences() == 2
    game.undo()
    assert game.outcome is None
    game.play("g8-h8")
    assert game.outcome is None


@pytest.mark.parametrize("side", ["attackers", "defenders"])
@pytest.mark.parametrize(("end", "reason"), [(Game.resign, "resignation"), (Game.forfeit, "forfeit")])
def test_endings_by_word_and_their_undo(side, end, reason):
    game = Game("brandubh")
    game.play("d1-c1")
    end(game, side)
    other = {"attackers": "defenders", "defenders": "attackers"}[side]
    assert game.outcome == Outcome(other, reason)
    with pytest.raises(ValueError, match="over"):
        end(game, side)
    game.undo()
    assert (game.outcome, game.ply) == (None, 1)
    with pytest.raises(ValueError, match="no side"):
        end(game, "black")


def test_a_draw_is_offered_by_the_mover_and_accepted_by_the_other():
    game = Game("tawlbwrdd")
    with pytest.raises(ValueError, match="nobody has moved"):
        game.offer_draw()
    game.play("d1-c1")
    with pytest.raises(ValueError, match="no draw offer"):
        game.accept_draw()
    game.offer_draw()
    assert game.draw_offered
    game.accept_draw()
    assert game.outcome == Outcome(None, "agreement")
    for call in (game.offer_draw, game.accept_draw):
        with pytest.raises(ValueError, match="over"):
            call()
    game.undo()
    assert (game.outcome, game.draw_offered, game.ply) == (None, False, 1)


def test_an_offer_lapses_with_the_next_move_and_with_undo():
    game = Game("tawlbwrdd")
    game.play("d1-c1")
    game.offer_draw()
    game.play("f8-g8")
    with pytest.raises(ValueError, match="no draw offer"):
        game.accept_draw()
    game.offer_draw()
    game.undo()
    assert game.ply == 1
    with pytest.raises(ValueError, match="no draw offer"):
        game.accept_draw()


def test_an_illegal_move_leaves_an_offer_standing():
    game = Game("tawlbwrdd")
    game.play("d1-c1")
    game.offer_draw()
    with pytest.raises(IllegalMove):
        game.play("f8-f7")
    game.accept_draw()
    assert game.outcome == Outcome(None, "agreement")


def test_rules_without_agreement_know_no_offers():
    game = Game("brandubh")
    game.play("d1-c1")
    for call in (game.offer_draw, game.accept_draw):
        with pytest.raises(ValueError, match="Brandubh know no draw by agreement"):
            call()


@pytest.mark.parametrize("duplicate", [Game.copy, copy.copy, copy.deepcopy])
def test_copies_go_their_own_ways(duplicate):
    game = Game("brandubh")
    for move in "d1-c1 d3-c3 c1-d1 c3-d3".split():
        game.play(move)
    twin = duplicate(game)
    for move in "d1-c1 d3-c3 c1-d1 c3-d3".split():
        twin.play(move)
    assert twin.outcome == Outcome("attackers", "repetition")
    assert (game.outcome, game.ply, game.position) == (None, 4, BRANDUBH_START)
    game.undo()
    game.undo()
    assert (twin.ply, twin.occurrences()) == (8, 3)
    for _ in range(8):
        twin.undo()
    assert twin.position == BRANDUBH_START


def test_long_games_keep_their_whole_history():
    rules = dataclasses.replace(RULES["brandubh"], name="endless", repetition_limit=10_000)
    game = Game(rules)
    for _ in range(50):
        for move in "d1-c1 d3-c3 c1-d1 c3-d3".split():
            game.play(move)
    assert (game.ply, game.occurrences()) == (200, 51)
    assert len(game.history) > game.ply
    assert len(set(game.history[:201].tolist())) == 4


def test_rules_of_ones_own_are_played():
    rules = dataclasses.replace(
        RULES["brandubh"],
        name="club",
        title="Club Brandubh",
        layouts={"short": "/7/3t3/3T3/1tTKTt1/3T3/3t3/7/"},
        first="defenders",
        agreement=True,
        king_armed=False,
    )
    game = Game(rules)
    assert (game.layout, game.to_play) == ("short", "defenders")
    game.play("c4-c5")
    game.offer_draw()
    game.accept_draw()
    assert game.outcome == Outcome(None, "agreement")
    unarmed = Game.from_position(rules, "/7/6t/7/2t4/7/6T/1K5/", "defenders")
    assert unarmed.play("b1-b4") == []


def test_a_game_shows_itself():
    game = Game("brandubh")
    lines = str(game).splitlines()
    assert lines[0] == " 7 . . . t . . ."
    assert lines[3] == " 4 t t T K T t t"
    assert lines[7] == "   a b c d e f g"
    assert "attackers to play" in lines[8]
    assert BRANDUBH_START in repr(game)
    game.resign("attackers")
    assert "defenders won" in str(game)


def test_errors_and_outcomes_travel_between_processes():
    assert pickle.loads(pickle.dumps(Outcome(None, "agreement"))) == Outcome(None, "agreement")
    assert pickle.loads(pickle.dumps(Move("d1", "c1"))) == Move("d1", "c1")
    game = Game("brandubh")
    game.play("d1-c1")
    assert pickle.loads(pickle.dumps(game)).moves == game.moves
    for move in ("d3-d1", "d3-"):
        with pytest.raises(ValueError) as raised:
            game.play(move)
        copied = pickle.loads(pickle.dumps(raised.value))
        assert (type(copied), str(copied)) == (type(raised.value), str(raised.value))


def test_the_arrays_follow_the_game():
    game = Game("brandubh")
    game.play("d1-c1")
    assert game.arrays.info[2] == 1
    assert game.board.tolist() == game.arrays.board.tolist()
    board = game.board
    board[:] = 0
    assert np.count_nonzero(game.board) == 13


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Game([]), "no game is called"),  # pyright: ignore
        (lambda: Game.from_position("brandubh", None, "attackers"), "position is None"),  # pyright: ignore
        (lambda: Game("brandubh").play(None), "move is None"),  # pyright: ignore
        (lambda: Game("brandubh").play(b""), "move is b''"),  # pyright: ignore
        (lambda: Game("brandubh").play_action(10**30), "action 1000"),
        (lambda: Game("brandubh").play_action(-1), "action -1"),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(call, named):
    with pytest.raises((TypeError, ValueError), match=named):
        call()
