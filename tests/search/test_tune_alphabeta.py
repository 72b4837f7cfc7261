"""The script that fits the weights of `alphabeta-v2`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from env import RULES, Game
from env.rules import SIDES
from search.alphabeta_v2 import AlphaBetaV2
from search.v2.weights import hand_weights, load_weights, to_data

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tune_alphabeta", ROOT / "tools" / "tune_alphabeta.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tune_alphabeta"] = module
    spec.loader.exec_module(module)
    return module


def tune(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tune_alphabeta.py", *arguments])
    return tool.main()


@pytest.mark.parametrize("name", tuple(RULES))
def test_weights_are_flat_and_back(tool: ModuleType, name: str) -> None:
    features, weights = tool.Features(RULES[name]), hand_weights(RULES[name])
    assert to_data(RULES[name], features.weights(features.flatten(weights))) == to_data(RULES[name], weights)


def test_the_fit_finds_what_made_the_results(tool: ModuleType) -> None:
    """Results drawn by a known evaluation of three features and the two of a side's terms that stay as they are."""
    chance = np.random.default_rng(3)
    rows = chance.integers(-3, 4, (20_000, 4)).astype(np.float32)
    truth = np.array([1.0, -2.0, 0.5, 0.0])
    results = (chance.random(20_000) < 1 / (1 + np.exp(-rows @ truth))).astype(np.float32)
    free = np.array([True, True, True, False])
    weights, scale = tool.fit(rows, results, np.array([1.0, -1.0, 0.0, 0.0]), free, 1e-5)
    np.testing.assert_allclose(weights * scale, truth, atol=0.1)
    assert weights[3] == 0


def test_same_command_same_file(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for file in (one, other):
        status = tune(
            tool, monkeypatch, "brandubh", "--games=20", "--nodes=30", "--rounds=1", "--match=0", f"--out={file}"
        )
        assert status == 0
    first, second = (json.loads(file.read_text()) for file in (one, other))
    assert first["command"] == "python tools/tune_alphabeta.py brandubh --games 20 --nodes 30 --rounds 1 --match 0"
    assert first == second
    assert first["games"] == 20
    assert load_weights(RULES["brandubh"], one).terms.any()


def test_a_teacher_is_asked_from_the_attackers_view(tool: ModuleType) -> None:
    rules = RULES["brandubh"]
    search = AlphaBetaV2(rules, table_megabytes=1)
    # The king stands on a line to a corner: he wins with his move, and nobody stops him in time.
    for to_play in SIDES:
        lost = Game.from_position(rules, "/2K4/7/7/7/3t3/7/7/", to_play)
        assert tool.ask_teacher(search, lost, 500) < 0.05
    even = tool.ask_teacher(search, Game(rules), 2000)
    assert 0.2 < even < 0.8


def test_with_a_teacher_positions_are_fitted_to_what_it_finds(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    weights = []
    for share in ("0", "1"):
        file = tmp_path / f"{share}.json"
        arguments = ("--games=20", "--nodes=30", "--rounds=1", "--match=0", "--teacher=100", f"--result={share}")
        assert tune(tool, monkeypatch, "brandubh", *arguments, f"--out={file}") == 0
        weights.append(json.loads(file.read_text()))
    assert weights[0]["positions"] == weights[1]["positions"]  # the same games
    assert weights[0]["weights"] != weights[1]["weights"]


def test_bad_arguments_are_refused(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, said in (
        (["--games=3"], "--games 3: at least 20 are needed"),
        ([f"--start={tmp_path}/none.json"], "none.json: these weights cannot be used"),
        (["--result=1.5"], "--result 1.5: a share from 0 to 1 is needed"),
        ([f"--out={tmp_path}/nowhere/w.json"], "does not exist"),
    ):
        with pytest.raises(SystemExit):
            tune(tool, monkeypatch, "brandubh", *arguments)
        assert said in capsys.readouterr().err
