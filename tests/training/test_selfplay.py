"""Self-play: games keep the rules, targets follow from them, and neither threads nor stops change anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from env import RULES, Game
from env.board import REASONS
from env.encoding import position_input
from env.position import ATTACKER, DEFENDER, TO_PLAY
from env.tables import tables
from search.config import SearchConfig
from search.tree import ROOT
from training.config import SelfPlayConfig
from training.play_kernels import searches_for
from training.selfplay import SelfPlay, lambda_returns, search_growth
from training.shard import Shard

GAMES = tuple(RULES)
DISCOUNT = 0.98
PLAIN: dict[str, Any] = {}
SAVING = {"cache": 512, "reuse": True}
SIGNS = {"attackers": 1, "defenders": -1, None: 0}


class Guess:
    """An evaluator that is quick and not quite blind: the answers follow from the input row; it counts who asks."""

    def __init__(self, certainty: float = 0.5) -> None:
        self.certainty = certainty
        self.asked = {}  # (to_play, balance) -> positions

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        cells = inputs.shape[1] - 3
        row = inputs[:, :cells].astype(np.int64) @ (np.arange(cells) * 7919 % 1009) + 131 * inputs[:, cells].astype(
            np.int64
        )
        values[:] = self.certainty * np.sin(row)
        logits[:] = 2 * np.sin(row[:, None] + actions * 0.37)
        for side, balance in zip(inputs[:, cells].tolist(), inputs[:, cells + 2].tolist()):
            self.asked[side, balance] = self.asked.get((side, balance), 0) + 1


LIMIT = 8  # quarter steps of the balance


def make(
    name: str,
    seed: int = 0,
    certainty: float = 0.5,
    search: Mapping[str, Any] = PLAIN,
    by_temperature: bool = False,
    **settings: Any,
) -> tuple[SelfPlay, list[Guess]]:
    chosen: dict[str, Any] = {
        "groups": 2,
        "games_per_group": 12,
        "simulations": 12,
        "fast_simulations": 4,
        "full_share": 0.5,
        "max_plies": 60,
    }
    config = SelfPlayConfig(**(chosen | settings))
    evaluators = [Guess(certainty) for _ in range(config.groups)]
    how = SearchConfig(discount=DISCOUNT, **search)
    return SelfPlay(RULES[name], config, how, evaluators, seed, LIMIT, by_temperature), evaluators


def run(play: SelfPlay, steps: int, balance: int = 0, threads: int = 1) -> Shard:
    with ThreadPoolExecutor(threads) as pool:
        return play.run(steps, balance, pool)


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
