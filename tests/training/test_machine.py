"""What a run says of memory and disk, before it begins and when they are used up."""

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from env import RULES
from env.encoding import input_size
from models import CheckpointError
from search.cache import new_cache
from search.config import SearchConfig
from training import machine
from training.config import ReplayConfig, RunConfig, SelfPlayConfig
from training.config_file import CONFIGS, read_config
from training.machine import estimate, free_memory, machine_failure, shortages
from training.output import OutputError
from training.replay import Replay
from training.selfplay import SelfPlay
from training.stopping import Stop
from training.trainer import Choices, Training


def guess(inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray) -> None:
    values[:] = 0.5 * np.sin(inputs @ (np.arange(inputs.shape[1]) * 7919 % 1009))
    logits[:] = np.sin(values[:, None] + actions * 0.37)


@pytest.mark.parametrize("game", list(RULES))
def test_the_estimate_is_what_games_take(game: str) -> None:
    rules = RULES[game]
    settings = SelfPlayConfig(groups=1, games_per_group=24, simulations=8, fast_simulations=4, full_share=0.5)
    config = RunConfig(game=game, selfplay=settings, replay=ReplayConfig(window=1000))
    play = SelfPlay(rules, settings, SearchConfig(), [guess], seed=0)
    with ThreadPoolExecutor(1) as pool:
        shards = [play.run(400, 0, pool) for _ in range(3)]
    replay = Replay(input_size(rules), ReplayConfig(window=1_000_000))
    for iteration, shard in enumerate(shards):
        replay.append(iteration + 1, shard)
    stored = sum(len(save({k: np.asarray(v, order="C") for k, v in shard.arrays().items()})) for shard in shards)
    found = estimate(config)
    assert len(replay) > 1000
    assert replay.nbytes / len(replay) == pytest.approx(found.memory_row, rel=0.2)
    assert stored / len(replay) == pytest.approx(found.disk_row, rel=0.2)
    assert (found.memory, found.disk) == (found.memory_row * 1000 / 1e6, found.disk_row * 1000 / 1e6)


def test_the_estimate_obeys_the_caps() -> None:
    replay = ReplayConfig(window=100_000_000, memory_megabytes=7, disk_megabytes=5)
    found = estimate(RunConfig(game="brandubh", replay=replay))
    assert (found.memory, found.disk, found.most_memory, found.most_disk) == (7, 5, 7, 5)


@pytest.mark.parametrize("capacity", [0, 1000])
def test_the_estimate_of_remembered_evaluations_is_what_a_cache_takes(capacity: int) -> None:
    config = RunConfig(game="brandubh", search=SearchConfig(cache=capacity), selfplay=SelfPlayConfig(groups=3))
    assert estimate(config).cache == 3 * new_cache(7, capacity).entries.nbytes / 1e6


def test_what_the_machine_has_not_got_is_said_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = estimate(RunConfig(game="brandubh"))
    assert shortages(needed, tmp_path / "not" / "there") == []
    huge = needed._replace(memory=1e9, disk=1e9)
    memory, disk = shortages(huge, tmp_path / "not" / "there")
    assert "--replay.memory_megabytes" in memory
    assert f"on the disk that holds {tmp_path}" in disk
    monkeypatch.setattr(machine, "free_memory", lambda: None)  # where the system does not tell
    assert len(shortages(huge, tmp_path)) == 1


def test_free_memory_is_a_number_of_megabytes() -> None:
    free = free_memory()
    assert free is None or 1 < free < 1e8


FULL = CheckpointError("x.safetensors cannot be written")
FULL.__cause__ = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("error", "begin"), [
    (OSError(errno.ENOSPC, "No space left on device"), "The disk that holds runs/x is full"),
    (FULL, "The disk that holds runs/x is full"),
    (PermissionError(errno.EACCES, "Permission denied", "runs/x/y"), "No permission to write runs/x/y"),
    (OSError(errno.EFBIG, "File too large"), "runs/x cannot be used: File too large"),
    (OutputError(errno.ENOSPC, "No space left on device"), "Standard output cannot be written: No space left"),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), "Memory does not suffice"),
    (MemoryError("Unable to allocate 3 GiB"), "Memory does not suffice"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "Memory does not"),
    (RuntimeError("std::bad_alloc"), "Memory does not suffice"),
    (RuntimeError("could not create a primitive"), "Memory does not suffice"),
    (RuntimeError("CUDA out of memory. Tried to allocate"), "GPU memory does not suffice"),
    (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "GPU memory does not suffice"),
    (RuntimeError("can't start new thread"), "No more threads can be started"),
])  # fmt: skip
def test_what_the_machine_refuses_is_one_sentence(error: Exception, begin: str) -> None:
    sentence = machine_failure(error, Path("runs/x"))
    assert sentence is not None
    assert sentence.startswith(begin)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_other_errors_stay_what_they_are() -> None:
    for error in (RuntimeError("shapes do not fit"), ValueError("memory"), CheckpointError("x is damaged")):
        assert machine_failure(error, Path("runs/x")) is None


@pytest.mark.parametrize(("precision", "inference", "bfloat16"), [
    ("auto", "bfloat16", True), ("auto", "float32", False), ("float32", "bfloat16", False),
])  # fmt: skip
def test_the_learner_takes_the_arithmetic_that_is_faster_here(precision: str, inference: str, bfloat16: bool) -> None:
    config = read_config(CONFIGS / "smoke.yaml", {"learner.precision": precision})
    training = Training(config, Choices("cpu", inference), Stop())
    assert training.learner.bfloat16 == bfloat16
