"""`python train.py` as a process: killed, doubled, cut off from its terminal."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = [sys.executable, str(ROOT / "train.py")]
PATIENCE = 300  # seconds; kernels may have to be compiled first

SMOKE = [
    *("--config", str(ROOT / "configs" / "smoke.yaml"), "--run.iterations", "100000"),
    *("--selfplay.games_per_group", "8", "--selfplay.max_plies", "20"),
    *("--replay.minimum", "20", "--learner.batch", "16"),
    *("--measure.final_games", "0", "--monitor.tensorboard", "false"),
]


@contextmanager
def training(*options: str, **popen: object) -> Iterator[subprocess.Popen[str]]:
    """A process that trains, ended with the test."""
    process = subprocess.Popen([*TRAIN, *options], cwd=ROOT, text=True, **popen)  # pyright: ignore
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def train(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TRAIN, *options], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE, check=False)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def steps(run: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def last(run: Path) -> int:
    return max((int(p.name) for p in (run / "iterations").glob("[0-9]*")), default=0)


def test_killed_at_any_moment_it_goes_on_and_two_never_work_at_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with training(*SMOKE, "--out", str(run), stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: last(run) >= 2)
        second = train("--resume", str(run))
        assert second.returncode == 2
        assert f"{run} is being trained by process {process.pid}" in second.stderr
        assert "Traceback" not in second.stderr
        time.sleep(random.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    reached = last(run)
    resumed = train("--resume", str(run), "--run.iterations", str(reached + 2))
    assert resumed.returncode == 0, resumed.stderr
    # At most the iteration that was under way is lost.
    assert f"goes on from iteration {reached:,}\n" in resumed.stdout
    assert last(run) == reached + 2
    assert steps(run) == list(range(1, reached + 3))


@pytest.mark.parametrize("cut", ["pipe", "terminal"])
def test_without_anybody_to_read_it_saves_and_ends(tmp_path: Path, cut: str) -> None:
    run = tmp_path / "run"
    output, ours = os.pipe() if cut == "pipe" else os.openpty()
    errors = (tmp_path / "errors").open("w+")
    with training(*SMOKE, "--out", str(run), stdout=ours, stderr=errors) as process:
        os.close(ours)
        wait_for(lambda: bool(os.read(output, 4096)) and last(run) >= 1)
        os.close(output)
        if cut == "terminal":
            process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE) == 0
    errors.seek(0)
    assert errors.read() == ""
    assert steps(run) == list(range(1, last(run) + 1))


@pytest.mark.parametrize("lines", [0, 1])
def test_cut_off_before_it_begins_it_ends_without_a_word(tmp_path: Path, lines: int) -> None:
    run = tmp_path / "run"
    with training(*SMOKE, "--out", str(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    # One iteration of this would take very long.
    with training(*SMOKE, "--out", str(run), "--selfplay.steps", "1000000", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        wait_for(lambda: (run / "latest.safetensors").exists())
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        for line in process.stdout:
            if "Once more stops at once" in line:
                break
        process.send_signal(signal.SIGINT)
        [words] = process.stdout.read().splitlines()
        assert process.wait(PATIENCE) == 130
        assert words.startswith("Ended at once. Everything up to iteration 0 is saved. To go on: ")
        assert words.endswith(f"train.py --resume {run}")
        assert (run / "lock").read_text() == "", "nobody ended it from outside"
    assert last(run) == 0


def test_a_mistake_is_no_traceback() -> None:
    wrong = train("--config", "configs/nothing.yaml")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("configs/nothing.yaml: no such config")
    assert "Traceback" not in wrong.stderr
