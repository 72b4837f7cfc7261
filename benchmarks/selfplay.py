"""How near self-play comes to what its network can answer, and what an iteration's time goes into.

    python benchmarks/selfplay.py [--game brandubh] [--blocks 4] [--channels 32] [--seconds 20] [--json F]
    python benchmarks/selfplay.py --checkpoint runs/NAME/best.safetensors
    python benchmarks/selfplay.py --iterations 200                        # memory instead: is it flat?

Self-play and pure inference take turns after every few batches, in the same threads and by the same evaluators: pure
inference asks again what self-play has just asked. So other work on the machine slows both alike. `ratio` is
evaluations/s of self-play by those of pure inference, by the clock on the wall; the ratio per processor second counts
only the time in which the threads ran. The settings are those of the game's config where no option names others.
Encoding is the listing of moves and the writing of input rows, measured apart on positions of random games and taken
out of the search's share; the learner makes as many steps as the positions of self-play pay for.

With `--iterations`, a whole training of so many tiny iterations runs as a process of its own (files, curves and
checkpoints included, the replay window full from early on), and its resident memory is read ten times on the way.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported: waiting threads must not spin

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arena.players import PlayerError, resolve_device
from benchmarks.machine import at_least, machine, parser, report
from benchmarks.tree_search import positions
from env import RULES, Rules
from env.encoding import input_size, write_network_input
from env.jit import kernel
from env.moves import write_moves
from env.position import copy_position, new_positions
from env.tables import Tables, tables
from models import CheckpointError, Evaluator, NetworkConfig, PolicyValueNet, choose_dtype, load
from training.config import RunConfig
from training.config_file import CONFIGS, ConfigError, read_config
from training.learner import Learner
from training.replay import Replay
from training.selfplay import SelfPlay
from training.shard import Shard

ROOT = Path(__file__).resolve().parent.parent
TURN = 16  # batches


class Spent:
    """Seconds on the wall and of the thread's processor, as an array of two that grows."""

    def __init__(self) -> None:
        self.seconds = np.zeros(2)

    def __enter__(self) -> None:
        self._began = np.array((time.perf_counter(), time.thread_time()))

    def __exit__(self, *_: object) -> None:
        self.seconds += (time.perf_counter(), time.thread_time()) - self._began


class Turns:
    """An evaluator that, after every `TURN` questions of self-play, is asked the last one as often again."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.asked = 0
        self.selfplay, self.pure = Spent(), Spent()

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        with self.selfplay:
            self.evaluator(inputs, actions, counts, logits, values)
        self.asked += 1
        if self.asked % TURN:
            return
        unread = np.empty_like(logits), np.empty_like(values)
        with self.pure:
            for _ in range(TURN):
                self.evaluator(inputs, actions, counts, *unread)


class Pool(ThreadPoolExecutor):
    """Threads whose seconds at work are added up."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, initializer=torch.set_num_threads, initargs=(1,))
        self.seconds = np.zeros(2)
        self._adding = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        def timed() -> Any:
            spent = Spent()
            try:
                with spent:
                    return fn(*arguments, **options)
            finally:
                with self._adding:
                    self.seconds += spent.seconds

        return super().submit(timed)


class Bench:
    """Self-play of one network, and the same network alone."""

    def __init__(self, config: RunConfig, network: PolicyValueNet, device: str, dtype: str, threads: int) -> None:
        self.config, self.rules, self.threads = config, RULES[config.game], threads
        play = config.selfplay
        self.evaluators = [Turns(Evaluator(network, device, dtype, play.games_per_group)) for _ in range(play.groups)]
        self.selfplay = SelfPlay(self.rules, play, config.search, self.evaluators, seed=0)
        self.balance = round(4 * config.balance.initial)
        self.pool = Pool(threads)
        self.learner = Learner(network, config.learner, device)

    def play(self, steps: int) -> Shard:
        """So many batches of self-play in each group."""
        return self.selfplay.run(steps, self.balance, self.pool)

    def learn(self, shards: list[Shard]) -> tuple[float, float]:
        """Return processor seconds of a learner step, and how many steps the positions pay for."""
        replay, config = Replay(input_size(self.rules), self.config.replay), self.config.learner
        for number, shard in enumerate(shards):
            replay.append(number + 1, shard)
        if not len(replay):
            return 0.0, 0.0
        rng, seconds = np.random.default_rng(0), []
        for _ in range(4):
            own, before = Spent(), self.pool.seconds[1]
            with own:
                self.learner.step(replay.sample(config.batch, rng), self.pool)
            seconds.append(own.seconds[1] + self.pool.seconds[1] - before)
        return min(seconds[1:]), len(replay) * self.config.replay.uses / config.batch

    def measure(self, seconds: float) -> dict[str, Any]:
        """Let self-play and pure inference take turns for about so many seconds."""
        steps = self.config.selfplay.steps
        for unmeasured in (TURN, TURN, steps // 2):  # kernels, and games that are all at their first move
            self.play(unmeasured)
        self.pool.seconds[:] = 0
        for turns in self.evaluators:
            turns.asked = 0
            turns.selfplay, turns.pure = Spent(), Spent()
        shards: list[Shard] = []
        end = time.perf_counter() + seconds
        while not shards or time.perf_counter() < end:
            shards.append(self.play(steps))
        pure = sum((turns.pure.seconds for turns in self.evaluators), np.zeros(2))
        inference = sum((turns.selfplay.seconds for turns in self.evaluators), np.zeros(2))
        played = self.pool.seconds - pure
        asked, simulated = (sum(s.counters[name] for s in shards) for name in ("evaluations", "simulations"))
        repeated = sum(turns.asked // TURN * TURN for turns in self.evaluators) * self.config.selfplay.games_per_group
        alone, within = repeated / pure, asked / played
        wall = played[0] / self.threads
        step, due = self.learn(shards)
        encoding = asked * encoding_seconds(self.rules)
        whole = played[1] + step * due
        return {
            "game": self.rules.name,
            "inference/s": alone[0] * self.threads,
            "evaluations/s": within[0] * self.threads,
            "ratio": within[0] / alone[0],
            "inference per processor second": alone[1],
            "evaluations per processor second": within[1],
            "ratio per processor second": within[1] / alone[1],
            "simulations/s": simulated / wall,
            "simulations an evaluation": simulated / asked,
            "positions/s": sum(shard.positions for shard in shards) / wall,
            "games/s": sum(shard.games for shard in shards) / wall,
            "share of inference": inference[1] / whole,
            "share of search": (played[1] - inference[1] - encoding) / whole,
            "share of encoding": encoding / whole,
            "share of learner": step * due / whole,
        }


@kernel
def _encode(t: Tables, found: np.ndarray, history: np.ndarray, moves: np.ndarray, out: np.ndarray, times: int) -> None:
    for _ in range(times):
        for index in range(found.shape[0]):
            count = write_moves(t, found[index], moves)
            write_network_input(t, found[index], history[index], 0, moves, count, out)


def encoding_seconds(rules: Rules, count: int = 200) -> float:
    """Processor seconds that listing the moves and writing the input row of a position takes."""
    games = positions(rules, count)
    found = new_positions(rules.size, count)
    history = np.zeros((count, max(game.ply for game in games) + 8), np.uint64)
    for index, game in enumerate(games):
        copy_position(game.arrays, found[index])
        history[index, : game.ply + 1] = game.history[: game.ply + 1]
    moves, out = np.empty(rules.most_moves, np.int16), np.empty(input_size(rules), np.int8)
    _encode(tables(rules), found, history, moves, out, 1)
    best = float("inf")
    for _ in range(20):
        began = time.thread_time()
        _encode(tables(rules), found, history, moves, out, 10)
        best = min(best, (time.thread_time() - began) / (10 * count))
    return best


def memory(game: str, iterations: int) -> list[dict[str, Any]]:
    """Megabytes of resident memory of a training process at ten moments on its way to `iterations`."""
    with tempfile.TemporaryDirectory(prefix="branan-memory-") as folder:
        run = Path(folder) / "run"
        options = {
            "config": CONFIGS / "smoke.yaml", "game": game, "out": run, "run.iterations": iterations,
            "replay.minimum": 100, "replay.window": 500, "replay.growth": 0, "measure.final_games": 0,
            "monitor.picture_minutes": 0.05,
        }  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [sys.executable, str(ROOT / "train.py"), *words]
        rows: list[dict[str, Any]] = []
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                while process.poll() is None:
                    time.sleep(0.02)
                    done = _rows(run / "metrics.jsonl")
                    if done >= iterations * (len(rows) + 1) / 10 and (resident := _resident(process.pid)):
                        rows.append({"game": game, "iteration": done, "resident MB": resident})
            finally:
                process.terminate()
        if process.returncode or len(rows) < 2:
            raise SystemExit(f"the training ended with status {process.returncode} after {len(rows)} readings")
    return rows


def _rows(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def _resident(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _bench(options: argparse.Namespace, game: str) -> Bench:
    overrides = {
        "selfplay.steps": options.steps, "selfplay.simulations": options.simulations,
        "selfplay.games_per_group": options.batch, "network.blocks": options.blocks,
        "network.channels": options.channels,
    }  # fmt: skip
    given = {name: str(value) for name, value in overrides.items() if value is not None}
    config = read_config(CONFIGS / f"{game}.yaml", given)
    torch.manual_seed(0)
    if options.checkpoint:
        network = load(options.checkpoint, game).network.requires_grad_(True)
        config = config.model_copy(update={"network": network.config})
    else:
        network = PolicyValueNet(RULES[game].size, config.network)
    dtype = options.dtype
    if dtype == "auto":
        torch.set_num_threads(1)
        dtype = choose_dtype(network, config.selfplay.games_per_group, options.device).dtype
    return Bench(config, network, options.device, dtype, options.threads)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--game", choices=list(RULES), action="append", help="may be given again (default: all)")
    options.add_argument("--blocks", type=int, help="of the network (default: the game's config)")
    options.add_argument("--channels", type=int, help="of the network")
    options.add_argument("--checkpoint", type=Path, metavar="FILE", help="this network instead of random weights")
    options.add_argument("--seconds", type=at_least(0.001, float), default=20.0, help="of measuring, for each game")
    options.add_argument("--threads", type=at_least(1), default=2)
    options.add_argument("--batch", type=int, metavar="B", help="games a group (default: the game's config)")
    options.add_argument("--simulations", type=int, help="of a full search (default: the game's config)")
    options.add_argument("--steps", type=int, help="batches a group makes in a stretch (default: the game's config)")
    options.add_argument("--dtype", choices=["auto", "float32", "bfloat16"], default="auto")
    options.add_argument("--device", default="cpu")
    options.add_argument("--iterations", type=at_least(1), metavar="N", help="measure memory over N iterations instead")
    given = options.parse_args()
    try:
        given.device = resolve_device(given.device)
    except PlayerError as error:
        options.error(str(error))

    if given.iterations:
        rows = [row for game in given.game or RULES for row in memory(game, given.iterations)]
        report(f"Resident memory over {given.iterations} iterations", machine("torch", "numpy"), rows, given.json)
        return
    rows, title = [], ""
    for game in given.game or RULES:
        try:
            bench = _bench(given, game)
        except (ConfigError, CheckpointError) as error:
            options.error(str(error))
        shape: NetworkConfig = bench.config.network
        rows.append(bench.measure(given.seconds) | {
            "network": f"{shape.blocks}x{shape.channels}", "dtype": bench.evaluators[0].evaluator.dtype,
        })  # fmt: skip
        title = f"Self-play on {given.device}, {given.threads} threads, {bench.config.selfplay.groups} groups"
    facts = machine("torch", "numba", "numpy")
    columns = [{"": name, **{row["game"]: row[name] for row in rows}} for name in rows[0] if name != "game"]
    report(title, facts, columns, None)
    if given.json is not None:
        text = json.dumps({"benchmark": title, "machine": facts, "rows": rows, **(rows[0] if len(rows) == 1 else {})})
        given.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
