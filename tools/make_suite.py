"""Makes a suite of solved positions: the side to play wins by force, and every move is judged.

    python tools/make_suite.py brandubh --games 2000
    python tools/make_suite.py tawlbwrdd --minutes 60 --workers 4

Players drawn by lot play fresh games from random openings, with a random move now and then. Of each position the exact
solver (`search.proof`) looks for the shortest win of the side to play. One that is found is kept if it is of a wanted
length, is no turned or mirrored form of an earlier one, is not trivial, and if the solver can tell of nearly every
legal move whether it keeps the win. The same arguments give the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from arena.players import Player, parse_player  # noqa: E402
from arena.suite import ALL, FOLDER, Entry, entry_line, read_suite  # noqa: E402
from env import RULES, Game, Rules  # noqa: E402
from env.rules import SIDES, get_rules  # noqa: E402
from search.proof import Prover  # noqa: E402
from tools.make_openings import canonical, random_line  # noqa: E402

LONGEST_GAME = 200  # plies
GLANCE, LOOK = 10_000, 400_000  # nodes for the length: of any position, and where the position after it is won
GLANCE_PLIES = 7  # longest win looked for at a glance
STAGES = ((3_000, 12), (30_000, 5), (300_000, None))
"""Nodes for each question about a move, in stages, and how many moves may be unsettled after each to go on; after the
last it is `--open`."""
ONLY_STAGE = 10_000, 1 << 30  # where any number of moves may be unsettled
FEW = 10  # more unsettled moves than these are not listed
BEYOND = 2  # plies beyond the shortest win in which a slower one is looked for before one of any length
CHUNK = 10  # games after which it is seen which entries are no longer wanted
TABLE_MEGABYTES = 12


def play_game(start: Game, players: list[Player], noise: float, rng: np.random.Generator) -> Game:
    """Return the game after one player has played each side; a move is random with probability `noise`."""
    game = start
    while game.outcome is None and game.ply < LONGEST_GAME:
        if rng.random() < noise:
            game.play_action(int(rng.choice(game.legal_actions())))
        else:
            player = players[SIDES.index(game.to_play)]
            game.play(player.choose([game], [int(rng.integers(1 << 31))])[0])
    return game


class Judge:
    """Solves positions of one game, with a table for each side that wins."""

    def __init__(self, rules: Rules, share: float, most_open: int) -> None:
        self.rules, self.share, self.most_open = rules, share, most_open
        self.provers = {side: Prover(rules, TABLE_MEGABYTES) for side in SIDES}

    def forget(self) -> None:
        for prover in self.provers.values():
            prover.forget()

    def length(self, game: Game, nodes: int, most: int) -> int | None:
        """Return the plies of the shortest win of the side to play."""
        return self.provers[game.to_play].shortest_win(game, game.to_play, nodes, most).plies

    def solve(self, game: Game, plies: int, origin: str) -> Entry | None:
        """Return the entry of a position that is won in so many plies, or None where it is not to be kept."""
        side, moves = game.to_play, [str(move) for move in game.legal_moves()]
        keeps: dict[str, int] = {}
        unsettled: dict[str, Game] = {}
        stages = STAGES if self.most_open >= 0 else (ONLY_STAGE,)
        for move in moves:
            after = game.copy()
            after.play(move)
            # Past positions are no matter to a suite: each of its positions is a start.
            fresh = after.outcome is None
            unsettled[move] = Game.from_position(self.rules, after.position, after.to_play) if fresh else after
        for nodes, most in stages:
            most = self.most_open if most is None else most
            failed = 0
            for move, after in list(unsettled.items()):
                won = self._won_in(after, side, nodes, plies)
                if won is not None:
                    del unsettled[move]
                    if won >= 0:
                        keeps[move] = won + 1
                else:
                    failed += 1
                if failed > most or len(keeps) > self.share * len(moves):
                    return None
        keeps = dict(sorted(keeps.items(), key=lambda item: (item[1], item[0])))
        left_open = tuple(sorted(unsettled)) if len(unsettled) <= FEW else (ALL,)
        return Entry(game.position, side, plies, keeps, left_open, origin)

    def _won_in(self, after: Game, side: str, nodes: int, plies: int) -> int | None:
        """Return the plies of a win of `side` after a move of its, -1 where there is none, None where that is open."""
        if after.outcome is not None:
            return 0 if after.outcome.winner == side else -1
        prover = self.provers[side]
        proof = prover.shortest_win(after, side, nodes, plies - 1 + BEYOND)
        if not proof.proven:
            proof = prover.prove(after, side, nodes)
        if proof.proven:
            return proof.plies
        if proof.disproven or self.provers[after.to_play].prove(after, after.to_play, nodes).proven:
            return -1
        return None


class Miner:
    """Plays games and looks for entries in them; what a game gives depends on the seed and its number alone."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.rules, self.options = get_rules(options.game), options
        self.players = {
            side: [parse_player(text, self.rules, threads=1) for text in getattr(options, side)] for side in SIDES
        }
        self.judge = Judge(self.rules, options.share, options.open)

    def entries(self, number: int, wanted: frozenset[tuple[str, int]]) -> tuple[list[Entry], int]:
        """Return the entries of wanted sides and lengths from one game, and how many positions were tried for them."""
        rng = np.random.default_rng((self.options.seed, number))
        layout = list(self.rules.layouts)[number % len(self.rules.layouts)]
        start = random_line(self.rules, layout, range(2, 7), rng)
        if start is None:
            return [], 0
        self.judge.forget()
        pair = [self.players[side][int(rng.integers(len(self.players[side])))] for side in SIDES]
        game = play_game(start, pair, self.options.noise, rng)
        longest = max(self.options.lengths)
        won_later = {side: game.outcome is not None and game.outcome.winner == side for side in SIDES}
        found: dict[tuple[str, int], Entry] = {}
        tried = 0
        while game.ply > 2:
            game.undo()
            side = game.to_play
            if all(cell[0] != side for cell in wanted):
                continue
            position = Game.from_position(self.rules, game.position, side)
            closer = won_later[side]
            plies = self.judge.length(position, LOOK if closer else GLANCE, longest if closer else GLANCE_PLIES)
            won_later[side] = plies is not None
            # One of a kind from each game: neighbours are much alike.
            if plies is None or (side, plies) not in wanted or (side, plies) in found:
                continue
            tried += 1
            entry = self.judge.solve(position, plies, f"{layout} game {number} ply {game.ply}")
            if entry is not None:
                found[side, plies] = entry
        return list(found.values()), tried


_miners: list[Miner] = []  # one in each process


def _begin(options: argparse.Namespace) -> None:
    _miners[:] = [Miner(options)]


def _look(job: tuple[int, frozenset[tuple[str, int]]]) -> tuple[list[Entry], int]:
    return _miners[0].entries(*job)


def mine(options: argparse.Namespace, rules: Rules) -> tuple[list[Entry], int, int]:
    """Return the entries, the number of games they are from, and how many positions were tried."""
    entries = [] if options.begin is None else list(read_suite(options.begin, rules).entries)
    known = {canonical(entry.game(rules)) for entry in entries}
    filled = Counter((entry.side, entry.plies) for entry in entries)
    cells = [(side, plies) for side in SIDES for plies in options.lengths]
    began, games, tried = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.workers, initializer=_begin, initargs=(options,)) as pool:
        while games < options.games and time.monotonic() - began < 60 * options.minutes:
            wanted = frozenset(cell for cell in cells if filled[cell] < options.per_cell)
            if not wanted:
                break
            numbers = range(games + 1, min(games + CHUNK, options.games) + 1)
            for found, positions in pool.map(_look, [(number, wanted) for number in numbers]):
                tried += positions
                for entry in found:
                    cell, form = (entry.side, entry.plies), canonical(entry.game(rules))
                    if filled[cell] < options.per_cell and form not in known:
                        known.add(form)
                        filled[cell] += 1
                        entries.append(entry)
            games = numbers[-1]
            table = " ".join(f"{side[0]}{plies}:{filled[side, plies]}" for side, plies in cells)
            print(
                f"{games} games, {time.monotonic() - began:.0f} s, {tried} tried: {table}", file=sys.stderr, flush=True
            )
    return sorted(entries, key=lambda entry: (entry.side, entry.plies, entry.position)), games, tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RULES))
    parser.add_argument("--games", type=int, default=2000, help="games to play at most")
    parser.add_argument("--minutes", type=float, default=1e9, help="time after which no more games are begun")
    parser.add_argument("--workers", type=int, default=1, help="processes; they change nothing but the time it takes")
    parser.add_argument("--lengths", type=int, nargs="+", default=[3, 5, 7, 9, 11], help="plies of the shortest win")
    parser.add_argument("--per-cell", type=int, default=30, help="entries of one side and length")
    parser.add_argument(
        "--share", type=float, default=1 / 3, help="greatest share of the legal moves that keep the win"
    )
    parser.add_argument("--open", type=int, default=2, help="most moves that may stay unsettled; -1: any number")
    parser.add_argument("--noise", type=float, default=0.1, help="how often a move is random")
    for side in SIDES:
        names = ["alphabeta-v1:depth=2", "alphabeta-v1:depth=3"]
        parser.add_argument(f"--{side}", nargs="+", default=names, metavar="PLAYER", help=f"players for the {side}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=Path, metavar="FILE", help="entries to begin with, from another such file")
    parser.add_argument("--version", default="v1", help="version in the file's name")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder")
    options = parser.parse_args()

    rules = get_rules(options.game)
    path = options.out / f"{rules.name}-{options.version}.txt"
    if path.exists():
        parser.error(f"{path} exists; suites are never changed, make the next version")
    entries, games, tried = mine(options, rules)
    begun = {}
    if options.begin is not None:
        lines = options.begin.read_text(encoding="utf-8").splitlines()
        begun = {f"first {key}": value for key, value in (line[2:].split(": ", 1) for line in lines if line[0] == "#")}
        begun = {key: begun[key] for key in ("first entries", "first kept", "first games", "first command")}
    body = "".join(entry_line(entry) + "\n" for entry in entries)
    counts = Counter((entry.side, entry.plies) for entry in entries)
    by_length = "; ".join(
        f"{side} " + ", ".join(f"{counts[side, plies]} of {plies} plies" for plies in options.lengths) for side in SIDES
    )
    command = ["python", "tools/make_suite.py", *sys.argv[1:]]
    # What is the same on every machine: how many games, not how long; no folders.
    for option, value in (("--minutes", ["--games", str(games)]), ("--workers", []), ("--out", [])):
        if option in command:
            at = command.index(option)
            command[at : at + 2] = value
    if options.begin is not None:
        command[command.index(str(options.begin))] = options.begin.name
    header = {
        "suite": path.stem,
        "game": rules.name,
        "entries": f"{len(entries)}, from {tried} won positions of {games} games{' and the first ones' * bool(begun)}; "
        + by_length,
        "columns": "position | side to play, which wins by force | plies of its shortest win | moves that keep the win "
        "with the plies of a proven win | moves that could not be settled, - none, * all others | where it is from",
        "judged": "every other legal move does not keep the win: the side to play cannot force it any more, "
        "or the other side wins by force",
        "kept": f"at most {options.share:.0%} of the legal moves keep the win, "
        + (f"at most {options.open} are unsettled" if options.open >= 0 else "any number are unsettled")
        + f" with {(STAGES[-1] if options.open >= 0 else ONLY_STAGE)[0]} nodes a question; "
        "distinct under the eight symmetries",
        "games": f"attackers {', '.join(options.attackers)}, defenders {', '.join(options.defenders)}, after 2 to 6 "
        f"random plies, {options.noise:.0%} of the moves random, seed {options.seed}",
        "command": " ".join(command),
        **begun,
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text("".join(f"# {key}: {value}\n" for key, value in header.items()) + body, encoding="utf-8")
    os.replace(draft, path)
    print(path)


if __name__ == "__main__":
    main()
