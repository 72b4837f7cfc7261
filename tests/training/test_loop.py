"""Whole tiny runs: the same whatever the threads and however often stopped, and every way to end."""

import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from models import load
from training.command import main
from training.config_file import CONFIGS, read_config
from training.learner import Learner, LearnerError
from training.measure import Strength
from training.monitor import clock
from training.run_folder import RunFolder

# No measurement, and games so short that some end in every iteration.
TINY = [
    *("--config", str(CONFIGS / "smoke.yaml")),
    *("--selfplay.games_per_group", "8", "--selfplay.max_plies", "20"),
    *("--replay.minimum", "20", "--learner.batch", "16"),
    *("--measure.final_games", "0", "--monitor.tensorboard", "false"),
]


TIMED = ("seconds", "minutes", "speed", "mega", "strength")


def rows(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def timeless(run: Path) -> list[dict[str, float]]:
    return [
        {name: value for name, value in row.items() if not any(word in name for word in TIMED)} for row in rows(run)
    ]


def last(run: Path) -> int:
    return max(int(p.name) for p in (run / "iterations").iterdir())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations without a break, on one thread, with everything recorded."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert main([*TINY, "--out", str(run), "--run.threads", "1", "--monitor.tensorboard", "true"]) == 0
    return run


def test_stopped_and_resumed_with_other_threads_it_computes_the_same(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main([*TINY, "--out", str(run), "--run.iterations", "2"]) == 0
    capsys.readouterr()
    # However slow the machine, the last measurement is not cut off.
    resume = ["--resume", str(run), "--run.iterations", "4", "--measure.final_games", "1"]
    resume += ["--measure.final_minutes", "1000"]
    assert main(resume) == 0
    output = capsys.readouterr().out
    assert timeless(run) == timeless(whole)
    assert [row["step"] for row in rows(run)] == [1, 2, 3, 4]
    assert rows(run)[-1]["learner_steps"] > 0
    spent = [row["charts/core_minutes"] for row in rows(run)]
    assert spent == sorted(set(spent)) and spent[0] > 0
    selfplay = read_config(CONFIGS / "smoke.yaml", {}).selfplay
    assert rows(run)[-1]["charts/evaluations"] == 4 * selfplay.steps * selfplay.groups * 8
    header = load(run / "latest.safetensors").header.provenance
    assert header.evaluations == rows(run)[-1]["charts/evaluations"]
    assert header.core_seconds >= 60 * spent[-1]
    for file in ("shard.safetensors", "state.safetensors"):
        one, other = (path / "iterations" / "000004" / file for path in (whole, run))
        assert one.read_bytes() == other.read_bytes()

    # The last lines say all that is needed to go on.
    assert "Run " + str(run) + " goes on from iteration 2" in output
    assert "Changed: measure.final_games from 0 to 1" in output
    end = output[output.index("Finished") :]
    assert f"Checkpoint: {run / 'best.safetensors'}" in end
    assert "Against alphabeta-v1:depth=2" in end
    assert "% as attackers" in end
    assert "% as defenders" in end
    for command in (
        f"tensorboard --logdir {tmp_path}",
        f"python train.py --resume {run} --minutes 10",
        f"python evaluate.py {run / 'best.safetensors'}",
        f"python play.py {run / 'best.safetensors'} --terminal",
    ):
        assert command in end
    result = json.loads((run / "result.json").read_text())
    assert result["iteration"] == 4
    assert result["score"]["games"] == 2
    assert rows(run)[-1]["strength/overall"] == result["score"]["overall"]
    assert not any("strength/overall" in row for row in rows(run)[:-1])
    assert result["seconds"] == json.loads((run / "iterations/000004/manifest.json").read_text())["seconds"]
    assert f"4 iterations, {rows(run)[-1]['games']:,} games" in end
    assert f"in {clock(result['seconds'])} minutes" in end

    # ... and a finished run is left alone.
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.name != "lock"}
    assert main(["--resume", str(run)]) == 0
    assert f"{run} is finished: 4 iterations" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.name != "lock"} == before


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({}, "loop.choices: "),
        ({"choices": {"device": "cpu", "inference": "float31"}}, "loop.choices.inference: "),
        ({"debt": float("nan")}, "loop.debt: "),
        ({"debt": 1e300}, "loop.debt: "),
        ({"replay_begin": 10**12}, "loop.replay_begin: "),
        ({"measured_at": "soon"}, "loop.measured_at: "),
        ({"best": {"iteration": 1, "attackers": float("inf"), "defenders": 0, "games": 2}}, "loop.best.attackers: "),
        ({"sampling": {"bit_generator": "none"}}, "loop.sampling: "),
    ],
)
def test_where_the_loop_of_a_manifest_is_damaged_the_run_goes_back_to_the_iteration_before(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: dict, said: str
) -> None:
    run = tmp_path / "copy"
    shutil.copytree(whole, run)
    path = run / "iterations" / f"{last(run):06d}" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["loop"] = manifest["loop"] | damage if damage else {}
    path.write_text(json.dumps(manifest))
    assert main(["--resume", str(run), "--run.iterations", "4", "--measure.final_games", "0"]) == 0
    output = capsys.readouterr().out
    assert f"The run goes back to iteration 3: {path} is damaged ({said}" in output
    assert "goes on from iteration 3\n" in output
    assert timeless(run) == timeless(whole)


def test_what_a_run_owes_before_it_learns_is_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    most = ["--replay.minimum", "1000000", "--replay.uses", "64", "--learner.batch", "2", "--learner.parts", "1"]
    assert main([*TINY, *most, "--run.iterations", "1", "--out", str(run)]) == 0
    loop = json.loads((run / "iterations/000001/manifest.json").read_text())["loop"]
    assert loop["debt"] == 32 * rows(run)[-1]["positions"]
    assert main(["--resume", str(run), "--run.iterations", "2", "--learner.batch", "512"]) == 0
    output = capsys.readouterr().out
    assert "goes on from iteration 1\n" in output and "goes back" not in output


def test_a_run_survives_what_people_delete(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, reached = tmp_path / "copy", last(whole)
    shutil.copytree(whole, run)
    shutil.rmtree(run / "checkpoints")
    for name in ("metrics.jsonl", "latest.safetensors", "iterations/000001/shard.safetensors"):
        (run / name).unlink()
    resume = ["--resume", str(run), "--run.iterations", str(reached + 1), "--run.checkpoint_every", "1"]
    assert main([*resume, "--measure.final_games", "0"]) == 0
    said = capsys.readouterr().out
    assert "goes on without the games of iteration 1: " in said
    assert "made again from the iterations' manifests" in said
    assert last(run) == len(rows(run)) == reached + 1
    assert (run / "checkpoints" / f"{reached + 1:06d}.safetensors").exists()


def test_metrics_curves_and_checkpoints_tell_the_same(whole: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curves = EventAccumulator(str(whole)).Reload()
    table = rows(whole)
    for name in ("losses/policy", "losses/value", "selfplay/game_length", "replay/age", "speed/positions_per_second"):
        found = [(event.step, event.value) for event in curves.Scalars(name)]
        assert found == [(row["step"], pytest.approx(row[name])) for row in table if name in row]
    assert len(curves.Images("games/selfplay")) == 1
    for row in table:
        assert row.keys() >= {"step", "seconds", "games", "positions"}
        if "selfplay/draws" in row:
            shares = ("attackers_win_share", "defenders_win_share", "draws", "truncated")
            assert sum(row[f"selfplay/{share}"] for share in shares) == pytest.approx(1)
    for column in ("seconds", "games", "positions"):
        values = [row[column] for row in table]
        assert values == sorted(values)

    assert sorted(p.name for p in (whole / "checkpoints").iterdir()) == ["000002.safetensors", "000004.safetensors"]
    header = load(whole / "latest.safetensors", "brandubh").header
    assert header.provenance.run == "whole"
    assert header.provenance.positions == table[-1]["positions"]
    assert header.provenance.step == table[-1]["learner_steps"]


def test_ctrl_c_saves_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, append = tmp_path / "run", RunFolder.append_metrics

    def interrupted(self: RunFolder, row: dict) -> None:
        append(self, row)
        os.kill(os.getpid(), signal.SIGINT)

    earlier = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "append_metrics", interrupted)
        assert main([*TINY, "--out", str(run)]) == 0
    output = capsys.readouterr().out
    assert "Ctrl-C: finishing this iteration" in output
    assert "Everything up to iteration 1 is saved" in output
    assert "given up" not in output
    assert f"python train.py --resume {run}" in output
    assert signal.getsignal(signal.SIGINT) is earlier
    assert last(run) == len(rows(run)) == 1
    assert not (run / "result.json").exists()
    assert main(["--resume", str(run), "--run.iterations", "2"]) == 0
    assert last(run) == len(rows(run)) == 2


def test_a_slow_iteration_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr("training.stopping.Stop.__init__.__defaults__", (-1.0, None))

    def interrupting(self: Learner, *_: object) -> dict[str, float]:
        os.kill(os.getpid(), signal.SIGTERM)
        return {"losses/policy": 1.0}

    monkeypatch.setattr(Learner, "step", interrupting)
    assert main([*TINY, "--out", str(run)]) == 0
    done = last(run)
    assert done == len(rows(run)) < 4
    assert f"Iteration {done + 1} was given up. Everything up to iteration {done} is saved" in capsys.readouterr().out


def test_before_learning_has_begun_no_strength_is_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    options = ["--replay.minimum", "1000000", "--run.iterations", "1", "--measure.final_games", "1"]
    assert main([*TINY, "--out", str(run), *options]) == 0
    end = capsys.readouterr().out.split("Finished")[1]
    assert "1 iteration," in end
    assert "Learning begins at 1,000,000 positions (replay.minimum) and has not begun" in end
    assert "go on:" in end
    assert "evaluate.py" not in end
    assert "play.py" not in end


@pytest.mark.parametrize(("attackers", "defenders", "part"), [
    (0.0, 0.9, "the attackers learn last"), (0.5, 0.1, "defenders are still weak"), (0.0, 0.1, "Both sides"),
])  # fmt: skip
def test_a_score_that_looks_like_a_failure_is_explained(
    attackers: float, defenders: float, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("training.loop.Loop.final_measurement", lambda self: Strength(2, attackers, defenders, 200))
    assert main([*TINY, "--out", str(tmp_path / "run"), "--run.iterations", "2"]) == 0
    assert part in capsys.readouterr().out.split("Finished")[1]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk that holds "),
        (MemoryError(), "Memory does not suffice"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "GPU memory does not suffice"),
    ],
)
def test_running_out_of_something_is_one_sentence(
    error: Exception, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, commit = tmp_path / "run", RunFolder.commit

    def failing(self: RunFolder, manifest, state, shard):
        if manifest.iteration == 2:
            raise error
        return commit(self, manifest, state, shard)

    monkeypatch.setattr(RunFolder, "commit", failing)
    assert main([*TINY, "--out", str(run)]) == 1
    message = capsys.readouterr().err
    assert message.startswith(sentence)
    assert "whole up to iteration 1" in message
    assert f"python train.py --resume {run}" in message
    assert last(run) == len(rows(run)) == 1


def test_losses_that_break_down_stop_the_run_and_name_the_last_good_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Learner, *_: object) -> dict[str, float]:
        raise LearnerError("learning broke down in step 1: losses/value became infinite or no number.")

    monkeypatch.setattr(Learner, "step", broken)
    run = tmp_path / "run"
    assert main([*TINY, "--out", str(run)]) == 1
    message = capsys.readouterr().err
    assert "losses/value became infinite" in message
    assert f"last good network is {run / 'latest.safetensors'} (iteration {last(run)})" in message
    load(run / "latest.safetensors")


def test_a_run_can_begin_with_the_weights_of_another(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, run = whole / "latest.safetensors", tmp_path / "run"
    wider = [*TINY, "--init", str(source), "--out", str(run), "--run.iterations", "1"]
    assert main([*wider, "--network.channels", "16"]) == 2
    assert "--network.channels does not go with --init" in capsys.readouterr().err
    assert not run.exists()
    changed = ["--search.discount", "0.9", "--balance.by", "temperature"]
    assert main([*wider, "--replay.minimum", "1000000", *changed]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Of {source} the weights alone are taken" in said
    own = load(source).header.discount
    assert f"The network's values are discounted by {own:g} a ply; it has to learn 0.9" in said
    assert "With --balance.by temperature, balance.initial (0) and balance.maximum (2) are temperatures" in said
    theirs, ours = (load(path / "latest.safetensors").network.state_dict() for path in (whole, run))
    assert all((theirs[name] == ours[name]).all() for name in theirs)

    again = tmp_path / "again"
    whole_run = [*TINY, "--init", str(whole), "--out", str(again), "--run.iterations", "1"]
    assert main([*whole_run, "--replay.minimum", "1000000"]) == 0
    best = next(path for name in ("best", "latest") if (path := whole / f"{name}.safetensors").exists())
    theirs, ours = (load(path).network.state_dict() for path in (best, again / "latest.safetensors"))
    assert all((theirs[name] == ours[name]).all() for name in theirs)

    assert main([*TINY, "--init", str(source), "--out", str(tmp_path / "other"), "--game", "tawlbwrdd"]) == 2
    assert f"{source} plays brandubh, not tawlbwrdd" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_what_a_resumed_run_may_not_change_is_refused(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resume = ["--resume", str(whole), "--run.iterations", "9"]
    assert main([*resume, "--network.channels", "16", "--run.seed", "4", "--game", "tawlbwrdd"]) == 2
    message = capsys.readouterr().err
    for key in ("game cannot", "network.channels cannot", "run.seed cannot", "--init"):
        assert key in message
    for option in (["--config", "x"], ["--out", "x"], ["--init", "x"]):
        assert main([*resume, *option]) == 2
        assert "does not go with --resume" in capsys.readouterr().err
    assert main([*resume, "--search.discount", "0.9", "--network.blocks", "3"]) == 2
    suggestion = capsys.readouterr().err.splitlines()[-1]
    assert suggestion.endswith("latest.safetensors --search.discount 0.9")
    assert main(["--resume", str(whole), "--run.iterations", "3"]) == 2
    assert "--run.iterations is 3, of the whole run" in capsys.readouterr().err
    assert last(whole) == 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--minutes", "0"], "--run.minutes is 0; allowed: a number above 0"),
        (["--minutes", "1", "--run.minutes", "2"], "--minutes and --run.minutes are the same setting"),
        (["--learner.batches", "4"], "unknown option --learner.batches (did you mean learner.batch?)"),
        (["--game", "chess"], "allowed are brandubh, tawlbwrdd"),
        (["--device", "tpu"], "--run.device is 'tpu'; allowed: one of auto, cpu, cuda"),
        (["--measure.opponent", "betaalpha", "--measure.minutes", "1"], "betaalpha"),
        (["--init", "nothing.safetensors"], "nothing.safetensors"),
    ],
)
def test_a_wrong_command_line_stops_at_once(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main([*TINY, "--out", str(run), *options]) == 2
    assert sentence in capsys.readouterr().err
    assert not run.exists()


def test_a_finished_run_goes_on_for_more_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main([*TINY, "--out", str(run), "--run.iterations", "1"]) == 0
    before = json.loads((run / "result.json").read_text())["seconds"]
    assert before >= rows(run)[0]["seconds"]
    assert main(["--resume", str(run), "--minutes", "0.01"]) == 0
    config = read_config(run / "config.yaml").run
    assert config.iterations is None
    assert config.minutes == pytest.approx(before / 60 + 0.01)
    assert last(run) == len(rows(run)) == json.loads((run / "result.json").read_text())["iteration"]
    capsys.readouterr()
    assert main(["--resume", str(run)]) == 0
    assert "is finished" in capsys.readouterr().out
    for wrong in ("0", "-1", "soon", "inf"):
        assert main(["--resume", str(run), "--minutes", wrong]) == 2
        assert f"--minutes is '{wrong}'; allowed: a number above 0" in capsys.readouterr().err


def test_help_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for option in ("--minutes M", "--resume RUN", "--init CHECKPOINT", "--learner.learning_rate VALUE"):
        assert option in text


def test_a_run_is_not_written_over(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--out", str(whole)]) == 2
    assert f"{whole} is a run already and is not written over" in capsys.readouterr().err
