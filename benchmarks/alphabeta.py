"""Nodes per second of `alphabeta-v1` and `alphabeta-v2`, and what a depth costs.

    python benchmarks/alphabeta.py [--positions 8] [--json F]

The positions are openings of `seeds/openings`, each followed by a few moves of depth 2; one thread, processor time.
"""

from __future__ import annotations

import time

from machine import best_of, machine, parser, report

from arena.openings import load_openings
from env import RULES, Game
from search.alphabeta import AlphaBeta
from search.alphabeta_v2 import AlphaBetaV2

VERSIONS: dict[str, type[AlphaBeta] | type[AlphaBetaV2]] = {"alphabeta-v1": AlphaBeta, "alphabeta-v2": AlphaBetaV2}
DEPTHS = {
    ("brandubh", "alphabeta-v1"): (2, 4, 6),
    ("brandubh", "alphabeta-v2"): (2, 4, 6, 8),
    ("tawlbwrdd", "alphabeta-v1"): (2, 3, 4),
    ("tawlbwrdd", "alphabeta-v2"): (2, 3, 4, 5),
}
FURTHER_PLIES = 6


def positions(search: AlphaBeta, count: int) -> list[Game]:
    """Return positions that are going on, a few plies after the first `count` openings that last so long."""
    found: list[Game] = []
    for opening in load_openings(search.rules):
        game = opening.game(search.rules)
        for _ in range(FURTHER_PLIES):
            if game.outcome is None:
                game.play(search.run(game, depth=2, seed=opening.number).move)
        if game.outcome is None:
            found.append(game)
        if len(found) == count:
            break
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--positions", type=int, default=8, help="positions a game")
    arguments = options.parse_args()
    rows = []
    for name in RULES:
        games = positions(AlphaBeta(name), arguments.positions)
        for version, kind in VERSIONS.items():
            search = kind(name)
            for depth in DEPTHS.get((name, version), (2, 3)):
                seconds, nodes = best_of(
                    3,
                    lambda search=search, games=games, depth=depth: sum(
                        search.run(game, depth=depth).nodes for game in games
                    ),
                    time.thread_time,
                )
                rows.append(
                    {
                        "game": name,
                        "player": version,
                        "depth": depth,
                        "nodes/position": nodes // len(games),
                        "ms/position": 1000 * seconds / len(games),
                        "million nodes/s": nodes / seconds / 1e6,
                    }
                )
    report("alpha-beta on one core", machine("numba"), rows, arguments.json)


if __name__ == "__main__":
    main()
