"""The handicaps of self-play: more simulations, a temperature, missing pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guessed_games import LIMIT, make, run

from env import Game
from env.position import ATTACKER, DEFENDER, TO_PLAY
from search.tree import ROOT
from training.play_kernels import searches_for


def test_the_balance_gives_one_side_more_simulations() -> None:
    assert [searches_for(64, 8, side) for side in (0, 1)] == [128, 32]  # two octaves: four times as many
    assert [searches_for(64, -8, side) for side in (0, 1)] == [32, 128]
    assert [searches_for(64, 0, side) for side in (0, 1)] == [64, 64]
    play, _ = make("brandubh", simulations=32, full_share=1.0, policy_opening_share=0.0, even_share=0.0)
    met = set()
    for _ in range(4):
        games = run(play, 75, balance=8)  # more than the longest search, since each run begins them anew
        assert set(games.balance.tolist()) <= {8}
        for group in play._groups:
            to_play = group.tree.nodes["position"]["info"][:, ROOT, TO_PLAY]
            met |= set(zip(to_play.tolist(), group.tree.slots["budget"].tolist()))
    assert met == {(0, 64), (1, 16)}


@pytest.mark.parametrize(("balance", "held_back"), [(2, 1), (8, 1), (-8, 0)])
def test_a_temperature_flattens_the_choice_of_one_side_alone(balance: int, held_back: int) -> None:
    settings: dict[str, Any] = {"simulations": 24, "full_share": 1.0, "policy_opening_share": 0.0, "even_share": 0.0}
    play, evaluators = make("brandubh", search={"gumbel_scale": 0.0}, by_temperature=True, **settings)
    games = run(play, 1500, balance)
    assert set(games.balance.tolist()) == {balance}
    assert {told for each in evaluators for _, told in each.asked} == {balance}
    best: tuple[list[bool], list[bool]] = ([], [])
    for row in range(games.positions):
        game, ply = int(games.game[row]), int(games.ply[row])
        part = slice(games.policy_offsets[row], games.policy_offsets[row + 1])
        probs, actions = games.policy_probs[part], games.policy_actions[part]
        played = actions == games.moves[games.move_offsets[game] + ply]
        assert probs[played] > 0 or not games.policy_weight[row], "a move proven lost is not drawn"
        best[int(games.inputs[row, -3])].append(bool(probs[played] == probs.max()))
    alike, drawn = np.mean(best[1 - held_back]), np.mean(best[held_back])
    assert alike > 0.9  # visits decide, which at times are not where the improved policy is highest
    assert drawn < alike - (0.02 if balance == 2 else 0.3)


def test_a_temperature_leaves_searches_as_long_as_they_were() -> None:
    play, _ = make("brandubh", simulations=32, full_share=1.0, policy_opening_share=0.0, by_temperature=True)
    run(play, 50, balance=8)
    assert {int(each) for group in play._groups for each in group.tree.slots["budget"]} == {32}


def test_some_games_are_even_whatever_the_balance() -> None:
    games = run(make("brandubh", even_share=0.5, simulations=4, fast_simulations=2, max_plies=20)[0], 400, balance=-6)
    assert set(games.balance.tolist()) == {0, -6}
    assert 0.3 < (games.balance == 0).mean() < 0.7


@pytest.mark.parametrize(("balance", "side"), [(LIMIT, DEFENDER), (-LIMIT, ATTACKER), (LIMIT // 2, DEFENDER)])
def test_the_stronger_side_may_begin_with_fewer_pieces(balance: int, side: int) -> None:
    settings = {"even_share": 0.25, "material_share": 0.5, "material_most": 4}
    play, _ = make("brandubh", games_per_group=100, simulations=4, fast_simulations=2, max_plies=8, **settings)
    games = run(play, 40, balance)
    full = Game("brandubh").arrays.board
    for game in range(games.games):
        taken = np.flatnonzero(games.start[game] != full)
        assert len(taken) == games.missing[game]
        assert (full[taken] == side).all() and (games.start[game][taken] == 0).all()
        assert games.missing[game] == 0 or games.balance[game] == 0, "both search alike"
    missing = games.missing[games.missing > 0]
    assert set(missing.tolist()) == set(range(1, 4 * abs(balance) // LIMIT + 1))
    squares = np.flatnonzero((games.start != full).any(axis=0))
    assert set(squares.tolist()) == set(np.flatnonzero(full == side).tolist()), "any of them"
    # Of all games 3/8 have this handicap, one in five (three) of which takes nothing.
    assert 0.2 < len(missing) / games.games < 0.4
    assert 0.25 < (games.balance != 0).mean() < 0.5


def test_without_a_balance_nobody_lacks_pieces() -> None:
    games = run(make("brandubh", material_share=1.0, material_most=4, max_plies=8)[0], 100)
    assert games.games and not games.missing.any()
