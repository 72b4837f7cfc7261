"""What people do to a run's folder, and to its name: files of their own, links, two starts at once."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from training.config import RunConfig
from training.manifest import Manifest, RunError
from training.run_folder import RunFolder, refuse_existing

CONFIG = RunConfig(game="brandubh")
NOTHING = {"nothing": np.zeros(1)}


def manifest(iteration: int, window: int = 0) -> Manifest:
    return Manifest(
        iteration=iteration, seconds=1.0, games=1, positions=1, learner_steps=1, window=window, loop={},
        metrics={"step": iteration, "seconds": 1.0},
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", CONFIG, manifest(0), NOTHING)


def test_only_numbered_checkpoints_are_pruned_and_by_their_numbers(run: RunFolder) -> None:
    mine = [run.path / "checkpoints" / name for name in ("000001-my-favourite.safetensors", "7.safetensors")]
    for path in [*mine, *map(run.checkpoint, (999_998, 999_999, 1_000_000, 1_000_001))]:
        path.touch()
    run.prune_checkpoints(3)
    left = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert left == sorted([*(p.name for p in mine), *(f"{n}.safetensors" for n in (999_999, 1_000_000, 1_000_001))])
    assert run.newest_checkpoint(1_000_001) == (1_000_000, run.checkpoint(1_000_000))


def test_of_two_starts_at_once_the_second_is_told_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "run", RunFolder.write_config

    def overtaken(self: RunFolder, config: RunConfig) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(os, "getpid", lambda: 99999)
        RunFolder.create(path, CONFIG, manifest(0), NOTHING).close()
        write(self, config)

    monkeypatch.setattr(RunFolder, "write_config", overtaken)
    with pytest.raises(RunError, match="run is a run already and is not written over"):
        RunFolder.create(path, CONFIG, manifest(0), NOTHING)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("to", ["nowhere", "empty"])
def test_a_link_is_no_place_for_a_new_run(tmp_path: Path, to: str) -> None:
    (tmp_path / "empty").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / to)
    with pytest.raises(RunError, match=f"^{link} is a link"):
        RunFolder.create(link, CONFIG, manifest(0), NOTHING)


def test_the_folder_that_one_stands_in_is_no_place_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    for path in (Path("."), tmp_path / "inner"):
        with pytest.raises(RunError, match="is the folder that this was started in"):
            refuse_existing(path)


def test_rows_that_are_lost_for_good_are_told(run: RunFolder) -> None:
    rows = [json.dumps({"step": step, "seconds": 1.0}) for step in (1, 3, 4)]
    run.metrics_file.write_text("\n".join(rows[:2]) + "\n")
    run.commit(manifest(4), NOTHING, NOTHING)
    run.repair_metrics(manifest(4))
    assert run.metrics_file.read_text().splitlines() == rows
    [note] = run.notes
    assert note.endswith("lacked 1 row; 0 were made again from the iterations' manifests, and 1 are lost.")


@pytest.mark.parametrize("row", ['{"step": 1}', '{"step": 1, "seconds": "long"}', '{"step": 1, "seconds": null}'])
def test_a_row_that_tells_nothing_is_made_again(run: RunFolder, row: str) -> None:
    run.commit(manifest(1), NOTHING, NOTHING)
    run.commit(manifest(2), NOTHING, NOTHING)
    run.metrics_file.write_text(row + "\n")
    run.repair_metrics(manifest(2))
    assert [json.loads(line)["seconds"] for line in run.metrics_file.read_text().splitlines()] == [1.0, 1.0]
