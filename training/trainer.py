"""Everything that learns, between two iterations, and how it is stored."""

from __future__ import annotations

import datetime
import importlib.metadata
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from env.rules import Rules, get_rules
from models import Evaluator, Header, PolicyValueNet, Provenance, choose_dtype, save
from training.balance import Balance
from training.config import LEAST_BATCH, MOST_USES, LearnerConfig, RunConfig
from training.health import Values, compare_values
from training.learner import Learner, LearnerError
from training.manifest import SHARD, STATE, Arrays, Manifest, RunError
from training.measure import Strength
from training.metrics import Metrics, attackers_points
from training.replay import Replay
from training.run_folder import RunFolder
from training.selfplay import SelfPlay, search_growth
from training.shard import Shard
from training.slots import QUARTERS
from training.stopping import Guarded, Stop

SETTLING = 1024
"""Positions by which the averaged network's normalisation is measured, once an iteration."""


@dataclass
class Progress:
    """What has been done, all starts of the run added up.

    `seconds` are those of the clock, `core_seconds` processor time of all threads, measurements of strength included.
    """

    iteration: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0
    evaluations: int = 0
    games: int = 0
    positions: int = 0
    learner_steps: int = 0


@dataclass
class Choices:
    """What was decided by measuring when the run began, and holds ever after."""

    device: str
    inference: Annotated[str, Field(pattern="^(float32|bfloat16)$")]
    speeds: dict[str, float] = field(default_factory=dict)


class LoopState(BaseModel):
    """What a manifest's `loop` holds; see `Training.manifest`."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    choices: Choices
    sampling: dict[str, Any]
    balance: dict[str, float]
    debt: float = Field(ge=0)
    replay_begin: int = Field(ge=0)
    best: Strength | None
    measured_at: float = Field(ge=0)
    core_seconds: float = Field(default=0.0, ge=0)
    evaluations: int = Field(default=0, ge=0)

    @field_validator("sampling")
    @classmethod
    def _is_a_generator(cls, sampling: dict[str, Any]) -> dict[str, Any]:
        try:
            np.random.PCG64().state = sampling  # pyright: ignore[reportAttributeAccessIssue]
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"no state of a generator: {error}") from None
        return sampling

    @field_validator("debt")
    @classmethod
    def _is_asked_for(cls, debt: float, info: ValidationInfo) -> float:
        # Not by the settings in force: a run that goes on may have others than those under which the debt was made.
        positions = (info.context or {}).get("positions", 0)
        most = positions * MOST_USES // LEAST_BATCH
        if debt > most:
            raise ValueError(f"{positions} positions cannot ask for more than {most} learner steps")
        return debt

    @field_validator("replay_begin")
    @classmethod
    def _is_reached(cls, begin: int, info: ValidationInfo) -> int:
        if begin > (positions := (info.context or {}).get("positions", 0)):
            raise ValueError(f"{begin} positions cannot have left the window, as {positions} have been made")
        return begin

    @classmethod
    def of(cls, folder: RunFolder, manifest: Manifest) -> LoopState:
        """Return what `manifest` holds.

        Raises:
            RunError: where it is damaged.
        """
        try:
            return cls.model_validate(manifest.loop, context={"positions": manifest.positions})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, ("loop", *first["loc"])))
            path = folder.manifest_file(manifest.iteration)
            raise RunError(f"{path} is damaged ({where}: {first['msg']})") from None


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
        self.initialised = network is not None  # with weights that were given
        network = network or new_network(config, int(weights.generate_state(1)[0]))
        self.learner = Learner(
            network, _learner_config(config, choices), choices.device, seed=int(learner.generate_state(1)[0])
        )
        self.evaluators = [
            Evaluator(
                self.learner.average,
                choices.device,
                choices.inference,
                config.selfplay.games_per_group,
                discounted_share=config.search.discounted_share,
            )
            for _ in range(config.selfplay.groups)
        ]
        self.selfplay = SelfPlay(
            self.rules,
            config.selfplay,
            config.search,
            [Guarded(evaluator, self._before_batch) for evaluator in self.evaluators],
            seed=int(selfplay.generate_state(1)[0]),
            balance_limit=round(QUARTERS * config.balance.maximum),
            by_temperature=config.balance.by == "temperature",
        )
        self.replay = Replay(self.rules.cells + 3, config.replay)
        self.balance = Balance(config.balance)
        self.sampling = np.random.Generator(np.random.PCG64(sampling))
        self.progress = Progress()
        self.debt = 0.0  # learner steps that positions have paid for and that are still to be made
        self.best: Strength | None = None
        self.measured_at = 0.0  # seconds of the run
        self.batches = 0  # evaluated since this start; only told to people

    # -------------------------------------------------------------------------------------------------- a turn

    def play(self, pool: ThreadPoolExecutor) -> Shard:
        """Make an iteration's self-play."""
        config, made = self.config.selfplay, self.progress.positions
        return self.selfplay.run(config.steps, self.balance.ratio(made), pool, search_growth(config, made))

    def _before_batch(self) -> None:
        self.batches += 1
        self.stop.check()

    def learn(self, pool: ThreadPoolExecutor, on_step: Callable[[int, int], None]) -> dict[str, float]:
        """Make the learner steps that are due; return the means of what they report.

        Raises:
            training.learner.LearnerError: when a loss, or a weight afterwards, is not finite.
        """
        if self.progress.positions < self.config.replay.minimum or not len(self.replay):
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
        if steps:
            self.learner.settle(self.replay.sample(SETTLING, self.sampling))
        if not all(torch.isfinite(tensor).all() for tensor in self.learner.average.state_dict().values()):
            raise LearnerError(
                f"learning broke down in step {self.learner.steps}: a weight became infinite or no number; a lower "
                "learner.learning_rate may help."
            )
        for evaluator in self.evaluators:
            evaluator.load(self.learner.average)
        return {name: value / steps for name, value in sums.items()}

    def compare(self, shard: Shard) -> Values | None:
        """Hold what the present network says of an iteration's positions against what came of them."""
        return compare_values(self.evaluators[0], shard)

    def account(self, shard: Shard) -> None:
        """Count an iteration's games and positions."""
        self.progress.iteration += 1
        self.progress.games += shard.games
        self.progress.positions += shard.positions
        self.progress.evaluations += int(shard.counters["evaluations"])
        self.debt += shard.positions * self.config.replay.uses / self.config.learner.batch
        points, ended = attackers_points(shard, self.balance.ratio(self.progress.positions - shard.positions))
        self.balance.update(points, ended, self.progress.positions)

    # -------------------------------------------------------------------------------------- state and checkpoints

    def state(self) -> Arrays:
        """Return all arrays that a later start needs."""
        parts = {"learner": self.learner.state(), "selfplay": self.selfplay.state()}
        return {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def manifest(self, metrics: Metrics) -> Manifest:
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
                "core_seconds": round(progress.core_seconds, 3),
                "evaluations": progress.evaluations,
            },
            metrics=metrics,
        )

    def restore(self, folder: RunFolder, manifest: Manifest, state: Arrays) -> None:
        """Go on from an iteration of a run of the same settings.

        Raises:
            RunError: where the run's files do not fit.
        """
        file = folder.manifest_file(manifest.iteration).with_name(STATE)
        try:
            for name, part in (("learner", self.learner), ("selfplay", self.selfplay)):
                prefix = f"{name}/"
                part.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
            loop = LoopState.of(folder, manifest)
            self.sampling.bit_generator.state = loop.sampling
            self.balance.restore(loop.balance)
            self.debt, self.measured_at = loop.debt, loop.measured_at
            self.best = self._known_best(loop.best, folder)
            self.replay.restore(manifest.positions, loop.replay_begin, self._shards(folder, manifest))
        except RunError:
            raise
        except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise RunError(f"{folder.path} cannot go on: {file} does not fit the settings: {error}") from None
        self.progress = Progress(
            iteration=manifest.iteration,
            seconds=manifest.seconds,
            core_seconds=loop.core_seconds,
            evaluations=loop.evaluations,
            games=manifest.games,
            positions=manifest.positions,
            learner_steps=manifest.learner_steps,
        )
        for evaluator in self.evaluators:
            evaluator.load(self.learner.average)

    def _shards(self, folder: RunFolder, manifest: Manifest) -> Iterator[tuple[int, Shard]]:
        """Yield the shards of the window, each of which has to hold what a shard can."""
        for iteration, arrays in folder.shards(manifest):
            try:
                shard = Shard.from_arrays(arrays)
                shard.require(self.rules)
            except (LookupError, TypeError, ValueError) as error:
                file = folder.manifest_file(iteration).with_name(SHARD)
                raise RunError(f"{file} holds what no game can: {error}; delete it to go on without it") from None
            yield iteration, shard

    def _known_best(self, best: Strength | None, folder: RunFolder) -> Strength | None:
        """Return the best with what it was measured against, and note where the settings say something else now."""
        if best is None:
            return None
        measure = self.config.measure
        if not best.opponent:  # an older version's: it was found under the settings that are still stored
            stored = folder.config().measure
            best = replace(best, opponent=stored.opponent, simulations=stored.simulations)
        if not best.alike(measure):
            folder.notes.append(
                f"The best network so far, of iteration {best.iteration}, was measured against {best.opponent} with "
                f"{best.simulations} simulations; the first that is measured against {measure.opponent} with "
                f"{measure.simulations} takes its place."
            )
        return best

    def save(self, path: Path, run: str) -> None:
        """Write the averaged network as a checkpoint.

        Raises:
            models.CheckpointError: where that cannot be.
        """
        progress, network, layouts = self.progress, self.learner.average, self.config.selfplay.layouts
        scores = {}
        if self.best is not None and self.best.iteration == progress.iteration:
            scores = {f"{self.best.opponent} {side}": getattr(self.best, side) for side in ("attackers", "defenders")}
        header = Header(
            game=self.rules.name,
            size=self.rules.size,
            layouts=tuple(layouts or (self.rules.default_layout,)),
            network=network.config,
            discount=self.config.search.discount,
            discounted_share=self.config.search.discounted_share,
            provenance=Provenance(
                run=run[:256],
                step=progress.learner_steps,
                seconds=float(progress.seconds),
                core_seconds=float(progress.core_seconds),
                evaluations=progress.evaluations,
                positions=progress.positions,
                games=progress.games,
                seed=self.config.run.seed,
                date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                version=version(),
                scores=scores,
            ),
        )
        save(path, network, header)


def _learner_config(config: RunConfig, choices: Choices) -> LearnerConfig:
    """Where the learner's arithmetic is left open it is self-play's: both gain by bfloat16 on the same machines."""
    if config.learner.precision != "auto":
        return config.learner
    return config.learner.model_copy(update={"precision": choices.inference})


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


def version() -> str:
    """Return the installed version of this software, or ''."""
    try:
        return importlib.metadata.version("branan")
    except importlib.metadata.PackageNotFoundError:
        return ""
