"""The door to the board, as a program fed through its standard input."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import play
from models.checkpoint import Header, save
from models.network import NetworkConfig, PolicyValueNet

ROOT = Path(play.__file__).parent


def run(folder: Path, *arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "play.py"), *arguments],
        input=typed,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained Brandubh checkpoint, in a run's folder."""
    torch.manual_seed(0)
    config = NetworkConfig(blocks=1, channels=8)
    path = tmp_path_factory.mktemp("work") / "runs" / "first" / "best.safetensors"
    path.parent.mkdir(parents=True)
    save(path, PolicyValueNet(7, config), Header(game="brandubh", size=7, network=config, discount=0.98))
    return path


def test_a_game_of_brandubh_against_a_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    typed = f"d1\n1\nview\nhint\nsave {tmp_path / 'game.otg'}\nundo\nresign\n"
    done = run(checkpoint.parents[2], "--terminal", "--simulations", "4", "--seed", "1", typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"against {checkpoint.name}" in done.stdout or "runs/first/best.safetensors:simulations=4" in done.stdout
    assert "attackers win" in done.stdout
    assert "Hint: " in done.stdout
    assert "You lose (defenders win): the attackers resigned" in done.stdout
    assert (tmp_path / "game.otg").read_text(encoding="utf-8").count("1. d1-") == 1
    loaded = run(tmp_path, "random", "--terminal", "--load", "game.otg", "--seed", "1", typed="undo\n")
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert loaded.stdout.startswith("Brandubh: you play")


def test_a_game_of_tawlbwrdd_against_alphabeta(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "alphabeta-v1:depth=1",
        *("--terminal", "--game", "tawlbwrdd", "--layout", "bell", "--side", "defenders", "--seed", "3"),
        typed="view\nmoves\n1\nquit\n",
        PYTHONIOENCODING="ascii",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "you play the defenders, alphabeta-v1:depth=1 the attackers" in done.stdout
    assert done.stdout.count("attackers play ") == 2
    assert "defenders play " in done.stdout
    assert "Score for the defenders" in done.stdout
    assert "\x1b" not in done.stdout
    assert " K " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["randm"], "did you mean random"),
        (["random", "--layout", "bell"], "has no layout 'bell'"),
        (["random", "--simulations", "4"], "--simulations is for checkpoints"),
        (["alphabeta-v1:depth=1", "--seconds", "1"], "has its own limits"),
        (["random", "--seconds", "0"], "--seconds 0.0: has to be more than 0"),
        (["random", "--load", "none.otg"], "none.otg cannot be read"),
        (["alphabeta-v1", "--seconds", "inf"], "--seconds inf: at most"),
        (["alphabeta-v1", "--seconds", "nan"], "--seconds nan: at most"),
        (["{checkpoint}", "--simulations", "2000000000"], "at most 100000"),
        (["{checkpoint}", "--game", "tawlbwrdd"], "plays brandubh, not tawlbwrdd"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    arguments: list[str], said: str, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play.main([argument.format(checkpoint=checkpoint) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_with_no_checkpoint_it_is_alphabeta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.players.ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert play.usual_player("brandubh", 1.0) == "alphabeta-v1:seconds=1"


def test_the_newest_checkpoint_is_found_and_of_the_game_asked_for(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.players.ROOT", tmp_path)
    monkeypatch.chdir(checkpoint.parents[2])
    assert play.usual_player(None, 1.0) == play.usual_player("brandubh", 1.0) == "runs/first/best.safetensors"
    assert play.usual_player("tawlbwrdd", 2.0) == "alphabeta-v1:seconds=2"


@pytest.mark.skipif(os.name != "posix", reason="closes a pipe the POSIX way")
def test_a_closed_pipe_and_odd_bytes_leave_no_traceback(tmp_path: Path) -> None:
    typed = "moves\\n\\377\\nboard\\nboard\\nquit\\n"
    command = f"printf '{typed}' | {sys.executable} {ROOT / 'play.py'} random --terminal | head -n 2"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.skipif(os.name != "posix", reason="opens a terminal the POSIX way")
@pytest.mark.parametrize(
    ("options", "ready", "typed", "shown"),
    [
        ((), b"Your turn", b"\x1b[B\x1b[B\r\x1b[D\r", b"d2-c2"),  # two down, choose, one to the left, choose
        (("--plain",), b"attackers>", b"d2-c2\n", b"attackers play d2-c2"),
    ],
)
def test_a_closed_terminal_keeps_the_game(
    tmp_path: Path, options: tuple[str, ...], ready: bytes, typed: bytes, shown: bytes
) -> None:
    import fcntl
    import pty
    import struct
    import termios

    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, str(ROOT / "play.py"), "random", "--terminal", *options]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=far, stdout=far, stderr=far) as process:
        os.close(far)
        output = b""
        while ready not in output:
            output += os.read(near, 4096)
        os.write(near, typed)
        while shown not in output:
            output += os.read(near, 4096)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 129
    os.close(near)
    kept = list(tmp_path.glob("branan-brandubh-*.otg"))
    assert len(kept) == 1
    assert "d2-c2" in kept[0].read_text(encoding="utf-8")
