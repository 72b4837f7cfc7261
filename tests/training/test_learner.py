"""The learner: it learns what it is shown, whatever the number of threads, and goes on where it stopped."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from env import Game
from env.encoding import position_input, square_symmetries
from env.notation import format_position
from env.tables import tables
from models import NetworkConfig, PolicyValueNet
from training.config import LearnerConfig
from training.learner import Learner, LearnerError, Symmetries
from training.replay import Batch

SMALL = NetworkConfig(
    blocks=2, channels=8, input_channels=8, pool_every=2, policy_channels=8, value_channels=4, value_hidden=8
)


def positions(count: int) -> list[Game]:
    """The first positions of a game in which everybody makes the first legal move."""
    games = [Game("brandubh")]
    while len(games) < count:
        games.append(games[-1].copy())
        games[-1].play(games[-1].legal_moves()[0])
    return games


def make_batch(count: int = 16, seed: int = 0) -> Batch:
    """Real positions with targets drawn at random, each for one side of the coin or the other; half train no policy."""
    random = np.random.default_rng(seed)
    rows = [position_input(tables(game.rules), game.arrays, game.history) for game in positions(count)]
    actions = np.full((count, max(len(legal) for _, legal in rows)), -1, np.int16)
    probs = np.zeros(actions.shape, np.float32)
    for b, (_, legal) in enumerate(rows):
        actions[b, : len(legal)] = legal
        probs[b, random.integers(len(legal))] = 1
    value = random.choice([-0.9, 0.9], count).astype(np.float32)
    return Batch(
        inputs=np.stack([row for row, _ in rows]),
        actions=actions,
        probs=probs,
        policy_weight=(np.arange(count) % 2).astype(np.float32),
        value=value,
        outlook=np.stack([value > 0, np.zeros(count), value < 0], axis=1).astype(np.float32),
    )


def make_learner(seed: int = 0, network: NetworkConfig = SMALL, **settings) -> Learner:
    torch.manual_seed(seed)
    settings = {"warmup_steps": 5, "learning_rate": 1e-2, "precision": "float32"} | settings
    return Learner(PolicyValueNet(7, network), LearnerConfig(batch=16, **settings), seed=seed)


def everything(learner: Learner) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner.state().items()}


@pytest.mark.parametrize(("precision", "muon_rate"), [("float32", 0.0), ("bfloat16", 0.0), ("float32", 0.05)])
def test_learns_a_few_positions_by_heart(precision, muon_rate):
    network = SMALL.model_copy(update={"channels": 16, "policy_channels": 16})
    rates = {"learning_rate": 5e-3, "muon_rate": muon_rate}
    learner = make_learner(network=network, precision=precision, ema_decay=0.9, parts=1, **rates)
    batch = make_batch()
    losses = [learner.step(batch) for _ in range(200)]
    first = losses[0]
    last = {name: np.mean([each[name] for each in losses[-20:]]) for name in first}
    assert first["losses/policy"] > 2
    assert last["losses/policy"] < 1
    assert first["losses/value"] > 0.5
    assert last["losses/value"] < 0.1
    assert first["losses/outlook"] > 1
    assert last["losses/outlook"] < 0.2
    # The averaged network has learnt it too.
    with torch.inference_mode():
        value = learner.average(torch.from_numpy(batch.inputs)).value.numpy()
    assert not learner.average.training
    assert np.mean((value - batch.value) ** 2) < 0.1


@pytest.mark.parametrize("muon_rate", [0.0, 0.05])
def test_number_of_threads_changes_nothing(muon_rate):
    """Bit for bit, and also where torch may use more than one thread."""
    batches = [make_batch(seed=seed) for seed in range(3)]
    results = []
    before = torch.get_num_threads()
    try:
        for threads, torch_threads in ((0, 1), (0, 2), (1, 1), (2, 1), (2, 2)):
            torch.set_num_threads(torch_threads)
            learner = make_learner(muon_rate=muon_rate)
            with ThreadPoolExecutor(max(threads, 1)) as pool:
                losses = [learner.step(batch, pool if threads else None) for batch in batches]
            assert torch.get_num_threads() == torch_threads
            results.append((losses, everything(learner)))
    finally:
        torch.set_num_threads(before)
    assert all(result == results[0] for result in results)
    assert make_learner(seed=1).step(batches[0]) != results[0][0][0]


@pytest.mark.parametrize("muon_rate", [0.0, 0.05])
def test_a_restored_learner_goes_on_bit_for_bit(muon_rate):
    batches = [make_batch(seed=seed) for seed in range(6)]
    learner = make_learner(muon_rate=muon_rate)
    for batch in batches[:3]:
        learner.step(batch)
    state = learner.state()
    kept = {name: array.copy() for name, array in state.items()}
    expected = [learner.step(batch) for batch in batches[3:]]
    assert all(np.array_equal(state[name], kept[name]) for name in kept)  # a copy, not a view of what learns on
    other = make_learner(seed=5, muon_rate=muon_rate)
    other.restore(state)
    assert other.steps == 3
    assert [other.step(batch) for batch in batches[3:]] == expected
    assert everything(other) == everything(learner)


def test_the_averaged_network_is_normalised_by_what_it_sees_itself():
    learner = make_learner(ema_decay=0.9, learning_rate=0.05)
    for seed in range(20):
        learner.step(make_batch(seed=seed))
    before = everything(learner)
    batch = Batch(*(np.repeat(each, 32, axis=0) for each in make_batch(seed=9)))
    turned, _ = Symmetries(7, torch.device("cpu"))(
        torch.arange(8).repeat(len(batch.inputs) // 8),
        torch.from_numpy(batch.inputs),
        torch.zeros((len(batch.inputs), 1), dtype=torch.int16),
    )

    def off() -> float:
        """How far from mean 0 and variance 1 the stem's features are, before scale and shift."""
        found: list[torch.Tensor] = []
        norm = learner.average.stem.get_submodule("norm")
        assert isinstance(norm, torch.nn.BatchNorm2d)

        def keep(module: torch.nn.Module, arguments: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            found.append(output)

        handle = norm.register_forward_hook(keep)
        with torch.inference_mode():
            learner.average(turned)
        handle.remove()
        plain = (found[0] - norm.bias[:, None, None]) / norm.weight[:, None, None]
        return float(plain.mean((0, 2, 3)).abs().mean() + (plain.var((0, 2, 3)) - 1).abs().mean())

    unsettled = off()
    learner.settle(batch)
    assert off() < 0.3 * unsettled
    assert not any(module.training for module in learner.average.modules())
    after = everything(learner)
    changed = {name for name in before if after[name] != before[name]} - {"symmetries"}
    assert changed
    statistics = ("running_mean", "running_var", "num_batches_tracked")
    assert all(name.startswith("average/") and name.endswith(statistics) for name in changed)


def test_state_of_another_network_is_refused():
    learner = make_learner()
    before = everything(learner)
    larger = make_learner(network=SMALL.model_copy(update={"channels": 16}))
    with pytest.raises(LearnerError, match="another network"):
        learner.restore(larger.state())
    state = learner.state()
    del state["average/stem.conv.weight"]
    with pytest.raises(LearnerError, match=r"average/stem\.conv\.weight"):
        learner.restore(state)
    assert everything(learner) == before


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.05), (0.05, 0.0)])
def test_a_learner_goes_on_with_another_optimiser(before, after):
    learner, other = make_learner(muon_rate=before), make_learner(seed=5, muon_rate=after)
    for seed in range(3):
        learner.step(make_batch(seed=seed))
    state = learner.state()
    other.restore(state)
    restored = other.state()
    assert other.steps == 3
    assert all(np.array_equal(restored[name], array) for name, array in state.items() if name in restored)
    forgotten = [name for name in restored if name not in state]
    assert forgotten
    assert all(name.startswith("optimiser/") and not restored[name].any() for name in forgotten)
    other.step(make_batch(seed=4))
    incomplete = {name: array for name, array in state.items() if not name.startswith("optimiser/stem.conv.weight/")}
    with pytest.raises(LearnerError, match=r"optimiser/stem\.conv\.weight"):
        other.restore(incomplete)


def test_muon_learns_the_convolutions_that_see_neighbours_alone():
    learner, plain = make_learner(muon_rate=0.05), make_learner()
    learner.step(make_batch())
    plain.step(make_batch())
    ours, theirs = learner.state(), plain.state()
    differ = {name for name in theirs if name.startswith("network/") and not np.array_equal(ours[name], theirs[name])}
    assert "network/stem.conv.weight" in differ
    assert all(ours[name].ndim == 4 and ours[name].shape[2] == 3 for name in differ)


def test_positions_without_weight_train_no_policy():
    batch = make_batch()
    other = make_batch(seed=1)
    mixed = np.where(batch.policy_weight[:, None] > 0, batch.probs, other.probs)
    assert not np.array_equal(mixed, batch.probs)
    one, two = make_learner(), make_learner()
    assert one.step(batch) == two.step(batch._replace(probs=mixed))
    assert everything(one) == everything(two)


def test_no_policy_at_all_is_no_error():
    batch = make_batch()
    empty = batch._replace(
        policy_weight=np.zeros_like(batch.policy_weight),
        actions=np.full((16, 1), -1, np.int16),
        probs=np.zeros((16, 1), np.float32),
    )
    losses = make_learner().step(empty)
    assert losses["losses/policy"] == losses["policy/entropy"] == 0
    assert losses["losses/value"] > 0


def test_losses_are_what_they_are_called():
    """A fresh network is near uniform and near value 0, so that every number is known."""
    batch = make_batch()
    counts = (batch.actions >= 0).sum(1)
    spread = np.where(batch.actions >= 0, 1 / counts[:, None], 0).astype(np.float32)
    losses = make_learner().step(batch._replace(probs=spread))
    uniform = np.log(counts[batch.policy_weight > 0]).mean()
    assert losses["losses/policy"] == pytest.approx(uniform, abs=0.05)
    assert losses["policy/entropy"] == pytest.approx(uniform, abs=0.05)
    assert losses["policy/target_entropy"] == pytest.approx(uniform, abs=1e-4)
    assert losses["policy/kl"] == pytest.approx(0, abs=0.05)
    assert losses["losses/value"] == pytest.approx(0.81, abs=0.1)
    assert losses["losses/outlook"] == pytest.approx(math.log(3), abs=0.05)


def test_the_learning_rate_warms_up():
    learner = make_learner(warmup_steps=4, learning_rate=0.01)
    rates = [learner.step(make_batch())["learner/learning_rate"] for _ in range(7)]
    assert rates == pytest.approx([0.002, 0.004, 0.006, 0.008, 0.01, 0.01, 0.01])


def test_the_learning_rate_falls_with_the_root_of_the_steps():
    learner = make_learner(warmup_steps=1, learning_rate=0.01, decay_steps=2)
    rates = [learner.step(make_batch())["learner/learning_rate"] for _ in range(8)]
    np.testing.assert_allclose(rates, [0.005, 0.01, *(0.01 * np.sqrt(2 / np.arange(3, 9)))])


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_finite_stops_learning(broken):
    learner = make_learner()
    learner.step(make_batch())
    before = everything(learner)
    batch = make_batch()
    batch.value[3] = broken
    with pytest.raises(LearnerError, match=r"step 2: losses/value"):
        learner.step(batch)
    after = everything(learner)
    assert all(after[name] == before[name] for name in before if name.endswith(("weight", "bias", "exp_avg")))


def test_a_turned_position_has_the_turned_moves():
    """Symmetries commute with the rules: the moves of the turned position are the turned moves."""
    game = positions(6)[-1]
    row, legal = position_input(tables(game.rules), game.arrays, game.history)
    rows, actions = Symmetries(7, torch.device("cpu"))(
        torch.arange(8),
        torch.from_numpy(np.tile(row, (8, 1))),
        torch.from_numpy(np.tile(np.append(legal, -1).astype(np.int16), (8, 1))),
    )
    assert len(np.unique(rows.numpy(), axis=0)) > 1
    for symmetry, (turned, moves) in enumerate(zip(rows.numpy(), actions.numpy())):
        board = np.zeros(49, np.int8)
        board[square_symmetries(7)[symmetry]] = row[:49]
        np.testing.assert_array_equal(turned, np.concatenate((board, row[49:])))
        text = format_position(7, board & 3)
        again = Game.from_position("brandubh", text, game.to_play)
        assert sorted(moves[:-1]) == again.legal_actions().tolist()
        assert moves[-1] == -1
