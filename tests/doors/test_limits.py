"""`python train.py` on a machine that has not enough: of memory, of disk, of GPUs."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = [sys.executable, str(ROOT / "train.py")]
PATIENCE = 600  # seconds; kernels may have to be compiled first

SMOKE = [
    *("--config", str(ROOT / "configs" / "smoke.yaml"), "--run.iterations", "100000"),
    *("--selfplay.games_per_group", "8", "--selfplay.max_plies", "20", "--selfplay.steps", "40"),
    *("--replay.minimum", "1000000", "--replay.window", "1000000"),
    *("--measure.final_games", "0", "--monitor.picture_minutes", "0"),
]


def train(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TRAIN, *options], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE, check=False)


def last(run: Path) -> int:
    return max((int(p.name) for p in (run / "iterations").glob("[0-9]*")), default=0)


def goes_on(run: Path) -> None:
    """A run that was ended by the machine goes on from its last iteration."""
    reached = last(run)
    resumed = train("--resume", str(run), "--run.iterations", str(reached + 1))
    assert resumed.returncode == 0, resumed.stderr
    assert f"goes on from iteration {reached:,}\n" in resumed.stdout
    assert last(run) == reached + 1


def one_sentence(stderr: str, begin: str, run: Path) -> None:
    """What was said is one line: what is wrong, that the run is whole, and how it goes on."""
    assert "Traceback" not in stderr
    [line] = stderr.splitlines()
    assert line.startswith(begin)
    assert f"The run is whole up to iteration {last(run)}; once that is mended, go on with: " in line
    assert line.endswith(f"--resume {run}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes, where this process may make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = sys.platform == "linux" and os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("a small disk can only be mounted by root, on Linux")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_sentence_and_the_run_goes_on(small_disk: Path) -> None:
    run = small_disk / "run"
    full = train(*SMOKE, "--out", str(run))
    assert full.returncode == 1
    one_sentence(full.stderr, f"The disk that holds {run} is full; delete something there, such as old runs.", run)
    assert last(run) > 0
    subprocess.run(["mount", "-o", "remount,size=30m", str(small_disk)], check=True)
    goes_on(run)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can take memory away from a process that runs")
def test_too_little_memory_is_one_sentence_and_the_run_goes_on(tmp_path: Path) -> None:
    import resource

    run = tmp_path / "run"
    with subprocess.Popen(
        [*TRAIN, *SMOKE, "--out", str(run)], cwd=ROOT, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            end = time.monotonic() + PATIENCE
            while last(run) < 2:
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.05)
            resource.prlimit(process.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))  # no more than it has
            _, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 1, stderr
    # What a library in Rust says of its own panic cannot be kept from standard error; the sentence comes after it.
    own = stderr.splitlines()[-1] if "panicked" in stderr else stderr
    one_sentence(own, "Memory does not suffice; --replay.memory_megabytes", run)
    goes_on(run)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_takes_no_more_is_one_sentence(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [*TRAIN, *SMOKE, "--out", str(tmp_path / "run")]
        done = subprocess.run(command, cwd=ROOT, text=True, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, "Standard output cannot be written: No space left on device.\n")


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of files' size as Linux has it")
def test_a_file_that_may_not_grow_is_one_sentence(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = f'ulimit -f 400; exec "$@" --out {run}'
    done = subprocess.run(
        ["bash", "-c", command, "bash", *TRAIN, *SMOKE], cwd=ROOT, text=True, capture_output=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 1
    one_sentence(done.stderr, f"{run} cannot be used: File too large.", run)


def test_a_gpu_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for options in (["--device", "cuda"], ["--config", str(ROOT / "configs" / "brandubh-gpu.yaml")]):
        refused = train(*options, "--out", str(tmp_path / "run"))
        assert refused.returncode == 2
        [line] = refused.stderr.splitlines()
        assert line.startswith("device 'cuda' is not there")
        assert "--device cpu" in line
        assert not (tmp_path / "run").exists()
