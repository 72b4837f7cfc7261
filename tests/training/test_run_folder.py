"""A run on disk: killed at any step, damaged, locked, it is still whole or says what is wrong."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from training.config import RunConfig
from training.config_file import ConfigError
from training.manifest import Manifest, RunError
from training.run_folder import RunFolder, refuse_existing

CONFIG = RunConfig(game="brandubh")


class Killed(BaseException):
    """The process ends here."""


def manifest(iteration: int, window: int = 0) -> Manifest:
    row = {"step": iteration, "losses/policy": 1 / (iteration + 1)}
    return Manifest(
        iteration=iteration, seconds=2.0 * iteration, games=3, positions=4, learner_steps=5, window=window,
        loop={"big": 2**127 - 1, "number": iteration}, metrics=row,
    )  # fmt: skip


def state(iteration: int) -> dict[str, np.ndarray]:
    return {"scalar": np.array(iteration), "rows": np.arange(12, dtype=np.float32).reshape(3, 4).T + iteration}


def shard(iteration: int) -> dict[str, np.ndarray]:
    return {"moves": np.full(50, iteration, np.int16), "none": np.zeros((0, 3), np.int8)}


def commit(run: RunFolder, iteration: int, window: int = 0) -> Manifest:
    done = run.commit(manifest(iteration, window), state(iteration), shard(iteration))
    run.append_metrics(done.metrics)
    return done


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder.create(tmp_path / "run", CONFIG, manifest(0), state(0))
    for iteration in (1, 2):
        commit(run, iteration)
    return run


def reopen(run: RunFolder) -> RunFolder:
    run.close()
    return RunFolder.open(run.path)


def steps(run: RunFolder) -> list[int]:
    return [json.loads(line)["step"] for line in run.metrics_file.read_text().splitlines()]


def test_what_is_committed_comes_back(run: RunFolder) -> None:
    run = reopen(run)
    found, arrays = run.last()
    assert found.model_copy(update={"files": {}}) == manifest(2)
    assert arrays.keys() == state(2).keys()
    for name, array in state(2).items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    shards = list(run.shards(found))
    assert [iteration for iteration, _ in shards] == [1, 2]
    np.testing.assert_array_equal(shards[0][1]["moves"], shard(1)["moves"])
    assert run.config() == CONFIG


def test_killed_at_any_step_a_run_is_at_the_iteration_before_or_after(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for survived in range(1, 60):
        before, _ = run.last()
        calls = iter(range(survived))

        def dying(function, calls=calls):
            def call(*args, **kwargs):
                if next(calls, None) is None:
                    raise Killed
                return function(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", dying(shutil.rmtree))
            for name in ("fsync", "rename", "replace", "mkdir", "unlink"):
                patch.setattr(os, name, dying(getattr(os, name)))
            patch.setattr(Path, "open", dying(Path.open))
            try:
                done = commit(run, before.iteration + 1)
                run.prune(done, before)
                finished = True
            except Killed:
                finished = False
        run = reopen(run)
        found, arrays = run.last()
        run.repair_metrics(found)
        assert found.iteration - before.iteration in (0, 1)
        assert arrays["scalar"] == found.iteration
        assert [iteration for iteration, _ in run.shards(found)] == list(range(1, found.iteration + 1))
        assert steps(run) == list(range(1, found.iteration + 1))
        seen.add(found.iteration - before.iteration)
        if finished:
            assert survived > 8  # a commit is that many steps at least, and each has been the last one
            assert seen == {0, 1}
            return
    pytest.fail("a commit takes no end of steps")


def test_a_full_disk_leaves_the_run_as_it_was(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            commit(run, 3)
    assert sorted(p.name for p in run.iterations.iterdir()) == ["000000", "000001", "000002"]
    assert run.last()[0].iteration == 2
    commit(run, 3)
    assert run.last()[0].iteration == 3


@pytest.mark.parametrize("file", ["state.safetensors", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_last_iteration_is_put_aside(run: RunFolder, file: str, damage: str) -> None:
    path = run.iterations / "000002" / file
    data = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "flip":
            path.write_bytes(data[:-20] + bytes([data[-20] ^ 0xFF]) + data[-19:])
        case "gone":
            path.unlink()
    if (file, damage) == ("state.safetensors", "gone"):
        run.prune(manifest(2), manifest(1))
    run = reopen(run)
    assert run.last()[0].iteration == 1
    commit(run, 2)
    assert run.last()[0].iteration == 2


def test_a_damaged_shard_of_the_window_is_left_out_and_told(run: RunFolder) -> None:
    path = run.iterations / "000001" / "shard.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert [iteration for iteration, _ in run.shards(run.last()[0])] == [2]
    [note] = run.notes
    assert "without the games of iteration 1: " in note
    assert "shard.safetensors is damaged: its checksum" in note


@pytest.mark.parametrize("file", ["state.safetensors", "manifest.json", "shard.safetensors"])
def test_without_a_file_of_the_newest_iteration_it_goes_back_and_says_so(run: RunFolder, file: str) -> None:
    (run.iterations / "000002" / file).unlink()
    if file == "state.safetensors":
        (run.iterations / "000002" / "manifest.json").unlink()
    run = reopen(run)
    assert run.last()[0].iteration == 1
    [note] = run.notes
    assert note.startswith("The run goes back to iteration 1: ")
    commit(run, 2)
    assert run.last()[0].iteration == 2


def test_where_every_newest_shard_is_lost_it_goes_on_without_them(run: RunFolder) -> None:
    run.prune(manifest(2), manifest(1))
    for path in run.iterations.glob("*/shard.safetensors"):
        path.unlink()
    found, _ = run.last()
    assert found.iteration == 2
    assert list(run.shards(found)) == []
    assert len(run.notes) == 2


def test_folders_that_are_no_iterations_are_passed_over(run: RunFolder) -> None:
    for name in ("notes", "000000-copy", "7"):
        (run.iterations / name).mkdir()
    assert run.last()[0].iteration == 2
    assert run.notes == []
    (run.iterations / "000009").mkdir()
    assert run.last()[0].iteration == 2
    assert run.notes == [f"The run goes back to iteration 2: {run.iterations / '000009'} is incomplete."]


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", '{"format": 1', "null"])
def test_a_manifest_that_is_none_is_one_sentence(run: RunFolder, text: str) -> None:
    for path in run.iterations.glob("*/manifest.json"):
        path.write_text(text)
    with pytest.raises(RunError, match=r"cannot go on: .*manifest\.json is damaged") as caught:
        run.last()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("key", "value"), [("seconds", "NaN"), ("seconds", "-1.0"), ("iteration", "7")])
def test_numbers_of_a_manifest_that_cannot_be_are_damage(run: RunFolder, key: str, value: str) -> None:
    path = run.iterations / "000002" / "manifest.json"
    lines = path.read_text().splitlines()
    [place] = [n for n, line in enumerate(lines) if line.startswith(f' "{key}"')]
    lines[place] = f' "{key}": {value},'
    path.write_text("\n".join(lines))
    assert run.last()[0].iteration == 1


def test_a_metric_that_is_no_number_is_damage(run: RunFolder) -> None:
    path = run.iterations / "000002" / "manifest.json"
    path.write_text(path.read_text().replace('"losses/policy": 0.3333333333333333', '"losses/policy": NaN'))
    assert run.last()[0].iteration == 1


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "result.json"])
def test_a_folder_in_the_place_of_a_file_is_told(run: RunFolder, name: str) -> None:
    path = run.path / name
    path.unlink(missing_ok=True)
    path.mkdir()
    use = {
        "lock": lambda: reopen(run),
        "metrics.jsonl": lambda: run.repair_metrics(manifest(2)),
        "result.json": run.remove_result,
    }
    with pytest.raises(RunError, match="is no file, though"):
        use[name]()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "latest.safetensors"])
def test_a_link_in_a_stranger_s_run_writes_nothing_elsewhere(run: RunFolder, name: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("dear")
    run.close()
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(victim)
    with pytest.raises(RunError, match=rf"{name} is a link, and a run's files have to be its own"):
        RunFolder.open(run.path)
    assert victim.read_text() == "dear"


def test_what_killed_processes_left_is_removed(run: RunFolder) -> None:
    for name in (".latest.safetensors.01234567.tmp", "iterations/000002/.manifest.json.01234567.tmp"):
        (run.path / name).touch()
    (run.path.parent / ".unfinished-run-1234").mkdir()
    (run.path.parent / ".unfinished-run-b-1234").mkdir()
    run = reopen(run)
    assert not list(run.path.rglob("*.tmp"))
    assert sorted(p.name for p in run.path.parent.iterdir()) == [".unfinished-run-b-1234", "run"]


def test_the_folder_of_checkpoints_is_made_again(run: RunFolder) -> None:
    shutil.rmtree(run.path / "checkpoints")
    assert run.checkpoint(2).parent.is_dir()


def test_old_states_and_shards_go_but_the_iteration_before_stays_usable(run: RunFolder) -> None:
    previous = run.last()[0]
    for iteration in range(3, 9):
        last = commit(run, iteration, window=iteration - 3)
        run.prune(last, previous)
        previous = last
    names = {p.name: sorted(f.stem for f in p.iterdir()) for p in sorted(run.iterations.iterdir())}
    assert names == {
        "000004": ["manifest", "shard"],
        "000005": ["manifest", "shard"],
        "000006": ["manifest", "shard"],
        "000007": ["manifest", "shard", "state"],
        "000008": ["manifest", "shard", "state"],
    }
    shutil.rmtree(run.iterations / "000008")
    found, _ = run.last()
    assert found.iteration == 7
    assert [iteration for iteration, _ in run.shards(found)] == [4, 5, 6, 7]


def test_metrics_are_cut_back_and_completed(run: RunFolder) -> None:
    with run.metrics_file.open("a") as file:
        file.write('{"step": 3}\n{"step": 4, "los')
    found, _ = run.last()
    run.repair_metrics(found)
    assert steps(run) == [1, 2]
    assert run.notes == []
    run.metrics_file.write_text('{"step": 1}\nnot json\n')
    run.repair_metrics(found)
    assert steps(run) == [1, 2]


@pytest.mark.parametrize("damage", [None, b"", b"[" * 100_000, b'{"step": NaN}\n{"step": "1"}\n[]\n\xff\xff\n'])
def test_metrics_are_made_again_from_the_manifests(run: RunFolder, damage: bytes | None) -> None:
    before = run.metrics_file.read_text()
    if damage is None:
        run.metrics_file.unlink()
    else:
        run.metrics_file.write_bytes(damage)
    run.repair_metrics(run.last()[0])
    assert run.metrics_file.read_text() == before
    [note] = run.notes
    assert note.endswith("metrics.jsonl lacked 1 row; 1 were made again from the iterations' manifests.")


def test_only_one_process_may_work_on_a_run(run: RunFolder) -> None:
    with pytest.raises(RunError, match=f"is being trained by process {os.getpid()}"):
        RunFolder.open(run.path)
    reopen(run).close()


def test_nothing_is_written_over(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is a run already.*--resume"):
        RunFolder.create(run.path, CONFIG, manifest(0), state(0))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(RunError, match="exists already"):
        refuse_existing(tmp_path / "other")
    with pytest.raises(RunError, match="exists already"):
        refuse_existing(tmp_path / "other" / "file")
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", CONFIG, manifest(0), state(0)).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "other", "run"]


def test_names_that_no_folder_can_have_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("x" * 300, "x" * 250, "a\0b", "file/run", "file/deeper/run"):
        with pytest.raises(RunError) as caught:
            RunFolder.create(tmp_path / name, CONFIG, manifest(0), state(0))
        assert "cannot be the folder of a run" in str(caught.value)
        with pytest.raises(RunError):
            RunFolder.open(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_is_no_run_is_told(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"rnu does not exist; runs there: run"):
        RunFolder.open(tmp_path / "rnu")
    (tmp_path / "else").mkdir()
    with pytest.raises(RunError, match=r"not a run's folder.*runs there: run"):
        RunFolder.open(tmp_path / "else")
    for folder in run.iterations.iterdir():
        shutil.rmtree(folder)
    with pytest.raises(RunError, match="no complete iteration"):
        reopen(run).last()


def test_who_was_ended_from_outside_is_told(run: RunFolder) -> None:
    again = reopen(run)
    assert again.notes == []  # closed as it should be
    again.close()
    left = RunFolder(run.path)
    (run.path / "lock").write_text("12345\n")
    left.lock()
    [note] = left.notes
    assert "Process 12345" in note
    assert "replay.memory_megabytes" in note
    assert (run.path / "lock").read_text() == f"{os.getpid()}\n"
    left.close()
    assert (run.path / "lock").read_text() == ""


def test_what_only_the_loop_can_judge_is_put_aside_too(run: RunFolder) -> None:
    def check(found: Manifest) -> None:
        if found.loop["number"] == 2:
            raise RunError("the loop of iteration 2 is damaged")

    found, arrays = run.last(check)
    assert found.iteration == int(arrays["scalar"]) == 1
    assert run.notes == ["The run goes back to iteration 1: the loop of iteration 2 is damaged."]
    assert (run.iterations / "damaged-000002").is_dir()
    with pytest.raises(RunError, match="cannot go on: the loop of iteration 2 is damaged"):
        run.last(lambda found: check(found.model_copy(update={"loop": {"number": 2}})))


def test_the_newest_checkpoint_before_an_iteration(run: RunFolder) -> None:
    assert run.newest_checkpoint(9) is None
    for iteration in (2, 4, 6):
        run.checkpoint(iteration).touch()
    assert run.newest_checkpoint(6) == (4, run.checkpoint(4))
    assert run.newest_checkpoint(7) == (6, run.checkpoint(6))
    assert run.newest_checkpoint(2) is None


@pytest.mark.parametrize("content", [None, b"", b"game: chess\n", b"\x00\xff"])
def test_settings_that_are_gone_or_damaged_can_be_put_back(run: RunFolder, content: bytes | None) -> None:
    path = run.path / "config.yaml"
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"once .*config\.yaml holds the settings again"):
        run.config()
    path.write_bytes(whole)
    assert run.config({"run.threads": "1"}).run.threads == 1
