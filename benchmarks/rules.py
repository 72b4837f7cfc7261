"""How fast the rules are, on one core: perft with the last ply counted, and random games with history and repetition.

    python benchmarks/rules.py [--json F]

Seconds are those in which the thread ran, so that other work on the machine does not count.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import best_of, machine, parser, report
from env import RULES, Game, Rules, perft
from env.board import NONE, Position, load, new_position, play, write_moves
from env.jit import kernel
from env.tables import Tables, tables

PERFT = (("brandubh", "standard", 5), ("tawlbwrdd", "serif", 3), ("tawlbwrdd", "serif", 4), ("tawlbwrdd", "bell", 4))
PLIES = 3_000_000
MOST_PLIES = 1000  # of one game, so that its history has an end


@kernel
def random_games(
    t: Tables, board: np.ndarray, pos: Position, history: np.ndarray, moves: np.ndarray, plies: int, seed: np.uint64
) -> int:
    """Play random legal moves from `board`, attackers first, game after game for `plies` plies; return the games begun.

    Args:
        t, pos, history: see `env.board`; history has MOST_PLIES + 1 entries.
        board: int8 (S,), the start.
        moves: int16 (4S,), room for the legal moves.
        plies: how many moves to play.
        seed: of the xorshift generator (Marsaglia 2003), not zero.
    """
    undo = np.zeros(8, np.int16)
    games, ply = 0, 0
    over = True
    for _ in range(plies):
        if over or ply == MOST_PLIES:
            load(t, board, 0, pos, history)
            games, ply = games + 1, 0
        count = write_moves(t, pos, moves)
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        chosen = ((seed >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)
        over = play(t, pos, history, moves[np.int64(chosen)], undo) != NONE
        ply += 1
    return games


def measure_perft(game: str, layout: str, depth: int) -> dict[str, Any]:
    start = Game(game, layout)
    perft(start, 1)
    seconds, leaves = best_of(5, lambda: perft(start, depth), time.thread_time)
    return {
        "what": f"perft {depth}, leaves",
        "game": f"{game} {layout}",
        "count": leaves,
        "seconds": seconds,
        "M/s": leaves / seconds / 1e6,
    }


def measure_random(rules: Rules) -> dict[str, Any]:
    t, pos, history = tables(rules), new_position(rules), np.zeros(MOST_PLIES + 1, np.uint64)
    board, moves = Game(rules).board, np.empty(4 * rules.cells, np.int16)
    random_games(t, board, pos, history, moves, 10, np.uint64(1))
    seconds, games = best_of(
        5, lambda: random_games(t, board, pos, history, moves, PLIES, np.uint64(20)), time.thread_time
    )
    name = f"random games ({PLIES / games:.0f} plies each), plies"
    return {
        "what": name,
        "game": f"{rules.name} {rules.default_layout}",
        "count": PLIES,
        "seconds": seconds,
        "M/s": PLIES / seconds / 1e6,
    }


def main() -> None:
    given = parser(__doc__).parse_args()
    rows = [measure_perft(*start) for start in PERFT] + [measure_random(rules) for rules in RULES.values()]
    report("Rules, one core", machine("numba", "numpy"), rows, given.json)


if __name__ == "__main__":
    main()
