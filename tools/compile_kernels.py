"""Compile every kernel once, so that no first start has to wait: `make setup` ends with this.

Compiled code goes where `env.jit` keeps it and is found again until a kernel's source changes. Each step uses what a
person would use, through public names, with the smallest settings that reach every kernel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# Before torch is imported: threads that wait must not keep the other cores busy.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from rich.progress import (  # noqa: E402
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


def compile_rules() -> None:
    """`Game` and perft, for every game."""
    from env import RULES, Game, perft

    for rules in RULES.values():
        game = Game(rules)
        game.play(game.legal_moves()[0])
        game.undo()
        perft(game, 3)


def compile_environments() -> None:
    """The Gymnasium environments, one game and many games a step."""
    import gymnasium as gym
    import numpy as np

    from env import RULES
    from env.registration import environment_id

    for rules in RULES.values():
        single = gym.make(environment_id(rules), disable_env_checker=True)
        _, info = single.reset(seed=0)
        single.step(int(np.flatnonzero(info["action_mask"])[0]))
        single.close()
        many = gym.make_vec(environment_id(rules), num_envs=2, vectorization_mode="vector_entry_point")
        _, info = many.reset(seed=0)
        many.step(info["action_mask"].argmax(axis=1))
        many.close()


def compile_alphabeta() -> None:
    """The alpha-beta players."""
    from env import RULES, Game
    from search.alphabeta import AlphaBeta
    from search.alphabeta_v2 import AlphaBetaV2

    for rules in RULES.values():
        AlphaBeta(rules, table_megabytes=1).run(Game(rules), depth=2)
        AlphaBetaV2(rules, table_megabytes=1).run(Game(rules), depth=2)


def compile_prover() -> None:
    """The exact solver."""
    from env import RULES, Game
    from search.proof import Prover

    for rules in RULES.values():
        Prover(rules, 1).prove(Game(rules), rules.first, 100)


def compile_training() -> None:
    """Self-play, tree search and learner: the smallest run, thrown away."""
    with tempfile.TemporaryDirectory(prefix="branan-setup-") as folder:
        command = [sys.executable, "train.py", "--config", "configs/smoke.yaml", "--out", str(Path(folder) / "run")]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])}\n{done.stdout}")


STEPS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("rules", compile_rules),
    ("environments", compile_environments),
    ("alpha-beta", compile_alphabeta),
    ("exact solver", compile_prover),
    ("self-play and learning", compile_training),
)


def main() -> int:
    """Run all steps and say what each took; 1 when one failed, with its traceback, for it is a defect."""
    console = Console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("compiling kernels", total=len(STEPS))
        for name, compile_step in STEPS:
            progress.update(task, description=f"compiling kernels: {name}")
            if not console.is_terminal:
                console.print(f"compiling kernels: {name} ...", highlight=False)  # a minute or two each, no spinner
            start = time.perf_counter()
            try:
                compile_step()
            except Exception:
                console.print_exception()
                console.print(f"[red]The kernels of {name} could not be compiled[/red]; the reason is above.")
                return 1
            progress.advance(task)
            console.print(f"kernels ready: {name} ({time.perf_counter() - start:.1f} s)", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
