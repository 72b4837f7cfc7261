"""How a run ends: what is said to people, and what result.json keeps of it."""

from __future__ import annotations

import json

from rich.markup import escape

from env.files import read_plain_text, write_whole
from training.config import RunConfig
from training.hints import counted, door, program
from training.loop import BEST, Loop
from training.measure import ROUND_GAMES, Strength
from training.monitor import Monitor, clock
from training.run_folder import RunFolder

MOST_BYTES = 1 << 20  # of result.json
WEAK = 0.2  # a side's score below which people are told what it means


def farewell(loop: Loop, strength: Strength | None, monitor: Monitor) -> None:
    """Say what came of a run and what can be done with it; `strength` is what the last measurement found."""
    path, stop, last = loop.folder.path, loop.stop, loop.last
    if stop:
        given_up = f" {loop.abandoned.capitalize()} was given up." if loop.abandoned else ""
        monitor.say(f"Stopped ({stop.reason}).{given_up} {safe(loop)} To go on:", fold=True)
        monitor.say(f"  {escape(door('train.py', '--resume', path))}")
        return
    best, opponent = path / BEST, loop.config.measure.opponent
    commands = {
        "curves": program("tensorboard", "--logdir", path.parent),
        "go on": door("train.py", "--resume", path, "--minutes", "10"),
    }
    monitor.say(
        f"\n[bold]Finished[/]: {counted(last.iteration, 'iteration')}, {counted(last.games, 'game')}, "
        f"{counted(last.positions, 'position')} in {clock(last.seconds)} minutes.",
        fold=True,
    )
    if last.iteration == loop.first != loop.config.run.iterations:
        monitor.say("The time did not suffice for an iteration more.", fold=True)
    learns = last.learner_steps > 0
    if learns or loop.training.initialised:
        monitor.say(f"Checkpoint: {escape(str(best))}")
        commands["evaluate"] = door("evaluate.py", best, "--opponent", opponent)
        commands["play"] = door("play.py", best, "--terminal")
    if not learns:
        minimum = loop.config.replay.minimum
        monitor.say(
            f"Learning begins at {minimum:,} positions (replay.minimum) and has not begun, so there was nothing to "
            "measure. Going on is what helps.",
            fold=True,
        )
    else:
        monitor.say(
            f"Against {escape(opponent)}, {loop.config.measure.simulations} simulations a move: "
            + (f"[bold]{strength.told(_wanted(loop))}[/]" if strength else _why_not_measured(loop)),
            fold=True,
        )
    if strength and loop.training.best != strength and loop.training.best:
        monitor.say(f"(that is the last network; the best is of iteration {loop.training.best.iteration})", fold=True)
    if strength and (meaning := _meaning(strength)):
        monitor.say(meaning, fold=True)
    monitor.say("\n".join(f"  {name + ':':<10} {escape(command)}" for name, command in commands.items()))


def safe(loop: Loop) -> str:
    """Return how far a run is on disk, as a sentence."""
    return f"Everything up to iteration {loop.last.iteration:,} is saved."


def _why_not_measured(loop: Loop) -> str:
    if not loop.config.measure.final_games:
        return "not measured (measure.final_games is 0)"
    games = min(ROUND_GAMES, _wanted(loop))
    return f"not measured, as the time did not suffice for {games} games; the command `evaluate` below does it"


def _wanted(loop: Loop) -> int:
    """Return the games of the last measurement, of both sides."""
    return 2 * loop.config.measure.final_games


def _meaning(strength: Strength) -> str:
    """Return a sentence for a score that might be taken for a failure."""
    if strength.attackers < WEAK <= strength.defenders:
        return "That is usual for a short run: the attackers learn last, and going on is what helps."
    if strength.defenders < WEAK <= strength.attackers:
        return "The defenders are still weak; going on is what helps."
    if strength.attackers < WEAK:
        return "Both sides are still weak, as after a short run; going on is what helps."
    return ""


def write_result(folder: RunFolder, loop: Loop, strength: Strength | None) -> None:
    """Keep how the run ended."""
    result = {
        "finished": True,
        "iteration": loop.last.iteration,
        "seconds": loop.last.seconds,
        "minutes": loop.config.run.minutes,
        "iterations": loop.config.run.iterations,
        "opponent": loop.config.measure.opponent,
        "score": strength and {
            "attackers": strength.attackers,
            "defenders": strength.defenders,
            "overall": strength.overall,
            "games": strength.games,
            "games_wanted": _wanted(loop),
        },
    }  # fmt: skip
    write_whole(folder.result_file, json.dumps(result, indent=1).encode())


def finished(folder: RunFolder, config: RunConfig, iteration: int) -> bool:
    """Return whether a run has ended by itself, at `iteration` and under the same limits."""
    try:
        result = json.loads(read_plain_text(folder.result_file, MOST_BYTES))
        found = (result["minutes"], result["iterations"], result["iteration"])
        return found == (config.run.minutes, config.run.iterations, iteration)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
