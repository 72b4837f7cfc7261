"""What the search calls certain, against plain exhaustive search of the same endings."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from positions import ending

from env import RULES, Game
from env.board import NONE, play, unmake, winner
from env.jit import kernel
from env.moves import immediate_win, write_moves
from env.position import REVERSIBLE, TO_PLAY, Position, copy_position, new_position
from env.rules import ATTACKERS
from env.tables import Tables, tables
from search.config import SearchConfig
from search.mcts import Search, SearchResult

GAMES = tuple(RULES)
LOSS, DRAW, OPEN, WIN = 0, 1, 2, 3  # in this order the side to play would choose, were OPEN the best it can hope for
NAMES = {"loss": LOSS, "draw": DRAW, "win": WIN}
LEVELS = 12
# How searches may go on; the first is today's default for many games.
MODES: dict[str, dict[str, Any]] = {
    "gumbel": {},
    "gumbel, eight leaves": {"leaves": 8},
    "puct": {"rule": "puct"},
    "puct, eight leaves": {"rule": "puct", "leaves": 8},
    "kept trees, remembered evaluations": {"reuse": True, "cache": 1 << 14, "leaves": 4},
}


@kernel
def _exhaust(
    t: Tables,
    pos: Position,
    history: np.ndarray,
    depth: int,
    moves: np.ndarray,
    undo: np.ndarray,
    stack: np.ndarray,
    budget: int,
) -> int:
    """Return what the side to play can force within `depth` plies; OPEN where that is not decided, -1 beyond `budget`.

    moves int16 (levels, M), undo int16 (levels, 8), stack int64 (levels, 3): moves, moves tried, best result.
    """
    level = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = write_moves(t, pos, moves[0]), 0, LOSS
    while True:
        if stack[level, 1] < stack[level, 0] and stack[level, 2] != WIN:
            action = moves[level, stack[level, 1]]
            stack[level, 1] += 1
            mover = pos.info[TO_PLAY]
            reason = play(t, pos, history, action, undo[level])
            budget -= 1
            level += 1
            if reason != NONE:
                own = winner(t, reason, mover) * (1 if mover == ATTACKERS else -1)
                value = WIN if own > 0 else (LOSS if own < 0 else DRAW)  # the mover's
            elif level == depth:
                value = OPEN
            else:
                stack[level, 0], stack[level, 1], stack[level, 2] = write_moves(t, pos, moves[level]), 0, LOSS
                continue
        else:
            value = stack[level, 2]
            if level == 0:
                return value
            value = value if value == OPEN or value == DRAW else WIN + LOSS - value
        if budget < 0:
            return -1
        level -= 1
        unmake(t, pos, undo[level])
        stack[level, 2] = max(stack[level, 2], value)


def forced(game: Game, depth: int, budget: int = 300_000) -> int:
    """What the side to play can force within `depth` plies, the game's past counted."""
    rules = game.rules
    position = new_position(rules)
    copy_position(game.arrays, position)
    history = np.concatenate([game.history[: game.ply + 1], np.zeros(depth, np.uint64)])
    moves = np.zeros((LEVELS, rules.most_moves), np.int16)
    undo, stack = np.zeros((LEVELS, 8), np.int16), np.zeros((LEVELS, 3), np.int64)
    return int(_exhaust(tables(rules), position, history, depth, moves, undo, stack, budget))


def plain(game: Game, depth: int) -> int:
    """The same as the words say, with `Game`."""
    if game.outcome is not None:
        return DRAW if game.outcome.winner is None else (WIN if game.outcome.winner == game.to_play else LOSS)
    if depth == 0:
        return OPEN
    best = LOSS
    for move in game.legal_moves():
        game.play(move)
        value = plain(game, depth - 1)
        game.undo()
        best = max(best, value if value in (OPEN, DRAW) else WIN + LOSS - value)
    return best


def before_the_last_moves(game: Game) -> Game:
    """The game as it was two plies ago, if it has as many."""
    before = game.copy()
    for _ in range(2 if game.ply >= 2 else 0):
        before.undo()
    return before


def endings(
    name: str, count: int, simulations: int, seed: int, mode: str = "gumbel"
) -> list[tuple[Game, SearchResult]]:
    rng = np.random.default_rng(seed)
    games = [ending(name, rng) for _ in range(count)]
    config = SearchConfig(value_scale=1.0, **MODES[mode])
    search = Search(name, HashEvaluator(seed), config)
    if config.reuse:
        search.run([before_the_last_moves(game) for game in games], simulations)
    results = search.run(games, simulations)
    assert (sum(result.kept for result in results) > 100) == config.reuse
    return list(zip(games, results))


@pytest.mark.parametrize("name", GAMES)
def test_the_yardstick_agrees_with_the_rules_read_plainly(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(4):
        game = ending(name, rng)
        for depth in (1, 2):
            assert forced(game, depth) == plain(game, depth)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAMES)
def test_what_is_proven_can_be_forced(name: str, mode: str) -> None:
    seen: Counter[tuple[str, int]] = Counter()
    for game, result in endings(name, 80, 600, 2, mode):
        if result.proven is None:
            continue
        plies, claimed = result.proven_plies, NAMES[result.proven]
        sign = {WIN: 1, LOSS: -1, DRAW: 0}[claimed]
        assert result.value == pytest.approx(sign * 0.98**plies)
        if plies < LEVELS and (found := forced(game, plies)) >= 0:
            # A draw may rest on losses that take longer: then it is open as yet.
            assert found == claimed or (claimed == DRAW and found == OPEN), (game, result)
            seen[result.proven, plies] += 1
        after = game.copy()
        after.play(result.move)
        if claimed == WIN and plies > 1 and (found := forced(after, plies - 1)) >= 0:
            assert found == LOSS, (game, result)
    assert seen["win", 1] and seen["win", 3] and seen["loss", 2], seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GAMES)
def test_a_lost_move_is_not_played_while_another_is_left(name: str, mode: str) -> None:
    avoided = 0
    for game, result in endings(name, 100, 100, 3, mode):
        if result.proven in ("win", "loss"):
            continue
        lost = result.values <= -(0.98**2) + 1e-6  # the other side wins at once, or the move loses by itself
        assert not result.policy[lost].any()
        if result.visits[result.actions == game.action_of(result.move)] == 0:
            # All that was tried is lost: then what was not is the better choice.
            assert not result.policy[result.visits > 0].any()
            continue
        after = game.copy()
        after.play(result.move)
        if after.outcome is None:
            assert immediate_win(tables(game.rules), after.arrays) < 0, (game, result)
        else:
            assert after.outcome.winner is None, (game, result)
        avoided += lost.any()
    assert avoided > 10


@pytest.mark.parametrize("name", GAMES)
def test_repetition_along_the_path_is_part_of_proofs(name: str) -> None:
    """Positions that are about to come about again: without their past the search must say something else at times."""
    differ = 0
    for game, result in endings(name, 100, 300, seed=4):
        if game.arrays.info[REVERSIBLE] == game.ply or result.proven is None:
            continue
        fresh = Game.from_position(name, game.position, game.to_play)
        alone = Search(name, HashEvaluator(4), SearchConfig(value_scale=1.0)).run([fresh], 300)[0]
        differ += (alone.proven, alone.proven_plies) != (result.proven, result.proven_plies)
    assert differ > 0
