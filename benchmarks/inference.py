"""Evaluations per second of a network, by arithmetic, batch and threads.

    python benchmarks/inference.py [--game brandubh] [--blocks 4] [--channels 32] [--batches 64 128 256] [--json F]

Each thread has an evaluator of its own and asks it again and again, arrays in and arrays out, as self-play does; torch
computes with one thread in each. The positions are those of games of random moves; the weights do not matter.
Evaluations per second of processor time hold, more or less, while other work keeps the machine busy.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported: waiting threads must not spin

import itertools
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import machine, parser, report
from env import RULES, Game, Rules
from env.encoding import position_input
from env.tables import tables
from models import Evaluator, NetworkConfig, PolicyValueNet

Question = tuple[np.ndarray, np.ndarray, np.ndarray]


def positions(rules: Rules, count: int, seed: int = 0) -> Question:
    """Positions of random games: inputs int8 [B, S+3], legal actions int16 [B, M], how many int32 [B]."""
    choose = random.Random(seed)
    inputs = np.zeros((count, rules.cells + 3), np.int8)
    actions = np.zeros((count, rules.most_moves), np.int16)
    counts = np.zeros(count, np.int32)
    game = Game(rules)
    for b in range(count):
        while game.outcome is not None or game.ply >= 60:
            game = Game(rules)
        inputs[b], legal = position_input(tables(rules), game.arrays, game.history)
        actions[b, : len(legal)] = legal
        counts[b] = len(legal)
        game.play_action(choose.choice(legal.tolist()))
    return inputs, actions, counts


def measure(
    network: PolicyValueNet, question: Question, device: str, dtype: str, threads: int, seconds: float
) -> tuple[int, int]:
    """Evaluations of so many threads together, per second and per second of processor time."""
    batch = len(question[0])
    done, spent = [0] * threads, [0.0] * threads
    ready = threading.Barrier(threads + 1)
    stop = threading.Event()

    def work(thread: int) -> None:
        torch.set_num_threads(1)
        evaluator = Evaluator(network, device, dtype, batch)
        logits, values = np.empty(question[1].shape, np.float32), np.empty(batch, np.float32)
        for _ in range(3):
            evaluator(*question, logits, values)
        ready.wait()
        began = time.thread_time()
        while not stop.is_set():
            evaluator(*question, logits, values)
            done[thread] += batch
            spent[thread] = time.thread_time() - began

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    began = time.perf_counter()
    time.sleep(seconds)
    total, elapsed = sum(done), time.perf_counter() - began
    stop.set()
    for worker in workers:
        worker.join()
    return round(total / elapsed), round(sum(done) / sum(spent))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--game", choices=list(RULES), action="append", help="may be given again (default: all)")
    options.add_argument("--blocks", type=int, default=4)
    options.add_argument("--channels", type=int, default=32)
    options.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"], choices=["float32", "bfloat16"])
    options.add_argument("--batches", nargs="+", type=int, default=[1, 64, 128, 256])
    options.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    options.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    options.add_argument("--device", default="cpu")
    arguments = options.parse_args()

    config = NetworkConfig(blocks=arguments.blocks, channels=arguments.channels)
    rows = []
    for name in arguments.game or RULES:
        rules = RULES[name]
        network = PolicyValueNet(rules.size, config).eval()
        for batch in arguments.batches:
            question = positions(rules, batch)
            for dtype, threads in itertools.product(arguments.dtypes, arguments.threads):
                speed, cost = measure(network, question, arguments.device, dtype, threads, arguments.seconds)
                row = {"game": name, "dtype": dtype, "batch": batch, "threads": threads}
                rows.append(row | {"evaluations/s": speed, "per processor second": cost})
    title = f"Evaluations per second, {config.blocks} blocks of {config.channels} channels on {arguments.device}"
    report(title, machine("torch", "numpy"), rows, arguments.json)


if __name__ == "__main__":
    main()
