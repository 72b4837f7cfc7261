"""The full-screen terminal, with keys and mouse, without a terminal."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from app.board_text import Signs
from app.catalogue import Catalogue
from app.engines import AnySeat, EngineMaker
from app.full_screen import FullScreen
from app.hall import Hall
from app.language import languages, load_language
from app.schemas import AlphaBetaSeat, PersonSeat, RandomSeat
from app.screen_board import Board, shape
from app.session import Session
from env import RULES, Game
from env.notation import square_name
from env.position import ATTACKER, DEFENDER, KING

PERSON, SIGNS = PersonSeat(), Signs()
ENGINE = AlphaBetaSeat(kind="alphabeta", depth=1)
Play = Callable[[FullScreen, Pilot[Any]], Awaitable[None]]


@pytest.fixture
def played(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., FullScreen]:
    """Runs a screen while somebody plays on it; games are kept in the test's folder."""
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)

    def run(
        play: Play,
        game: Game | str = "brandubh",
        attackers: AnySeat = PERSON,
        defenders: AnySeat = PERSON,
        size: tuple[int, int] = (80, 24),
        code: str = "en",
        signs: Signs = SIGNS,
    ) -> FullScreen:
        game = Game(game) if isinstance(game, str) else game
        maker = EngineMaker(Catalogue([folder / "runs"], folder / "pretrained"), "cpu")

        async def session() -> FullScreen:
            screen = FullScreen(Hall(maker, None, 2), Session(game, attackers, defenders), load_language(code), signs)
            async with screen.run_test(size=size) as pilot:
                await pilot.pause()
                await play(screen, pilot)
            return screen

        return asyncio.run(session())

    return run


async def until(pilot: Pilot[Any], done: Callable[[], bool]) -> None:
    for _ in range(1500):
        await pilot.pause(0.02)
        if done():
            return
    raise AssertionError("it did not come about")


async def click(screen: FullScreen, pilot: Pilot[Any], *squares: str) -> None:
    board = screen.query_one(Board)
    for square in squares:
        wide, high = board.cell(board.size.width, board.size.height)
        file, rank = ord(square[0]) - ord("a"), int(square[1:]) - 1
        row = rank if board.flipped else board.picture.rules.size - 1 - rank
        column = board.picture.rules.size - 1 - file if board.flipped else file
        await pilot.click(Board, offset=(3 + column * wide + wide // 2, 1 + row * high))
        await pilot.pause()


def text(screen: FullScreen, name: str) -> str:
    return str(screen.query_one(f"#{name}", Static).content)


def moves(screen: FullScreen) -> list[str]:
    return [row["move"] for row in screen.view["moves"]]


def test_moves_are_made_with_keys_with_the_mouse_and_by_typing(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "down", "enter", "left", "enter")  # the cursor begins on the throne d4
        await until(pilot, lambda: moves(screen) == ["d2-c2"])
        await click(screen, pilot, "c4", "c3")
        await until(pilot, lambda: moves(screen)[1:] == ["c4-c3"])
        await pilot.press("m", *"D1E1", "enter")
        await until(pilot, lambda: moves(screen)[2:] == ["d1-e1"])
        await pilot.press("f")
        await click(screen, pilot, "d3", "e3")
        await until(pilot, lambda: moves(screen)[3:] == ["d3-e3"])

    played(play)


def test_an_engine_answers_and_both_moves_are_taken_back(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await click(screen, pilot, "d2", "c2")
        await until(pilot, lambda: len(moves(screen)) == 2)
        await until(pilot, lambda: "Your turn" in text(screen, "status"))
        await pilot.press("u")
        await until(pilot, lambda: moves(screen) == [])

    played(play, defenders=ENGINE)


def test_targets_are_shown_and_repetitions_counted_before_they_bite(played: Callable[..., FullScreen]) -> None:
    game = Game("brandubh")
    for move in ("d2-c2", "d3-c3", "c2-d2", "c3-d3", "d2-c2", "d3-c3", "c2-d2"):
        game.play(move)

    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        assert "2 times" in text(screen, "status")
        await click(screen, pilot, "c3")
        targets = screen.query_one(Board).picture.targets
        assert targets["d3"] == "3"
        assert set(targets) == {str(m.target) for m in game.legal_moves() if m.origin == "c3"}
        await click(screen, pilot, "d3")
        await pilot.press("n")  # no: the question is answered, no new game is asked for
        await pilot.pause()
        assert len(moves(screen)) == 7
        await click(screen, pilot, "c3", "d3")
        await pilot.press("y")
        await until(pilot, lambda: bool(screen.view["outcome"]))
        assert "which loses" in text(screen, "status")

    played(play, game)


def test_the_game_is_looked_through_and_goes_on_from_the_present(played: Callable[..., FullScreen]) -> None:
    game = Game("brandubh")
    for move in ("d2-c2", "c4-c3", "c2-b2"):
        game.play(move)

    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        board = screen.query_one(Board)
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert board.picture.position == screen.view["moves"][0]["position"]
        assert "move 1 of 3" in text(screen, "status")
        await pilot.press("home")
        assert board.picture.position == game.start[0]
        await pilot.press("end")
        assert board.picture.position == game.position
        screen.query_one("#moves", OptionList).focus()
        await pilot.press("up")
        assert board.picture.position == screen.view["moves"][1]["position"]

    played(play, game)


def test_resigning_asks_first(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("r", "enter")  # the harmless answer is at hand
        await pilot.pause()
        assert screen.view["outcome"] is None
        await pilot.press("r", "y")
        await until(pilot, lambda: bool(screen.view["outcome"]))
        assert "You lose" in text(screen, "status")

    played(play, defenders=ENGINE)


def test_draws_are_offered_with_a_move_and_accepted(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("d")
        await click(screen, pilot, "a4", "a3")
        await until(pilot, lambda: "offer a draw" in text(screen, "status"))
        await pilot.press("d")
        await until(pilot, lambda: bool(screen.view["outcome"]))
        assert "A draw." in text(screen, "status")

    played(play, "tawlbwrdd")


def test_analysis_and_hint_tell_the_winning_move(played: Callable[..., FullScreen]) -> None:
    game = Game.from_position("brandubh", "/2K4/7/7/7/7/7/3t3/", "defenders")

    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: "the defenders win" in text(screen, "analysis"))
        await pilot.press("h")
        await until(pilot, lambda: text(screen, "status").rstrip().endswith(("Hint: c7-a7", "Hint: c7-g7")))
        assert "c7" in screen.query_one(Board).picture.hint

    played(play, game)


def test_two_engines_are_watched_paused_and_stepped(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: len(moves(screen)) >= 1)
        await pilot.press("w")
        await until(pilot, lambda: not screen.view["running"] and not screen.view["thinking"])
        before = len(moves(screen))
        await pilot.press("t")
        await until(pilot, lambda: len(moves(screen)) == before + 1)

    played(play, attackers=RandomSeat(kind="random"), defenders=RandomSeat(kind="random"))


def test_a_new_game_is_asked_for_and_begun(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        first = screen.view["id"]
        await pilot.press("n")
        await pilot.pause()
        await until(pilot, lambda: len(screen.screen_stack) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: screen.view["id"] != first)
        assert screen.view["game"] == "brandubh"

    played(play)


def test_records_are_saved_and_loaded(played: Callable[..., FullScreen], folder: Path) -> None:
    path = folder / "one.otg"

    async def write(pilot: Pilot[Any], key: str, name: str = str(path)) -> None:
        await pilot.press(key)
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        pilot.app.screen.query_one(Input).value = name
        await pilot.press("enter")

    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await click(screen, pilot, "d2", "c2")
        await until(pilot, lambda: moves(screen) == ["d2-c2"])
        for key in "sl":
            name = f"~nosuchuser/{key}"
            await write(pilot, key, name)
            await until(pilot, lambda name=name: name in text(screen, "status"))
        await write(pilot, "s")
        await until(pilot, path.exists)
        await click(screen, pilot, "c4", "c3")
        await until(pilot, lambda: len(moves(screen)) == 2)
        await write(pilot, "l")
        await until(pilot, lambda: moves(screen) == ["d2-c2"])
        assert "d2-c2" in path.read_text(encoding="utf-8")
        path.write_text("nonsense", encoding="utf-8")
        await write(pilot, "l")
        await until(pilot, lambda: "one.otg" in text(screen, "status"))
        assert moves(screen) == ["d2-c2"]

    played(play)


def test_what_was_not_saved_is_kept_when_one_leaves(played: Callable[..., FullScreen], folder: Path) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        await click(screen, pilot, "d2", "c2")
        await until(pilot, lambda: moves(screen) == ["d2-c2"])
        await pilot.press("q")
        await pilot.pause()

    screen = played(play)
    kept = list(folder.glob("branan-brandubh-*.otg"))
    assert len(kept) == 1
    assert "d2-c2" in kept[0].read_text(encoding="utf-8")
    assert str(kept[0]) in (screen.return_value or "")


@pytest.mark.parametrize("code", [language.code for language in languages()])
def test_every_language_fills_the_screen_and_its_windows(played: Callable[..., FullScreen], code: str) -> None:
    say = load_language(code)

    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        assert say("side.attackers") in text(screen, "players")
        assert say("action.new") in text(screen, "keys")
        for key in ("i", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            assert len(screen.screen_stack) == 2
            await pilot.press("escape")

    played(play, code=code)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("size", [(40, 16), (60, 20), (80, 24), (200, 60)])
def test_the_whole_board_is_on_the_screen_at_any_size(
    played: Callable[..., FullScreen], name: str, size: tuple[int, int]
) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        board, rules = screen.query_one(Board), RULES[name]
        wide, high = board.cell(board.size.width, board.size.height)
        if size[0] >= 60:
            assert board.region.right <= size[0]
            assert board.region.bottom <= size[1]
            assert (board.size.width, board.size.height) == (wide * rules.size + 6, high * rules.size + 2)
        seen = {board.square_at(3 + wide * x, 1 + high * y) for x in range(rules.size) for y in range(rules.size)}
        assert seen == {square_name(rules.size, square) for square in range(rules.cells)}
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert screen.query_one(Board).region.bottom <= 30

    played(play, name, size=size)


@pytest.mark.parametrize("high", range(2, 9))
def test_pieces_are_told_apart_without_colour(high: int) -> None:
    drawn = [shape(piece, 2 * high + 1, high, "♚") for piece in (ATTACKER, DEFENDER, KING)]
    assert len(set(drawn)) == 3
    assert all(len(lines) == high and {len(line) for line in lines} == {2 * high + 1} for lines in drawn)


def test_signs_that_a_terminal_cannot_show_are_not_used(played: Callable[..., FullScreen]) -> None:
    async def play(screen: FullScreen, pilot: Pilot[Any]) -> None:
        board = screen.query_one(Board)
        await click(screen, pilot, "d2")
        drawn = "".join(board.render_line(y).text for y in range(board.size.height))
        assert drawn.isascii()

    played(play, signs=Signs.for_encoding("ascii"))
