"""A run that goes on with other settings, or whose folder comes from a stranger."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from models import read_header
from training.command import main
from training.config_file import CONFIGS
from training.measure import Strength
from training.selfplay import SelfPlay

OPTIONS = [
    *("--config", str(CONFIGS / "smoke.yaml"), "--run.iterations", "3"),
    *("--selfplay.games_per_group", "8", "--selfplay.max_plies", "20"),
    *("--replay.minimum", "20", "--learner.batch", "16", "--measure.simulations", "2"),
    *("--measure.opponent", "random", "--measure.final_games", "1", "--measure.final_minutes", "1000"),
    *("--monitor.tensorboard", "false", "--run.inference", "float32"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three iterations, the last of them measured."""
    run = tmp_path_factory.mktemp("runs") / "made"
    assert main([*OPTIONS, "--out", str(run)]) == 0
    assert (run / "best.safetensors").exists()
    return run


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "run"))


def manifest(run: Path) -> Path:
    return max((run / "iterations").glob("[0-9]*")) / "manifest.json"


def best(run: Path) -> dict:
    return json.loads(manifest(run).read_text())["loop"]["best"]


def scores(run: Path) -> dict[str, float]:
    return dict(read_header(run / "best.safetensors").provenance.scores)


@pytest.mark.parametrize("age", ["present", "before scores knew their opponent"])
@pytest.mark.parametrize("change", ["--measure.opponent=alphabeta-v1:depth=1", "--measure.simulations=3"])
def test_a_score_stays_one_against_the_opponent_that_gave_it(
    run: Path, change: str, age: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = scores(run)
    assert set(before) == {"random attackers", "random defenders"}
    lucky = {"iteration": 3, "attackers": 1.0, "defenders": 1.0, "games": 100}
    found = json.loads(manifest(run).read_text())
    found["loop"]["best"] = lucky | ({"opponent": "random", "simulations": 2} if age == "present" else {})
    manifest(run).write_text(json.dumps(found))
    # Interrupted before an iteration is made, and then gone on with as if nothing had been changed.
    monkeypatch.setattr(SelfPlay, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    for options in ([change], []):
        with pytest.raises(KeyboardInterrupt):
            main(["--resume", str(run), "--run.iterations", "4", *options])
        said = capsys.readouterr().out
        assert "The best network so far, of iteration 3, was measured against random with 2 simulations" in said
        assert scores(run) == {"random attackers": 1.0, "random defenders": 1.0}
        assert best(run) == lucky | {"opponent": "random", "simulations": 2}
    monkeypatch.undo()
    # However bad, the first network that is measured in the new way is the best that is known.
    assert main(["--resume", str(run), "--run.iterations", "4"]) == 0
    opponent = change.partition("opponent=")[2] or "random"
    assert best(run)["iteration"] == 4
    assert set(scores(run)) == {f"{opponent} attackers", f"{opponent} defenders"}


def test_scores_found_in_other_ways_are_not_compared() -> None:
    lucky = Strength(4, 1.0, 1.0, 200, "random", 32)
    assert not Strength(8, 0.1, 0.1, 200, "random", 32).displaces(lucky)
    assert Strength(8, 0.1, 0.1, 200, "alphabeta-v1", 32).displaces(lucky)
    assert Strength(8, 0.1, 0.1, 200, "random", 64).displaces(lucky)


def test_another_arithmetic_is_taken_up(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--resume", str(run), "--run.iterations", "4", "--run.inference", "bfloat16"]) == 0
    said = capsys.readouterr().out
    assert "Changed: run.inference from float32 to bfloat16" in said
    assert "self-play in bfloat16" in said
    assert json.loads(manifest(run).read_text())["loop"]["choices"]["inference"] == "bfloat16"


def test_what_searches_feel_of_the_discount_may_change_and_the_discount_may_not(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = ["--search.discounted_share", "0.1", "--selfplay.value_lambda", "1", "--balance.by", "temperature"]
    assert main(["--resume", str(run), "--run.iterations", "4", *changes]) == 0
    assert read_header(run / "latest.safetensors").discounted_share == 0.1
    assert main(["--resume", str(run), "--run.iterations", "5", "--search.discount", "0.9"]) == 2
    assert "--search.discount cannot change in a run that goes on (it is 0.98)" in capsys.readouterr().err


def test_what_is_told_to_begin_anew_with_works(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--resume", str(run), "--run.seed", "4"]) == 2
    hint = f"--config {run / 'config.yaml'} --init {run / 'latest.safetensors'}"
    assert capsys.readouterr().err.rstrip().endswith(f"{hint} --run.seed 4")
    options = ["--run.iterations", "1", "--measure.final_games", "0", "--out", str(tmp_path / "anew")]
    assert main([*hint.split(), *options]) == 0
    for path in (run / "iterations").glob("*/state.safetensors"):
        path.unlink()
    capsys.readouterr()
    assert main(["--resume", str(run)]) == 2
    assert capsys.readouterr().err.rstrip().endswith(hint)


def test_an_opponent_with_brackets_in_its_name_is_told_as_it_is(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "e[/x]"
    other.mkdir(parents=True)
    shutil.copy(run / "latest.safetensors", other / "best.safetensors")
    player = f"{other / 'best.safetensors'}:simulations=1"
    assert main(["--resume", str(run), "--run.iterations", "4", "--measure.opponent", player]) == 0
    assert f"against {player}: " in capsys.readouterr().out.replace("\n", "")


def forged(path: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Change a file's arrays, checksum and all."""
    arrays = load_file(path)
    change(arrays)
    data = save(arrays)
    path.write_bytes(data)
    manifest = path.with_name("manifest.json")
    told = json.loads(manifest.read_text())
    told["files"][path.name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest.write_text(json.dumps(told))


@pytest.mark.parametrize(("file", "array", "value"), [
    ("state", "selfplay/group0.moves", 32000),
    ("state", "selfplay/group0.layout", 99),
    ("state", "selfplay/group0.balance", 100),
    ("state", "selfplay/group0.opening", 30000),
    ("state", "selfplay/group1.record_ply", 3000),
    ("state", "selfplay/group1.record_actions", 30000),
    ("shard", "policy_actions", 30000),
    ("shard", "moves", 32000),
    ("shard", "inputs", 99),
    ("shard", "value", float("nan")),
])  # fmt: skip
def test_arrays_that_hold_what_they_cannot_are_told_by_file_and_name(
    run: Path, file: str, array: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    path = manifest(run).with_name(f"{file}.safetensors")

    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[array].flat[-1] = value

    forged(path, change)
    assert main(["--resume", str(run), "--run.iterations", "4"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert str(path) in line
    assert array.rpartition(".")[2] in line
    assert f"holds {value:.6g}; allowed are " in line


@pytest.mark.skipif(os.name == "nt", reason="no named pipes there")
@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors", "shard.safetensors", "../../result.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    run: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = manifest(run).parent / name
    path.unlink()
    os.mkfifo(path)
    done = main(["--resume", str(run), "--run.iterations", "3"])
    said = capsys.readouterr()
    if name.endswith("result.json"):
        assert done == 2
        assert "result.json is no file, though the run needs one of that name" in said.err
    else:
        assert done == 0
        assert "The run goes back to iteration 2: " in said.out
        assert "it is not a regular file" in said.out


def test_what_there_was_no_time_for_is_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = ["--measure.final_games", "2", "--measure.final_minutes"]
    assert main(["--resume", str(run), "--minutes", "0.0001", *measured, "0.0001"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The time did not suffice for an iteration more" in said
    assert "not measured, as the time did not suffice for 4 games" in said
    assert main(["--resume", str(run), "--run.minutes", "null", "--run.iterations", "3", *measured, "1000"]) == 0
    assert "The time did not suffice" not in " ".join(capsys.readouterr().out.split()), "no more were asked for"
