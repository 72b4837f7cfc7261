"""Files of openings: what is read, and what a damaged one is told."""

from pathlib import Path

import pytest

from arena.openings import Opening, OpeningsError, load_openings, openings_path, read_openings
from env import RULES, Game


def write(folder: Path, text: str, name: str = "brandubh-v1.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_moves_header_and_places(tmp_path: Path) -> None:
    path = write(tmp_path, "# game: brandubh\n# made: by hand\n\nd1-c1\n# a note\n d2-e2  d3-c3 \n")
    openings = read_openings(path, "brandubh")
    assert openings == [
        Opening("standard", ("d1-c1",), "brandubh-v1", 1),
        Opening("standard", ("d2-e2", "d3-c3"), "brandubh-v1", 2),
    ]
    assert str(openings[1]) == "brandubh-v1#2"
    expected = Game("brandubh")
    expected.play("d2-e2")
    expected.play("d3-c3")
    assert openings[1].game("brandubh").position == expected.position


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("d1-c1\n\nd1-c1 d1-d2\n", r"line 3, move 2 \(d1-d2\): .*no piece on d1"),
        ("d1-c1 hello\n", r"line 1, move 2 \(hello\)"),
        ("# game: tawlbwrdd\nd1-c1\n", "line 1: the openings are for game tawlbwrdd, not brandubh"),
        ("# layout: bell\nd1-c1\n", "line 1: the openings are for layout bell, not standard"),
        ("# only a header\n", "holds no opening"),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(OpeningsError, match=said) as caught:
        read_openings(path, "brandubh")
    assert str(path) in str(caught.value)


def test_an_opening_that_ends_the_game_is_refused(tmp_path: Path) -> None:
    # The attackers walk aside and let the king out to a corner.
    line = "d7-e7 d5-a5 d6-e6 d4-d7 d2-e2 d7-a7"
    game = Game("brandubh")
    for move in line.split():
        game.play(move)
    assert game.outcome is not None
    with pytest.raises(OpeningsError, match=r"line 1, move 6 \(d7-a7\): the game is over \(king_escaped\)"):
        read_openings(write(tmp_path, line + "\n"), "brandubh")


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(OpeningsError, match="no openings for brandubh, layout standard"):
        read_openings(tmp_path / "none.txt", "brandubh")
    binary = tmp_path / "binary.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OpeningsError, match="cannot be read"):
        read_openings(binary, "brandubh")


def test_layouts_have_files_of_their_own() -> None:
    assert openings_path("tawlbwrdd").name == openings_path("tawlbwrdd", "serif").name == "tawlbwrdd-v1.txt"
    assert openings_path("tawlbwrdd", "bell", "v2").name == "tawlbwrdd-bell-v2.txt"


@pytest.mark.parametrize("game", RULES)
def test_the_projects_openings_are_sound_and_differ(game: str) -> None:
    openings = load_openings(game)
    assert len(openings) >= 100
    assert len({opening.game(game).position for opening in openings}) == len(openings)
