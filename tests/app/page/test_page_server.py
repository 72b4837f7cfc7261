"""Page and server together: reload, several tabs, a server that goes away and comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from visitor import PageServer, Visitor

pytestmark = pytest.mark.slow


def test_a_game_survives_a_reload(visitor: Visitor) -> None:
    visitor.begin()
    assert visitor.wait_for_turn()
    visitor.move("d2-e2")
    visitor.expect_moves(2)
    moves = visitor.moves()
    visitor.page.reload()
    visitor.page.wait_for_selector(".grid")
    assert visitor.moves() == moves
    assert visitor.wait_for_turn()
    visitor.open()
    visitor.page.get_by_text("Go on with your game").click()
    visitor.page.wait_for_selector(".grid")
    assert visitor.moves() == moves


def test_two_tabs_are_two_games(visit: Callable[..., Visitor]) -> None:
    one, two = visit(), visit()
    one.begin(side="both")
    two.begin("tawlbwrdd/serif", "both")
    one.move("d2-e2")
    two.move("d1-c1")
    one.move("d3-c3")
    one.expect_moves(2)
    two.expect_moves(1)
    assert (one.moves(), two.moves()) == (["d2-e2", "d3-c3"], ["d1-c1"])


def test_one_game_in_two_tabs_stays_one(visit: Callable[..., Visitor]) -> None:
    one, two = visit(), visit()
    one.begin(side="both")
    two.page.goto(one.page.url)
    two.page.wait_for_selector(".grid")
    one.move("d2-e2")
    two.expect_moves(1)
    two.move("d3-c3")
    one.expect_moves(2)


def test_a_server_killed_and_started_again_goes_on(visit: Callable[..., Visitor], own_server: PageServer) -> None:
    visitor = visit(own_server.address)
    visitor.begin(side="both")
    visitor.move("d2-e2")
    visitor.expect_moves(1)
    own_server.kill()
    visitor.page.wait_for_selector("#lost:not([hidden])")
    visitor.move("d3-c3")
    visitor.page.wait_for_selector(".note.bad")
    visitor.expect_moves(1)
    own_server.start()
    visitor.page.wait_for_selector("#lost", state="hidden")
    visitor.move("d3-c3")
    visitor.expect_moves(2)
    visitor.problems.clear()  # of the time without a server


def test_a_game_that_is_not_there(visitor: Visitor) -> None:
    visitor.page.goto(visitor.address + "#game=AAAAAAAAAAAAAAAAAAAAAA")
    visitor.page.wait_for_selector(".failed")
    visitor.page.click(".failed button")
    visitor.page.wait_for_selector("#play")
    visitor.problems.clear()  # the browser lists a refused request as an error
