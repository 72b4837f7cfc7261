"""Makes the opening lines that matches begin with: random, different under symmetry, alive for both sides.

    python tools/make_openings.py brandubh --depth 8 --count 128
    python tools/make_openings.py tawlbwrdd --layout bell --depth 4 --count 64

A line of random moves is kept if `alphabeta-v1` finds its end even at the deepest depth and every second one below, if
each side wins one of a few games of `alphabeta-v1` against itself from there, and if no line before led to the same
position, turned or mirrored. The same arguments give the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from env import RULES, Game, Rules  # noqa: E402
from env.encoding import square_symmetries  # noqa: E402
from env.position import TO_PLAY  # noqa: E402
from env.rules import SIDES, get_rules  # noqa: E402
from search.alphabeta import DECIDED, AlphaBeta  # noqa: E402

LONGEST_TRIAL = 200  # plies after which nobody has won a trial


def canonical(game: Game) -> bytes:
    """Return what the eight symmetric forms of a position, with its side to play, have in common."""
    board = game.board
    images = (board[np.argsort(symmetry)].tobytes() for symmetry in square_symmetries(game.rules.size))
    return min(images) + bytes([game.arrays.info[TO_PLAY]])


def random_line(rules: Rules, layout: str, plies: range, rng: np.random.Generator) -> Game | None:
    """Return a game of random moves, or None if it ended early."""
    game = Game(rules, layout)
    for _ in range(int(rng.integers(plies.start, plies.stop))):
        game.play_action(int(rng.choice(game.legal_actions())))
        if game.outcome is not None:
            return None
    return game


def even(search: AlphaBeta, game: Game, depth: int, within: int) -> bool:
    """Return whether neither side is better by more than `within`, at `depth` and every second depth below it."""
    return all(abs(search.run(game, depth=d).score) <= within for d in range(2 - depth % 2, depth + 1, 2))


def contested(search: AlphaBeta, start: Game, depth: int, games: int) -> bool:
    """Return whether each side wins one of some games of the search against itself; a forced win counts as won."""
    winners: set[str | None] = set()
    for seed in range(games):
        game = start.copy()
        winner = None
        while game.outcome is None and game.ply < LONGEST_TRIAL:
            found = search.run(game, depth=depth, seed=seed)
            if found.score >= DECIDED:
                winner = game.to_play
                break
            game.play(found.move)
        else:
            winner = game.outcome.winner if game.outcome else None
        winners.add(winner)
        if winners >= set(SIDES):
            return True
    return False


def make_openings(
    rules: Rules, layout: str, count: int, depth: int, within: int, trials: tuple[int, int], plies: range, seed: int
) -> tuple[list[str], int]:
    """Return `count` lines, shortest first, and how many random lines were looked at."""
    rng = np.random.default_rng(seed)
    search = AlphaBeta(rules, table_megabytes=64)
    start, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
    known: set[bytes] = set()
    lines: list[str] = []
    tried = 0
    while len(lines) < count:
        tried += 1
        game = random_line(rules, layout, plies, rng)
        if game is None or canonical(game) in known:
            continue
        known.add(canonical(game))
        # The dearest question comes last.
        if (
            even(search, game, max(1, depth - 2), within)
            and contested(search, game, *trials)
            and abs(search.run(game, depth=depth).score) <= within
        ):
            lines.append(" ".join(str(move) for move in game.moves))
            print(f"{start}{len(lines)} of {count} ({tried} tried)", end=end, file=sys.stderr, flush=True)
    print(end=start and "\n", file=sys.stderr)
    return sorted(lines, key=lambda line: (line.count(" "), line)), tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RULES))
    parser.add_argument("--layout", help="start of the game (default: its first)")
    parser.add_argument("--count", type=int, default=128, help="lines to make")
    parser.add_argument("--depth", type=int, default=6, help="deepest search, in plies")
    parser.add_argument(
        "--within", type=int, default=100, help="greatest score that counts as even, see docs/alphabeta-v1.md"
    )
    parser.add_argument(
        "--plies", type=int, nargs=2, default=(2, 5), metavar=("FROM", "TO"), help="length of the lines"
    )
    parser.add_argument(
        "--trials", type=int, nargs=2, default=(4, 6), metavar=("DEPTH", "GAMES"), help="games against itself"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", default="v1", help="version in the file's name")
    parser.add_argument("--out", type=Path, default=ROOT / "seeds" / "openings", help="folder")
    options = parser.parse_args()

    rules = get_rules(options.game)
    layout = options.layout or rules.default_layout
    if layout not in rules.layouts:
        parser.error(f"{rules.title} has no layout {layout!r}; there are: {', '.join(rules.layouts)}")
    path = options.out / f"{'-'.join([rules.name] + [layout] * (layout != rules.default_layout))}-{options.version}.txt"
    if path.exists():
        parser.error(f"{path} exists; openings are never changed, make the next version")

    shortest, longest = options.plies
    lines, tried = make_openings(
        rules,
        layout,
        options.count,
        options.depth,
        options.within,
        (options.trials[0], options.trials[1]),
        range(shortest, longest + 1),
        options.seed,
    )
    body = "\n".join(lines) + "\n"
    header = {
        "openings": path.stem,
        "game": rules.name,
        "layout": layout,
        "lines": f"{len(lines)} of {tried} random lines of {shortest} to {longest} plies, seed {options.seed}",
        "kept": f"alphabeta-v1 within {options.within} hundredths of an attacker at depth {options.depth} "
        f"and every second depth below; each side wins one of {options.trials[1]} games of depth {options.trials[0]} "
        "against itself; distinct under the eight symmetries",
        "command": " ".join(["python", "tools/make_openings.py", *sys.argv[1:]]),
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text("".join(f"# {key}: {value}\n" for key, value in header.items()) + body, encoding="utf-8")
    os.replace(draft, path)
    print(path)


if __name__ == "__main__":
    main()
