"""The evaluator: the right numbers at the right moves, whatever the batch and the precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_network import SMALL, lively, some_inputs

from env import Game
from env.encoding import position_input
from env.tables import tables
from models import Evaluator, NetworkConfig, PolicyValueNet, choose_dtype
from models.fixed_batch import FixedBatch
from models.folded import FoldedNetwork

ACTIONS = 7 * 7 * 4 * 6
MOST = 4 * 49


@pytest.fixture(scope="module")
def network():
    return lively(PolicyValueNet(7, SMALL))


def ask(evaluator, inputs, actions, counts):
    logits = np.full((len(inputs), MOST), np.nan, np.float32)
    values = np.full(len(inputs), np.nan, np.float32)
    evaluator(inputs, actions, counts, logits, values)
    return logits, values


def some_questions(batch, seed=0):
    random = np.random.default_rng(seed)
    actions = np.stack([random.permutation(ACTIONS)[:MOST] for _ in range(batch)]).astype(np.int16)
    counts = random.integers(0, 60, batch).astype(np.int32)
    for row, count in zip(actions, counts):
        row[count:] = random.choice([-1, 32767, -32768])  # unspecified, and no action numbers
    return some_inputs(7, batch, seed).numpy(), actions, counts


@pytest.mark.parametrize("fixed", [False, True])  # True: what a GPU does, without a GPU
@pytest.mark.parametrize("batch", [1, 4, 11, 64])
def test_logits_are_those_of_the_actions_asked_for(network, batch, fixed):
    inputs, actions, counts = some_questions(11)
    logits, values = ask(Evaluator(network, dtype="float32", batch=batch, fixed=fixed), inputs, actions, counts)
    with torch.inference_mode():
        expected = network(torch.from_numpy(inputs))
    np.testing.assert_allclose(values, expected.value.numpy(), atol=1e-4)
    for b, count in enumerate(counts):
        chosen = expected.logits[b].numpy()[actions[b, :count]]
        np.testing.assert_allclose(logits[b, :count], chosen, rtol=1e-4, atol=1e-4)


def test_bfloat16_is_close(network):
    inputs, actions, counts = some_questions(32)
    exact, exact_values = ask(Evaluator(network, dtype="float32"), inputs, actions, counts)
    logits, values = ask(Evaluator(network, dtype="bfloat16"), inputs, actions, counts)
    there = np.arange(MOST) < counts[:, None]
    assert np.abs(logits - exact)[there].max() < 0.1 * exact[there].std()
    assert np.abs(values - exact_values).max() < 0.05
    assert values.dtype == logits.dtype == np.float32


def test_a_real_position_and_nothing_at_all(network):
    game = Game("brandubh")
    row, legal = position_input(tables(game.rules), game.arrays, game.history)
    actions = np.zeros((1, MOST), np.int16)
    actions[0, : len(legal)] = legal
    evaluator = Evaluator(network, dtype="float32")
    logits, values = ask(evaluator, row[None], actions, np.array([len(legal)], np.int32))
    assert np.isfinite(logits[0, : len(legal)]).all()
    assert -1 < values[0] < 1
    ask(evaluator, row[None][:0], actions[:0], np.zeros(0, np.int32))


def test_outlook_is_a_distribution_in_the_order_win_draw_loss(network):
    inputs = some_inputs(7, 9).numpy()
    outlook = Evaluator(network, dtype="float32", batch=4).outlook(inputs)
    with torch.inference_mode():
        expected = network(torch.from_numpy(inputs)).wdl.softmax(1).numpy()
    np.testing.assert_allclose(outlook, expected, atol=1e-5)
    np.testing.assert_allclose(outlook.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_values_are_mixed_of_the_discounted_ones_and_the_outlook(network, share, fixed):
    questions = some_questions(9)
    evaluator = Evaluator(network, dtype="float32", batch=4, fixed=fixed, discounted_share=share)
    logits, values = ask(evaluator, *questions)
    plain_logits, discounted = ask(Evaluator(network, dtype="float32", batch=4), *questions)
    win, _, loss = evaluator.outlook(questions[0]).T
    np.testing.assert_allclose(values, share * discounted + (1 - share) * (win - loss), atol=1e-5)
    there = np.arange(MOST) < questions[2][:, None]
    np.testing.assert_allclose(logits[there], plain_logits[there], atol=1e-5)
    assert np.abs(win - loss - discounted).max() > 0.05  # or they could not be told apart


def test_weights_are_a_copy_until_loaded_anew():
    network = lively(PolicyValueNet(7, SMALL))
    evaluator = Evaluator(network, dtype="float32")
    questions = some_questions(3)
    before = ask(evaluator, *questions)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.3)
    np.testing.assert_array_equal(ask(evaluator, *questions)[1], before[1])
    evaluator.load(network)
    after = ask(evaluator, *questions)
    assert not np.array_equal(after[1], before[1])
    np.testing.assert_array_equal(after[1], ask(Evaluator(network, dtype="float32"), *questions)[1])


def test_another_network_is_not_taken(network):
    with pytest.raises(ValueError, match="11"):
        Evaluator(network, dtype="float32").load(PolicyValueNet(11, SMALL))
    with pytest.raises(ValueError, match="blocks=1"):
        Evaluator(network, dtype="float32").load(PolicyValueNet(7, SMALL.model_copy(update={"blocks": 1})))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"dtype": "float16"}, "float32, bfloat16"),
        ({"batch": 0}, "batch"),
        ({"discounted_share": 1.5}, "allowed are 0 to 1"),
    ],
)
def test_impossible_settings_are_refused(network, arguments, said):
    with pytest.raises(ValueError, match=said):
        Evaluator(network, **arguments)


def test_dtype_is_chosen_by_the_margin(network):
    choice = choose_dtype(network, batch=8, seconds=0.05)
    assert set(choice.speeds) == {"float32", "bfloat16"}
    faster = choice.speeds["bfloat16"] > 1.15 * choice.speeds["float32"]
    assert choice.dtype == ("bfloat16" if faster else "float32")


def test_auto_is_one_of_them_and_stays():
    network = PolicyValueNet(7, NetworkConfig(blocks=1, channels=16))
    chosen = {Evaluator(network, batch=8).dtype for _ in range(2)}
    assert len(chosen) == 1
    assert chosen <= {"float32", "bfloat16"}


def test_fixed_batches_answer_every_question_anew_and_with_the_present_weights(network):
    evaluator = Evaluator(network, dtype="float32", batch=40, fixed=True)
    plain = Evaluator(network, dtype="float32")
    torch.manual_seed(5)
    other = lively(PolicyValueNet(7, SMALL))
    for source, rows, seed in ((network, 11, 0), (network, 40, 1), (network, 3, 2), (other, 11, 0), (other, 90, 3)):
        evaluator.load(source)
        plain.load(source)
        inputs, actions, counts = some_questions(rows, seed)
        found, expected = (ask(each, inputs, actions, counts) for each in (evaluator, plain))
        there = np.arange(MOST) < counts[:, None]
        np.testing.assert_allclose(found[0][there], expected[0][there], atol=1e-4)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-4)
    np.testing.assert_allclose(evaluator.outlook(inputs), plain.outlook(inputs), atol=1e-4)
    assert np.isfinite(ask(evaluator, inputs, actions, np.zeros_like(counts))[1]).all()


def test_few_sizes_serve_all_questions(network):
    fixed = FixedBatch(FoldedNetwork(network, torch.device("cpu"), torch.float32), 40)
    for rows in range(1, 41):
        inputs, actions, counts = some_questions(rows)
        fixed(inputs, actions, int(counts.max()), np.empty((rows, MOST), np.float32), np.empty(rows, np.float32))
    assert fixed.sizes == [(8, 64), (32, 64), (40, 64)]
