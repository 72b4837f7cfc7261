"""The learning loop: self-play, replay, learner, and what is kept of each turn.

An iteration is a fixed amount of self-play, then as many learner steps as its positions pay for, then a transaction
(`training.run_folder`). What a run computes depends on its settings and seed alone: not on the number of threads, on
the clock, or on how often it was stopped and resumed. The clock only decides when to measure and when to end.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import math
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from env.rules import Rules, get_rules
from models import Evaluator, Header, PolicyValueNet, Provenance, choose_dtype, save
from training.balance import QUARTERS, Balance
from training.config import RunConfig
from training.learner import Learner
from training.measure import Strength, measure
from training.monitor import Monitor
from training.replay import MEGABYTE, Replay, window_size
from training.run_folder import Arrays, Manifest, RunError, RunFolder
from training.selfplay import SelfPlay
from training.shard import Shard
from training.stopping import Guarded, Interrupted, Stop

LATEST, BEST = "latest.safetensors", "best.safetensors"
CANDIDATE = ".candidate.safetensors"
FINAL_SHARE = 0.2  # the most that the last measurement may take of the run's time


@dataclass
class Progress:
    """What has been done, all starts of the run added up."""

    iteration: int = 0
    seconds: float = 0.0
    games: int = 0
    positions: int = 0
    learner_steps: int = 0


@dataclass
class Choices:
    """What was decided by measuring when the run began, and holds ever after."""

    device: str
    inference: str
    speeds: dict[str, float] = field(default_factory=dict)


class Training:
    """Everything that learns, between two iterations.

    Args:
        config: the settings.
        choices: device and arithmetic.
        stop: a request to stop is obeyed inside of iterations as well.
        network: start from these weights; None: from random ones.
    """

    def __init__(self, config: RunConfig, choices: Choices, stop: Stop, network: PolicyValueNet | None = None) -> None:
        self.config, self.choices, self.stop = config, choices, stop
        self.rules: Rules = get_rules(config.game)
        weights, selfplay, sampling, learner = np.random.SeedSequence(config.run.seed).spawn(4)
        network = network or new_network(config, int(weights.generate_state(1)[0]))
        self.learner = Learner(network, config.learner, choices.device, seed=int(learner.generate_state(1)[0]))
        self.evaluators = [
            Evaluator(self.learner.average, choices.device, choices.inference, config.selfplay.games_per_group)
            for _ in range(config.selfplay.groups)
        ]
        self.selfplay = SelfPlay(
            self.rules,
            config.selfplay,
            config.search,
            [Guarded(evaluator, stop) for evaluator in self.evaluators],
            seed=int(selfplay.generate_state(1)[0]),
        )
        self.replay = Replay(self.rules.cells + 3, config.replay)
        self.balance = Balance(config.balance)
        self.sampling = np.random.Generator(np.random.PCG64(sampling))
        self.progress = Progress()
        self.debt = 0.0  # learner steps that positions have paid for and that are still to be made
        self.best: Strength | None = None
        self.measured_at = 0.0  # seconds of the run

    # -------------------------------------------------------------------------------------------------- a turn

    def play(self, pool: ThreadPoolExecutor) -> Shard:
        """Make an iteration's self-play."""
        return self.selfplay.run(self.config.selfplay.steps, self.balance.ratio(self.progress.positions), pool)

    def learn(self, pool: ThreadPoolExecutor, on_step: Callable[[int, int], None]) -> dict[str, float]:
        """Make the learner steps that are due; return the means of what they report.

        Raises:
            training.learner.LearnerError: when a loss is not finite.
        """
        if self.progress.positions < self.config.replay.minimum:
            return {}
        steps = int(self.debt)
        sums: dict[str, float] = defaultdict(float)
        for step in range(steps):
            self.stop.check()
            batch = self.replay.sample(self.config.learner.batch, self.sampling)
            for name, value in self.learner.step(batch, pool).items():
                sums[name] += value
            on_step(step, steps)
        self.debt -= steps
        self.progress.learner_steps += steps
        for evaluator in self.evaluators:
            evaluator.load(self.learner.average)
        return {name: value / steps for name, value in sums.items()}

    def account(self, shard: Shard) -> None:
        """Count an iteration's games and positions."""
        self.progress.iteration += 1
        self.progress.games += shard.games
        self.progress.positions += shard.positions
        self.debt += shard.positions * self.config.replay.uses / self.config.learner.batch
        points, ended = attackers_points(shard, self.balance.ratio(self.progress.positions - shard.positions))
        self.balance.update(points, ended, self.progress.positions)

    # -------------------------------------------------------------------------------------- state and checkpoints

    def state(self) -> Arrays:
        """Return all arrays that a later start needs."""
        parts = {"learner": self.learner.state(), "selfplay": self.selfplay.state()}
        return {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def manifest(self, metrics: dict[str, int | float | None]) -> Manifest:
        """Return all else that a later start needs."""
        progress = self.progress
        return Manifest(
            iteration=progress.iteration,
            seconds=round(progress.seconds, 3),
            games=progress.games,
            positions=progress.positions,
            learner_steps=progress.learner_steps,
            window=self.replay.window,
            loop={
                "choices": vars(self.choices),
                "sampling": self.sampling.bit_generator.state,
                "balance": self.balance.state(),
                "debt": self.debt,
                "replay_begin": self.replay.begin,
                "best": vars(self.best) if self.best else None,
                "measured_at": self.measured_at,
            },
            metrics=metrics,
        )

    def restore(self, folder: RunFolder, manifest: Manifest, state: Arrays) -> None:
        """Go on from an iteration of a run of the same settings.

        Raises:
            RunError: where the run's files do not fit.
        """
        try:
            for name, part in (("learner", self.learner), ("selfplay", self.selfplay)):
                prefix = f"{name}/"
                part.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
            loop: dict[str, Any] = manifest.loop
            self.sampling.bit_generator.state = loop["sampling"]
            self.balance.restore(loop["balance"])
            self.debt, self.measured_at = loop["debt"], loop["measured_at"]
            self.best = Strength(**loop["best"]) if loop["best"] else None
            shards = ((i, Shard.from_arrays(arrays)) for i, arrays in folder.shards(manifest))
            self.replay.restore(manifest.positions, loop["replay_begin"], shards)
        except RunError:
            raise
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise RunError(f"{folder.path} does not fit its own settings: {error}") from None
        self.progress = Progress(
            manifest.iteration, manifest.seconds, manifest.games, manifest.positions, manifest.learner_steps
        )
        for evaluator in self.evaluators:
            evaluator.load(self.learner.average)

    def save(self, path: Path, run: str) -> None:
        """Write the averaged network as a checkpoint.

        Raises:
            models.CheckpointError: where that cannot be.
        """
        progress, network, layouts = self.progress, self.learner.average, self.config.selfplay.layouts
        scores = {}
        if self.best is not None and self.best.iteration == progress.iteration:
            scores = {f"{self.config.measure.opponent} {side}": getattr(self.best, side) for side in
                      ("attackers", "defenders")}  # fmt: skip
        header = Header(
            game=self.rules.name,
            size=self.rules.size,
            layouts=tuple(layouts or (self.rules.default_layout,)),
            network=network.config,
            discount=self.config.search.discount,
            provenance=Provenance(
                run=run[:256],
                step=progress.learner_steps,
                seconds=float(progress.seconds),
                positions=progress.positions,
                games=progress.games,
                seed=self.config.run.seed,
                date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                version=version(),
                scores=scores,
            ),
        )
        save(path, network, header)


class Loop:
    """A training at work in its folder.

    Args:
        training: what learns.
        folder: where it lands, locked.
        last: the iteration on disk that it is at.
        monitor: who is told.
        started: `time.monotonic()` at the start of the process.
    """

    def __init__(self, training: Training, folder: RunFolder, last: Manifest, monitor: Monitor, started: float) -> None:
        self.training, self.folder, self.last, self.monitor = training, folder, last, monitor
        self.config, self.stop = training.config, training.stop
        self._began = started - last.seconds
        self._first = True
        self._pictured = -math.inf
        self._iteration_seconds = 0.0
        self._measurement_seconds = 0.0

    def seconds(self) -> float:
        """Return the run's wall-clock seconds, all starts added up."""
        return time.monotonic() - self._began

    def run(self) -> None:
        """Make iterations until the settings' limit or a request to stop; what is on disk is whole at any time."""
        threads = self.config.run.threads
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            while not self.stop and not self._over():
                self._tell_next()
                try:
                    self._turn(pool)
                except Interrupted:
                    return
        self.monitor.phase("ending")

    def final_measurement(self) -> Strength | None:
        """Measure the last network more thoroughly, in the time kept for it; None when stopped or out of time."""
        config = self.config.measure
        limit = self.config.run.minutes
        left = max(kept_seconds(self.config), 60 * limit - self.seconds()) if limit else 60 * config.final_minutes
        try:
            return self._measure(config.final_games, left, "the last measurement")
        except Interrupted:
            return None

    def publish(self) -> None:
        """Write the checkpoints that belong to the iteration on disk; they follow from it and can be made again."""
        training, name = self.training, self.folder.path.resolve().name
        iteration = training.progress.iteration
        training.save(self.folder.path / LATEST, name)
        best = training.best
        if best is None or best.iteration == iteration:
            training.save(self.folder.path / BEST, name)
        if iteration and iteration % self.config.run.checkpoint_every == 0:
            training.save(self.folder.checkpoint(iteration), name)
            self.folder.prune_checkpoints(self.config.run.keep_checkpoints)

    def _over(self) -> bool:
        limit = self.config.run
        if limit.iterations is not None and self.last.iteration >= limit.iterations:
            return True
        # The iteration that comes nearest to the end is the last one.
        spent = self.seconds() + self._iteration_seconds / 2
        return limit.minutes is not None and spent > 60 * limit.minutes - kept_seconds(self.config)

    def _turn(self, pool: ThreadPoolExecutor) -> None:
        training, progress, monitor = self.training, self.training.progress, self.monitor
        began = time.monotonic()
        ratio = training.balance.ratio(progress.positions)
        monitor.phase("self-play" + (", which first compiles kernels that are new" if self._first else ""))
        self._first = False
        shard = training.play(pool)
        played = time.monotonic()
        training.account(shard)
        training.replay.append(progress.iteration, shard)
        losses = training.learn(pool, lambda step, steps: monitor.phase(f"learning, step {step + 1:,} of {steps:,}"))
        learnt = time.monotonic()

        progress.seconds = self.seconds()
        strength = self._regular_measurement()
        progress.seconds = self.seconds()
        steps = progress.learner_steps - self.last.learner_steps
        metrics: dict[str, int | float | None] = {
            "step": progress.iteration,
            "seconds": round(progress.seconds, 3),
            "games": progress.games,
            "positions": progress.positions,
            "learner_steps": progress.learner_steps,
            **losses,
            **selfplay_metrics(shard),
            "selfplay/budget_ratio": ratio / QUARTERS,
            "speed/positions_per_second": shard.positions / (learnt - began),
            "speed/selfplay_seconds": played - began,
            "speed/learner_seconds": learnt - played,
            "speed/learner_samples_per_second": steps * self.config.learner.batch / (learnt - played),
            **{f"speed/{name}_per_second": shard.counters[name] / (played - began)
               for name in ("evaluations", "simulations", "moves") if name in shard.counters},
            "replay/positions": len(training.replay),
            "replay/age": training.replay.age(),
            "replay/megabytes": training.replay.nbytes / MEGABYTE,
            **(strength_metrics(strength) if strength else {}),
            "charts/games": progress.games,
            "charts/positions": progress.positions,
            "charts/seconds": round(progress.seconds, 3),
        }  # fmt: skip
        monitor.phase("saving")
        previous, self.last = (
            self.last,
            self.folder.commit(training.manifest(metrics), training.state(), shard.arrays()),
        )
        self.folder.append_metrics(metrics)
        self.publish()
        self.folder.prune(self.last, previous)
        monitor.row(metrics)
        self._picture(shard)
        self._iteration_seconds = time.monotonic() - began - (self._measurement_seconds if strength else 0)

    def _regular_measurement(self) -> Strength | None:
        config, training = self.config.measure, self.training
        if not config.minutes or self.stop or training.progress.learner_steps == 0:
            return None
        if training.progress.seconds < training.measured_at + 60 * config.minutes:
            return None
        limit = self.config.run.minutes
        if limit and training.progress.seconds + self._measurement_seconds > 60 * limit - kept_seconds(self.config):
            return None  # the last measurement is near
        began = time.monotonic()
        strength = self._measure(config.games, math.inf, "measuring")
        self._measurement_seconds = time.monotonic() - began
        training.measured_at = self.seconds()
        return strength

    def _measure(self, games: int, seconds: float, phase: str) -> Strength | None:
        training, candidate = self.training, self.folder.path / CANDIDATE
        self.monitor.phase(phase)
        training.save(candidate, self.folder.path.resolve().name)
        try:
            measured = measure(
                candidate,
                training.rules,
                self.config.measure,
                training.progress.iteration,
                training.choices.device,
                self.config.run.threads,
                games=games,
                seconds=seconds,
                check=self.stop.check,
                progress=lambda ended, total: self.monitor.phase(f"{phase}, game {ended} of {total}"),
            )
        finally:
            candidate.unlink(missing_ok=True)
        if measured is None:
            return None
        strength, _ = measured
        if strength.displaces(training.best):
            training.best = strength
        self.monitor.say(f"[bold]iteration {strength.iteration}[/] against {self.config.measure.opponent}: {strength}")
        return strength

    def _picture(self, shard: Shard) -> None:
        every = 60 * self.config.monitor.picture_minutes
        if not every or not shard.games or time.monotonic() < self._pictured + every:
            return
        self._pictured = time.monotonic()
        layout = list(self.training.rules.layouts)[int(shard.layout[0])]
        self.monitor.picture(self.training.rules, layout, shard.game_moves(0), self.training.progress.iteration)

    def _tell_next(self) -> None:
        run, config, best = self.config.run, self.config.measure, self.training.best
        wait = self.training.measured_at + 60 * config.minutes - self.seconds()
        left = run.checkpoint_every - self.last.iteration % run.checkpoint_every
        self.monitor.note(
            checkpoint=f"in {left} iteration{'s' if left > 1 else ''}",
            measurement=f"in {max(0, wait) / 60:.1f} min" if config.minutes else "at the end",
            best=f"iteration {best.iteration}: {best}" if best else "not measured yet",
        )


def new_network(config: RunConfig, seed: int) -> PolicyValueNet:
    """Return a network with random weights that `seed` decides."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return PolicyValueNet(get_rules(config.game).size, config.network)


def choose(config: RunConfig, device: str) -> Choices:
    """Decide the arithmetic of self-play, by measuring where the settings leave it open."""
    if config.run.inference != "auto":
        return Choices(device, config.run.inference)
    measured = choose_dtype(new_network(config, 0), config.selfplay.games_per_group, device)
    return Choices(device, measured.dtype, {name: round(speed) for name, speed in measured.speeds.items()})


def kept_seconds(config: RunConfig) -> float:
    """Return the seconds at the end of the run that are kept for the last measurement."""
    if not config.measure.final_games or config.run.minutes is None:
        return 0.0
    return 60 * min(config.measure.final_minutes, FINAL_SHARE * config.run.minutes)


def attackers_points(shard: Shard, ratio: int) -> tuple[float, int]:
    """Return what the controller of a budget ratio learns from: the attackers' points and the number of games.

    Those are the games that ended by the rules (a draw is half a point), without the even ones if there is a ratio.
    """
    ended = shard.reason != 0
    if ratio:
        ended &= shard.balance != 0
    return float((shard.winner[ended] / 2 + 0.5).sum()), int(ended.sum())


def selfplay_metrics(shard: Shard) -> dict[str, float]:
    """Return shares of a shard's games, their mean length, and the entropy of the policy targets in nats."""
    metrics: dict[str, float] = {}
    if count := shard.games:
        ended = shard.reason != 0
        metrics |= {
            "selfplay/attackers_win_share": float((shard.winner[ended] > 0).sum() / count),
            "selfplay/defenders_win_share": float((shard.winner[ended] < 0).sum() / count),
            "selfplay/draws": float((shard.winner[ended] == 0).sum() / count),
            "selfplay/truncated": float((~ended).sum() / count),
            "selfplay/game_length": float(shard.length.mean()),
        }
        if (even := ended & (shard.balance == 0)).any():
            metrics["selfplay/attackers_win_share_even"] = float((shard.winner[even] > 0).mean())
    trained = int((shard.policy_weight > 0).sum())
    if trained:
        row = np.repeat(np.arange(shard.positions), np.diff(shard.policy_offsets))
        probs = shard.policy_probs[shard.policy_weight[row] > 0].astype(np.float64)
        metrics["selfplay/policy_entropy"] = float(-(probs * np.log(np.maximum(probs, 1e-12))).sum() / trained)
    return metrics


def strength_metrics(strength: Strength) -> dict[str, float]:
    """Return a measurement as metrics."""
    return {
        "strength/attackers": strength.attackers,
        "strength/defenders": strength.defenders,
        "strength/overall": strength.overall,
    }


def estimate(config: RunConfig) -> tuple[float, float]:
    """Return roughly the megabytes of memory and of disk that the replay window takes when full, caps obeyed."""
    rules = get_rules(config.game)
    policy = config.selfplay.full_share * rules.size * 8 * (2 + 4)  # moves a side has, about 8 times the board's side
    position = rules.cells + 3 + 8 + 4 + 5 * 4 + policy
    positions = window_size(20 * config.replay.window, config.replay)
    megabytes = positions * position / MEGABYTE
    return min(config.replay.memory_megabytes, megabytes), min(config.replay.disk_megabytes, megabytes)


def version() -> str:
    """Return the installed version of this software, or ''."""
    try:
        return importlib.metadata.version("branan")
    except importlib.metadata.PackageNotFoundError:
        return ""
