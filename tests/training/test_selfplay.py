"""Self-play: games keep the rules, targets follow from them, and neither threads nor stops change anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from guessed_games import DISCOUNT, PLAIN, Guess, make, run

from env import RULES, Game
from env.board import REASONS
from env.encoding import position_input
from env.tables import tables
from search.config import SearchConfig
from search.tree import ROOT
from training.config import SelfPlayConfig
from training.group import lambda_returns
from training.selfplay import SelfPlay, search_growth
from training.shard import Shard

GAMES = tuple(RULES)
SAVING = {"cache": 512, "reuse": True}
SIGNS = {"attackers": 1, "defenders": -1, None: 0}


def equal(one: Shard, other: Shard) -> bool:
    theirs = other.arrays()
    return all(array.tobytes() == theirs[name].tobytes() for name, array in one.arrays().items())


@pytest.fixture(scope="module", params=GAMES)
def shard(request: pytest.FixtureRequest) -> tuple[str, Shard]:
    """Some dozen games, played with a balance."""
    layouts = dict.fromkeys(RULES[request.param].layouts, 1.0)
    play, _ = make(request.param, layouts=layouts, material_share=0.3, material_most=4)
    return request.param, run(play, 600, balance=4)


def replay(name: str, shard: Shard, game: int) -> list[Game]:
    """The positions of a game, from its start to its end."""
    states = [shard.new_game(RULES[name], game)]
    for action in shard.game_moves(game):
        assert states[-1].outcome is None, "moves after the end"
        after = states[-1].copy()
        after.play_action(int(action))  # raises where it is illegal
        states.append(after)
    return states


def test_games_end_as_they_are_said_to(shard: tuple[str, Shard]) -> None:
    name, games = shard
    assert games.games >= 20
    for game in range(games.games):
        last = replay(name, games, game)[-1]
        assert last.ply == games.length[game]
        if games.reason[game] == 0:
            assert last.outcome is None and last.ply == 60 and games.winner[game] == 0
        else:
            assert last.outcome is not None
            assert REASONS[games.reason[game]] == last.outcome.reason
            assert games.winner[game] == SIGNS[last.outcome.winner]
    assert (games.reason > 0).any() and (games.reason == 0).any()
    assert len({tuple(games.game_moves(game)) for game in range(games.games)}) == games.games


def test_positions_are_those_of_the_games(shard: tuple[str, Shard]) -> None:
    name, games = shard
    assert games.positions > 100
    row = 0
    for game in range(games.games):
        states = replay(name, games, game)
        balances = set()
        while row < games.positions and games.game[row] == game:
            state = states[games.ply[row]]
            expected, actions = position_input(
                tables(RULES[name]), state.arrays, state.history, int(games.balance[game])
            )
            assert games.inputs[row].tolist() == expected.tolist()
            legal = slice(games.policy_offsets[row], games.policy_offsets[row + 1])
            assert games.policy_actions[legal].tolist() == actions.tolist()
            policy = games.policy_probs[legal]
            assert (policy >= 0).all() and policy.sum() == pytest.approx(1, abs=1e-5)
            balances.add(games.inputs[row, -1])
            row += 1
        assert balances <= {0, 4}
    assert row == games.positions
    assert set(games.policy_weight.tolist()) <= {0.0, 1.0}


def test_targets_follow_from_the_end(shard: tuple[str, Shard]) -> None:
    _, games = shard
    to_play = games.inputs[:, -3]
    own = np.where(to_play == 0, 1, -1)
    result = games.winner[games.game] * own
    ended = games.reason[games.game] > 0
    ahead = games.length[games.game] - games.ply
    np.testing.assert_allclose(games.value[ended], (result * DISCOUNT**ahead)[ended], rtol=1e-6)
    outlook = np.stack([result == 1, result == 0, result == -1], axis=1)
    np.testing.assert_array_equal(games.outlook[ended], outlook[ended])
    np.testing.assert_allclose(games.outlook.sum(axis=1), 1, atol=1e-6)


def test_a_truncated_game_takes_the_last_search_for_its_result(shard: tuple[str, Shard]) -> None:
    _, games = shard
    cut = np.flatnonzero(games.reason == 0)
    for game in cut:
        rows = np.flatnonzero(games.game == game)
        if not len(rows):
            continue
        own = np.where(games.inputs[rows, -3] == 0, 1, -1)
        # All positions agree on one value at the position before the last move.
        at_end = games.value[rows] * own / DISCOUNT ** (games.length[game] - 1 - games.ply[rows])
        np.testing.assert_allclose(at_end, at_end[0], atol=1e-5)
        assert abs(at_end[0]) <= 1
        np.testing.assert_allclose(games.outlook[rows, 0] - games.outlook[rows, 2], at_end[0] * own, atol=1e-5)
    values = [games.value[games.game == game] for game in cut]
    assert any(np.abs(value).max(initial=0) > 0.01 for value in values), "a cut is no draw"


def test_values_are_mixed_with_what_later_searches_found() -> None:
    searched, result, discount, keep = np.array([0.1, -0.4, 0.7]), -1.0, 0.9, 0.8
    # Weighted out by hand: k plies later with weight (1 - keep) * keep**k, and what is left on the result.
    expected = [
        0.2 * 0.1 - 0.2 * 0.8 * 0.9 * 0.4 + 0.2 * (0.8 * 0.9) ** 2 * 0.7 - (0.8 * 0.9) ** 3,
        -0.2 * 0.4 + 0.2 * 0.8 * 0.9 * 0.7 - (0.8 * 0.9) ** 2,
        0.2 * 0.7 - 0.8 * 0.9,
        -1.0,
    ]
    np.testing.assert_allclose(lambda_returns(searched, result, discount, keep), expected)
    np.testing.assert_allclose(lambda_returns(searched, result, discount, 1.0), -(0.9 ** np.arange(3, -1, -1)))
    np.testing.assert_allclose(lambda_returns(searched, result, discount, 0.0)[:3], searched)


def test_mixed_values_change_the_values_and_nothing_else() -> None:
    plain, mixed = run(make("brandubh")[0], 400), run(make("brandubh", value_lambda=0.5)[0], 400)
    one, other = plain.arrays(), mixed.arrays()
    assert {name for name in one if not np.array_equal(one[name], other[name])} == {"value"}
    assert np.abs(mixed.value).max() <= 1


@pytest.mark.parametrize("search", [PLAIN, SAVING, {"rule": "puct"}])
@pytest.mark.parametrize("name", GAMES)
def test_threads_change_nothing(name: str, search: Mapping[str, Any]) -> None:
    one, other = make(name, search=search)[0], make(name, search=search)[0]
    for balance in (0, 3):
        assert equal(run(one, 120, balance, threads=1), run(other, 120, balance, threads=2))
    assert not equal(run(make(name, seed=1)[0], 240), run(make(name)[0], 240))


@pytest.mark.parametrize("search", [PLAIN, SAVING])
@pytest.mark.parametrize("name", GAMES)
def test_a_resumed_run_goes_on_as_if_nothing_had_happened(name: str, search: Mapping[str, Any]) -> None:
    straight = make(name, search=search)[0]
    fresh = make(name, search=search)[0]
    fresh.restore(straight.state())
    assert equal(run(straight, 40), run(fresh, 40))
    for balance in (5, -2):
        resumed = make(name, search=search)[0]
        resumed.restore({key: array.copy() for key, array in straight.state().items()})
        first, second = run(straight, 150, balance), run(resumed, 150, balance)
        assert equal(first, second)
        assert first.counters["simulations"] == second.counters["simulations"]
    assert first.games


@pytest.mark.parametrize("name", GAMES)
def test_remembered_evaluations_make_the_same_games_sooner(name: str) -> None:
    plain, remembering = (run(make(name, search=search)[0], 300) for search in (PLAIN, {"cache": 1 << 14}))

    def games(shard: Shard) -> set[tuple[int, ...]]:
        return {tuple(shard.game_moves(game).tolist()) for game in range(shard.games)}

    assert plain.games and games(plain) <= games(remembering)
    assert plain.counters["remembered"] == 0 < remembering.counters["remembered"]
    assert plain.counters["simulations"] < remembering.counters["simulations"]


def test_kept_trees_know_more_for_the_same_simulations() -> None:
    settings: dict[str, Any] = {"full_share": 1.0, "simulations": 40, "policy_opening_share": 0.0}
    play, _ = make("brandubh", search={"reuse": True}, **settings)
    games = run(play, 400)
    assert games.games
    visits, begun = [], []
    for group in play._groups:
        visits.append(group.tree.nodes["visits"][:, ROOT])
        begun.append(group.tree.slots["simulations"])
    kept = np.concatenate(visits).astype(int) - np.concatenate(begun)
    assert kept.max() > 5


def test_a_state_of_other_settings_is_refused() -> None:
    state = make("brandubh")[0].state()
    with pytest.raises(ValueError, match="12 a group"):
        make("brandubh", games_per_group=10)[0].restore(state)
    with pytest.raises(ValueError, match="group 2"):
        make("brandubh", groups=3)[0].restore(state)
    with pytest.raises(ValueError, match="1 evaluators for 2 groups"):
        SelfPlay(RULES["brandubh"], SelfPlayConfig(groups=2), SearchConfig(), [Guess()], 0)


def test_searches_grow_with_what_has_been_made() -> None:
    config = SelfPlayConfig(simulations=32, fast_simulations=8, growth_positions=1000, most_simulations=100)
    assert [search_growth(config, made) for made in (0, 1000, 4000, 10**9)] == [1, 1, 2, 100 / 32]
    assert search_growth(SelfPlayConfig(), 10**9) == 1

    def plies(growth: float) -> float:
        """How far games get in 45 batches when every move is searched."""
        play, _ = make("brandubh", simulations=10, full_share=1.0, policy_opening_share=0.0)
        with ThreadPoolExecutor(1) as pool:
            play.run(45, 0, pool, growth)
        return float(np.mean([plies for name, plies in play.state().items() if name.endswith("plies")]))

    assert 3.9 < plies(1.0) < 8
    assert 0.9 < plies(4.0) < 2


def test_layouts_come_as_they_are_weighted() -> None:
    settings: dict[str, Any] = {
        "simulations": 2,
        "fast_simulations": 2,
        "max_plies": 6,
        "layouts": {"serif": 1.0, "bell": 3.0},
    }
    games = run(make("tawlbwrdd", **settings)[0], 150)
    assert 0.6 < (games.layout == 1).mean() < 0.9
    assert (run(make("tawlbwrdd", max_plies=6)[0], 90).layout == 0).all()


def test_openings_are_drawn_from_the_policy() -> None:
    """Without openings and noise all games are one; with openings they part."""
    settings: dict[str, Any] = {"groups": 1, "simulations": 2, "fast_simulations": 2, "max_plies": 8}
    search = SearchConfig(gumbel_scale=0.0)
    for share, alike in ((0.0, True), (1.0, False)):
        config = SelfPlayConfig(games_per_group=16, policy_opening_share=share, **settings)
        games = run(SelfPlay(RULES["brandubh"], config, search, [Guess()], 0), 60)
        distinct = {tuple(games.game_moves(game)[:4]) for game in range(games.games)}
        assert games.games > 16 and (len(distinct) == 1) == alike
    # No position of an opening is a searched one.
    config = SelfPlayConfig(
        games_per_group=16, policy_opening_share=1.0, policy_opening_plies=50.0, full_share=1.0, **settings
    )
    games = run(SelfPlay(RULES["brandubh"], config, search, [Guess()], 0), 60)
    assert games.games > 16 and (games.ply >= 1).all()
    assert np.median(games.ply) >= 4


class Lopsided(Guess):
    """Says that whoever is to play wins where the attackers have moved away from d1; else nothing is decided."""

    def __call__(self, inputs, actions, counts, logits, values) -> None:
        super().__call__(inputs, actions, counts, logits, values)
        values[:] = np.where(inputs[:, 3] & 3, 0.0, 0.9)


def test_openings_are_drawn_from_all_moves_and_the_uneven_ones_mostly_anew() -> None:
    settings: dict[str, Any] = {"groups": 1, "games_per_group": 64, "simulations": 2, "fast_simulations": 2}
    settings |= {"max_plies": 8, "policy_opening_share": 1.0, "policy_opening_plies": 0.001}
    search = SearchConfig(gumbel_scale=0.0)

    def first_moves(**more: float) -> Counter[str]:
        config = SelfPlayConfig(**settings, **more)  # type: ignore[arg-type]
        games = run(SelfPlay(RULES["brandubh"], config, search, [Lopsided()], 0), 200)
        start = Game("brandubh")
        return Counter(str(start.move_of(int(games.game_moves(game)[0]))) for game in range(games.games))

    # The evaluator gives every move a logit of its own, which the policy's openings follow and the others do not.
    policy, alike = first_moves(), first_moves(random_opening_share=1.0)
    assert len(alike) == 40 and max(alike.values()) < 0.08 * sum(alike.values())
    assert max(policy.values()) > 2 * max(alike.values())

    def away(moves: Counter[str]) -> float:
        return sum(count for move, count in moves.items() if move.startswith("d1-")) / sum(moves.values())

    even = first_moves(random_opening_share=1.0, opening_limit=0.5)
    assert 0.06 < away(alike) < 0.14  # four of forty
    assert 0.0 < away(even) < 0.05


def test_a_run_counts_what_it_did_and_keeps_its_memory() -> None:
    play, evaluators = make("brandubh")
    shapes = [[array.shape for array in group.slots] for group in play._groups]
    shard = run(play, 200)
    assert shard.counters["evaluations"] == 2 * 12 * 200 == sum(sum(one.asked.values()) for one in evaluators)
    assert shard.counters["simulations"] > 0
    assert shard.counters["search_seconds"] > 0 and shard.counters["inference_seconds"] > 0
    run(play, 200, balance=8)
    assert [[array.shape for array in group.slots] for group in play._groups] == shapes


def test_a_diverged_network_ends_the_run() -> None:
    play, _ = make("brandubh", certainty=np.nan)
    with pytest.raises(FloatingPointError, match="diverged"):
        run(play, 2)
