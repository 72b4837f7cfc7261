"""The tools say in a sentence what they cannot use, and leave what is there as it was."""

import json
from pathlib import Path

import pytest

from models import Header, NetworkConfig, PolicyValueNet, read_header, save
from tools import release_network, strength_curve

SHAPE = NetworkConfig(blocks=1, channels=4, input_channels=4, policy_channels=4, value_channels=4, value_hidden=4)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a network of the game ships, with one that is there."""
    (tmp_path / "shipped").mkdir()
    monkeypatch.setattr(release_network, "PRETRAINED", tmp_path / "shipped")
    path = tmp_path / "shipped" / "brandubh.safetensors"
    path.write_text("the good one")
    return path


def release(tmp_path: Path, result: object, origin: str = "some config") -> int:
    checkpoint = tmp_path / "new.safetensors"
    save(checkpoint, PolicyValueNet(7, SHAPE), Header(game="brandubh", size=7, network=SHAPE, discount=0.98))
    (tmp_path / "result.json").write_text(result if isinstance(result, str) else json.dumps(result))
    return release_network.main([str(checkpoint), str(tmp_path / "result.json"), "--origin", origin])


def told(tmp_path: Path, **changes: object) -> dict[str, object]:
    score = {"attackers": 0.5, "defenders": 0.25, "overall": None}
    player = f"{tmp_path / 'new.safetensors'}:simulations=8"
    return {"player": player, "opponent": "random", "openings": "o", "games": 4, "score": score, **changes}


def test_what_ships_tells_where_it_is_from(tmp_path: Path, shipped: Path) -> None:
    assert release(tmp_path, told(tmp_path)) == 0
    provenance = read_header(shipped).provenance
    assert provenance.run == "some config"
    assert provenance.scores["random as attackers (8 simulations, openings o, 4 games)"] == 0.5
    assert list(shipped.parent.iterdir()) == [shipped]


@pytest.mark.parametrize("result", ["[]", "5", "{}", "[" * 100_000, {"score": None}, {"score": {"attackers": "good"}},
                                    {"score": {"attackers": float("nan")}}])  # fmt: skip
def test_a_result_that_is_none_ships_nothing(
    tmp_path: Path, shipped: Path, result: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(tmp_path, told(tmp_path, **result) if isinstance(result, dict) else result) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "result.json is no result" in line or "scores" in line
    assert shipped.read_text() == "the good one"


def test_what_is_too_long_or_too_large_ships_nothing(
    tmp_path: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(tmp_path, told(tmp_path), "x" * 257) == 2
    assert "--origin: " in capsys.readouterr().err
    monkeypatch.setattr(release_network, "MOST_BYTES", 100)
    assert release(tmp_path, told(tmp_path)) == 2
    assert "bytes are too many to ship" in capsys.readouterr().err
    assert shipped.read_text() == "the good one"
    assert list(shipped.parent.iterdir()) == [shipped]


@pytest.mark.parametrize("text", ["5", "null", "[]", "", '{"step": 1}\nnot json'])
def test_metrics_that_are_none_are_told(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics.jsonl").write_text(text)
    assert strength_curve.main([str(tmp_path), "--out", str(tmp_path / "x.png")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "metrics" in line
    assert not (tmp_path / "x.png").exists()


def test_the_last_measurement_has_an_interval_of_its_own_games(tmp_path: Path) -> None:
    row = {"charts/core_minutes": 1.0, "strength/attackers": 0.5, "learner_steps": 1}
    (tmp_path / "result.json").write_text(json.dumps({"score": {"games": 800}}))
    final = strength_curve.final_games(tmp_path / "result.json")
    regular, last = strength_curve.points([row, {**row}], "attackers", 16, final)
    assert final == 400
    assert last[3] - last[2] < (regular[3] - regular[2]) / 3
    assert strength_curve.final_games(tmp_path / "nothing.json") is None
