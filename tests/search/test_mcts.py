"""`Search`: what people's code gets from a tree search."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator

from env import RULES, Game
from search.config import SearchConfig
from search.mcts import Search, SearchResult

GAMES = tuple(RULES)
# The king goes to d1, and only one of the two corners beside it can be shut.
ESCAPE_IN_3 = "/1t5/7/7/7/7/3K3/7/"
ESCAPE_IN_1 = "/1t5/7/7/7/7/7/3K1t1/"
HUNT_IN_1 = "/7/2tK3/7/7/4t2/7/7/"


def uniform(inputs, actions, counts, logits, values) -> None:
    """What an untrained evaluator knows."""
    logits[:], values[:] = 0, 0


def played(name: str, plies: int, seed: int) -> Game:
    rng = np.random.default_rng(seed)
    game = Game(name)
    while game.ply < plies:
        game.play_action(int(rng.choice(game.legal_actions())))
        if game.outcome is not None:
            game = Game(name)
    return game


def same(one: SearchResult, other: SearchResult) -> bool:
    return all(np.array_equal(vars(one)[name], vars(other)[name], equal_nan=name == "values") for name in vars(one))


@pytest.mark.parametrize("leaves", [1, 5])
@pytest.mark.parametrize("rule", ["gumbel", "puct"])
@pytest.mark.parametrize("name", GAMES)
def test_a_result_speaks_of_every_legal_move(name: str, rule: Any, leaves: int) -> None:
    games = [played(name, plies, plies) for plies in (0, 3, 12, 25)]
    before = [game.position for game in games]
    config = SearchConfig(simulations=40, rule=rule, leaves=leaves)
    results = Search(name, HashEvaluator(), config).run(games)
    assert [game.position for game in games] == before
    for game, result in zip(games, results):
        count = len(game.legal_actions())
        assert result.actions.tolist() == game.legal_actions().tolist()
        for array in (result.visits, result.policy, result.prior, result.values):
            assert array.shape == (count,)
        assert result.policy.sum() == pytest.approx(1, abs=1e-5) and (result.policy >= 0).all()
        assert result.prior.sum() == pytest.approx(1, abs=1e-5)
        assert result.visits.sum() == result.simulations
        assert result.simulations == 40 or result.proven
        assert (np.isnan(result.values) == (result.visits == 0)).all() or result.proven
        assert np.nanmax(np.abs(result.values)) <= 1 and -1 <= result.value <= 1
        assert result.move in game.legal_moves() and result.line[0] == result.move
        after = game.copy()
        for move in result.line:
            after.play(move)


@pytest.mark.parametrize("name", GAMES)
def test_neighbours_in_the_batch_and_earlier_searches_change_nothing(name: str) -> None:
    games = [played(name, plies, plies) for plies in (2, 9, 17, 30)]
    search = Search(name, HashEvaluator(3))
    together = search.run(games, simulations=50, gumbel_scale=1.0, seeds=[5, 6, 7, 8])
    alone = [search.run([game], 50, gumbel_scale=1.0, seeds=[5 + i])[0] for i, game in enumerate(games)]
    assert all(same(one, other) for one, other in zip(together, alone))
    larger = search.run(games[::-1], simulations=90)
    assert all(same(one, other) for one, other in zip(larger, Search(name, HashEvaluator(3)).run(games[::-1], 90)))


def test_noise_follows_the_seed() -> None:
    game = Game("brandubh")
    search = Search("brandubh", HashEvaluator())
    moves = {str(search.run([game], 2, gumbel_scale=5.0, seeds=[seed])[0].move) for seed in range(12)}
    assert len(moves) > 4
    assert len({str(search.run([game], 2, seeds=[seed])[0].move) for seed in range(5)}) == 1


def test_more_games_than_one_batch_holds() -> None:
    games = [played("brandubh", index % 5, index) for index in range(300)]
    results = Search("brandubh", HashEvaluator()).run(games, simulations=2)
    assert [result.actions.tolist() for result in results] == [game.legal_actions().tolist() for game in games]


@pytest.mark.parametrize("seconds", [1e-6, 0.1])
def test_a_time_limit_gives_an_answer(seconds: float) -> None:
    games = [Game("brandubh"), played("brandubh", 9, 1)]
    for game, result in zip(games, Search("brandubh", HashEvaluator()).run(games, seconds=seconds)):
        assert result.move in game.legal_moves()
        assert result.simulations >= (seconds > 1e-3)
    few = Search("brandubh", HashEvaluator()).run(games, simulations=3, seconds=60.0)
    assert [result.simulations for result in few] == [3, 3]


def test_a_slow_beginning_does_not_make_later_searches_small() -> None:
    evaluator, calls = HashEvaluator(), 0

    def slow_at_first(
        inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        nonlocal calls
        calls += 1
        if calls < 4:
            time.sleep(0.5)  # as where kernels are compiled, or the machine has much else to do
        evaluator(inputs, actions, counts, logits, values)

    search = Search("brandubh", slow_at_first)
    found = [search.run([Game("brandubh")], seconds=0.3)[0].simulations for _ in range(8)]
    assert max(found[1:]) > 64


@pytest.mark.parametrize(
    ("name", "position", "to_play"),
    [
        ("brandubh", ESCAPE_IN_1, "defenders"),
        ("brandubh", HUNT_IN_1, "attackers"),
        ("tawlbwrdd", "/11/11/11/11/3t4t2/5K5/5t5/11/11/11/11/", "defenders"),
    ],
)
def test_a_win_at_hand_is_taken(name: str, position: str, to_play: str) -> None:
    game = Game.from_position(name, position, to_play)
    result = Search(name, uniform).run([game], simulations=2)[0]
    assert (result.proven, result.proven_plies, result.value) == ("win", 1, pytest.approx(0.98))
    assert result.policy.max() == 1 and result.outlook == (1, 0, 0)
    game.play(result.move)
    assert game.outcome is not None and game.outcome.winner == to_play


@pytest.mark.parametrize(("share", "value"), [(1.0, 0.98**3), (0.5, 0.98**1.5), (0.0, 1.0)])
def test_a_search_feels_its_share_of_the_discount(share: float, value: float) -> None:
    game = Game.from_position("brandubh", ESCAPE_IN_3, "defenders")
    result = Search("brandubh", uniform, SearchConfig(discounted_share=share)).run([game], simulations=400)[0]
    assert (result.proven_plies, result.value) == (3, pytest.approx(value))


def test_a_win_at_hand_is_found_without_proofs() -> None:
    game = Game.from_position("brandubh", ESCAPE_IN_1, "defenders")
    config = SearchConfig(simulations=64, considered=32, proofs=False)
    result = Search("brandubh", uniform, config).run([game])[0]
    assert result.proven is None
    game.play(result.move)
    assert game.outcome is not None


def test_an_untrained_evaluator_wins_in_three() -> None:
    game = Game.from_position("brandubh", ESCAPE_IN_3, "defenders")
    result = Search("brandubh", uniform).run([game], simulations=400)[0]
    assert (result.proven, result.proven_plies) == ("win", 3)
    assert result.simulations < 400
    assert result.value == pytest.approx(0.98**3)
    game.play(result.move)
    for reply in game.legal_moves():
        after = game.copy()
        after.play(reply)
        assert Search("brandubh", uniform).run([after], simulations=2)[0].proven == "win"


def test_a_lost_side_holds_out_longest_and_learns_nothing_false() -> None:
    game = Game.from_position("brandubh", "/7/7/7/7/t6/7/3K3/", "attackers")
    result = Search("brandubh", uniform, SearchConfig(considered=256)).run([game], simulations=2000)[0]
    assert result.proven == "loss" and result.outlook == (0, 0, 1)
    assert result.value == pytest.approx(-(0.98**result.proven_plies))
    np.testing.assert_allclose(result.policy, result.prior)


@pytest.mark.parametrize(
    ("name", "moves", "value"),
    [
        ("tawlbwrdd", "d11-d10 f8-e8 d10-d11 e8-f8", 0.0),
        ("brandubh", "d7-c7 d5-e5 c7-d7 e5-d5 d7-c7 d5-e5 c7-d7 e5-d5", -0.98),
    ],
)
def test_the_past_decides(name: str, moves: str, value: float) -> None:
    """The last move is a draw, or a loss, only because of the moves before it."""
    game = Game(name)
    *past, last = moves.split()
    for move in past:
        game.play(move)
    fresh = Game.from_position(name, game.position, game.to_play)
    config = SearchConfig(simulations=200, considered=256)
    with_past, without = Search(name, HashEvaluator(), config).run([game, fresh])
    at = with_past.actions.tolist().index(game.action_of(last))
    assert with_past.values[at] == pytest.approx(value, abs=1e-6)
    assert abs(without.values[at] - value) > 1e-3


def test_what_cannot_be_searched_is_refused() -> None:
    search = Search("brandubh", uniform)
    over = Game("brandubh")
    over.resign("attackers")
    with pytest.raises(ValueError, match="game 1 is over"):
        search.run([Game("brandubh"), over])
    with pytest.raises(ValueError, match="Tawlbwrdd"):
        search.run([Game("tawlbwrdd")])
    with pytest.raises(ValueError, match="simulations is 0"):
        search.run([Game("brandubh")], simulations=0)
    with pytest.raises(ValueError, match="seconds"):
        search.run([Game("brandubh")], seconds=0)
    with pytest.raises(ValueError, match="seeds"):
        search.run([Game("brandubh"), Game("brandubh")], simulations=2, seeds=[1])
    with pytest.raises(ValueError, match="no game is called"):
        Search("chess", uniform)
    assert search.run([]) == []


@pytest.mark.parametrize("what", ["logit", "value"])
def test_an_evaluator_that_has_diverged_is_reported(what: str) -> None:
    def broken(inputs, actions, counts, logits, values) -> None:
        logits[:], values[:] = 0, 0
        (logits[:, 1] if what == "logit" else values)[-1:] = np.nan

    with pytest.raises(FloatingPointError, match="row 1 of 2"):
        Search("brandubh", broken).run([Game("brandubh"), Game("brandubh")], simulations=4)


def test_numbers_beyond_the_legal_moves_do_not_matter() -> None:
    def careless(inputs, actions, counts, logits, values) -> None:
        HashEvaluator()(inputs, actions, counts, logits, values)
        logits[np.arange(logits.shape[1]) >= counts[:, None]] = np.nan

    games = [played("brandubh", 6, 2)]
    assert same(Search("brandubh", careless).run(games, 30)[0], Search("brandubh", HashEvaluator()).run(games, 30)[0])
