"""Fits the evaluation of `alphabeta-v2` to games that it plays against itself, and writes it as a file of data.

    python tools/tune_alphabeta.py brandubh --games 1000 --rounds 2 --seed 1

In each round the player with the weights of the round before plays against itself, from openings made of a few moves
chosen with much noise, more of it for the defenders; the attackers search --attackers times as many nodes, so that both
sides win games. The evaluation is linear in its weights, so the chance that the attackers win, taken as the
logistic function of the evaluation, is fitted to how the games ended, at positions where nothing can be taken and no
win is threatened: logistic regression with a small penalty on the distance from weights set by hand. SciPy's L-BFGS
finds the minimum. The games of all rounds are used. At the end the new weights play a match against the old ones,
and are written unless they lose it. The same arguments give the same weights, whatever weights there were before.

    python tools/tune_alphabeta.py tawlbwrdd --teacher 20000 --games 600 --nodes 500 --attackers 1

Where games are long and full of errors, how one ended says little about a position in its middle. With --teacher the
evaluation is fitted to what a search of so many nodes with the weights of the round before finds there instead
(bootstrapping from game tree search, Veness et al. 2009), joined with a share --result of how the game ended.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from arena.files import write_text  # noqa: E402
from arena.interval import of_pairs  # noqa: E402
from arena.openings import Opening, load_openings  # noqa: E402
from env import RULES, Game, Rules  # noqa: E402
from env.jit import kernel  # noqa: E402
from env.position import TO_PLAY, Position  # noqa: E402
from env.rules import SIDES, get_rules  # noqa: E402
from env.tables import Tables, tables  # noqa: E402
from search.alphabeta_v2 import DECIDED, UNIT, AlphaBetaV2  # noqa: E402
from search.v2.candidates import find_captures, threats, write_landings  # noqa: E402
from search.v2.evaluation import FORK, OPEN_ROAD, ROAD, TERMS, Evaluation, evaluate, survey  # noqa: E402
from search.v2.weights import FOLDER, PIECES, hand_weights, load_weights, orbits, to_data, with_numbers  # noqa: E402

OPENING_PLIES = (3, 10)  # plies played with much noise, from and to
# Hundredths of an attacker, of the attackers and the defenders: random moves cost the attackers more.
OPENING_NOISE, NOISE = (40, 160), (12, 12)
FIXED = (OPEN_ROAD, ROAD, FORK)  # never seen in quiet positions, so they stay as they were set by hand
# On the squared distance from weights set by hand, in attackers, for each position: the one that foretells best the
# results of games that were held out.
PENALTIES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
HELD_OUT = 5  # every fifth game
TEACHER_SCALE = 0.5  # log-odds of a win for an attacker more, as the teacher's score is read
TEACHER_MOST = 4.0  # log-odds of what the teacher has proven


@kernel
def _count_terms(t: Tables, unit: Evaluation, pos: Position, static: np.ndarray, out: np.ndarray) -> None:
    """Write how much each term adds to the evaluation per unit of its weight to `out`, int32 (TERMS,)."""
    survey(unit, pos, static)
    side = pos.info[TO_PLAY]
    for term in range(out.shape[0]):
        unit.terms[side, term] = 1
        out[term] = evaluate(t, unit, pos, static)
        unit.terms[side, term] = 0


class Features:
    """What the evaluation of a position is linear in: pieces by orbit of their squares, terms by side to play."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._orbits, self._place = np.unique(orbits(rules.size), return_inverse=True)
        self._unit = hand_weights(rules).copy()
        self._unit["squares"] = 0
        self._unit["terms"] = 0
        self._static = np.zeros(2, np.int64)
        self._landing = np.zeros(rules.size, np.int32)
        self._moves = np.zeros(rules.most_moves, np.int16)
        self.pieces = 3 * len(self._orbits)
        self.count = self.pieces + 2 * len(TERMS)

    def quiet(self, game: Game) -> bool:
        """Return whether the side to play can take nothing and is not threatened with the end of the game."""
        t, pos = tables(self.rules), game.arrays
        if threats(t, pos):
            return False
        return not (
            find_captures(t, self._unit, pos, self._landing)
            and write_landings(t, pos, self._landing, True, self._moves, 0)
        )

    def row(self, game: Game) -> np.ndarray:
        """Return float32 (count,) for a position."""
        row = np.zeros(self.count, np.float32)
        board = game.arrays.board
        for index, piece in enumerate(PIECES.values()):
            counts = np.bincount(self._place[board == piece], minlength=len(self._orbits))
            row[index * len(self._orbits) : (index + 1) * len(self._orbits)] = counts
        out = np.zeros(len(TERMS), np.int32)
        _count_terms(tables(self.rules), self._unit, game.arrays, self._static, out)
        start = self.pieces + int(game.arrays.info[TO_PLAY]) * len(TERMS)
        row[start : start + len(TERMS)] = out
        return row

    def flatten(self, e: Evaluation) -> np.ndarray:
        """Return weights as float64 (count,), in the order of `row`."""
        return np.concatenate([e.squares[piece, self._orbits] for piece in PIECES.values()] + list(e.terms)).astype(
            float
        )

    def weights(self, flat: np.ndarray) -> Evaluation:
        """Return the weights that `flatten` made flat."""
        numbers = np.rint(flat).astype(np.int32)
        squares = np.zeros((4, self.rules.cells), np.int32)
        for index, piece in enumerate(PIECES.values()):
            squares[piece] = numbers[index * len(self._orbits) : (index + 1) * len(self._orbits)][self._place]
        return with_numbers(self.rules, squares, numbers[self.pieces :].reshape(2, -1))


def ask_teacher(search: AlphaBetaV2, game: Game, nodes: int) -> float:
    """Return the attackers' chance to win as a search of so many nodes sees it."""
    found = search.run(game, nodes=nodes)
    score = found.score if game.to_play == SIDES[0] else -found.score
    return float(1 / (1 + np.exp(-np.clip(TEACHER_SCALE * score / UNIT, -TEACHER_MOST, TEACHER_MOST))))


def play_game(
    search: AlphaBetaV2, features: Features, nodes: tuple[int, int], seed: int, teacher: int = 0
) -> tuple[list[np.ndarray], list[float], float]:
    """Play one game of the search against itself.

    Args:
        search: plays both sides.
        features: what is to be known of a position.
        nodes: those a move of the attackers and of the defenders.
        seed: of the moves.
        teacher: nodes with which each quiet position is judged; 0: it is not.

    Returns:
        The quiet positions, what the teacher says of each, and the attackers' result.
    """
    rules, chance = search.rules, np.random.default_rng(seed)
    layouts = list(rules.layouts)
    game = Game(rules, layouts[int(chance.integers(len(layouts)))])
    wild = int(chance.integers(*OPENING_PLIES))
    rows: list[np.ndarray] = []
    said: list[float] = []
    while game.outcome is None and game.ply < 3 * rules.cells:
        early, side = game.ply < wild, SIDES.index(game.to_play)
        noise = OPENING_NOISE[side] if early else NOISE[side]
        found = search.run(game, nodes=nodes[side], noise=noise, seed=seed)
        if abs(found.score) >= DECIDED:
            # What follows is no matter of judgement any more.
            won = (found.score > 0) == (game.to_play == SIDES[0])
            return rows, said, float(won)
        if not early and features.quiet(game):
            rows.append(features.row(game))
            if teacher:
                said.append(ask_teacher(search, game, teacher))
        game.play(found.move)
    winner = game.outcome.winner if game.outcome else None
    return rows, said, 0.5 if winner is None else float(winner == SIDES[0])


def mean_loss(rows: np.ndarray, results: np.ndarray, weights: np.ndarray, scale: float) -> float:
    """Return the mean logistic loss; `weights` in attackers."""
    logit = scale * (rows @ weights.astype(np.float32))
    return float(np.mean(np.logaddexp(0, logit) - results * logit))


def fit(
    rows: np.ndarray, results: np.ndarray, start: np.ndarray, free: np.ndarray, penalty: float
) -> tuple[np.ndarray, float]:
    """Fit the weights by logistic regression.

    Args:
        rows: float32 (positions, count).
        results: float32 (positions,), 1 where the attackers won, 0 where they lost, or a chance between.
        start: float64 (count,), weights set by hand, in attackers.
        free: bool (count,), which of them may change.
        penalty: see PENALTIES.

    Returns:
        The weights, in attackers as they were worth by hand, and what their sum is multiplied with before the
        logistic function.
    """

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = np.where(free, flat[:-1], start)
        scale = flat[-1]
        plain = rows @ weights.astype(np.float32)
        error = (1 / (1 + np.exp(-scale * plain)) - results) / len(results)
        distance = weights - start
        gradient = np.append(scale * (rows.T @ error.astype(np.float32)) + 2 * penalty * distance, error @ plain)
        gradient[:-1][~free] = 0
        value = mean_loss(rows, results, weights, scale) + penalty * distance @ distance
        return float(value), gradient.astype(float)

    found = minimize(loss, np.append(start, 0.5), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.where(free, found.x[:-1], start), float(found.x[-1])


def fit_best(
    rows: np.ndarray, results: np.ndarray, games: np.ndarray, start: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, dict[str, float]]:
    """Fit with the penalty that does best on games held out; `games`, int (positions,), tells whose positions they are.

    `start` and the weights returned are in hundredths of an attacker; an attacker is worth UNIT on the average of where
    attackers stand. Returns what is to be told of the fit, too.
    """
    held = games % HELD_OUT == 0
    prior = start / UNIT
    hand = fit(rows[~held], results[~held], prior, np.zeros_like(free), 0.0)
    losses = {}
    for penalty in PENALTIES:
        found = fit(rows[~held], results[~held], prior, free, penalty)
        losses[penalty] = mean_loss(rows[held], results[held], *found)
    best = min(losses, key=lambda penalty: losses[penalty])
    weights, scale = fit(rows, results, prior, free, best)
    told = {
        "penalty": best,
        "loss": round(mean_loss(rows, results, weights, scale), 5),
        "held_out_loss": round(losses[best], 5),
        "held_out_loss_by_hand": round(mean_loss(rows[held], results[held], *hand), 5),
    }
    # An attacker is to be worth UNIT on the average of where attackers stand.
    third = (len(start) - 2 * len(TERMS)) // 3
    seen = rows[:, :third].sum(axis=0)
    unit = float(seen @ weights[:third] / max(1.0, seen.sum()))
    changed = free & rows.any(axis=0)
    weights[changed] *= 1 / unit if unit > 0.05 else 1.0
    return weights * UNIT, told


def play_match(
    new: AlphaBetaV2, old: AlphaBetaV2, openings: list[Opening], games: int, nodes: int, seed: int
) -> dict[str, Any]:
    """Play a match of two evaluations, each opening from both sides; scores are the new one's."""
    scores: dict[str, list[float]] = {side: [] for side in SIDES}
    order = np.random.default_rng(seed).permutation(len(openings))
    for number in range(games):
        side = SIDES[number % 2]
        game = openings[order[number // 2 % len(openings)]].game(new.rules)
        while game.outcome is None and game.ply < 4 * new.rules.cells:
            mover = new if game.to_play == side else old
            game.play(mover.run(game, nodes=nodes, seed=seed + number // 2).move)
        winner = game.outcome.winner if game.outcome else None
        scores[side].append(0.5 if winner is None else float(winner == side))
    shares = {side: sum(scores[side]) / max(len(scores[side]), 1) for side in SIDES}
    pairs = [sum(pair) / 2 for pair in zip(*scores.values())]
    overall = sum(map(sum, scores.values())) / games
    return {"games": games, "nodes": nodes, **shares, "overall": overall, "interval": list(of_pairs(pairs, len(pairs)))}


def _command(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    """The command that gives the same file, wherever it was written."""
    words = ["python", "tools/tune_alphabeta.py", options.game]
    for name, value in vars(options).items():
        if name not in ("game", "out") and value != parser.get_default(name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join(words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RULES))
    parser.add_argument("--games", type=int, default=1000, help="games a round")
    parser.add_argument("--nodes", type=int, default=1500, help="nodes a move of the defenders in these games")
    parser.add_argument("--attackers", type=int, default=4, help="how many times as many the attackers get")
    parser.add_argument("--teacher", type=int, default=0, help="nodes a judged position; 0: results alone")
    parser.add_argument("--result", type=float, default=0.25, help="with a teacher, what share results have")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of play and fit")
    parser.add_argument("--match", type=int, default=200, help="games of the match at the end")
    parser.add_argument("--match-nodes", type=int, default=10_000, help="nodes a move of that match")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path, help="weights of the first round's games (default: those set by hand)")
    parser.add_argument("--out", type=Path, help="file to write (default: the one that the player reads)")
    options = parser.parse_args()
    for name, lowest in (
        ("games", 20),
        ("nodes", 20),
        ("attackers", 1),
        ("teacher", 0),
        ("rounds", 1),
        ("match", 0),
        ("match_nodes", 20),
        ("seed", 0),
    ):
        if getattr(options, name) < lowest:
            parser.error(f"--{name.replace('_', '-')} {getattr(options, name)}: at least {lowest} are needed")
    if not 0 <= options.result <= 1:
        parser.error(f"--result {options.result:g}: a share from 0 to 1 is needed")
    rules = get_rules(options.game)
    out = options.out or FOLDER / f"{rules.name}.json"
    if not out.parent.is_dir():
        parser.error(f"--out {out}: the folder {out.parent} does not exist")

    features = Features(rules)
    old = load_weights(rules)
    try:
        weights = hand_weights(rules) if options.start is None else load_weights(rules, options.start)
    except ValueError as error:
        parser.error(f"--start {error}")
    start = features.flatten(hand_weights(rules))
    free = np.ones(features.count, bool)
    for side in range(2):
        free[[features.pieces + side * len(TERMS) + term for term in FIXED]] = False
    rows: list[np.ndarray] = []
    results: list[float] = []
    played: list[int] = []
    told: dict[str, float] = {}
    began = time.process_time()
    for number in range(options.rounds):
        search = AlphaBetaV2(rules, table_megabytes=4, weights=weights)
        shares = []
        for game in range(options.games):
            nodes = options.nodes * options.attackers, options.nodes
            seed = (options.seed * 100 + number) * 10**6 + game
            found, said, result = play_game(search, features, nodes, seed, options.teacher)
            rows += found
            share = options.result if options.teacher else 1.0
            results += [share * result + (1 - share) * chance for chance in said or [0.0] * len(found)]
            played += [number * options.games + game] * len(found)
            shares.append(result)
        if not rows:
            parser.error("these games have no quiet positions: play more or longer ones")
        flat, told = fit_best(np.stack(rows), np.array(results, np.float32), np.array(played), start, free)
        weights = features.weights(flat)
        print(
            f"round {number + 1}: {len(rows)} positions, attackers {np.mean(shares):.3f}, {told}, "
            f"{time.process_time() - began:.0f} s of the processor",
            flush=True,
        )
    data: dict[str, Any] = {
        "game": rules.name,
        "command": _command(parser, options),
        "date": datetime.date.today().isoformat(),
        "seed": options.seed,
        "games": options.rounds * options.games,
        "positions": len(rows),
        **told,
    }
    if options.match:
        new, before = (AlphaBetaV2(rules, table_megabytes=4, weights=each) for each in (weights, old))
        data["match"] = play_match(new, before, load_openings(rules), options.match, options.match_nodes, options.seed)
        print(f"against the weights there were before: {json.dumps(data['match'])}")
        if data["match"]["overall"] < 0.5:
            print(f"tune_alphabeta.py: the new weights lost, so {out} stays as it was", file=sys.stderr)
            return 1
    data["weights"] = to_data(rules, weights)
    write_text(out, json.dumps(data, indent=1) + "\n")
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
