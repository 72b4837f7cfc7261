"""The learning loop: self-play, replay, learner, and what is kept of each turn.

An iteration is a fixed amount of self-play, then as many learner steps as its positions pay for, then a transaction
(`training.run_folder`). What a run computes depends on its settings and seed alone: not on the number of threads, on
the clock, or on how often it was stopped and resumed. The clock only decides when to measure and when to end.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from rich.markup import escape

from training.health import Health
from training.hints import counted
from training.manifest import Manifest
from training.measure import Strength, measure
from training.metrics import Metrics, handicap_metrics, selfplay_metrics, strength_metrics
from training.monitor import Monitor
from training.replay import MEGABYTE
from training.run_folder import RunFolder
from training.shard import Shard
from training.stopping import Interrupted
from training.trainer import Training

LATEST, BEST = "latest.safetensors", "best.safetensors"
CANDIDATE = ".candidate.safetensors"
FINAL_SHARE = 0.2  # the most that the last measurement may take of a start's time
SLOW_SECONDS = 3.0  # without a batch: kernels are being compiled


class Loop:
    """A training at work in its folder.

    Args:
        training: what learns.
        folder: where it lands, locked.
        last: the iteration on disk that it is at.
        monitor: who is told.
        started: `time.monotonic()` at the start of the process.

    Attributes:
        abandoned: the work that a request to stop made it give up, or "".
        first: the iteration that this start began from.
    """

    def __init__(self, training: Training, folder: RunFolder, last: Manifest, monitor: Monitor, started: float) -> None:
        self.training, self.folder, self.last, self.monitor = training, folder, last, monitor
        self.config, self.stop = training.config, training.stop
        self.first = last.iteration
        self._began = started - last.seconds
        self._core_seconds_before = training.progress.core_seconds
        self._kept = self._kept_seconds(last.seconds)
        self.abandoned = ""
        self.health = Health(self.config.balance)
        self._pictured = -math.inf
        self._crowded = False  # and said so
        self._iteration_seconds = 0.0
        self._measurement_seconds = 0.0

    def seconds(self) -> float:
        """Return the run's wall-clock seconds, all starts added up."""
        return time.monotonic() - self._began

    def core_seconds(self) -> float:
        """Return the run's processor seconds, all threads and starts added up."""
        return self._core_seconds_before + time.process_time()

    def run(self) -> None:
        """Make iterations until the settings' limit or a request to stop; what is on disk is whole at any time.

        Raises:
            training.learner.LearnerError, training.health.Collapse, FloatingPointError: when learning breaks down.
        """
        threads = self.config.run.threads
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            while not self.stop and not self._over():
                self._tell_next()
                try:
                    self._turn(pool)
                except Interrupted:
                    self.abandoned = f"iteration {self.last.iteration + 1:,}"
                    return
        self.monitor.phase("ending")

    def final_measurement(self) -> Strength | None:
        """Measure the last network more thoroughly, in the time kept for it.

        Returns:
            Its strength, or None when stopped, out of time, or where nothing has been learnt that could be measured.
        """
        config = self.config.measure
        if not config.final_games or not self.training.progress.learner_steps:
            return None
        self.monitor.note(next="")
        limit = self.config.run.minutes
        left = max(self._kept / 2, 60 * limit - self.seconds()) if limit else 60 * config.final_minutes
        try:
            strength = self._measure(config.final_games, left, "the last measurement")
        except Interrupted:
            self.abandoned = "the last measurement"
            return None
        if strength is not None:
            self.monitor.curves(self._strength_metrics(strength), strength.iteration)
        return strength

    def finish(self, strength: Strength | None) -> None:
        """Store what came after the last iteration: the time it took, and its `strength`."""
        self.training.progress.seconds = self.seconds()
        self.training.progress.core_seconds = self.core_seconds()
        metrics = self.last.metrics | self._strength_metrics(strength)
        self.last = self.folder.amend(self.training.manifest(metrics))
        self.publish()

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

    def _kept_seconds(self, done: float) -> float:
        """Return the seconds at the end that are kept for the last measurement, when a start begins after `done`."""
        config, minutes = self.config.measure, self.config.run.minutes
        if not config.final_games or minutes is None:
            return 0.0
        return min(60 * config.final_minutes, FINAL_SHARE * max(0.0, 60 * minutes - done))

    def _over(self) -> bool:
        limit = self.config.run
        if limit.iterations is not None and self.last.iteration >= limit.iterations:
            return True
        # The iteration that comes nearest to the end is the last one.
        spent = self.seconds() + self._iteration_seconds / 2
        return limit.minutes is not None and spent > 60 * limit.minutes - self._kept

    def _turn(self, pool: ThreadPoolExecutor) -> None:
        training, progress, monitor = self.training, self.training.progress, self.monitor
        began = time.monotonic()
        ratio = training.balance.ratio(progress.positions)
        monitor.phase(lambda: "self-play" + self._slow_start(began))
        shard = training.play(pool)
        played = time.monotonic()
        training.account(shard)
        training.replay.append(progress.iteration, shard)
        self._tell_crowded()
        values = training.compare(shard)
        losses = training.learn(pool, lambda step, steps: monitor.phase(f"learning, step {step + 1:,} of {steps:,}"))
        learnt = time.monotonic()

        progress.seconds = self.seconds()
        strength = self._regular_measurement()
        progress.seconds, progress.core_seconds = self.seconds(), self.core_seconds()
        steps = progress.learner_steps - self.last.learner_steps
        metrics: Metrics = {
            "step": progress.iteration,
            "seconds": round(progress.seconds, 3),
            "games": progress.games,
            "positions": progress.positions,
            "learner_steps": progress.learner_steps,
            **losses,
            **(values.metrics() if values else {}),
            **selfplay_metrics(shard),
            **handicap_metrics(self.config.balance.by, ratio),
            "speed/positions_per_second": shard.positions / (learnt - began),
            "speed/selfplay_seconds": played - began,
            "speed/learner_seconds": learnt - played,
            "speed/learner_samples_per_second": steps * self.config.learner.batch / (learnt - played),
            **{f"speed/{name}_per_second": shard.counters[name] / (played - began)
               for name in ("evaluations", "simulations", "moves") if name in shard.counters},
            "replay/positions": len(training.replay),
            "replay/age": training.replay.age(),
            "replay/megabytes": training.replay.nbytes / MEGABYTE,
            **self._strength_metrics(strength),
            "charts/games": progress.games,
            "charts/positions": progress.positions,
            "charts/seconds": round(progress.seconds, 3),
            "charts/core_minutes": round(progress.core_seconds / 60, 3),
            "charts/evaluations": progress.evaluations,
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
        if warning := self.health.lopsided(shard, ratio):
            monitor.say(warning, fold=True)
        self.health.watch(progress.iteration, progress.learner_steps, values, losses, shard)
        self._iteration_seconds = time.monotonic() - began - (self._measurement_seconds if strength else 0)

    def _tell_crowded(self) -> None:
        if self._crowded or not (replay := self.training.replay).crowded:
            return
        self._crowded = True
        self.monitor.say(
            f"Mind: the positions of one iteration alone take {replay.nbytes / MEGABYTE:,.1f} MB of memory, more than "
            "replay.memory_megabytes or replay.disk_megabytes have room for, and the newest iteration stays in any "
            "case. Larger limits or fewer selfplay.steps help.",
            fold=True,
        )

    def _slow_start(self, began: float) -> str:
        waits = not self.training.batches and time.monotonic() > began + SLOW_SECONDS
        return ", as soon as its kernels are compiled (once, a minute or so)" if waits else ""

    def _regular_measurement(self) -> Strength | None:
        config, training = self.config.measure, self.training
        if not config.minutes or self.stop or training.progress.learner_steps == 0:
            return None
        if training.progress.seconds < training.measured_at + 60 * config.minutes:
            return None
        if self._final_is_near():
            return None
        began = time.monotonic()
        strength = self._measure(config.games, math.inf, "measuring")
        self._measurement_seconds = time.monotonic() - began
        training.measured_at = self.seconds()
        return strength

    def _final_is_near(self) -> bool:
        """Return whether the last measurement comes before half the time between two others has passed."""
        config, limit, progress = self.config.measure, self.config.run, self.training.progress
        if not config.final_games:
            return False
        if limit.iterations is not None and progress.iteration >= limit.iterations:
            return True
        ahead = max(self._measurement_seconds, 60 * config.minutes / 2)
        return limit.minutes is not None and progress.seconds + ahead > 60 * limit.minutes - self._kept

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
        self._tell_best()
        self.monitor.say(
            f"[bold]iteration {strength.iteration}[/] against {escape(strength.opponent)}: {strength.told(2 * games)}",
            fold=True,
        )
        return strength

    def _strength_metrics(self, strength: Strength | None) -> Metrics:
        return {**strength_metrics(strength, self.training.rules, self.config.measure.opponent)} if strength else {}

    def _picture(self, shard: Shard) -> None:
        every = 60 * self.config.monitor.picture_minutes
        if not every or not shard.games or time.monotonic() < self._pictured + every:
            return
        self._pictured = time.monotonic()
        game = shard.new_game(self.training.rules, 0)
        self.monitor.picture(game, shard.game_moves(0), self.training.progress.iteration)

    def _tell_next(self) -> None:
        run, config = self.config.run, self.config.measure
        self._tell_best()
        wait = self.training.measured_at + 60 * config.minutes - self.seconds()
        left = run.checkpoint_every - self.last.iteration % run.checkpoint_every
        near = self._final_is_near() or not config.minutes
        measurement = f"in {max(0, wait) / 60:.1f} min" if not near else "at the end" if config.final_games else "none"
        self.monitor.note(next=f"checkpoint in {counted(left, 'iteration')}, measurement {measurement}")

    def _tell_best(self) -> None:
        best = self.training.best
        self.monitor.note(best=f"iteration {best.iteration}: {best}" if best else "not measured yet")
