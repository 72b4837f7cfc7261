"""Ratings: they find the strengths that games were made with, and know how sure they are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.rating import Anchors, RatedGame, RatingError, expected, fit

pytest.importorskip("statsmodels")

ANCHORS = Anchors(
    {
        "random": {"attackers": 0.0, "defenders": 0.0},
        "middle": {"attackers": 300.0, "defenders": 500.0},
        "strong": {"attackers": 700.0, "defenders": 600.0},
    },
    -100.0,
)


def pairs(
    rng: np.random.Generator,
    player: tuple[str, float, float],
    opponent: tuple[str, float, float],
    openings: range,
    advantage: float,
    spread: float = 0.0,
) -> list[RatedGame]:
    """Games of two players (name, strength as attackers, as defenders), each opening from both sides.

    `spread` is the standard deviation in Elo points of what an opening adds to the attackers' chances.
    """
    games = []
    for opening in openings:
        favour = rng.normal(0, spread) if spread else 0.0
        for one, two in ((player, opponent), (opponent, player)):
            chance = expected(one[1], two[2], advantage + favour)
            games.append(RatedGame(one[0], two[0], float(rng.random() < chance), f"opening {opening}"))
    return games


def anchor(name: str) -> tuple[str, float, float]:
    return name, ANCHORS.strengths[name]["attackers"], ANCHORS.strengths[name]["defenders"]


def test_ten_to_one_is_four_hundred_points():
    assert math.isclose(expected(400, 0, 0), 10 / 11)
    assert math.isclose(expected(100, 300, 200), 0.5)


@pytest.mark.parametrize("spread", [0.0, 120.0])
def test_intervals_hold_the_truth_as_often_as_they_say(spread: float):
    """Of 200 matches with known strengths nine intervals in ten and more hold them, openings that favour a side too."""
    rng = np.random.default_rng(1)
    truth = {"attackers": 350.0, "defenders": 700.0, "overall": 525.0}
    inside, errors = dict.fromkeys(truth, 0), {name: [] for name in truth}
    for _ in range(200):
        games = [
            game
            for part, name in enumerate(ANCHORS.strengths)
            for game in pairs(rng, ("p", 350.0, 700.0), anchor(name), range(part * 20, part * 20 + 20), -100.0, spread)
        ]
        found = fit(games, ANCHORS).players["p"]
        for name in truth:
            estimate = found.overall if name == "overall" else found.side(name).estimate
            assert estimate is not None
            inside[name] += estimate.low <= truth[name] <= estimate.high
            errors[name].append(estimate.elo - truth[name])
    assert all(182 <= count for count in inside.values()), inside
    # Without an opening's favour, which flattens every curve, nothing but the prior leans to one side.
    if not spread:
        assert all(abs(np.mean(error)) < 30 for error in errors.values())
        assert inside["attackers"] + inside["defenders"] < 399  # intervals that hold everything say nothing


def test_everybody_is_found_from_games_among_themselves():
    rng = np.random.default_rng(2)
    players = [("random", 0.0, 0.0), ("a", 150.0, 80.0), ("b", 260.0, 350.0), ("c", 500.0, 420.0)]
    games = [
        game for i, one in enumerate(players) for two in players[i:] for game in pairs(rng, one, two, range(300), -60.0)
    ]
    found = fit(games)
    assert set(found.players) == {"a", "b", "c"}
    assert found.advantage.low < -60 < found.advantage.high
    for name, attackers, defenders in players[1:]:
        rating = found.players[name]
        estimates = [rating.attackers.estimate, rating.defenders.estimate]
        for estimate, strength in zip(estimates, (attackers, defenders)):
            assert estimate is not None and estimate.low < strength < estimate.high
            assert estimate.high - estimate.low < 120
        assert rating.overall is not None
        assert math.isclose(rating.overall.elo, sum(e.elo for e in estimates if e) / 2, abs_tol=1e-6)


def test_games_of_known_players_leave_the_anchors_and_others_where_they_are():
    rng = np.random.default_rng(3)
    own = pairs(rng, ("p", 350.0, 700.0), anchor("middle"), range(40), -100.0)
    among = pairs(rng, anchor("middle"), anchor("strong"), range(40), -100.0)
    others = pairs(rng, ("q", 100.0, 100.0), anchor("random"), range(40), -100.0)
    alone, all_together = fit(own, ANCHORS), fit([*own, *among, *others], ANCHORS)
    assert set(all_together.players) == {"p", "q"}
    before, after = alone.players["p"].attackers.estimate, all_together.players["p"].attackers.estimate
    assert before and after and math.isclose(before.elo, after.elo, abs_tol=1e-4)


def test_who_wins_everything_is_rated_finitely_and_the_open_end_is_named():
    games = [RatedGame("p", "middle", 1.0, f"{i}") for i in range(30)]
    games += [RatedGame("middle", "p", 1.0, f"{i}") for i in range(30)]
    rating = fit(games, ANCHORS).players["p"]
    attackers, defenders = rating.attackers.estimate, rating.defenders.estimate
    assert attackers and defenders
    assert rating.attackers.open_end == "high" and rating.defenders.open_end == "low"
    assert 500 < attackers.low < attackers.elo < attackers.high < 3000
    assert -3000 < defenders.low < defenders.elo < defenders.high < 300


def test_more_games_narrow_the_interval():
    rng = np.random.default_rng(4)
    widths = []
    for count in (10, 40, 160):
        overall = fit(pairs(rng, ("p", 400.0, 400.0), anchor("middle"), range(count), -100.0), ANCHORS)
        estimate = overall.players["p"].overall
        assert estimate is not None
        widths.append(estimate.high - estimate.low)
    assert widths[0] > widths[1] > widths[2]


def test_the_same_game_again_is_no_news():
    """Ten copies of each game, as from players without chance, leave the interval about as wide as one."""
    rng = np.random.default_rng(5)
    once = pairs(rng, ("p", 400.0, 400.0), anchor("middle"), range(60), -100.0)
    one, ten = (fit(games, ANCHORS).players["p"].attackers.estimate for games in (once, once * 10))
    assert one and ten
    assert 0.75 < (ten.high - ten.low) / (one.high - one.low) < 1.25


def test_draws_are_half_points():
    drawn = [RatedGame("p", "middle", 0.5, f"{i}") for i in range(20)]
    halves = [RatedGame("p", "middle", float(i % 2), f"{i}") for i in range(20)]
    one, two = (fit(games, ANCHORS).players["p"].attackers.estimate for games in (drawn, halves))
    assert one and two and math.isclose(one.elo, two.elo, abs_tol=1e-6)


def test_a_side_that_was_not_played_is_not_rated():
    rating = fit([RatedGame("p", "middle", 1.0, "1"), RatedGame("p", "middle", 0.0, "2")], ANCHORS).players["p"]
    assert rating.attackers.estimate is not None
    assert rating.defenders.estimate is None and rating.overall is None and rating.defenders.games == 0


def test_players_without_a_connection_are_refused_by_name():
    games = [RatedGame("p", "middle", 1.0, "1"), RatedGame("x", "y", 1.0, "1")]
    with pytest.raises(RatingError, match="no chain of games connects x as attackers, y as defenders with random"):
        fit(games, ANCHORS)
    with pytest.raises(RatingError, match="no chain of games"):
        fit([RatedGame("random", "y", 1.0, "1"), RatedGame("x", "random", 0.0, "1")])
    with pytest.raises(RatingError, match="no games"):
        fit([RatedGame("middle", "strong", 1.0, "1")], ANCHORS)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40),
    st.sampled_from(["attackers", "defenders"]),
    st.sampled_from(list(ANCHORS.strengths)),
)
def test_one_opponent_needs_no_fit(scores: list[float], side: str, opponent: str):
    if side == "attackers":
        games = [RatedGame("p", opponent, score, f"{i}") for i, score in enumerate(scores)]
    else:
        games = [RatedGame(opponent, "p", 1 - score, f"{i}") for i, score in enumerate(scores)]
    estimate = fit(games, ANCHORS).players["p"].side(side).estimate
    assert estimate is not None
    assert math.isclose(estimate.elo, ANCHORS.single(side, opponent, sum(scores), len(scores)), abs_tol=0.01)
