"""Alpha-beta against plain minimax, written twice: with `Game` for a few positions, as a kernel for thousands."""

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
from search.alphabeta import WIN, AlphaBeta, AlphaBetaResult
from search.evaluation import count_soldiers, evaluate, evaluation_weights

GAMES = tuple(RULES)
LEVELS = 8
MANY = 6 if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else 60  # positions to compare


def minimax(game: Game, depth: int, ply: int = 0) -> int:
    """The value of a position from the view of its side to play, as the words say: every move, no window, no table."""
    if game.outcome is not None:
        if game.outcome.winner is None:
            return 0
        return WIN - ply if game.outcome.winner == game.to_play else ply - WIN
    if depth == 0:
        soldiers = np.zeros(2, np.int32)
        count_soldiers(game.arrays, soldiers)
        score = int(evaluate(tables(game.rules), evaluation_weights(game.rules), game.arrays, soldiers))
        return score if game.to_play == "attackers" else -score
    values = []
    for action in game.legal_actions():
        game.play_action(int(action))
        values.append(-minimax(game, depth - 1, ply + 1))
        game.undo()
    return max(values)


@kernel
def _minimax(
    t: Tables,
    weights: np.ndarray,
    pos: Position,
    history: np.ndarray,
    depth: int,
    moves: np.ndarray,
    undo: np.ndarray,
    stack: np.ndarray,
    soldiers: np.ndarray,
) -> int:
    """The same with the rules' own kernels; stack int64 (levels, 3): moves, moves tried, best value; soldiers (2,)."""
    level = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = write_moves(t, pos, moves[0]), 0, -WIN
    while True:
        if stack[level, 1] < stack[level, 0]:
            action = moves[level, stack[level, 1]]
            stack[level, 1] += 1
            mover = pos.info[0]
            reason = play(t, pos, history, action, undo[level])
            level += 1
            own = 1 if mover == 1 else -1  # the view of the side now to play, from the attackers' view
            if reason != NONE:
                value = own * winner(t, reason, mover) * (WIN - level)
            elif level == depth:
                count_soldiers(pos, soldiers)
                value = own * evaluate(t, weights, pos, soldiers)
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


def quick_minimax(game: Game, depth: int) -> int:
    rules = game.rules
    position = new_position(rules)
    copy_position(game.arrays, position)
    history = np.concatenate([game.history[: game.ply + 1], np.zeros(depth, np.uint64)])
    moves = np.zeros((LEVELS, rules.most_moves), np.int16)
    undo, stack = np.zeros((LEVELS, 8), np.int16), np.zeros((LEVELS, 3), np.int64)
    arrays = (position, history, depth, moves, undo, stack, np.zeros(2, np.int32))
    return int(_minimax(tables(rules), evaluation_weights(rules), *arrays))


def value_after(game: Game, result: AlphaBetaResult, depth: int) -> int:
    """The minimax value of the move played, from the mover's view."""
    after = game.copy()
    after.play(result.move)
    value = -quick_minimax(after, depth - 1) if depth > 1 and after.outcome is None else -minimax(after, 0)
    # Counted from the root, an end is one ply further away.
    return value - np.sign(value) if abs(value) > WIN // 2 else value


def agree(search: AlphaBeta, game: Game, depth: int, seed: int = 0) -> None:
    """Score and move are those of plain minimax."""
    result = search.run(game, depth=depth, seed=seed)
    value = quick_minimax(game, depth)
    where = f"{game!r} depth {depth} after {game.moves}"
    assert result.score == value, where
    assert result.line[0] == result.move
    assert value_after(game, result, depth) == value, where


@pytest.fixture(scope="module", params=GAMES)
def search(request: pytest.FixtureRequest) -> AlphaBeta:
    return AlphaBeta(request.param, table_megabytes=1)


def test_both_readings_of_minimax_agree(search: AlphaBeta, rng: np.random.Generator) -> None:
    for _ in range(6):
        game = few_pieces(search.rules.name, rng)
        assert minimax(game, 2) == quick_minimax(game, 2)
    game = full_board(search.rules.name, rng)
    assert minimax(game, 1) == quick_minimax(game, 1)


def test_equals_minimax(search: AlphaBeta, rng: np.random.Generator) -> None:
    deepest = 3 if search.rules.size < 9 else 2
    for number in range(MANY):
        agree(search, full_board(search.rules.name, rng), 1 + number % deepest, seed=number)


def test_equals_minimax_where_positions_repeat(search: AlphaBeta, rng: np.random.Generator) -> None:
    deepest = 4 if search.rules.size < 9 else 3
    for number in range(MANY):
        agree(search, few_pieces(search.rules.name, rng), 1 + number % deepest, seed=number)


@pytest.mark.slow
@pytest.mark.parametrize("deal", [full_board, few_pieces])
def test_equals_minimax_on_thousands(search: AlphaBeta, deal: Callable[[str, np.random.Generator], Game]) -> None:
    rng = np.random.default_rng(2026)
    small = search.rules.size < 9
    for number in range(1000):
        # On eleven squares a side four plies have a hundred million lines.
        deepest = 4 if small or number % 250 == 3 else 3
        agree(search, deal(search.rules.name, rng), 1 + number % deepest, seed=number)


def test_ties_fall_by_seed_and_every_best_move_can_be_played(search: AlphaBeta) -> None:
    game = Game(search.rules)
    value = quick_minimax(game, 2)
    best = set()
    for move in game.legal_moves():
        after = game.copy()
        after.play(move)
        if -quick_minimax(after, 1) == value:
            best.add(move)
    played = {search.run(game, depth=2, seed=seed).move for seed in range(20 * len(best))}
    assert len(best) > 1
    assert played == best


def test_same_seed_same_result_whatever_was_searched_before(search: AlphaBeta, rng: np.random.Generator) -> None:
    fresh = AlphaBeta(search.rules, table_megabytes=0.1)
    for seed in range(70):  # more runs than the table tells apart
        game = few_pieces(search.rules.name, rng)
        there, here = fresh.run(game, depth=3, seed=seed), search.run(game, depth=3, seed=seed)
        assert (there.move, there.score) == (here.move, here.score)


def test_quicker_win_is_preferred_and_counted() -> None:
    search = AlphaBeta("brandubh")
    at_once = Game.from_position("brandubh", "/7/7/K5t/7/7/7/7/", "defenders")
    found = search.run(at_once, depth=4)
    assert found.score == WIN - 1
    assert found.depth == 1
    assert str(found.move) == "a5-a1" or str(found.move) == "a5-a7"
    next_time = Game.from_position("brandubh", "/7/2K4/7/7/7/6t/7/", "defenders")
    found = search.run(next_time, depth=5)
    assert found.score == WIN - 3
    assert len(found.line) == 3


def test_third_occurrence_is_shunned_in_brandubh() -> None:
    game = Game.from_position("brandubh", "/7/7/3t3/7/4t2/7/1KT4/", "attackers")
    for move in ("d5-d6", "c1-c2", "d6-d5", "c2-c1", "d5-d6", "c1-c2", "d6-d5"):
        game.play(move)
    losing = game.copy()
    losing.play("c2-c1")
    assert losing.outcome is not None
    assert losing.outcome.winner == "attackers"
    for depth in (1, 2, 3):
        for seed in range(4):
            assert str(AlphaBeta("brandubh").run(game, depth=depth, seed=seed).move) != "c2-c1"


def test_time_is_kept_and_the_game_untouched(search: AlphaBeta) -> None:
    game = Game(search.rules)
    game.play(game.legal_moves()[0])
    before = (game.position, game.moves, game.ply)
    found = search.run(game, seconds=0.05)
    assert found.move in game.legal_moves()
    assert found.depth >= 1
    assert (game.position, game.moves, game.ply) == before


def test_line_can_be_played(search: AlphaBeta, rng: np.random.Generator) -> None:
    for _ in range(20):
        game = full_board(search.rules.name, rng)
        found = search.run(game, depth=3)
        for move in found.line:
            game.play(move)
        if abs(found.score) > WIN // 2:
            assert game.outcome is not None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "a depth or a time"),
        ({"depth": 0}, "depth 0: allowed are 1 to"),
        ({"depth": 1000}, "depth 1000: allowed are 1 to"),
        ({"seconds": 0.0}, "more than 0"),
    ],
)
def test_bad_arguments_are_refused(search: AlphaBeta, arguments: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        search.run(Game(search.rules), **arguments)  # pyright: ignore[reportArgumentType]


def test_wrong_game_and_finished_game_are_refused() -> None:
    search = AlphaBeta("brandubh")
    with pytest.raises(ValueError, match="plays brandubh, not tawlbwrdd"):
        search.run(Game("tawlbwrdd"), depth=1)
    game = Game("brandubh")
    game.resign("attackers")
    with pytest.raises(ValueError, match="the game is over"):
        search.run(game, depth=1)


def test_evaluation_knows_roads_material_and_captors(search: AlphaBeta) -> None:
    def score(position: str, to_play: str) -> int:
        game = Game.from_position("brandubh", position, to_play)
        soldiers = np.zeros(2, np.int32)
        count_soldiers(game.arrays, soldiers)
        rules = game.rules
        return int(evaluate(tables(rules), evaluation_weights(rules), game.arrays, soldiers))

    closed = "/7/7/7/2tKt2/7/7/7/"
    assert score("/7/7/7/2tKt2/7/7/6t/".replace("6t", "5t1"), "attackers") > score(closed, "attackers")  # material
    assert score("/K6/7/7/7/7/7/t6/".replace("K6", "1K5").replace("t6", "7"), "defenders") < -1000  # a road, his move
    fork, single = "/7/K6/7/7/7/7/7/", "/7/K6/7/t6/7/7/7/"
    assert score(fork, "attackers") < score(single, "attackers") < 0
    assert score(single, "defenders") < score(single, "attackers")
