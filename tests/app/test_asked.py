"""What the command line of the board asks for."""

from pathlib import Path

import pytest
from board_client import save_checkpoint

import play
from app.asked import asked_for
from app.engines import seat_view
from app.session import Session


@pytest.fixture(autouse=True)
def _elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("arena.players.ROOT", folder)


def asked(*arguments: str) -> Session | None:
    return asked_for(play.arguments().parse_args(["--runs", "runs", *arguments]))[0]


def test_nothing_asked_for_is_no_game() -> None:
    assert asked() is None


def test_a_game_is_played_against_the_usual_level_unless_a_player_is_named() -> None:
    session = asked("--game", "tawlbwrdd", "--layout", "bell", "--side", "defenders")
    assert session is not None
    assert (session.game.rules.name, session.game.layout) == ("tawlbwrdd", "bell")
    assert [seat.kind for seat in session.seats.values()] == ["level", "person"]


def test_limits_without_a_player_are_for_the_usual_one(folder: Path) -> None:
    session = asked("--seconds", "2")
    assert session is not None
    assert seat_view(session.seats["defenders"])["name"] == "alphabeta-v1:seconds=2"
    save_checkpoint(folder / "runs" / "first" / "best.safetensors")
    session = asked("--simulations", "16")
    assert session is not None
    assert seat_view(session.seats["defenders"]) == {
        "kind": "checkpoint",
        "checkpoint": "runs/first/best",
        "simulations": 16,
        "name": "runs/first/best",
    }


def test_alphabeta_v2_is_asked_for_by_name() -> None:
    for text, name in (
        ("alphabeta-v2", "alphabeta-v2:depth=2"),
        ("alphabeta-v2:seconds=0.5", "alphabeta-v2:seconds=0.5"),
        ("alphabeta-v2:nodes=500,noise=20", "alphabeta-v2:nodes=500,noise=20"),
    ):
        session = asked(text)
        assert session is not None
        assert seat_view(session.seats["defenders"])["name"] == name


def test_a_checkpoint_outside_of_the_runs_plays_too(folder: Path) -> None:
    path = save_checkpoint(folder / "elsewhere.safetensors")
    options = play.arguments().parse_args(["--runs", "runs", f"{path}:simulations=8"])
    session, maker = asked_for(options)
    assert session is not None
    seat = session.seats["defenders"]
    assert seat.kind == "checkpoint"
    assert maker.plan(seat, session.game.rules).path == path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["random", "--simulations", "4"], "--simulations is for checkpoints"),
        (["alphabeta-v1:depth=13"], "depth"),
        (["--load", "none.otg"], "cannot be read"),
        (["--game", "brandubh", "--layout", "bell"], "has no layout 'bell'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        asked(*arguments)
    assert "\n" not in str(refused.value)
