"""The door to the page, as a program: where it listens, how it stops, what it keeps when it is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import play
from app.serve import ServeError, address, open_socket

ROOT = Path(play.__file__).parent
pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops programs the POSIX way")


class Server:
    """One start of `play.py`; `address` is the last word of a line that it prints."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, str(ROOT / "play.py"), "--no-browser", "--data", str(folder / "games"), *arguments]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.printed: list[str] = []
        self.address = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)
            if "http://" in line:
                self.address = line.split()[-1]
                break

    def ask(self, path: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        body = None if request is None else json.dumps(request).encode()
        where = self.address.split("#")[0] + path
        with urlopen(Request(where, body, {"Content-Type": "application/json"}), timeout=120) as answer:
            return json.load(answer)

    def stop(self, sig: int) -> tuple[int, str]:
        self.process.send_signal(sig)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Server] = []

    def begin(*arguments: str) -> Server:
        started.append(Server(tmp_path, *arguments))
        return started[-1]

    yield begin
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


@pytest.mark.parametrize("sig", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_it_stops_in_the_middle_of_a_search_without_a_word(start: Start, sig: int) -> None:
    server = start("--port", "0")
    assert server.address.startswith("http://127.0.0.1:")
    request = {"game": "tawlbwrdd", "attackers": {"kind": "alphabeta", "depth": 12}}
    game = server.ask("api/games", request)
    while server.ask(f"api/games/{game['id']}")["thinking"] is None:
        pass
    assert server.stop(sig) == (0, "")


def test_killed_and_started_again_it_goes_on_where_it_was(start: Start) -> None:
    server = start("--port", "0")
    game = server.ask("api/games", {"game": "brandubh"})
    played = server.ask(f"api/games/{game['id']}/move", {"move": "d2-c2"})
    port = server.address.rstrip("/").rsplit(":", 1)[1]
    server.stop(signal.SIGKILL)
    again = start("--port", port)
    shown = again.ask(f"api/games/{game['id']}")
    assert {key: shown[key] for key in ("moves", "position", "legal")} == {
        key: played[key] for key in ("moves", "position", "legal")
    }


def test_a_game_asked_for_is_begun_for_this_machine_alone(start: Start) -> None:
    server = start("alphabeta-v1:depth=1", "--game", "tawlbwrdd", "--layout", "bell", "--side", "defenders")
    key = server.address.split("#game=")[1]
    shown = server.ask(f"api/games/{key}")
    assert (shown["game"], shown["layout"]) == ("tawlbwrdd", "bell")
    assert shown["players"]["attackers"]["depth"] == 1
    assert shown["players"]["defenders"]["kind"] == "person"
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(server.address, headers={"Host": "evil.example"}), timeout=60)
    assert refused.value.code == 403


def test_a_taken_port_is_passed_over_or_told_in_a_sentence() -> None:
    with open_socket("127.0.0.1", None) as first, open_socket("127.0.0.1", None) as second:
        assert address(first) != address(second)
        port = first.getsockname()[1]
        with pytest.raises(ServeError, match=f"nothing can listen on 127.0.0.1 port {port}") as told:
            open_socket("127.0.0.1", port)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], "--port 70000: allowed are 0 to 65535"),
        (["--host", "no.such.name.invalid"], "this machine has no such address"),
        (["random", "--simulations", "5"], "--simulations is for checkpoints"),
        (["alphabeta-v1:depth=40"], "depth"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play.main([*arguments, "--no-browser"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
