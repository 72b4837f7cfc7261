"""The board as text."""

from app.board_text import Signs, draw_board
from env import RULES, Game

PLAIN = Signs.for_encoding("ascii")


def rows(game: Game, **options: bool) -> list[str]:
    return draw_board(game, PLAIN, **options).plain.splitlines()


def test_shows_pieces_special_squares_and_coordinates() -> None:
    shown = rows(Game("brandubh"))
    assert shown[0] == "    a  b  c  d  e  f  g "
    assert shown[1] == " 7  +  .  .  t  .  .  +  7"
    assert shown[4] == " 4  t  t  T  K  T  t  t  4"
    assert shown[-1] == shown[0]


def test_marks_the_last_move_and_what_it_took() -> None:
    game = Game("brandubh")
    for move in ("d1-c1", "d3-b3", "d2-b2"):
        game.play(move)
    assert rows(game)[6] == " 2  . [t] . [.] .  .  .  2"
    game = Game.from_position("brandubh", "/7/7/t2K3/T6/7/t6/7/", "attackers")
    assert game.play("a2-a3") == ["a4"]
    shown = rows(game)
    assert shown[4] == " 4  x  .  .  =  .  .  .  4"
    assert shown[5] == " 3 [t] .  .  .  .  .  .  3"
    assert shown[6] == " 2 [.] .  .  .  .  .  .  2"


def test_turns_round() -> None:
    game = Game("brandubh")
    game.play("d1-b1")
    shown = rows(game, flipped=True)
    assert shown[0] == "    g  f  e  d  c  b  a "
    assert shown[1] == " 1  +  .  . [.] . [t] +  1"


def test_ranks_of_two_digits_stay_aligned() -> None:
    shown = rows(Game("tawlbwrdd"))
    assert shown[1] == "11  +  +  +  t  t  t  t  t  +  +  +  11"
    assert shown[6] == " 6  t  t  .  T  T  K  T  T  .  t  t  6"


def test_signs_are_those_that_the_terminal_can_show() -> None:
    assert Signs.for_encoding("utf-8").king == "♚"
    assert Signs.for_encoding("latin-1").king == Signs.for_encoding(None).king == "K"


def test_the_legend_names_what_is_on_the_board() -> None:
    brandubh, tawlbwrdd = (PLAIN.legend(RULES[name]) for name in ("brandubh", "tawlbwrdd"))
    assert "t attackers" in brandubh
    assert "+ goal  = throne" in brandubh
    assert "+ goal  # throne" in tawlbwrdd
    assert max(map(len, (brandubh, tawlbwrdd))) < 80
