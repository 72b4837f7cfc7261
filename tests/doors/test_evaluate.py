"""The door to matches: what it prints and writes, and how it refuses."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest
import torch
from rich.console import Console

import evaluate
from arena.match import Standing
from env.records import parse_record
from models.checkpoint import Header, save
from models.network import NetworkConfig, PolicyValueNet

ROOT = Path(evaluate.__file__).parent


@pytest.fixture(autouse=True)
def openings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few openings for every layout in place of the project's."""
    folder = tmp_path / "openings"
    folder.mkdir()
    lines = {"brandubh": "d1-c1\nd1-b1\n", "tawlbwrdd": "d1-c1\nd1-b1\n", "tawlbwrdd-bell": "e1-d1\n"}
    for name, text in lines.items():
        (folder / f"{name}-v1.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr("arena.openings.FOLDER", folder)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained Tawlbwrdd checkpoint."""
    torch.manual_seed(0)
    config = NetworkConfig(blocks=1, channels=8)
    path = tmp_path_factory.mktemp("runs") / "best.safetensors"
    save(path, PolicyValueNet(11, config), Header(game="tawlbwrdd", size=11, network=config, discount=0.98))
    return path


def test_prints_a_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "result.json"
    code = evaluate.main(["alphabeta-v1:depth=2", "--opponent", "random", "--games", "4", "--json", str(file)])
    out = capsys.readouterr().out
    assert code == 0
    for part in (
        "as attackers",
        "as defenders",
        "overall",
        "95 % interval",
        "unfinished",
        "distinct games",
        "plies, mean",
    ):
        assert part in out
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["score"]["overall"] == (result["score"]["attackers"] + result["score"]["defenders"]) / 2
    assert result["score"]["overall"] > 0.5
    assert (result["games"], result["unfinished"]) == (4, 0)
    assert 1 <= result["distinct"] <= 4
    assert 0 <= result["interval"][0] <= result["interval"][1] <= 1
    assert (result["player"], result["opponent"]) == ("alphabeta-v1:depth=2", "random")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["result.json"]


def test_saves_the_games(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    assert evaluate.main(["alphabeta-v1:depth=1", "--opponent", "random", "--games", "4", "--save", str(folder)]) == 0
    records = [parse_record(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.otg"))]
    assert [record.tags["round"] for record in records] == ["1", "2", "3", "4"]
    assert [record.tags["attackers"] for record in records] == ["alphabeta-v1:depth=1", "random"] * 2
    assert records[0].moves[0] == records[1].moves[0] != records[2].moves[0]
    assert all(record.result in ("attackers", "defenders") for record in records)


def test_odd_games_and_used_up_openings_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main(["alphabeta-v1:depth=1", "--depth", "1", "--games", "7"]) == 0
    out = capsys.readouterr().out
    assert "7 games were asked for; 8 make whole pairs" in out
    assert "4 pairs share 2 openings" in out


def test_the_game_is_the_checkpoints(checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    options = ["--opponent", "random", "--games", "2", "--simulations", "2", "--max-plies", "30", "--json", str(file)]
    assert evaluate.main([str(checkpoint), *options, "--layout", "bell"]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert (result["game"], result["layout"], result["max_plies"]) == ("tawlbwrdd", "bell", 30)
    assert result["player"].endswith("best.safetensors:simulations=2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["randm"], "did you mean random"),
        (["random", "--opponent", "alphabeta-v1:dept=2"], "did you mean depth"),
        (["random", "--games", "0"], "--games 0: has to be at least 1"),
        (["random", "--games", "-2"], "--games -2: has to be at least 1"),
        (["random", "--seed", "-1"], "--seed -1"),
        (["random", "--depth", "0"], "--depth 0"),
        (["random", "--seconds", "-1"], "seconds=-1.0 has to be"),
        (["random", "--max-plies", "1"], "a limit of 1 plies"),
        (["random", "--simulations", "8"], "--simulations is for checkpoints"),
        (["random", "--layout", "upside-down"], "no openings for brandubh, layout upside-down"),
        (["random", "--opponent", "random", "--depth", "3"], "--depth and --seconds are for the opponent alphabeta-v1"),
        (["random", "--json", "nowhere/at/all.json"], "does not exist"),
        (["random", "--json", "."], "there is a folder of that name already"),
        (["random", "--save", "."], "there is a folder of that name already"),
        (["{checkpoint}", "--game", "brandubh"], "plays tawlbwrdd, not brandubh"),
        (["{checkpoint}", "--device", "abacus"], "device 'abacus' is not there"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    arguments: list[str], said: str, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([argument.format(checkpoint=checkpoint) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert "95 %" not in captured.out


@pytest.mark.parametrize("arguments", [["--game", "chess"], ["--depth", "2", "--seconds", "1"], ["--games", "many"]])
def test_bad_options_are_refused_by_the_parser(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        evaluate.main(["random", *arguments])
    assert caught.value.code == 2


def test_without_a_checkpoint_it_says_how_to_train_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("arena.players.ROOT", tmp_path)
    assert evaluate.main([]) == 2
    assert "python train.py --config" in capsys.readouterr().err


def test_ctrl_c_prints_the_score_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def impatient(_: Console) -> Iterator[Callable[[Standing], None]]:
        def told(standing: Standing) -> None:
            if standing.ended >= 3:
                raise KeyboardInterrupt

        yield told

    monkeypatch.setattr("arena.match_command.match_progress", impatient)
    file = tmp_path / "result.json"
    assert evaluate.main(["random", "--opponent", "random", "--games", "60", "--json", str(file)]) == 130
    out = " ".join(capsys.readouterr().out.split())
    assert "Interrupted: " in out
    assert "of 60 games were over" in out
    result = json.loads(file.read_text(encoding="utf-8"))
    assert 3 <= result["games"] < result["planned"] == 60


def test_as_a_program_it_fails_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "evaluate.py"), "nobody"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("evaluate.py: there is no player or file 'nobody'")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["random", "--games", str(10**21)], "at most 100000"),
        (["{checkpoint}", "--simulations", "2000000000"], "at most 100000"),
        ([""], "names no player"),
        (["random", "--device", "foo"], "--device is for checkpoints"),
        (["random", "--json", "n" * 300], "no file can have this name"),
        (["random", "--json", "a\0b"], "no file can have this name"),
        (["random", "--json", "same", "--save", "same"], "different names"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_played(
    arguments: list[str], said: str, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([argument.format(checkpoint=checkpoint) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_a_full_disk_costs_the_file_and_not_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("arena.command_line.write_text", full)
    assert evaluate.main(["random", "--opponent", "random", "--games", "2", "--json", str(tmp_path / "r.json")]) == 1
    captured = capsys.readouterr()
    assert "95 %" in captured.out
    assert "No space left" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_where_nothing_can_be_printed_the_result_is_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, ROOT / "evaluate.py", "random", "--opponent", "random", "--games", "2", "--json", file],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert json.loads(file.read_text())["games"] == 2
    assert "what there is to say cannot be printed" in done.stderr and done.stderr.count("\n") == 1


def test_a_mode_is_chosen_by_its_option_and_refuses_those_of_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--count")
        parser.add_argument("--slow", action="store_true")

    module = cast(ModuleType, SimpleNamespace(add_arguments=add_arguments, run=lambda options, _: int(options.count)))
    counting = {"a count": evaluate.Mode(module, "count", frozenset({"seed"}))}
    monkeypatch.setattr(evaluate, "MODES", counting | dict(evaluate.MODES))
    assert evaluate.main(["random", "--count", "7", "--slow"]) == 7
    for arguments, said in (
        (["--slow"], "--slow does not belong to a match but to a count"),
        (["--count", "7", "--max-plies", "30"], "--max-plies does not belong to a count but to a match"),
        (["--count", "7", "--seed", "0"], "--seed does not belong to a count"),
    ):
        assert evaluate.main(["random", *arguments]) == 2
        assert capsys.readouterr().err == f"evaluate.py: {said}\n"


def test_what_programs_say_and_files_are_called_is_printed_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arena.match_command.match_notes", lambda *_: ["a [bold]brave[/red] note :bug:"])
    file = tmp_path / "[bold]r.json"
    assert evaluate.main(["random", "--opponent", "random", "--games", "2", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "a [bold]brave[/red] note :bug:" in out
    assert "[bold]r.json" in out.replace("\n", "")


@pytest.mark.parametrize("name", ["m/match.json", "m/0001.otg", "m/new.json", "link/match.json"])
def test_the_result_is_not_written_into_the_match(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "m"
    assert evaluate.main(["random", "--opponent", "random", "--games", "2", "--save", str(folder)]) == 0
    (tmp_path / "link").symlink_to(folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    capsys.readouterr()
    assert evaluate.main(["--resume", str(folder), "--json", str(tmp_path / name)]) == 2
    assert "lies in the match's folder" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
