"""What `benchmarks/gpu_check.sh` runs: is the GPU path right, how fast is it, and does a training go through.

Every step says in a line what it found and a table ends it all; a step that fails does not keep the next from running.
With `--dry-run` the same steps run small on the CPU, by the same code but for the recording of CUDA graphs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.inference import Question, positions
from benchmarks.machine import machine, report
from benchmarks.selfplay import Bench
from env import RULES
from models import Evaluator, NetworkConfig, PolicyValueNet
from models.evaluator import DTYPES
from training.config import RunConfig
from training.config_file import CONFIGS, read_config
from training.learner import Learner
from training.replay import Batch

ROOT = Path(__file__).resolve().parent.parent
Figures = dict[str, Any]

# How far answers may be from the CPU's in float32: of the logits' spread, and of a value. TF32 has 10 bits of mantissa.
NEAR = {"float32": (0.02, 0.01), "bfloat16": (0.2, 0.1)}


class WrongError(Exception):
    """A figure is not what it has to be."""


class Check:
    """The steps, and what they need."""

    def __init__(self, dry: bool) -> None:
        self.dry, self.device = dry, "cpu" if dry else "cuda"
        self.rules = RULES["brandubh"]
        self.shape = NetworkConfig(blocks=2, channels=16) if dry else NetworkConfig(blocks=6, channels=96)
        self.batch = 32 if dry else 1024
        self.seconds = 0.3 if dry else 3.0
        self.network = self.lively(1)
        self.dtype = "float32" if dry else "bfloat16"

    def lively(self, seed: int) -> PolicyValueNet:
        """A network whose weights all show in what it answers."""
        torch.manual_seed(seed)
        network = PolicyValueNet(self.rules.size, self.shape)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.05)
        return network.eval()

    def evaluator(self, dtype: str, fixed: bool = True, batch: int | None = None) -> Evaluator:
        return Evaluator(self.network, self.device, dtype, batch or self.batch, fixed=fixed)

    def against_the_cpu(self) -> Figures:
        """Answers of the device against those of the CPU in float32."""
        question = positions(self.rules, self.batch // 2 + 3)
        exact, exact_values = answers(Evaluator(self.network, "cpu", "float32", self.batch), question)
        spread, figures = float(np.nanstd(exact)), {}
        for dtype, (logits_near, values_near) in NEAR.items():
            found, values = answers(self.evaluator(dtype), question)
            off = float(np.nanmax(np.abs(found - exact))) / spread, float(np.abs(values - exact_values).max())
            figures |= {f"{dtype}: logits off by": off[0], f"{dtype}: values off by": off[1]}
            if not (off[0] < logits_near and off[1] < values_near):
                raise WrongError(f"{dtype} is off by {off[0]:.3f} spreads in the logits and {off[1]:.3f} in the values")
        return figures

    def replay(self) -> Figures:
        """Graphs give what plain calls give: for every size of question, new weights, and two threads at once."""
        fixed, plain = self.evaluator(self.dtype), self.evaluator(self.dtype, fixed=False)
        for seed, rows in enumerate((1, 7, self.batch, self.batch // 3, self.batch)):
            other = self.lively(seed + 10)
            fixed.load(other)
            plain.load(other)
            same(answers(fixed, positions(self.rules, rows, seed)), answers(plain, positions(self.rules, rows, seed)))
        questions = [positions(self.rules, self.batch, seed) for seed in (20, 21)]
        evaluators = [self.evaluator(self.dtype) for _ in questions]
        wanted = [answers(plain_one, q) for plain_one, q in zip((self.evaluator(self.dtype, False),) * 2, questions)]
        wrong: list[BaseException] = []

        def ask(number: int) -> None:
            try:
                for _ in range(5 if self.dry else 100):
                    same(answers(evaluators[number], questions[number]), wanted[number])
            except BaseException as error:
                wrong.append(error)

        in_threads(ask, 2)
        if wrong:
            raise wrong[0]
        return {}

    def inference(self) -> Figures:
        """Evaluations per second: plain calls and graphs, several batches, one thread and two."""
        figures = {}
        for batch in (self.batch // 4, self.batch, self.batch * 4):
            question = positions(self.rules, batch)
            for name, fixed in (("plain", False), ("graphs", True)):
                figures[f"{name}, batch {batch}"] = self.speed(question, fixed, 1)
        figures[f"graphs, batch {self.batch}, two threads"] = self.speed(positions(self.rules, self.batch), True, 2)
        return figures

    def speed(self, question: Question, fixed: bool, threads: int) -> int:
        """Evaluations per second of so many evaluators together."""
        batch = len(question[0])
        evaluators = [self.evaluator(self.dtype, fixed, batch) for _ in range(threads)]
        for evaluator in evaluators:
            answers(evaluator, question)
        done = [0] * threads
        end = time.perf_counter() + self.seconds

        def ask(number: int) -> None:
            logits, values = np.empty(question[1].shape, np.float32), np.empty(batch, np.float32)
            while time.perf_counter() < end:
                evaluators[number](*question, logits, values)
                done[number] += batch

        began = time.perf_counter()
        in_threads(ask, threads)
        return round(sum(done) / (time.perf_counter() - began))

    def selfplay(self) -> Figures:
        """Self-play beside pure inference, with the settings of the game's GPU config."""
        bench = Bench(self.config(), self.network, self.device, self.dtype, threads=2)
        figures = bench.measure(4 * self.seconds)
        return {name: figure for name, figure in figures.items() if name != "game"}

    def config(self) -> RunConfig:
        """Settings of self-play and of the learner."""
        overrides = {"network.blocks": str(self.shape.blocks), "network.channels": str(self.shape.channels)}
        return read_config(CONFIGS / "brandubh-gpu.yaml", overrides | (self.small() if self.dry else {}))

    def small(self) -> dict[str, str]:
        """Settings for a CPU that has a few seconds."""
        return {
            "run.device": "cpu", "selfplay.games_per_group": "16", "selfplay.steps": "120",
            "selfplay.simulations": "4", "selfplay.fast_simulations": "2", "selfplay.most_simulations": "4",
            "selfplay.max_plies": "30", "learner.batch": "32", "balance.initial": "0", "balance.maximum": "0",
        }  # fmt: skip

    def learner(self) -> Figures:
        """Samples per second of the learner."""
        config, figures = self.config().learner, {}
        inputs, actions, counts = positions(self.rules, config.batch)
        actions = np.where(np.arange(actions.shape[1]) < counts[:, None], actions, -1)[:, : int(counts.max())]
        probs = np.where(actions >= 0, 1 / np.maximum(counts, 1)[:, None], 0).astype(np.float32)
        ones = np.ones(config.batch, np.float32)
        outlook = np.tile(np.array([1, 0, 0], np.float32), (config.batch, 1))
        batch = Batch(inputs, actions.astype(np.int16), probs, ones, ones, outlook)
        for precision in ("float32", "bfloat16"):
            settings = config.model_copy(update={"precision": precision})
            learner = Learner(self.lively(2), settings, self.device)
            first = last = learner.step(batch)["losses/policy"]
            steps, began = 0, time.perf_counter()
            while time.perf_counter() < began + self.seconds or steps < 5:
                last = learner.step(batch)["losses/policy"]
                steps += 1
            figures[f"{precision}, samples/s"] = round(steps * config.batch / (time.perf_counter() - began))
            if not last < first:
                raise WrongError(f"in {precision} the policy's loss went from {first:.3f} to {last:.3f}")
        return figures

    def training(self) -> Figures:
        """`train.py` for two iterations, and a third after it was resumed."""
        overrides = {
            "config": CONFIGS / "brandubh-gpu.yaml", "run.minutes": "null", "run.iterations": 2, "replay.minimum": 1,
            "measure.final_games": 0, "measure.minutes": 0, "network.blocks": self.shape.blocks,
            "network.channels": self.shape.channels, "run.inference": self.dtype,
            **(self.small() if self.dry else {"device": "cuda"}),
        }  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="branan-gpu-") as folder:
            run = Path(folder) / "run"
            self.train("--out", run, *(word for name, value in overrides.items() for word in (f"--{name}", value)))
            self.train("--resume", run, "--run.iterations", "3")
            rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        if len(rows) != 3 or not rows[-1]["learner_steps"]:
            raise WrongError(f"the training made {len(rows)} iterations and {rows[-1]['learner_steps']} learner steps")
        if not all(np.isfinite(row.get("losses/policy", 0.0)) for row in rows):
            raise WrongError("a loss is no number")
        return {
            name: rows[-1][f"speed/{name}"]
            for name in ("simulations_per_second", "positions_per_second", "learner_samples_per_second")
        }

    def train(self, *words: Any) -> None:
        done = subprocess.run(
            [sys.executable, str(ROOT / "train.py"), *map(str, words)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise WrongError(f"train.py ended with status {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")


def answers(evaluator: Evaluator, question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Logits float32 [B, M], NaN beyond a row's last move, and values [B]."""
    inputs, actions, counts = question
    logits, values = np.empty(actions.shape, np.float32), np.empty(len(inputs), np.float32)
    evaluator(inputs, actions, counts, logits, values)
    return np.where(np.arange(actions.shape[1]) < counts[:, None], logits, np.nan), values


def same(found: tuple[np.ndarray, np.ndarray], wanted: tuple[np.ndarray, np.ndarray]) -> None:
    """Compare answers of the same device in the same arithmetic, by kernels that need not be the same."""
    for what, one, other in zip(("logits", "values"), found, wanted):
        off = float(np.nanmax(np.abs(one - other))) / max(float(np.nanstd(other)), 1e-3)
        if not off < 0.1:
            raise WrongError(f"graphs answer other {what} than plain calls, by {off:.3f} spreads")


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Call `work` with 0, 1, ... in so many threads, and wait."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dry-run", action="store_true", help="small, on the CPU")
    options.add_argument("--json", type=Path, metavar="F", help="write the figures to this file, too")
    options.add_argument("--limit", type=float, default=300.0, help="seconds that there are; later steps are left out")
    given = options.parse_args()
    began = time.perf_counter()
    if not given.dry_run and not torch.cuda.is_available():
        print("PyTorch finds no GPU here; --dry-run tries the same steps on the CPU.", file=sys.stderr)
        return 2
    # What self-play needs compiled takes a minute of one core; meanwhile the GPU is looked at.
    compiler = [sys.executable, str(ROOT / "tools" / "compile_kernels.py")]
    compiling = subprocess.Popen(compiler, stdout=subprocess.DEVNULL)
    torch.set_num_threads(1)
    check = Check(given.dry_run)
    assert set(NEAR) == set(DTYPES)
    facts = machine("torch", "numpy", "numba")
    facts["device"] = "CPU, dry run" if check.dry else torch.cuda.get_device_name()
    steps: list[tuple[str, Callable[[], Figures]]] = [
        ("answers against the CPU", check.against_the_cpu), ("graphs against plain calls", check.replay),
        ("inference/s", check.inference), ("learner", check.learner), ("self-play", check.selfplay),
        ("training", check.training),
    ]  # fmt: skip
    rows: list[Figures] = []
    failed = 0
    for name, step in steps:
        if step == check.selfplay:
            compiling.wait()
        start = time.perf_counter()
        try:
            if start - began > 0.8 * given.limit:
                raise WrongError("left out, as the time is up")
            figures: Figures = step()
            verdict = "right"
        except Exception as error:
            figures, verdict, failed = {}, f"WRONG: {type(error).__name__}: {error}", failed + 1
        print(f"{name}: {verdict} ({time.perf_counter() - start:.0f} s)", flush=True)
        rows.append({"step": name, "what": "verdict", "figure": verdict})
        rows += [{"step": name, "what": what, "figure": figure} for what, figure in figures.items()]
        if given.json is not None:
            given.json.write_text(json.dumps({"machine": facts, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    report(f"GPU check, {time.perf_counter() - began:.0f} s", facts, rows, None)
    print(json.dumps({"machine": facts, "failed": failed, "rows": rows}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
