"""How fast the rules are, on one core: perft with the last ply counted, and random games with history and repetition.

    python benchmarks/rules.py [--json F]

Random games take their moves in two ways: from the list of all legal moves, which a program needs that looks at them,
and by counting them and finding one, which is enough to draw one. Seconds are those in which the thread ran, so that
other work on the machine counts less.
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
from env.board import NONE, play
from env.jit import kernel
from env.moves import count_moves, nth_move, write_moves
from env.position import Position, load, new_position
from env.tables import Tables, tables

PERFT = (("brandubh", "standard", 5), ("tawlbwrdd", "serif", 3), ("tawlbwrdd", "serif", 4), ("tawlbwrdd", "bell", 4))
PLIES = 3_000_000
MOST_PLIES = 1000  # of one game, so that its history has an end


@kernel
def random_games(
    t: Tables,
    board: np.ndarray,
    pos: Position,
    history: np.ndarray,
    moves: np.ndarray,
    undo: np.ndarray,
    listed: bool,
    plies: int,
    seed: np.uint64,
) -> int:
    """Play random legal moves from `board`, attackers first, game after game for `plies` plies; return the games begun.

    Args:
        t, pos, history: see `env.position`; history has MOST_PLIES + 1 entries.
        board: int8 (S,), the start.
        moves: int16 (4S,), room for the legal moves; undo: int16 (8,).
        listed: write down all legal moves and take one; else count them and find one.
        plies: how many moves to play.
        seed: of the xorshift generator (Marsaglia 2003), not zero.
    """
    games, ply = 0, 0
    over = True
    for _ in range(plies):
        if over or ply == MOST_PLIES:
            load(t, board, 0, pos, history)
            games, ply = games + 1, 0
        count = write_moves(t, pos, moves) if listed else count_moves(t, pos)
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        chosen = np.int64(((seed >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
        action = moves[chosen] if listed else nth_move(t, pos, chosen)
        over = play(t, pos, history, action, undo) != NONE
        ply += 1
    return games


def measure_perft(game: str, layout: str, depth: int) -> dict[str, Any]:
    start = Game(game, layout)
    perft(start, 1)
    seconds, leaves = best_of(5, lambda: perft(start, depth), time.thread_time)
    return {
        "what": f"perft {depth} leaves",
        "game": f"{game} {layout}",
        "count": leaves,
        "seconds": seconds,
        "M/s": leaves / seconds / 1e6,
    }


def measure_random(rules: Rules, listed: bool) -> dict[str, Any]:
    t, pos, history = tables(rules), new_position(rules), np.zeros(MOST_PLIES + 1, np.uint64)
    board, moves, undo = Game(rules).board, np.empty(rules.most_moves, np.int16), np.zeros(8, np.int16)

    def run(plies: int) -> int:
        return random_games(t, board, pos, history, moves, undo, listed, plies, np.uint64(20))

    run(10)
    seconds, _ = best_of(5, lambda: run(PLIES), time.thread_time)
    return {
        "what": f"random plies, moves {'listed' if listed else 'counted'}",
        "game": f"{rules.name} {rules.default_layout}",
        "count": PLIES,
        "seconds": seconds,
        "M/s": PLIES / seconds / 1e6,
    }


def main() -> None:
    given = parser(__doc__).parse_args()
    rows = [measure_perft(*start) for start in PERFT]
    rows += [measure_random(rules, listed) for rules in RULES.values() for listed in (True, False)]
    report("Rules, one core", machine("numba", "numpy"), rows, given.json)


if __name__ == "__main__":
    main()
