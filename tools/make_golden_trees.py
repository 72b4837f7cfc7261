"""Make the trees that `tests/search/test_gumbel.py` compares the search with, by DeepMind's mctx.

    pip install jax mctx        # no dependency of the project: only this script wants them
    python tools/make_golden_trees.py

mctx searches real positions of the games, reached through `env`, with the evaluator of
`tests/search/hash_evaluator.py`. An action of mctx is the rank of a legal move in its position. Two players are a
discount of -d; an end of the game is a reward of d, 0 or -d for the mover with a discount of 0 behind it.

mctx rescales values over all its actions, ours over the legal moves only. In a node that has fewer legal moves than
mctx has actions the two differ once all of them have been visited and the mixed value, which the illegal ones are
given, lies outside of theirs; a case where that happens at any time is refused, and wants another seed.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import functools
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from mctx._src.seq_halving import get_sequence_of_considered_visits

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "search" / "golden"
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "search")]

from hash_evaluator import HashEvaluator  # noqa: E402

from env import Game  # noqa: E402
from env.encoding import position_input  # noqa: E402
from env.tables import tables  # noqa: E402

NO_MOVE = -1e30
MOST_MOVES = {"brandubh": 60, "tawlbwrdd": 140}  # a first guess at how many actions mctx needs


@dataclass(frozen=True)
class Case:
    """One search: a position, reached by random plies (of which `shuffle` go back), and how it is searched."""

    game: str
    start: str  # a layout's name, or a position
    to_play: str = "attackers"
    plies: int = 0
    shuffle: float = 0.0
    simulations: int = 32
    considered: int = 16
    visit_offset: float = 50.0
    value_scale: float = 0.1
    discount: float = 1.0
    gumbel_scale: float = 0.0
    seed: int = 0


CASES = (
    Case("brandubh", "standard"),
    Case("brandubh", "standard", plies=8, simulations=64, gumbel_scale=1.0, seed=1),
    Case("brandubh", "standard", plies=13, simulations=200, discount=0.98, value_scale=1.0, seed=2),
    Case("brandubh", "standard", plies=21, simulations=128, considered=32, discount=0.98, gumbel_scale=1.0, seed=3),
    Case("brandubh", "standard", plies=5, simulations=7, considered=4, gumbel_scale=1.0, seed=4),
    Case("brandubh", "standard", plies=6, simulations=1, gumbel_scale=1.0, seed=5),
    Case("brandubh", "standard", plies=9, simulations=40, considered=1, discount=0.98, seed=6),
    Case("brandubh", "standard", plies=10, simulations=33, considered=5, visit_offset=10.0, value_scale=0.5, seed=7),
    Case("brandubh", "standard", plies=14, shuffle=0.9, simulations=100, considered=8, discount=0.98, seed=8),
    Case("brandubh", "/7/2t4/7/1t3T1/4K2/3t3/7/", "attackers", simulations=48, discount=0.98, seed=9),
    Case("brandubh", "/7/2t4/7/1t3T1/4K2/3t3/7/", "defenders", simulations=40, gumbel_scale=1.0, seed=10),
    Case("brandubh", "/7/t4t1/4t2/4K2/7/2t1T2/7/", "attackers", simulations=60, considered=32, seed=11),
    Case("brandubh", "/3K3/7/2t4/7/5t1/7/7/", "attackers", simulations=64, considered=32, discount=0.98, seed=18),
    Case("brandubh", "/7/3K3/2t4/1T5/5t1/2t4/7/", "defenders", simulations=60, value_scale=1.0, seed=19),
    Case("tawlbwrdd", "serif", simulations=64, gumbel_scale=1.0, seed=12),
    Case("tawlbwrdd", "bell", plies=30, simulations=128, discount=0.98, seed=13),
    Case("tawlbwrdd", "serif", plies=45, simulations=100, considered=32, value_scale=1.0, gumbel_scale=1.0, seed=14),
    Case("tawlbwrdd", "serif", plies=12, shuffle=0.9, simulations=150, considered=3, discount=0.98, seed=15),
    Case("tawlbwrdd", "/11/11/3t7/11/5K5/2T8/11/6t4/11/4t6/11/", "attackers", simulations=64, discount=0.98, seed=16),
    Case("tawlbwrdd", "/11/11/3t7/11/5K5/2T8/11/6t4/11/4t6/11/", "defenders", simulations=50, seed=17),
    Case("tawlbwrdd", "/11/11/3t7/11/5K5/11/11/11/4t6/11/11/", "attackers", simulations=70, discount=0.98, seed=20),
    Case("tawlbwrdd", "/11/11/11/11/5K5/11/5t5/11/4t6/11/11/", "defenders", simulations=60, considered=8, seed=21),
)


def reach(case: Case) -> Game:
    """Return the case's position, with its past."""
    if "/" in case.start:
        game = Game.from_position(case.game, case.start, case.to_play)
    else:
        game = Game(case.game, case.start)
    rng = np.random.default_rng(case.seed)
    while len(game.moves) < case.plies:
        moves = game.legal_moves()
        if len(game.moves) > 1 and rng.random() < case.shuffle:
            last = game.moves[-2]
            moves = [move for move in moves if (move.origin, move.target) == (last.target, last.origin)] or moves
        before = game.copy()
        game.play(moves[int(rng.integers(len(moves)))])
        if game.outcome is not None:
            game = before
    return game


class States:
    """The positions that a search has met, numbered; number 0 is the root."""

    def __init__(self, root: Game, discount: float, seed: int) -> None:
        self.games: list[Game | None] = [root]  # None: below an end of the game
        self.numbers: dict[tuple[int, int], int] = {}
        self.discount = discount
        self.evaluator = HashEvaluator(seed)
        self.most_moves = 0  # of any position met

    def actions(self, number: int) -> np.ndarray:
        """Return the legal action numbers of a position, int16 (K,)."""
        game = self.games[number]
        return np.empty(0, np.int16) if game is None else game.legal_actions()

    def answer(self, number: int, size: int) -> tuple[np.ndarray, np.float32]:
        """Return the evaluator's logits, float32 (size,), and value."""
        padded = np.full(size, NO_MOVE, np.float32)
        game = self.games[number]
        if game is None or game.outcome is not None:
            return padded, np.float32(0)
        row, actions = position_input(tables(game.rules), game.arrays, game.history)
        self.most_moves = max(self.most_moves, len(actions))
        logits, values = np.zeros((1, len(actions)), np.float32), np.zeros(1, np.float32)
        self.evaluator(row[None], actions[None], np.array([len(actions)], np.int32), logits, values)
        padded[: len(actions)] = logits[0, :size]
        return padded, values[0]

    def step(self, number: int, rank: int) -> tuple[int, float, float]:
        """Return the position behind a move, the mover's reward and the discount."""
        key = (number, rank)
        game = self.games[number]
        if key not in self.numbers:
            after = None
            if game is not None and game.outcome is None:
                after = game.copy()
                after.play_action(int(self.actions(number)[rank % len(self.actions(number))]))
            self.numbers[key] = len(self.games)
            self.games.append(after)
        after = self.games[self.numbers[key]]
        if after is None:
            return self.numbers[key], 0.0, 0.0
        if after.outcome is not None:
            won = {None: 0, game.to_play: 1}.get(after.outcome.winner, -1)  # type: ignore[union-attr]
            return self.numbers[key], won * self.discount, 0.0
        return self.numbers[key], 0.0, -self.discount


def search(case: Case, root: Game, size: int) -> tuple[Any, States]:
    """Return mctx's output, with `size` actions."""
    states = States(root, case.discount, case.seed)
    shapes = (
        jax.ShapeDtypeStruct((1,), jnp.int32),
        jax.ShapeDtypeStruct((1,), jnp.float32),
        jax.ShapeDtypeStruct((1,), jnp.float32),
        jax.ShapeDtypeStruct((1, size), jnp.float32),
        jax.ShapeDtypeStruct((1,), jnp.float32),
    )

    def visit(action: Any, embedding: Any) -> tuple[np.ndarray, ...]:
        number, reward, discount = states.step(int(embedding[0]), int(action[0]))
        logits, value = states.answer(number, size)
        return (
            np.array([number], np.int32),
            np.array([reward], np.float32),
            np.array([discount], np.float32),
            logits[None],
            np.array([value], np.float32),
        )

    def recurrent(params: Any, key: Any, action: Any, embedding: Any) -> tuple[Any, Any]:
        number, reward, discount, logits, value = jax.pure_callback(visit, shapes, action, embedding)
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), number  # type: ignore[call-arg]

    transform = functools.partial(
        mctx.qtransform_completed_by_mix_value, value_scale=case.value_scale, maxvisit_init=case.visit_offset
    )
    incomparable: list[bool] = []

    def watched_transform(tree: Any, node: Any) -> Any:
        completed, visits = transform(tree, node), tree.children_visits[node]
        legal = tree.children_prior_logits[node] > NO_MOVE / 2
        over = legal.any() & ~legal.all() & jnp.all(~legal | (visits > 0))
        imputed = jnp.max(jnp.where(legal, -jnp.inf, completed))
        jax.debug.callback(
            lambda bad: incomparable.append(bool(np.any(bad))),
            over & ((imputed <= completed.min()) | (imputed >= completed.max())),
        )
        return completed

    logits, value = states.answer(0, size)
    output = mctx.gumbel_muzero_policy(
        params=(),
        rng_key=jax.random.PRNGKey(case.seed),
        root=mctx.RootFnOutput(  # type: ignore[call-arg]
            prior_logits=jnp.array(logits[None]), value=jnp.array([value]), embedding=jnp.zeros(1, jnp.int32)
        ),
        recurrent_fn=recurrent,
        num_simulations=case.simulations,
        invalid_actions=jnp.array(logits[None] == NO_MOVE),
        qtransform=watched_transform,
        max_num_considered_actions=case.considered,
        gumbel_scale=case.gumbel_scale,
    )
    jax.block_until_ready(output)
    jax.effects_barrier()
    if states.most_moves <= size and any(incomparable):
        raise AssertionError(f"mctx rescales values of illegal actions; choose another seed for {case}")
    return output, states


def nodes_of(tree: Any, states: States) -> list[list[float]]:
    """Return the tree in order of creation: [parent's row, action number, visits, value], without what mctx grows
    below ends of the game; the value of an end is None."""
    rows: list[list[Any]] = []
    row_of: dict[int, int] = {}
    for node in range(tree.parents.shape[1]):
        number, parent = int(tree.embeddings[0, node]), int(tree.parents[0, node])
        game = states.games[number]
        if game is None or int(tree.node_visits[0, node]) == 0:
            continue
        row_of[node] = len(rows)
        action = -1
        if parent >= 0:
            legal = states.actions(int(tree.embeddings[0, parent]))
            action = int(legal[int(tree.action_from_parent[0, node])])
        value = None if game.outcome is not None else round(float(tree.node_values[0, node]), 7)
        rows.append([row_of.get(parent, -1), action, int(tree.node_visits[0, node]), value])
    return rows


def make(case: Case) -> dict[str, Any]:
    """Return one golden tree, ready for JSON."""
    root = reach(case)
    count = len(root.legal_actions())
    size = max(count, MOST_MOVES[case.game])
    output, states = search(case, root, size)
    while states.most_moves > size:
        size = states.most_moves
        output, states = search(case, root, size)
    tree, summary = output.search_tree, output.search_tree.summary()
    nodes = nodes_of(tree, states)
    visits = np.asarray(summary.visit_counts[0, :count])
    numbers = [None if n == 0 else round(float(q), 7) for n, q in zip(visits, summary.qvalues[0, :count])]
    ends = sum(value is None for *_, value in nodes)
    print(f"{case.game:10} {case.simulations:4} simulations, {count:3} moves, {size:3} actions, {ends:2} ends met")
    return {
        "game": case.game,
        "start": list(root.start),
        "moves": [str(move) for move in root.moves],
        "evaluator": case.seed,
        "simulations": case.simulations,
        "considered": case.considered,
        "visit_offset": case.visit_offset,
        "value_scale": case.value_scale,
        "discount": case.discount,
        "gumbel": [round(float(noise), 7) for noise in tree.extra_data.root_gumbel[0, :count]],
        "actions": [int(action) for action in root.legal_actions()],
        "visits": visits.tolist(),
        "values": numbers,
        "policy": [round(float(weight), 8) for weight in output.action_weights[0, :count]],
        "chosen": int(root.legal_actions()[int(output.action[0])]),
        "nodes": nodes,
    }


def schedules() -> dict[str, Any]:
    """Return what mctx plans: a checksum for all small cases, and a few plans in full."""
    checksum = 0
    for considered in range(1, 33):
        for simulations in range(1, 201):
            plan = get_sequence_of_considered_visits(considered, simulations)
            checksum = zlib.crc32(np.array(plan, "<i4").tobytes(), checksum)
    full = {f"{m},{n}": get_sequence_of_considered_visits(m, n) for m, n in ((1, 5), (4, 16), (16, 64), (7, 50))}
    return {"considered": 32, "simulations": 200, "crc32": checksum, "plans": full}


def write(name: str, content: Any) -> None:
    """Write one fixture."""
    GOLDEN.mkdir(exist_ok=True)
    text = json.dumps(content, separators=(",", ":")).replace("},{", "},\n{")
    (GOLDEN / name).write_text(text + "\n")


def main() -> None:
    """Make every fixture anew."""
    for game in ("brandubh", "tawlbwrdd"):
        write(f"{game}.json", [make(case) for case in CASES if case.game == game])
    write("plans.json", schedules())


if __name__ == "__main__":
    main()
