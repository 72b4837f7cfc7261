"""Measuring a network in a run, and which network counts as the best."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from arena import PlayerError
from arena.anchors import load_anchors
from env.rules import RULES
from models import Header, NetworkConfig, PolicyValueNet, save
from training.config import MeasureConfig
from training.measure import Strength, check_opponent, measure
from training.metrics import strength_metrics

RULE = RULES["brandubh"]
CONFIG = MeasureConfig(opponent="random", simulations=2)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    shape = NetworkConfig(blocks=1, channels=4, input_channels=4, policy_channels=4, value_channels=4, value_hidden=4)
    save(path, PolicyValueNet(7, shape), Header(game="brandubh", size=7, network=shape, discount=0.98))
    return path


def test_both_sides_are_played_and_the_same_match_comes_out_again(checkpoint: Path) -> None:
    seen: list[tuple[int, int]] = []
    first = measure(checkpoint, RULE, CONFIG, 3, "cpu", 1, games=3, progress=lambda *now: seen.append(now))
    again = measure(checkpoint, RULE, CONFIG, 3, "cpu", 2, games=3)
    assert first is not None
    assert again is not None
    strength, match = first
    assert strength == again[0]
    assert (strength.iteration, strength.games) == (3, 6)
    assert strength.overall == pytest.approx(match.score["overall"])
    assert [game.side for game in match.played].count("attackers") == 3
    assert seen[-1] == (6, 6)


def test_rounds_that_fit_into_the_time_are_added_up(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.measure.ROUND_GAMES", 4)
    found = measure(checkpoint, RULE, CONFIG, 0, "cpu", 1, games=4, seconds=600)
    assert found is not None
    strength, match = found
    assert strength.games == match.games == match.planned == 8
    assert [game.number for game in match.played] == list(range(8))
    assert measure(checkpoint, RULE, CONFIG, 0, "cpu", 1, games=4, seconds=0) is None


def test_what_is_raised_between_moves_ends_the_match(checkpoint: Path) -> None:
    def check() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        measure(checkpoint, RULE, CONFIG, 0, "cpu", 1, games=1, check=check)


def test_a_later_network_is_the_best_unless_it_is_clearly_weaker() -> None:
    best = Strength(10, 0.5, 0.9, 100)
    assert Strength(11, 0.5, 0.85, 100).displaces(best)
    assert Strength(11, 0.5, 0.9, 100).displaces(best)
    assert not Strength(11, 0.3, 0.8, 100).displaces(best)
    assert Strength(11, 0.3, 0.8, 4).displaces(best)  # four games say little
    assert Strength(1, 0, 0, 2).displaces(None)


def test_the_error_is_that_of_a_mean_and_never_nothing() -> None:
    assert Strength(0, 0.5, 0.5, 100).error() == pytest.approx(math.sqrt(0.25 / 100))
    assert Strength(0, 1.0, 1.0, 100).error() > 0


def test_an_opponent_that_is_none_is_told_beforehand() -> None:
    with pytest.raises(ValueError, match="did you mean alphabeta-v"):
        MeasureConfig(opponent="alphabeta-v9")
    # As of a checkpoint that was there when the settings were read.
    gone = MeasureConfig().model_copy(update={"opponent": "gone.safetensors"})
    with pytest.raises(PlayerError, match="gone"):
        check_opponent(gone, RULE)
    check_opponent(gone.model_copy(update={"minutes": 0, "final_games": 0}), RULE)


def test_ratings_are_told_where_the_opponent_has_one() -> None:
    """Each side's rating follows its score alone, on the scale of the known players."""
    strengths = load_anchors(RULE).anchors.strengths
    even = strength_metrics(Strength(1, 0.5, 0.5, 64), RULE, "alphabeta-v1:depth=2")
    assert even == strength_metrics(Strength(1, 0.5, 0.5, 64), RULE, "alphabeta-v1"), "depth 2 unless named"
    both = sum(strengths["alphabeta-v1:depth=2"].values()) / 2
    assert even["strength/elo/overall"] == pytest.approx(both)
    better = strength_metrics(Strength(1, 0.5, 0.75, 64), RULE, "alphabeta-v1:depth=2")
    assert better["strength/elo/attackers"] == even["strength/elo/attackers"]
    assert better["strength/elo/defenders"] - even["strength/elo/defenders"] == pytest.approx(
        400 * math.log10(24.5 / 8.5)
    )
    assert (better["strength/defenders"], better["strength/overall"]) == (0.75, 0.625)
    for opponent in ("alphabeta-v1:seconds=1", "alphabeta-v1:depth=30"):
        assert not [name for name in strength_metrics(Strength(1, 0.5, 1.0, 64), RULE, opponent) if "elo" in name]
    gentle = replace(RULE, name="gentle")
    assert not [name for name in strength_metrics(Strength(1, 0.5, 1.0, 64), gentle, "random") if "elo" in name]


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_side_that_lost_or_won_everything_has_no_rating(score: float) -> None:
    """Such games bound the strength and do not tell it, and so the mean of both sides is not known either."""
    found = strength_metrics(Strength(1, score, 0.5, 64), RULE, "alphabeta-v1:depth=2")
    assert [name for name in found if "elo" in name] == ["strength/elo/defenders"]
    assert found["strength/attackers"] == score
