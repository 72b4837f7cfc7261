"""Muon: what its steps are like."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.muon import WEIGHT_DECAY, Muon, orthogonal


@given(st.integers(1, 4), st.integers(1, 24), st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_singular_values_become_alike_and_vectors_stay(
    number: int, rows: int, columns: int, seed: int, scale: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    left = torch.linalg.qr(torch.randn(number, rows, rows, generator=generator)).Q
    right = torch.linalg.qr(torch.randn(number, columns, columns, generator=generator)).Q
    rank = min(rows, columns)
    values = scale * (0.05 + 0.95 * torch.rand(number, rank, generator=generator))
    found = orthogonal((left[:, :, :rank] * values[:, None]) @ right[:, :rank])
    inner = left.mT @ found @ right.mT
    diagonal = inner[:, :rank, :rank].diagonal(dim1=1, dim2=2)
    assert ((diagonal > 0.3) & (diagonal < 1.3)).all()
    assert (inner[:, :rank, :rank] - torch.diag_embed(diagonal)).abs().max() < 1e-2


def test_no_gradient_moves_nothing_but_the_decay() -> None:
    weight = torch.nn.Parameter(torch.ones(4, 3, 3, 3))
    optimiser = Muon([weight], lr=0.5)
    weight.grad = torch.zeros_like(weight)
    optimiser.step()
    np.testing.assert_allclose(weight.detach().numpy(), 1 - 0.5 * WEIGHT_DECAY)


def test_the_scale_of_gradients_does_not_count() -> None:
    gradients = torch.randn(5, 8, 6, 3, 3, generator=torch.Generator().manual_seed(1))
    weights = [torch.nn.Parameter(torch.ones(8, 6, 3, 3)) for _ in range(2)]
    for weight, scale in zip(weights, (1.0, 1e3)):
        optimiser = Muon([weight], lr=0.1)
        for gradient in gradients:
            weight.grad = scale * gradient
            optimiser.step()
    torch.testing.assert_close(weights[0], weights[1], atol=1e-4, rtol=1e-4)


def test_weights_of_other_shapes_and_strides_learn_side_by_side() -> None:
    """Together or alone, channels last or not: the same steps."""
    generator = torch.Generator().manual_seed(2)
    starts = [torch.randn(8, 4, 3, 3, generator=generator) for _ in range(2)] + [torch.randn(4, 8, 3, 3)]
    gradients = [torch.randn(start.shape, generator=generator) for start in starts]

    def after(indices: list[int], form: torch.memory_format) -> list[torch.Tensor]:
        weights = [torch.nn.Parameter(starts[i].clone(memory_format=form)) for i in indices]
        optimiser = Muon(weights, lr=0.1)
        for _ in range(3):
            for weight, i in zip(weights, indices):
                weight.grad = gradients[i].clone(memory_format=form)
            optimiser.step()
        return [weight.detach() for weight in weights]

    together = after([0, 1, 2], torch.channels_last)
    for i, weight in enumerate(together):
        torch.testing.assert_close(weight, after([i], torch.contiguous_format)[0], atol=1e-5, rtol=1e-4)
        assert (weight - starts[i]).norm() > 0.1


@pytest.mark.parametrize("steps", [1, 20])
def test_a_step_is_as_long_as_the_rate(steps: int) -> None:
    weight = torch.nn.Parameter(torch.zeros(6, 4, 3, 3))
    optimiser = Muon([weight], lr=0.1)
    gradient = torch.randn(weight.shape, generator=torch.Generator().manual_seed(3))
    for _ in range(steps):
        weight.grad = gradient.clone()
        optimiser.step()
    longest = float(torch.linalg.matrix_norm(weight.detach().flatten(1), 2))
    assert 0.6 * 0.1 * steps < longest < 1.3 * 0.1 * steps
