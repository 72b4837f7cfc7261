"""What else is on the page: languages, windows of all widths, the editor, records, analysis, runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import app
from env import RULES, Game

if TYPE_CHECKING:
    from visitor import Visitor

HOME = Path(app.__file__).parent / "languages"
LANGUAGES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(HOME.glob("*.json"))}
MIDDLE_GAME = ("brandubh", "/3t3/2t4/3T2T/tt1K1tt/2TT3/4t2/3t3/", "attackers")
WIN_AT_HAND = ("brandubh", "/7/6t/3T3/K6/7/7/3t3/", "defenders")


def test_arabic_runs_from_right_to_left_and_the_board_does_not(visit: Callable[..., Visitor]) -> None:
    visitor = visit(locale="ar", width=360, height=740)
    visitor.open()
    page = visitor.page
    assert page.evaluate("document.documentElement.dir") == "rtl"
    assert page.inner_text("h1") == LANGUAGES["ar"]["start.title"]
    assert not visitor.overflow()
    visitor.position(*WIN_AT_HAND)
    a1, g7 = visitor.square("a1").bounding_box(), visitor.square("g7").bounding_box()
    assert a1 and g7 and a1["x"] < g7["x"] and a1["y"] > g7["y"]
    visitor.move("a4-a1")
    assert LANGUAGES["ar"]["end.defenders_win"] in visitor.banner.inner_text()
    assert not visitor.overflow()


def test_a_language_once_chosen_stays(visitor: Visitor) -> None:
    visitor.open()
    visitor.page.select_option("#top select", "tr")
    visitor.page.wait_for_function("() => document.documentElement.lang === 'tr'")
    visitor.open("rules")
    assert visitor.page.inner_text("h1") == LANGUAGES["tr"]["rules.title"].format(game="Brandubh")


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 800, 1280])
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_sticks_out_or_is_cut_off(visit: Callable[..., Visitor], language: str, width: int) -> None:
    visitor = visit(locale=language, width=width, height=740, reduced_motion="reduce")
    for fragment in ("", "rules=brandubh", "rules=tawlbwrdd", "edit", "load", "watch", "selfplay"):
        visitor.open(fragment)
        assert not visitor.overflow(), fragment
        assert not visitor.cut_off(), fragment
    for layout in ("brandubh/standard", "tawlbwrdd/bell"):
        visitor.begin(layout, "both")
        for tab in ("moves", "analysis", "record"):
            visitor.page.click(f"#tab-{tab}")
            assert not visitor.overflow(), (layout, tab)
            assert not visitor.cut_off(), (layout, tab)
    visitor.position(*WIN_AT_HAND)
    visitor.move("a4-a1")
    visitor.banner.wait_for()
    assert not visitor.overflow()
    assert not visitor.cut_off()


@pytest.mark.slow
@pytest.mark.parametrize("game", RULES)
def test_the_rules_have_a_diagram_for_every_caption(visitor: Visitor, game: str) -> None:
    visitor.open("rules", rules=game)
    visitor.page.wait_for_selector("figure")
    captions = visitor.page.locator("figcaption").all_inner_texts()
    assert len(captions) == visitor.page.locator("figure svg.board").count() >= 8
    assert visitor.page.locator("main section").count() == 5
    assert "undefined" not in visitor.page.inner_text("main")


@pytest.mark.slow
def test_setting_up_a_position_and_playing_it(visitor: Visitor) -> None:
    visitor.open("edit")
    page = visitor.page
    page.wait_for_selector(".verdict.good")
    page.locator(".panel button", has_text="Clear").click()
    page.wait_for_selector(".verdict.bad")
    assert page.inner_text(".verdict") == "There is no king on the board."
    page.check('input[name="tool"][value="K"]')
    visitor.square("a7").click()
    page.wait_for_function("() => document.querySelector('.verdict').textContent.includes('goal')")
    visitor.square("c4").click()  # there is one king: he moves
    page.check('input[name="tool"][value="t"]')
    visitor.square("g6").click()
    visitor.square("e6").click()
    visitor.square("a1").click()
    page.wait_for_function("() => document.querySelector('.verdict').textContent.includes('may not stand on a1')")
    visitor.drag("a1-f5")
    visitor.drag("e6-e6", beyond=(-1500, 0))
    page.wait_for_selector(".verdict.good")
    assert page.input_value('.panel input[type="text"]') == "/7/6t/5t1/2K4/7/7/7/"
    page.check('input[name="to_play"][value="defenders"]')
    page.click(".panel .primary")
    page.wait_for_selector('[data-action="undo"]')
    visitor.move("c4-c7")
    visitor.expect_moves(1)
    visitor.problems.clear()  # the browser lists refused positions as errors


@pytest.mark.slow
def test_records_and_positions_go_out_and_come_back(visitor: Visitor, tmp_path: Path) -> None:
    visitor.begin(side="both")
    for number, move in enumerate(["d2-e2", "d3-c3"], start=1):
        visitor.move(move)
        visitor.expect_moves(number)
    page = visitor.page
    page.click("#tab-record")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the record").click()
    record = tmp_path / "game.txt"
    waiting.value.save_as(record)
    assert "1. d2-e2 d3-c3" in record.read_text(encoding="utf-8")
    link = page.input_value('input[aria-label="Link to this position"]')
    position = page.input_value('input[aria-label="Position"]')
    game = Game("brandubh")
    game.play("d2-e2")
    game.play("d3-c3")
    assert position == game.position
    for name, start in (("Save as SVG", b"<svg"), ("Save as PNG", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        picture = tmp_path / "picture"
        waiting.value.save_as(picture)
        assert picture.read_bytes().startswith(start)
        assert picture.stat().st_size > 10_000

    page.goto(link)
    page.reload()
    page.wait_for_selector(".grid")
    assert visitor.square("e2").get_attribute("aria-label") == "e2, attacker"
    assert visitor.mine()[0] == "d7"

    visitor.open("load")
    page.set_input_files('input[type="file"]', record)
    page.wait_for_selector(".grid")
    visitor.expect_moves(2)


@pytest.mark.slow
def test_what_cannot_be_loaded_is_refused_with_its_place(visitor: Visitor) -> None:
    visitor.open("load")
    page = visitor.page
    for text, words in (
        ("[rules:dim:7 name:Brandubh]\n\n1. d2-e3", "Line 3"),
        ("<script>alert(1)</script>", "cannot be read"),
        ("/3t3/", "cannot be read"),
    ):
        page.fill("textarea", text)
        page.click("main .primary")
        page.wait_for_selector("[role=alert]:not([hidden])")
        assert words in page.inner_text("main [role=alert]")
    visitor.problems.clear()  # the browser lists refused requests as errors


@pytest.mark.slow
def test_the_analysis_can_be_switched_on_and_off(visitor: Visitor) -> None:
    visitor.position(*WIN_AT_HAND)
    page = visitor.page
    page.click("#tab-analysis")
    page.click(".switch")
    page.select_option('select[aria-label="Engine"]', "alphabeta")
    page.wait_for_selector(".proven")
    assert "the defenders win" in page.inner_text(".proven")
    assert page.locator("g.arrows path").count() == 1
    page.click(".switch")
    assert page.locator("g.arrows path").count() == 0
    assert not page.is_visible(".opinions")


@pytest.mark.slow
def test_a_hint_is_a_legal_move(visitor: Visitor) -> None:
    visitor.position(*MIDDLE_GAME)
    visitor.page.click('[data-action="hint"]')
    visitor.page.wait_for_selector(".note")
    move = visitor.page.inner_text(".note").split()[-1]
    assert move in [str(move) for move in Game.from_position(*MIDDLE_GAME).legal_moves()]


@pytest.mark.slow
def test_light_and_dark(visit: Callable[..., Visitor]) -> None:
    def ground(visitor: Visitor) -> int:
        colour = visitor.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(map(int, colour[4:-1].split(",")))

    night = visit(color_scheme="dark")
    night.open()
    assert ground(night) < 200
    night.page.locator("#top button").click()  # light
    assert ground(night) > 600
    night.page.reload()
    night.page.wait_for_selector("main .view")
    assert ground(night) > 600
