"""What `python train.py` does: read the command line, start or resume a run, and say in the end what came of it."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import math
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from arena.openings import OpeningsError
from arena.player_text import read_player
from arena.players import PlayerError, resolve_device
from env.rules import RULES, get_rules
from models import CheckpointError, PolicyValueNet, load
from training.changes import changes, meanings, refuse_changes
from training.config import RunConfig
from training.config_file import (
    CONFIGS,
    ConfigError,
    add_options,
    given_overrides,
    read_config,
    refuse_unknown,
)
from training.ending import farewell, finished, safe, write_result
from training.health import Collapse
from training.hints import counted, door
from training.learner import LearnerError
from training.loop import BEST, LATEST, Loop
from training.machine import estimate, machine_failure, shortages
from training.manifest import RunError
from training.measure import Strength, check_opponent
from training.monitor import Monitor, clock
from training.output import OutputError, nobody_reads, silence
from training.run_folder import RunFolder, refuse_existing
from training.stopping import GRACE_SECONDS, Stop
from training.trainer import Choices, LoopState, Training, choose

RUNS = Path("runs")

EXPLAINED = (ConfigError, RunError, CheckpointError, PlayerError, OpeningsError)


class Failed(RuntimeError):
    """A run had to end; the message says why and how to go on."""


class Unread(Exception):
    """Nobody reads the output any more, before there is a monitor to see to it."""


def main(arguments: Sequence[str] | None = None, started: float | None = None) -> int:
    """Run the command; return its exit status: 2 for what was asked wrongly, 1 for a run that had to end.

    Args:
        arguments: the command line; None: the process's own.
        started: `time.monotonic()` at the start of the process.
    """
    started = time.monotonic() if started is None else started
    torch.set_num_threads(1)
    home = RUNS
    try:
        options = _parse(arguments)
        home = options.resume or options.out or RUNS
        return _run(options, started)
    except Unread:
        return 0
    except Failed as error:
        return _fail(str(error), 1)
    except EXPLAINED as error:
        return _fail(str(error), 2)
    except (OSError, MemoryError, RuntimeError) as error:
        sentence = machine_failure(error, home)
        if sentence is None:
            raise
        return _fail(sentence, 1)
    finally:
        if (output := sys.stdout) is not None:  # None where it was closed before the start
            try:
                output.flush()
            except OSError:
                silence(output)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        usage="python train.py [--config FILE] [--minutes M] [--device cpu|cuda|auto]\n"
        "                       [--out RUN] [--init CHECKPOINT] [--section.key VALUE ...]\n"
        "       python train.py --resume RUN [--minutes M] [--device cpu|cuda|auto]\n"
        "                       [--section.key VALUE ...]",
        description="Learn a game by self-play. Without options: Brandubh, about ten minutes. "
        "Ctrl-C stops at any time without loss; --resume goes on. A setting has the value of the command line, else "
        "of the config file, else the built-in default that is named below.",
        allow_abbrev=False,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (YAML); default: the game's in configs/")
    parser.add_argument(
        "--minutes",
        metavar="M",
        help="stop M minutes from now, the last measurement included; with --resume: go on for M more minutes. "
        "An iteration is never cut short, so that very short runs take longer",
    )
    parser.add_argument("--device", metavar="cpu|cuda|auto", help="where the network runs")
    parser.add_argument("--out", type=Path, metavar="RUN", help="folder of the new run; default: runs/<game>-<time>")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run; its settings stay as they are")
    parser.add_argument(
        "--init", type=Path, metavar="CHECKPOINT", help="begin with the weights of a checkpoint, or of a run's best"
    )
    add_options(parser)
    options, rest = parser.parse_known_args(arguments)
    if rest:
        refuse_unknown(rest)
    return options


def _run(options: argparse.Namespace, started: float) -> int:
    overrides = given_overrides(options)
    for short, name in (("minutes", "run.minutes"), ("device", "run.device")):
        value = getattr(options, short)
        if value is not None:
            if name in overrides:
                raise ConfigError(f"--{short} and --{name} are the same setting; give one of them")
            overrides[name] = value
    if options.resume is not None:
        for other in ("config", "out", "init"):
            if getattr(options, other) is not None:
                raise ConfigError(f"--{other} does not go with --resume, which goes on with a run as it is")
        return _resume(options.resume, overrides, options.minutes, started)
    return _start(options, overrides, started)


def _start(options: argparse.Namespace, overrides: dict[str, str], started: float) -> int:
    path = options.config or _default_config(overrides)
    config = read_config(path, overrides)
    device = resolve_device(config.run.device)
    check_opponent(config.measure, get_rules(config.game))
    out: Path = options.out or _default_out(config.game)
    refuse_existing(out)
    network = None
    if options.init is not None:
        config, network = _initial_network(options.init, config, overrides)
    _say_all(meanings(config, overrides))
    _say(f"Config {path}" + ("" if options.config else " (by default; --config names another)"))
    with Stop(notify=_on_stop) as stop:
        choices = choose(config, device)
        _say_choices(config, choices, out)
        training = Training(config, choices, stop, network)
        created = RunFolder.create(out, config, training.manifest({}), training.state())
        _say(f"Run {out}")
        with contextlib.closing(created) as folder:
            return _train(training, folder, stop, started)


def _resume(path: Path, overrides: dict[str, str], minutes: str | None, started: float) -> int:
    with contextlib.closing(RunFolder.open(path)) as folder:
        manifest, state = folder.last(check=lambda manifest: LoopState.of(folder, manifest))
        _tell_notes(folder)
        before = folder.config()
        if minutes is not None:
            more = _positive(minutes, "--minutes")
            overrides["run.minutes"] = repr(manifest.seconds / 60 + more)
            overrides.setdefault("run.iterations", "null")
        config = folder.config(overrides)
        refuse_changes(before, config, path)
        _say_all(changes(before, config))
        _say_all(meanings(config, overrides))
        limit = config.run.iterations
        if "run.iterations" in overrides and limit is not None and limit < manifest.iteration:
            raise ConfigError(
                f"--run.iterations is {limit}, of the whole run, and {path} has made "
                f"{counted(manifest.iteration, 'iteration')} already; to go on, ask for more"
            )
        if finished(folder, config, manifest.iteration):
            done = f"{counted(manifest.iteration, 'iteration')} in {clock(manifest.seconds)} minutes"
            _say(
                f"{path} is finished: {done}.\n"
                f"To go on for 10 more minutes: {door('train.py', '--resume', path, '--minutes', '10')}"
            )
            return 0
        device = resolve_device(config.run.device)
        check_opponent(config.measure, get_rules(config.game))
        with Stop(notify=_on_stop) as stop:
            stop.last_act = folder.close
            loop = LoopState.of(folder, manifest)
            choices = _choices(loop.choices, before, config, device)
            _say_choices(config, choices, path)
            training = Training(config, choices, stop)
            training.restore(folder, manifest, state)
            if training.best != loop.best:  # written down before the settings tell something else
                folder.amend(training.manifest(manifest.metrics))
            folder.write_config(config)
            folder.remove_result()
            _say(f"Run {path} goes on from iteration {manifest.iteration:,}")
            return _train(training, folder, stop, started)


def _choices(earlier: Choices, before: RunConfig, config: RunConfig, device: str) -> Choices:
    """Return the choices of a run that goes on: made anew only where device or settings ask for others."""
    wanted = config.run.inference
    if device != earlier.device:
        _say(f"The run began on {earlier.device} and goes on on {device}; results will differ slightly.")
    elif wanted == before.run.inference and wanted in ("auto", earlier.inference):
        return earlier
    return choose(config, device)


def _train(training: Training, folder: RunFolder, stop: Stop, started: float) -> int:
    last, _ = folder.last()
    folder.repair_metrics(last)
    _tell_notes(folder)
    began = started - last.seconds
    monitor = Monitor(
        folder.path, training.config, last.metrics, began, on_gone=lambda: stop.request("nobody reads the output")
    )
    loop = Loop(training, folder, last, monitor, started)
    stop.notify = lambda reason: monitor.stopping(_stopping(reason))
    stop.last_act = folder.close
    stop.last_words = lambda: f"Ended at once. {safe(loop)} To go on: {door('train.py', '--resume', folder.path)}"
    strength: Strength | None = None
    try:
        with monitor:
            loop.publish()
            loop.run()
            if not stop:
                strength = loop.final_measurement()
            if not stop:
                loop.finish(strength)
                write_result(folder, loop, strength)
        farewell(loop, strength, monitor)
        return 0
    except LearnerError as error:
        careful = training.config.learner.learning_rate / 3
        raise Failed(
            f"{error}\nThe last good network is {folder.path / LATEST} (iteration {loop.last.iteration}). "
            "To go on from there more carefully: "
            + door("train.py", "--resume", folder.path, "--learner.learning_rate", f"{careful:.1g}")
        ) from None
    except (Collapse, FloatingPointError) as error:
        raise Failed(_broken_down(error, training, loop)) from None
    except (OSError, MemoryError, RuntimeError, CheckpointError) as error:
        sentence = machine_failure(error, folder.path)
        if sentence is None and isinstance(error, CheckpointError):
            sentence = str(error)
        if sentence is None:
            raise
        raise Failed(
            f"{sentence} The run is whole up to iteration {loop.last.iteration}; once that is mended, go on with: "
            + door("train.py", "--resume", folder.path)
        ) from None


def _broken_down(error: Collapse | FloatingPointError, training: Training, loop: Loop) -> str:
    """Say what broke, and which network is left from before that."""
    folder, best = loop.folder, training.best
    since = error.since if isinstance(error, Collapse) else loop.last.iteration
    kept = [found for found in [folder.newest_checkpoint(since)] if found]
    if best is not None and best.iteration < since:
        kept.append((best.iteration, folder.path / BEST))
    careful = ("--learner.learning_rate", f"{training.config.learner.learning_rate / 3:.1g}")
    if not kept:
        return (
            f"{error}\nNo network from before that was kept (run.checkpoint_every, measure.minutes). To go on more "
            f"carefully all the same: {door('train.py', '--resume', folder.path, *careful)}"
        )
    iteration, path = max(kept)
    return (
        f"{error}\nThe last good network is {path} (iteration {iteration}). To begin a new run with it, more "
        f"carefully: {door('train.py', '--config', folder.path / 'config.yaml', '--init', path, *careful)}"
    )


def _tell_notes(folder: RunFolder) -> None:
    for note in folder.notes:
        _say(note)
    folder.notes.clear()


def _initial_network(path: Path, config: RunConfig, overrides: dict[str, str]) -> tuple[RunConfig, PolicyValueNet]:
    if path.is_dir():
        path = read_player(str(path)).path or path
    checkpoint = load(path, config.game)
    shape = checkpoint.header.network
    asked = [key for key in overrides if key.startswith("network.")]
    if shape != config.network:
        if asked:
            raise ConfigError(f"--{asked[0]} does not go with --init: {path} brings a network of its own shape")
        _say(f"Network of the shape of {path} (the config's is another)")
    _say(f"Of {path} the weights alone are taken; all settings are the config's and the command line's")
    if (own := checkpoint.header.discount) != config.search.discount:
        _say(f"The network's values are discounted by {own:g} a ply; it has to learn {config.search.discount:g}")
    checkpoint.network.requires_grad_(True)
    return config.model_copy(update={"network": shape}), checkpoint.network


def _default_config(overrides: dict[str, str]) -> Path:
    game = overrides.get("game", next(iter(RULES)))
    if game not in RULES:
        raise ConfigError(f"--game: {game!r} is no game of this project; allowed are {', '.join(RULES)}")
    gpu = overrides.get("run.device", "auto") != "cpu" and torch.cuda.is_available()
    return CONFIGS / f"{game}{'-gpu' if gpu else ''}.yaml"


def _default_out(game: str) -> Path:
    stem = f"{game}-{datetime.datetime.now():%Y-%m-%d-%H%M%S}"
    return next(
        path for n in range(1, 100) if not (path := RUNS / (stem if n == 1 else f"{stem}-{n}")).exists()
    )  # fmt: skip


def _say_choices(config: RunConfig, choices: Choices, home: Path) -> None:
    needed, replay = estimate(config), config.replay
    speeds = ", ".join(f"{name} {speed:,.0f}/s" for name, speed in choices.speeds.items())
    _say(
        f"Device {choices.device}, self-play in {choices.inference}"
        + (f" (measured: {speeds})" if speeds else "")
        + "\n"
        f"Replay window: {replay.window:,} positions take about {needed.memory:,.0f} MB of memory and "
        f"{needed.disk:,.0f} MB of disk; it grows to no more than {needed.most_memory:,.0f} and "
        f"{needed.most_disk:,.0f} MB"
        + (f". Remembered evaluations (search.cache) take {needed.cache:,.0f} MB of memory" if needed.cache else "")
    )
    for sentence in shortages(needed, home):
        _say(sentence)


def _positive(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ConfigError(f"{name} is {text!r}; allowed: a number above 0")
    return value


def _stopping(reason: str) -> str:
    return f"{reason}: finishing this iteration, or giving it up after {GRACE_SECONDS:.0f} s. Once more stops at once."


def _on_stop(reason: str) -> None:
    # Before there is a monitor. A signal may come in the midst of another print, or from a terminal that is gone.
    with contextlib.suppress(OSError, RuntimeError):
        print(f"{reason}: stopping as soon as the run can go on from there. Once more stops at once.", flush=True)


def _fail(sentence: str, status: int) -> int:
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)
    return status


def _say_all(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        _say(sentence)


def _say(text: str) -> None:
    """Print before there is a monitor.

    Raises:
        Unread: when nobody reads it.
        training.output.OutputError: when it cannot be written for another reason, as where its disk is full.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        unread = nobody_reads(error, sys.stdout)
        silence(sys.stdout)
        raise Unread if unread else OutputError.of(error) from None
