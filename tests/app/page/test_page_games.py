"""Games on the page, played as a person plays them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from visitor import Visitor

TO_CORNER = ("brandubh", "/7/6t/3T3/K6/7/7/3t3/", "defenders")
SHUFFLE = ["b7-c7", "f5-f6", "c7-b7", "f6-f5"]


def test_two_clicks_and_one_is_playing(visitor: Visitor) -> None:
    visitor.open()
    visitor.page.click('label:has(input[value="brandubh/standard"])')
    visitor.page.click("#play")
    visitor.page.wait_for_selector(".grid")
    assert visitor.page.locator(".cell").count() == 49
    assert visitor.pieces() == 13
    assert visitor.wait_for_turn()
    assert visitor.mine() == ["d7", "d6", "a4", "b4", "f4", "g4", "d2", "d1"]
    visitor.square("d2").click()
    assert sorted(visitor.targets()) == ["a2", "b2", "c2", "e2", "f2", "g2"]
    visitor.square("e2").click()
    visitor.expect_moves(2)
    assert visitor.moves()[0] == "d2-e2"
    assert visitor.said().startswith("Defenders: ")


def test_a_win_is_told_with_its_reason(visitor: Visitor) -> None:
    visitor.position(*TO_CORNER)
    visitor.move("a4-a1")
    visitor.banner.wait_for()
    assert "The defenders win." in visitor.banner.inner_text()
    assert "The king has reached his goal." in visitor.banner.inner_text()
    assert "The king has reached his goal." in visitor.said()


def test_repetition_is_counted_and_warned_of_before_it_bites(visitor: Visitor) -> None:
    visitor.position("brandubh", "/1t5/7/5K1/7/7/1T4t/7/", "attackers")
    for number, move in enumerate([*SHUFFLE, *SHUFFLE[:3]], start=1):
        visitor.move(move)
        visitor.expect_moves(number)
    assert "has now occurred 2 times" in visitor.page.inner_text(".warning")
    visitor.square("f6").click()
    assert visitor.page.locator(".hints text").all_text_contents() == ["3"]
    visitor.square("f5").click()
    question = visitor.page.locator("dialog.question")
    assert "third time" in question.inner_text()
    question.locator("button:not(.primary)").click()
    visitor.expect_moves(7)
    visitor.move("f6-f5")
    question.locator(".primary").click()
    visitor.banner.wait_for()
    assert "The attackers win." in visitor.banner.inner_text()
    assert "The defenders brought about the same position for the third time" in visitor.banner.inner_text()


def test_stepping_back_taking_back_and_playing_on(visitor: Visitor) -> None:
    visitor.begin(side="both")
    for number, move in enumerate(["d2-e2", "d3-c3", "d6-c6"], start=1):
        visitor.move(move)
        visitor.expect_moves(number)
    visitor.page.click('[data-step="first"]')
    assert visitor.mine() == []
    assert visitor.square("d2").get_attribute("aria-label") == "d2, attacker"
    visitor.page.keyboard.press("ArrowRight")
    assert visitor.square("e2").get_attribute("aria-label") == "e2, attacker, last move"
    visitor.page.click(".past button:last-child")
    visitor.expect_moves(1)
    visitor.page.click('[data-action="undo"]')
    visitor.expect_moves(0)
    assert visitor.square("d2").get_attribute("aria-label") == "d2, attacker"


@pytest.mark.slow
def test_dragging_a_piece(visitor: Visitor) -> None:
    visitor.begin(side="both")
    visitor.drag("d2-d3")  # a defender stands there
    visitor.drag("d2-g5")  # not in line
    visitor.drag("d2-d2", beyond=(2000, 0))
    visitor.expect_moves(0)
    visitor.drag("d2-g2")
    visitor.expect_moves(1)
    assert visitor.moves() == ["d2-g2"]
    visitor.move("d3-c3")
    visitor.expect_moves(2)


@pytest.mark.slow
def test_touching(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=360, height=740, has_touch=True, is_mobile=True)
    visitor.begin(side="both")
    visitor.square("d2").tap()
    visitor.square("a2").tap()
    visitor.expect_moves(1)
    assert visitor.moves() == ["d2-a2"]


@pytest.mark.slow
def test_keys_alone(visitor: Visitor) -> None:
    visitor.open()
    page = visitor.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus('input[value="both"]')
    page.keyboard.press("Space")
    page.focus("#play")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid")
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.square") == "a1"
    for key in ["ArrowRight"] * 3 + ["ArrowUp"]:
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.ariaLabel") == "d2, attacker"
    page.keyboard.press("Enter")
    assert visitor.targets()
    page.keyboard.press("Escape")
    assert not visitor.targets()
    for key in ["Enter", "ArrowRight", "ArrowRight", "Enter"]:
        page.keyboard.press(key)
    visitor.expect_moves(1)
    assert visitor.moves() == ["d2-f2"]
    assert visitor.said() == "Attackers: d2-f2."
    assert page.evaluate("document.activeElement.dataset.square") == "f2"


@pytest.mark.slow
def test_a_turned_board_stays_turned_and_plays_the_same(visitor: Visitor) -> None:
    visitor.begin(side="both")
    before = visitor.square("a1").bounding_box()
    visitor.page.click('[data-action="flip"]')
    after = visitor.square("a1").bounding_box()
    assert before and after and before["x"] < after["x"] and before["y"] > after["y"]
    visitor.move("d2-c2")
    visitor.expect_moves(1)
    visitor.square("c2").focus()
    visitor.page.keyboard.press("ArrowRight")
    assert visitor.page.evaluate("document.activeElement.dataset.square") == "b2"
    visitor.page.reload()
    visitor.page.wait_for_selector(".grid")
    assert visitor.square("a1").bounding_box() == after


@pytest.mark.slow
def test_resigning_asks_first(visitor: Visitor) -> None:
    visitor.begin()
    visitor.page.click('[data-action="resign"]')
    visitor.page.click("dialog.question button:not(.primary)")
    assert visitor.banner.count() == 0
    visitor.page.click('[data-action="resign"]')
    visitor.page.click("dialog.question .primary")
    visitor.banner.wait_for()
    assert "You lose." in visitor.banner.inner_text()
    assert "The attackers have resigned." in visitor.banner.inner_text()
    visitor.page.click(".banner .primary")  # once more
    visitor.page.wait_for_selector(".banner", state="detached")
    assert visitor.wait_for_turn()


@pytest.mark.slow
def test_a_draw_is_offered_and_accepted_where_the_rules_know_it(visitor: Visitor) -> None:
    visitor.begin("brandubh/standard", "both")
    assert visitor.page.locator('[data-action="offer_draw"]').count() == 0
    visitor.begin("tawlbwrdd/serif", "both")
    visitor.page.click('[data-action="offer_draw"]')
    assert "with your next move" in visitor.page.inner_text(".status")
    visitor.move("d1-c1")
    visitor.expect_moves(1)
    assert "The attackers offer a draw" in visitor.page.inner_text(".warning")
    visitor.page.click(".warning .primary")
    visitor.banner.wait_for()
    assert "agreed on a draw" in visitor.banner.inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["brandubh/standard", "tawlbwrdd/serif", "tawlbwrdd/bell"])
@pytest.mark.parametrize("side", ["attackers", "defenders"])
def test_a_whole_game_by_clicks(visitor: Visitor, layout: str, side: str) -> None:
    visitor.begin(layout, side)
    visitor.play_on(seed=1)
    text = visitor.banner.inner_text()
    assert any(words in text for words in ("You win!", "You lose.", "A draw."))
    plies = len(visitor.moves())
    assert f"Moves made: {plies}" in text
    visitor.page.click('[data-step="first"]')
    visitor.page.click('[data-step="last"]')
    assert visitor.page.locator('.move[aria-current="step"]').get_attribute("data-ply") == str(plies)


@pytest.mark.slow
def test_two_engines_play_each_other(visitor: Visitor) -> None:
    visitor.open("watch")
    for side in range(2):
        visitor.page.locator(".picker > select").nth(side).select_option("random")
    visitor.page.click("main .primary")
    visitor.page.wait_for_selector(".grid")
    visitor.page.wait_for_selector('button.move[data-ply="2"]')
    visitor.page.click('[data-action="pause"]')
    visitor.page.wait_for_selector('[data-action="run"]')
    count = len(visitor.moves())
    visitor.page.click('[data-action="step"]')
    visitor.expect_moves(count + 1)
    visitor.page.select_option(".actions select", "0")
    visitor.page.click('[data-action="run"]')
    visitor.banner.wait_for(timeout=120_000)
