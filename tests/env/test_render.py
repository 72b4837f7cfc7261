"""Text, pictures, the window and the command that draws."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from env import RULES, Game, TaflEnv
from env.__main__ import main
from env.render import Scene, draw_picture, draw_text

TAKES = ["d2-c2", "d3-c3", "b4-b3", "c4-c5", "d1-d3"]  # the last one takes c3 between b3 and d3


def played(moves=TAKES):
    game = Game("brandubh")
    for move in moves:
        game.play(move)
    return game


def test_text_shows_pieces_last_move_and_capture():
    game = played()
    assert game.captured == ["c3"]
    lines = draw_text(Scene.of(game), ascii_only=True).splitlines()
    assert lines[0].split() == list("abcdefg")
    assert lines[7 - 3 + 1] == "3  .  t  x [t] .  .  .  3"
    assert lines[7 - 1 + 1] == "1  +  .  . (.) .  .  +  1"
    assert lines[-1] == "ply 5, defenders to play"
    assert all(ord(character) < 128 for line in lines for character in line)
    assert "♚" in draw_text(Scene.of(game))


def test_text_tells_how_the_game_ended():
    game = Game("tawlbwrdd")
    game.play(game.legal_moves()[0])
    game.resign("attackers")
    assert draw_text(Scene.of(game)).splitlines()[-1] == "ply 1, defenders won: resignation"


def test_text_takes_colour():
    text = draw_text(Scene.of(played()), style=lambda role, cell: f"<{role}>{cell}")
    for role in ("attacker", "defender", "king", "empty", "special", "captured", "attacker moved", "empty moved"):
        assert f"<{role}>" in text


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
def test_picture_shows_every_difference(rules):
    game = Game(rules)
    start = draw_picture(Scene.of(game), 240)
    assert start.dtype == np.uint8
    assert start.shape[0] == start.shape[1] <= 240
    assert (draw_picture(Scene.of(game), 240) == start).all()
    scene = Scene.of(game)
    square = 5 if rules.size == 7 else 9  # an empty one
    board = scene.board.copy()
    pictures = [start, draw_picture(scene._replace(to_play=1), 240), draw_picture(scene._replace(move=(0, 2)), 240)]
    pictures.append(draw_picture(scene._replace(move=(0, 2), captured=(square,)), 240))
    for piece in (1, 2, 3):
        board[square] = piece
        pictures.append(draw_picture(scene._replace(board=board.copy()), 240))
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)


def test_picture_of_no_size_is_refused():
    with pytest.raises(ValueError, match="too small for 11 squares"):
        draw_picture(Scene.of(Game("tawlbwrdd")), 60)


def test_environment_renders():
    env = TaflEnv("brandubh", render_mode="rgb_array")
    env.reset()
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape[2] == 3
    env = TaflEnv("brandubh", render_mode="ansi")
    env.reset()
    assert "♚" in str(env.render())


def test_window_without_a_display(monkeypatch):
    pytest.importorskip("pygame", reason="needs the extra: pip install -e '.[human]'")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    env = gym.make("branan/Brandubh-v0", render_mode="human").unwrapped
    env.metadata = env.metadata | {"render_fps": 1000}
    _, info = env.reset()
    env.step(env.action_space.sample(info["action_mask"]))
    assert env.render() is None
    env.close()
    env.close()


def test_a_missing_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without_pygame(name, *rest, **named):
        if name == "pygame":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_pygame)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"\[human\]"):
        TaflEnv("brandubh", render_mode="human").reset()


def test_import_loads_neither_pillow_nor_pygame():
    code = "import env, sys; sys.exit(any(name in sys.modules for name in ('PIL', 'pygame')))"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def test_command_draws_text_and_picture(tmp_path, capsys):
    assert main(["render", "brandubh", "--moves", *TAKES, "--ascii"]) == 0
    assert "x [t]" in capsys.readouterr().out
    target = tmp_path / "board.png"
    assert main(["render", "tawlbwrdd", "--layout", "bell", "--side", "200", "--out", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layout", "bell"], "standard"),
        (["--to-play", "defenders"], "goes with --position"),
        (["--moves", "d2-c9"], "no rank 9"),
        (["--moves", "a1-a2"], "no piece on a1"),
        (["--out", "nowhere/at/all.png"], "there is no folder"),
        (["--side", "20", "--out", "x.png"], "too small"),
    ],
)
def test_command_says_what_is_wrong(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["render", "brandubh", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
