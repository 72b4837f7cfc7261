"""Perft: the known numbers, histories, and the command line."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from env import RULES, Game, perft
from env.__main__ import main
from env.jit import PROJECT, store, store_name
from env.perft import MAX_DEPTH, divide

KNOWN = {
    ("brandubh", "standard"): (1, 40, 960, 39_512, 1_007_392),
    ("tawlbwrdd", "serif"): (1, 124, 7_276, 920_688),
    ("tawlbwrdd", "bell"): (1, 136, 7_620, 1_042_016),
}


@pytest.mark.parametrize(
    ("game", "layout", "depth"), [(*start, depth) for start, counts in KNOWN.items() for depth in range(len(counts))]
)
def test_known_numbers(game, layout, depth):
    assert perft(Game(game, layout), depth) == KNOWN[game, layout][depth]


def count_by_playing(game: Game, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for move in game.legal_moves():
        game.play(move)
        total += count_by_playing(game, depth - 1)
        game.undo()
    return total


@pytest.mark.parametrize("limit", [2, 3])
def test_repetitions_within_the_depth_end_sequences(limit):
    crowd = "/1TTTT2/TTTTTTT/TTTTTTT/TTTKTTT/TTTTTTT/TTTTTTT/1t1TTT1/"  # one attacker, and two holes to move into
    rules = dataclasses.replace(RULES["brandubh"], name="strict", repetition_limit=limit)
    game = Game.from_position(rules, crowd, "attackers")
    counts = [perft(game, depth) for depth in range(1, 10)]
    assert counts == [count_by_playing(game, depth) for depth in range(1, 10)]
    endless = Game.from_position(dataclasses.replace(rules, repetition_limit=100), crowd, "attackers")
    through_repetition = [perft(endless, depth) for depth in range(1, 10)]
    # An occurrence takes four plies, and shows in the sequences that would go on from it.
    first = 4 * (limit - 1)
    assert counts[:first] == through_repetition[:first]
    assert counts[first] < through_repetition[first]


@pytest.mark.parametrize("there", ["d1-c1", "d1-e1"])
def test_repetitions_in_the_history_end_sequences(there):
    back = "-".join(reversed(there.split("-")))
    game = Game("brandubh")
    for move in [there, "d3-c3", back, "c3-d3", there, "d3-c3", back]:
        game.play(move)
    # c3-d3 would be the third occurrence of the start: nothing follows it.
    assert divide(game, 2)[game.move_of(game.action_of("c3-d3"))] == 0
    assert perft(game, 2) == count_by_playing(game, 2)
    fresh = Game.from_position("brandubh", game.position, game.to_play)
    assert perft(fresh, 2) > perft(game, 2)


def test_perft_leaves_the_game_alone():
    game = Game("brandubh")
    game.play("d1-c1")
    before = (repr(game), game.history[: game.ply + 1].tolist(), [array.tolist() for array in game.arrays])
    perft(game, 3)
    assert (repr(game), game.history[: game.ply + 1].tolist(), [array.tolist() for array in game.arrays]) == before


def test_a_finished_game_has_no_continuation():
    game = Game("brandubh")
    game.resign("attackers")
    assert [perft(game, depth) for depth in range(3)] == [1, 0, 0]


def test_divide_sums_to_perft():
    game = Game("brandubh")
    counts = divide(game, 3)
    assert list(counts) == game.legal_moves()
    assert sum(counts.values()) == perft(game, 3)


@pytest.mark.parametrize("depth", [-1, MAX_DEPTH + 1])
def test_impossible_depths_are_refused(depth):
    with pytest.raises(ValueError, match="depth"):
        perft(Game("brandubh"), depth)


def test_command_line(capsys):
    assert main(["perft", "brandubh", "3"]) == 0
    assert capsys.readouterr().out.startswith("39512 sequences of 3 plies in ")
    assert main(["perft", "tawlbwrdd", "2", "--layout", "bell", "--divide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("7620 ")
    assert sum(int(line.split(": ")[1]) for line in lines[:-1]) == 7620
    assert main(["perft", "brandubh", "1", "--position", "/7/6t/3T3/K6/7/7/3t3/", "--to-play", "defenders"]) == 0
    assert capsys.readouterr().out.startswith("22 ")  # 12 of the king, 10 of the defender


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["chess", "3"], "chess"),
        (["brandubh", "three"], "three"),
        (["brandubh", "-1"], "depth"),
        (["brandubh", "3", "--layout", "bell"], "no layout 'bell'"),
        (["brandubh", "3", "--position", "/7/"], "has 1 ranks"),
        (["brandubh", "3", "--position", "/7/", "--layout", "standard"], "exclude each other"),
        (["brandubh", "0", "--divide"], "depth 0"),
        (["brandubh", "2", "--to-play", "defenders"], "--to-play goes with --position"),
    ],
)
def test_command_line_errors_are_told(arguments, problem, capsys):
    try:
        status = main(["perft", *arguments])
    except SystemExit as stop:  # argparse's own refusals
        status = stop.code
    assert status == 2
    told = capsys.readouterr().err
    assert problem in told
    assert "Traceback" not in told


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_second_start_takes_its_kernels_from_the_cache():
    """Kernels from the cache run another path than fresh ones, on which recursive kernels crashed the process."""
    stored = []
    for _ in range(2):
        done = run("-m", "env", "perft", "brandubh", "4")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("1007392 ")
        kernels = (store() / store_name(PROJECT / "env/perft.py")).rglob("perft.*.nb[ic]")
        stored.append({file: file.stat().st_mtime_ns for file in kernels})
    assert stored[0]
    assert stored[0] == stored[1]  # nothing was compiled again


def test_plain_python_counts_the_same():
    """`NUMBA_DISABLE_JIT=1` is how one debugs the kernels."""
    done = run("-m", "env", "perft", "brandubh", "2", "--divide", NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("960 ")
    program = (
        "from env import *\n"
        "game = Game.from_position('brandubh', '/2t4/5K1/7/7/tT1Tt2/2T4/2t4/', 'attackers')\n"
        "print(*game.play('c7-c3'), len(game.legal_moves()))\n"
        "game = Game('tawlbwrdd')\n"
        "for move in 'd1-c1 f8-g8 c1-d1 g8-f8'.split(): game.play(move)\n"
        "print(game.outcome.reason)\n"
    )
    done = run("-W", "error", "-c", program, NUMBA_DISABLE_JIT="1")
    assert (done.stdout.splitlines(), done.stderr) == (["b3 c2 d3 12", "repetition"], "")
