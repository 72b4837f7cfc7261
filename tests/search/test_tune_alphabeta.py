"""The script that fits the weights of `alphabeta-v2`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from env import RULES
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
    assert (first.pop("command") == second.pop("command")) is False  # they name different files
    assert first == second
    assert first["games"] == 20
    assert load_weights(RULES["brandubh"], one).terms.any()


def test_bad_arguments_are_refused(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, said in (
        (["--games=3"], "--games 3: at least 20 are needed"),
        ([f"--out={tmp_path}/nowhere/w.json"], "does not exist"),
    ):
        with pytest.raises(SystemExit):
            tune(tool, monkeypatch, "brandubh", *arguments)
        assert said in capsys.readouterr().err
