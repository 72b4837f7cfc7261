"""What shows that learning has broken down, and what is said of a side that never wins."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import health
from training.command import main
from training.config import BalanceConfig
from training.health import Collapse, Health, Values, compare_values
from training.shard import Shard

CELLS, MOVES = 49, 20
TINY = [
    *("--config", str(Path(__file__).resolve().parents[2] / "configs" / "smoke.yaml")),
    *("--selfplay.games_per_group", "8", "--selfplay.max_plies", "20", "--run.checkpoint_every", "1"),
    *("--replay.minimum", "20", "--learner.batch", "16"),
    *("--measure.final_games", "0", "--monitor.tensorboard", "false"),
]


def shard(positions: int = 400, attackers_wins: int = 0, defenders_wins: int = 0, draws: int = 0) -> Shard:
    """Positions of both sides in turn, whose results alternate in pairs; and games of which only the ends matter."""
    games = attackers_wins + defenders_wins + draws
    inputs = np.zeros((positions, CELLS + 3), np.int8)
    inputs[:, CELLS] = np.arange(positions) % 2
    inputs[:, 0] = np.arange(positions) // 2 % 2
    winner = np.repeat(np.array([1, -1, 0], np.int8), (attackers_wins, defenders_wins, draws))
    empty: dict[str, Any] = {name: np.zeros(0) for name in Shard.__dataclass_fields__ if name != "counters"}
    return Shard(**empty | {
        "inputs": inputs,
        "policy_offsets": np.arange(positions + 1) * MOVES,
        "policy_weight": np.ones(positions, np.float32),
        "value": (1 - 2 * inputs[:, 0]).astype(np.float32),
        "winner": winner,
        "reason": np.ones(games, np.int8),
    })  # fmt: skip


class Answer:
    """An evaluator whose values are a function of (result, to_play)."""

    def __init__(self, results: float, sides: float = 0.0) -> None:
        self.results, self.sides = results, sides

    def __call__(self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray,
                 values: np.ndarray) -> None:  # fmt: skip
        assert actions.shape == logits.shape
        assert not counts.any()
        values[:] = self.results * (1 - 2.0 * inputs[:, 0]) + self.sides * (1 - 2.0 * inputs[:, CELLS])


def test_values_are_held_against_results() -> None:
    oracle, blind, wrong = (compare_values(Answer(scale), shard()) for scale in (1, 0, -1))
    assert oracle and blind and wrong
    assert (oracle.explained, blind.explained, wrong.explained) == pytest.approx((1, 0, -3))
    assert (oracle.spread, oracle.outcomes, blind.spread) == pytest.approx((1, 1, 0))
    assert oracle.metrics()["values/explained"] == oracle.explained
    assert compare_values(Answer(1), shard(0)) is None


@pytest.mark.parametrize(("answer", "positions", "flat"), [
    (Answer(0.5), 400, False),
    (Answer(0.01), 400, True),  # nearly the same for all
    (Answer(0.0, sides=0.8), 400, True),  # the attackers win, whatever there is on the board
    (Answer(0.01), 40, False),  # too few to tell
])  # fmt: skip
def test_what_counts_as_flat(answer: Answer, positions: int, flat: bool) -> None:
    values = compare_values(answer, shard(positions))
    assert values is not None
    assert values.flat == flat


def test_a_constant_is_right_where_all_games_end_alike() -> None:
    assert not Values(0.0, 0.0, 0.1, 0.1, 0.0, 400).flat


def watch(state: Health, scale: float, losses: dict[str, float], iterations: range, steps: int = 5000) -> None:
    for iteration in iterations:
        state.watch(iteration, steps, compare_values(Answer(scale), shard()), losses, shard())


FINE = {"losses/policy": 2.0, "losses/value": 0.5}


def test_a_value_that_stays_flat_is_a_collapse_and_one_that_recovers_is_not() -> None:
    state = Health(BalanceConfig())
    watch(state, 0.0, FINE, range(1, 20), steps=500)  # a network begins flat
    watch(state, 0.0, FINE, range(20, 27))
    watch(state, 0.5, FINE, range(27, 28))
    watch(state, 0.0, FINE, range(28, 35))
    with pytest.raises(Collapse, match=r"The value has collapsed: .*\(spread 0.000\), .*\(spread 1.00\)") as collapse:
        watch(state, 0.0, FINE, range(35, 36))
    assert collapse.value.since == 28


@pytest.mark.parametrize(("name", "bad", "bearable"), [("policy", 6.1, 5.9), ("value", 2.1, 1.9)])
def test_losses_far_worse_than_blind_guesses_are_a_collapse(name: str, bad: float, bearable: float) -> None:
    state = Health(BalanceConfig())  # a blind policy has a loss of ln(20) = 3.0, a blind value one of 1
    watch(state, 0.5, FINE | {f"losses/{name}": bearable}, range(1, 30))
    watch(state, 0.5, {}, range(30, 31))
    with pytest.raises(Collapse, match=rf"losses/{name} \({bad:.2f}\) has been far worse") as collapse:
        watch(state, 0.5, FINE | {f"losses/{name}": bad}, range(31, 60))
    assert collapse.value.since == 31


@pytest.mark.parametrize(("settings", "ratio", "advice"), [
    ({"mode": "off"}, 0, "--balance.mode steered"),
    ({"mode": "steered", "maximum": 2.0}, 8, "raise --balance.maximum"),
    ({"mode": "steered", "by": "temperature"}, 4, "The other side draws its moves at temperature 1.00, and more from"),
    ({"mode": "steered", "maximum": 2.0}, 4, "2.0 times the other side's simulations, and more from game to game"),
])  # fmt: skip
def test_a_side_that_never_wins_is_spoken_of_once_in_a_while(settings: dict, ratio: int, advice: str) -> None:
    state = Health(BalanceConfig(**settings))
    said = [state.lopsided(shard(attackers_wins=1, defenders_wins=98, draws=1), ratio) for _ in range(120)]
    spoken = [number for number, words in enumerate(said) if words]
    assert spoken == [9, 59, 109]  # a thousand games, then every fiftieth iteration
    words = said[9] or ""
    assert words.startswith("The attackers have won 1.0% of the last 1,000 games")
    assert advice in words


def test_the_other_side_and_nobody_are_spoken_of_too() -> None:
    state = Health(BalanceConfig(mode="steered", maximum=2.0))
    assert "The defenders have won 0.0%" in (state.lopsided(shard(attackers_wins=2000), -8) or "")
    assert "raise --balance.maximum" in (Health(BalanceConfig()).lopsided(shard(attackers_wins=2000), -8) or "")
    assert "won by anybody" in (Health(BalanceConfig()).lopsided(shard(draws=2000), 0) or "")
    assert Health(BalanceConfig()).lopsided(shard(attackers_wins=30, defenders_wins=970), 0) is None


def test_old_games_are_forgotten() -> None:
    state = Health(BalanceConfig())
    assert state.lopsided(shard(attackers_wins=500, defenders_wins=500), 0) is None
    for _ in range(9):
        assert state.lopsided(shard(defenders_wins=100), 0) is None
    assert state.lopsided(shard(defenders_wins=100), 0) is not None


def test_a_run_whose_value_learns_nothing_is_stopped_and_names_the_network_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("FIRST_STEPS", 30), ("PATIENCE", 2), ("FEWEST", 10), ("MIXED", 0.0)):
        monkeypatch.setattr(health, name, number)
    run = tmp_path / "run"
    blind = ["--learner.value_weight", "0", "--learner.outlook_weight", "0", "--run.iterations", "20"]
    assert main([*TINY, "--out", str(run), *blind]) == 1
    message = capsys.readouterr().err
    assert message.startswith("The value has collapsed: for 2 iterations")
    reached = max(int(path.name) for path in (run / "iterations").iterdir())
    good = run / "checkpoints" / f"{reached - 2:06d}.safetensors"
    assert reached > 3
    assert f"The last good network is {good} (iteration {reached - 2})" in message
    assert good.exists()
    assert f"--init {good}" in message
    # It is no dead end: what stopped it is only noticed after as many iterations again.
    assert main(["--resume", str(run), "--run.iterations", str(reached + 1)]) == 0


def test_a_network_that_answers_no_numbers_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise FloatingPointError("the evaluator answered row 3 of 8 with value nan")

    run = tmp_path / "run"
    assert main([*TINY, "--out", str(run), "--run.iterations", "2"]) == 0
    monkeypatch.setattr("training.group.require_numbers", broken)
    assert main(["--resume", str(run), "--run.iterations", "4"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("the evaluator answered row 3 of 8 with value nan\nThe last good network is ")
    assert f"{run / 'checkpoints' / '000001.safetensors'} (iteration 1)" in message
