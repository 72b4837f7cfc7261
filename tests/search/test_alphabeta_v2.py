"""The player `alphabeta-v2`: plain minimax when told so, sound and repeatable when not."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from positions import few_pieces, full_board

from env import Game
from env.board import NONE, play, unmake, winner
from env.jit import kernel
from env.moves import write_moves
from env.position import Position, copy_position, new_position
from env.rules import RULES
from env.tables import Tables, tables
from search.alphabeta import AlphaBeta, AlphaBetaResult
from search.alphabeta_v2 import DECIDED, WIN, AlphaBetaV2, Settings
from search.v2.evaluation import Evaluation, advantage, survey
from search.v2.weights import load_weights

GAMES = tuple(RULES)
LEVELS = 8
MANY = 6 if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else 60  # positions to compare


@kernel
def _minimax(
    t: Tables,
    e: Evaluation,
    pos: Position,
    history: np.ndarray,
    depth: int,
    moves: np.ndarray,
    undo: np.ndarray,
    stack: np.ndarray,
    static: np.ndarray,
) -> int:
    """Every move, no window, no table; stack int64 (levels, 3): moves, moves tried, best value."""
    level = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = write_moves(t, pos, moves[0]), 0, -WIN
    while True:
        if stack[level, 1] < stack[level, 0]:
            action = moves[level, stack[level, 1]]
            stack[level, 1] += 1
            mover = pos.info[0]
            reason = play(t, pos, history, action, undo[level])
            level += 1
            if reason != NONE:
                value = (1 if mover == 1 else -1) * winner(t, reason, mover) * (WIN - level)
            elif level == depth:
                survey(e, pos, static)
                value = advantage(t, e, pos, static)
            else:
                stack[level, 0], stack[level, 1], stack[level, 2] = write_moves(t, pos, moves[level]), 0, -WIN
                continue
        else:
            value = stack[level, 2]
            if level == 0:
                return value
        level -= 1
        unmake(t, pos, undo[level])
        stack[level, 2] = max(stack[level, 2], -value)


def minimax(game: Game, depth: int) -> int:
    """The value of a position from the view of its side to play, as the words say."""
    rules = game.rules
    position = new_position(rules)
    copy_position(game.arrays, position)
    history = np.concatenate([game.history[: game.ply + 1], np.zeros(depth, np.uint64)])
    moves = np.zeros((LEVELS, rules.most_moves), np.int16)
    undo, stack = np.zeros((LEVELS, 8), np.int16), np.zeros((LEVELS, 3), np.int64)
    arrays = (position, history, depth, moves, undo, stack, np.zeros(2, np.int64))
    return int(_minimax(tables(rules), load_weights(rules), *arrays))


def after(game: Game, result: AlphaBetaResult) -> Game:
    copy = game.copy()
    copy.play(result.move)
    return copy


def evaluation(game: Game) -> int:
    """From the view of the side to play."""
    static = np.zeros(2, np.int64)
    survey(load_weights(game.rules), game.arrays, static)
    return int(advantage(tables(game.rules), load_weights(game.rules), game.arrays, static))


def value_after(game: Game, result: AlphaBetaResult, depth: int) -> int:
    """The minimax value of the move played, from the mover's view."""
    there = after(game, result)
    if there.outcome is not None:
        won = there.outcome.winner
        return 0 if won is None else (WIN - 1 if won == game.to_play else 1 - WIN)
    value = -(minimax(there, depth - 1) if depth > 1 else evaluation(there))
    # Counted from the root, an end is one ply further away.
    return value - int(np.sign(value)) if abs(value) > WIN // 2 else value


def agree(search: AlphaBetaV2, game: Game, depth: int, seed: int = 0) -> None:
    """Score and move are those of plain minimax."""
    result = search.run(game, depth=depth, seed=seed)
    value = minimax(game, depth)
    where = f"{game!r} depth {depth} after {game.moves}"
    assert result.score == value, where
    assert result.line[0] == result.move
    assert value_after(game, result, depth) == value, where


@pytest.fixture(scope="module", params=GAMES)
def plain(request: pytest.FixtureRequest) -> AlphaBetaV2:
    return AlphaBetaV2(request.param, table_megabytes=1, settings=Settings())


@pytest.fixture(scope="module", params=GAMES)
def search(request: pytest.FixtureRequest) -> AlphaBetaV2:
    return AlphaBetaV2(request.param, table_megabytes=1)


def test_without_selective_features_it_is_minimax(plain: AlphaBetaV2, rng: np.random.Generator) -> None:
    deepest = 3 if plain.rules.size < 9 else 2
    for number in range(MANY):
        agree(plain, full_board(plain.rules.name, rng), 1 + number % deepest, seed=number)


def test_without_selective_features_it_is_minimax_where_positions_repeat(
    plain: AlphaBetaV2, rng: np.random.Generator
) -> None:
    deepest = 4 if plain.rules.size < 9 else 3
    for number in range(MANY):
        agree(plain, few_pieces(plain.rules.name, rng), 1 + number % deepest, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("deal", [full_board, few_pieces])
def test_without_selective_features_it_is_minimax_on_thousands(
    plain: AlphaBetaV2, deal: Callable[[str, np.random.Generator], Game]
) -> None:
    rng = np.random.default_rng(2026)
    small = plain.rules.size < 9
    for number in range(1000):
        # On eleven squares a side four plies have a hundred million lines.
        deepest = 4 if small or number % 250 == 3 else 3
        agree(plain, deal(plain.rules.name, rng), 1 + number % deepest, seed=number)


def test_ties_fall_by_seed_and_every_best_move_can_be_played(plain: AlphaBetaV2) -> None:
    game = Game(plain.rules)
    value = minimax(game, 2)
    best = set()
    for move in game.legal_moves():
        there = game.copy()
        there.play(move)
        if -minimax(there, 1) == value:
            best.add(move)
    assert {plain.run(game, depth=2, seed=seed).move for seed in range(20 * len(best))} == best


@pytest.mark.parametrize("deal", [full_board, few_pieces])
def test_a_decided_score_is_what_minimax_finds(
    search: AlphaBetaV2, rng: np.random.Generator, deal: Callable[[str, np.random.Generator], Game]
) -> None:
    """Selective features may overlook a win, but what they call won is won, and as soon as they say."""
    depth = 3 if search.rules.size < 9 else 2
    decided = 0
    for seed in range(2 * MANY):
        game = deal(search.rules.name, rng)
        found = search.run(game, depth=depth, seed=seed)
        plies = WIN - abs(found.score)
        if plies <= depth:
            decided += 1
            assert minimax(game, plies) == found.score, f"{game!r} after {game.moves}"
        for move in found.line:
            game.play(move)  # it can be played
    assert decided > 0 or deal is full_board  # where wins are rarely so near


def test_finds_what_minimax_finds_sooner(search: AlphaBetaV2, rng: np.random.Generator) -> None:
    """A win that minimax sees in a few plies is never overlooked at that depth."""
    depth = 3 if search.rules.size < 9 else 2
    for seed in range(MANY):
        game = few_pieces(search.rules.name, rng)
        value = minimax(game, depth)
        if abs(value) >= DECIDED:
            assert np.sign(search.run(game, depth=depth, seed=seed).score) == np.sign(value), f"{game!r} {game.moves}"


@pytest.mark.parametrize(
    "limit", [{"depth": 3}, {"nodes": 700}, {"depth": 4, "nodes": 3000}, {"depth": 3, "noise": 40}]
)
def test_same_input_same_result_whatever_was_searched_before(
    search: AlphaBetaV2, rng: np.random.Generator, limit: dict[str, int]
) -> None:
    fresh = AlphaBetaV2(search.rules, table_megabytes=1)
    for seed in range(70 if "nodes" in limit else 8):  # more runs than the table tells apart
        game = full_board(search.rules.name, rng)
        assert fresh.run(game, seed=seed, **limit) == search.run(game, seed=seed, **limit)


def test_nodes_are_a_limit_and_one_is_enough(search: AlphaBetaV2) -> None:
    game = Game(search.rules)
    for nodes in (1, 2, 50, 5000):
        found = search.run(game, nodes=nodes)
        assert found.nodes == nodes
        assert found.move in game.legal_moves()
        assert found.line[0] == found.move
    assert search.run(game, depth=1, nodes=10**6).depth == 1


def test_noise_varies_the_game_and_says_how_far(search: AlphaBetaV2) -> None:
    game = Game(search.rules)
    quiet = search.run(game, depth=2)
    noisy = [search.run(game, depth=2, noise=60, seed=seed) for seed in range(12)]
    assert len({found.move for found in noisy}) > 3
    # The score is told without the bonus, so it lies below the best one by less than the greatest bonus.
    assert all(quiet.score - 60 <= found.score <= quiet.score for found in noisy)


def test_noise_keeps_a_win() -> None:
    game = Game.from_position("brandubh", "/7/7/K5t/7/7/7/7/", "defenders")
    for seed in range(20):
        found = AlphaBetaV2("brandubh", 1).run(game, depth=3, noise=10_000, seed=seed)
        assert found.score == WIN - 1


def test_quicker_win_is_preferred_and_counted() -> None:
    search = AlphaBetaV2("brandubh", table_megabytes=1)
    next_time = Game.from_position("brandubh", "/7/2K4/7/7/7/6t/7/", "defenders")
    found = search.run(next_time, depth=5)
    assert found.score == WIN - 3
    assert found.depth < 3  # a king who sees two goals needs no looking ahead


def test_third_occurrence_is_shunned_in_brandubh() -> None:
    game = Game.from_position("brandubh", "/7/7/3t3/7/4t2/7/1KT4/", "attackers")
    for move in ("d5-d6", "c1-c2", "d6-d5", "c2-c1", "d5-d6", "c1-c2", "d6-d5"):
        game.play(move)
    for depth in (1, 2, 3, 5):
        assert str(AlphaBetaV2("brandubh", 1).run(game, depth=depth).move) != "c2-c1"


def test_time_is_kept_and_the_game_untouched(search: AlphaBetaV2) -> None:
    game = Game(search.rules)
    game.play(game.legal_moves()[0])
    before = (game.position, game.moves, game.ply)
    found = search.run(game, seconds=0.05)
    assert found.move in game.legal_moves()
    assert found.depth >= 1
    assert (game.position, game.moves, game.ply) == before


@pytest.mark.slow
def test_beats_its_predecessor_of_the_same_depth() -> None:
    """Twenty games of Brandubh from the start, sides swapped, chance by noise; far from even, so few are enough."""
    old, new = AlphaBeta("brandubh"), AlphaBetaV2("brandubh")
    points = 0.0
    for number in range(20):
        game = Game("brandubh")
        mine = ("attackers", "defenders")[number % 2]
        while game.outcome is None and game.ply < 160:
            seed = 1000 * number + game.ply
            if game.to_play == mine:
                game.play(new.run(game, depth=4, noise=30 if game.ply < 4 else 0, seed=seed).move)
            else:
                game.play(old.run(game, depth=4, seed=seed).move)
        points += 0.5 if game.outcome is None else float(game.outcome.winner == mine)
    assert points >= 12


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "a depth, a number of nodes or a time"),
        ({"noise": 5}, "a depth, a number of nodes or a time"),
        ({"depth": 0}, "depth 0: allowed are 1 to"),
        ({"depth": 1000}, "depth 1000: allowed are 1 to"),
        ({"nodes": 0}, "0 nodes: allowed are 1 to"),
        ({"seconds": 0.0}, "more than 0"),
        ({"depth": 2, "noise": -1}, "noise -1: allowed are 0 to"),
    ],
)
def test_bad_arguments_are_refused(search: AlphaBetaV2, arguments: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        search.run(Game(search.rules), **arguments)  # pyright: ignore[reportArgumentType]


def test_wrong_game_and_finished_game_are_refused() -> None:
    search = AlphaBetaV2("brandubh", table_megabytes=1)
    with pytest.raises(ValueError, match="plays brandubh, not tawlbwrdd"):
        search.run(Game("tawlbwrdd"), depth=1)
    game = Game("brandubh")
    game.resign("attackers")
    with pytest.raises(ValueError, match="the game is over"):
        search.run(game, depth=1)
