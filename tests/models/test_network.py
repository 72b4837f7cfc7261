"""The network: shapes, what its numbers mean, and that the fast form says the same as the form that learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from env import RULES
from env.encoding import action_squares, input_size
from models import NetworkConfig, PolicyValueNet
from models.folded import FoldedConv, FoldedNetwork, has_fused_convolutions

SMALL = NetworkConfig(
    blocks=2, channels=8, input_channels=8, pool_every=2, policy_channels=8, value_channels=4, value_hidden=8
)


def some_inputs(size: int, batch: int, seed: int = 0) -> Tensor:
    """Random rows of the encoding, every code, side, occurrence and budget among them: int8 [batch, S+3]."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 5, (batch, size * size + 3))
    rows[:, -3] = random.integers(0, 2, batch)
    rows[:, -2] = random.integers(0, 4, batch)
    rows[:, -1] = random.integers(-8, 9, batch)
    return torch.from_numpy(rows.astype(np.int8))


def lively(network: PolicyValueNet) -> PolicyValueNet:
    """Give every weight and statistic a value that shows, as training would, and put it into evaluation mode."""
    generator = torch.Generator().manual_seed(1)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_(generator=generator)
            module.running_var.uniform_(0.5, 2, generator=generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return network.eval()


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_output_has_a_logit_for_every_action_and_a_value_in_range(rules):
    network = lively(PolicyValueNet(rules.size, SMALL))
    inputs = some_inputs(rules.size, 5)
    assert inputs.shape[1] == input_size(rules)
    with torch.inference_mode():
        output = network(inputs)
    assert output.logits.shape == (5, rules.actions)
    assert output.value.shape == (5,)
    assert output.wdl.shape == (5, 3)
    assert all(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()) for tensor in output)
    assert float(output.value.abs().max()) < 1


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_logits_lie_at_the_numbers_of_the_moves_that_leave_the_square(rules):
    """A policy head made by hand that sees the king and likes to move him two squares east."""
    network = PolicyValueNet(rules.size, SMALL).eval()
    king, east, distance = 3, 1, 2
    with torch.no_grad():
        for parameter in network.parameters():  # the blocks stay so: nothing but the residual path
            parameter.zero_()
        weights = dict(network.named_parameters())
        weights["embedding.pieces"][:, king, 0] = 1
        weights["stem.conv.weight"][0, 0, 1, 1] = 1  # the centre of the window: the square itself
        weights["stem.norm.weight"][0] = 1
        weights["policy_conv.conv.weight"][0, 0] = 1
        weights["policy_conv.norm.weight"][0] = 1
        weights["policy_output.weight"][east * (rules.size - 1) + distance - 1, 0] = 1
    row = torch.zeros((1, input_size(rules)), dtype=torch.int8)
    square = 2 * rules.size + 1  # b3
    row[0, square] = king
    liked = network(row).logits[0].nonzero().flatten().tolist()
    assert [action_squares(rules, action) for action in liked] == [(square, square + 2)]


def test_everything_in_the_row_reaches_the_output():
    network = lively(PolicyValueNet(7, SMALL))
    row = some_inputs(7, 1)
    row[0, 49:] = 0
    before = network(row).value.item()
    for column, value in ((3, (int(row[0, 3]) + 1) % 5), (49, 1), (50, 1), (50, 2), (51, 4)):
        changed = row.clone()
        changed[0, column] = value
        assert network(changed).value.item() != before
    many, more = row.clone(), row.clone()
    many[0, 50], more[0, 50] = 2, 100
    assert network(many).value.item() == network(more).value.item()


def test_the_pieces_that_can_come_to_a_square_reach_the_output_of_a_network_that_is_told():
    row = some_inputs(7, 1)
    row[0, 3] = 0
    told = lively(PolicyValueNet(7, SMALL.model_copy(update={"reach": True})))
    untold = lively(PolicyValueNet(7, SMALL))
    values = {told: {told(row).value.item()}, untold: {untold(row).value.item()}}
    for reach in range(1, 16):
        row[0, 3] = 8 * reach
        for network, seen in values.items():
            seen.add(network(row).value.item())
    assert len(values[told]) == 16
    assert len(values[untold]) == 1


def test_fresh_network_has_no_preferences():
    with torch.inference_mode():
        output = PolicyValueNet(7, SMALL).eval()(some_inputs(7, 16))
    assert float(output.logits.abs().max()) < 0.5
    assert float(output.value.abs().max()) < 0.2


@pytest.mark.parametrize("reach", [False, True])
@pytest.mark.parametrize("pool_every", [0, 1, 3])
@pytest.mark.parametrize("fused", [False, True])
def test_folded_network_says_the_same(pool_every, fused, reach):
    if fused and not has_fused_convolutions(torch.float32):
        pytest.skip("this build of torch has no fused convolutions")
    config = SMALL.model_copy(update={"blocks": 3, "pool_every": pool_every, "reach": reach})
    network = lively(PolicyValueNet(7, config))
    folded = FoldedNetwork(network, torch.device("cpu"), torch.float32)
    for module in folded.modules():
        if isinstance(module, FoldedConv):
            module.fused = fused
    inputs = some_inputs(7, 9)
    with torch.inference_mode():
        for expected, found in zip(network(inputs), folded(inputs)):
            assert float(expected.std()) > 1e-3
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_folding_draws_no_random_numbers():
    network = PolicyValueNet(7, SMALL)
    state = torch.get_rng_state()
    FoldedNetwork(network, torch.device("cpu"), torch.bfloat16)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("fields", [{"blocks": 0}, {"channels": 10**9}, {"blocks": "4"}, {"depth": 4}])
def test_config_refuses_what_makes_no_network(fields):
    with pytest.raises(ValidationError, match=next(iter(fields))):
        NetworkConfig.model_validate(fields)


def test_size_out_of_range_is_refused():
    with pytest.raises(ValueError, match="size 16"):
        PolicyValueNet(16, SMALL)
