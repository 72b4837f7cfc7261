"""Muon: an optimiser for the weights of convolutions, whose steps are as long in every direction.

Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", kellerjordan.github.io/posts/muon. A
convolution's weights are taken as a matrix, outputs by inputs; the momentum of its gradient is replaced by the nearest
matrix whose singular values are all alike, so that rare directions are learnt as fast as common ones. PyTorch has it
from 2.9 on, for matrices only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.95
"""Of the gradient, after Nesterov; as in the source."""

WEIGHT_DECAY = 0.01
"""Decoupled. A normalisation follows every convolution, so that only directions of weights matter: decay keeps their
length, and by it how far a step turns them, from drifting (van Laarhoven 2017, "L2 regularization versus batch and
weight normalization")."""

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the source's quintic: it takes singular values of 0.01 to about 1 in ...
TURNS = 5  # ... five turns; "about" is 0.7 to 1.2, which the source found to do no harm


class Muon(torch.optim.Optimizer):
    """Steps of length `lr` in every singular direction.

    Args:
        parameters: weights of two dimensions or more, the first of which counts outputs.
        lr: length of a step, by spectral norm.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["momentum"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make a step with the gradients that are there."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[torch.nn.Parameter]] = {}
            for parameter in group["params"]:
                alike.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in alike.items():
                directions = []
                for parameter in parameters:
                    assert parameter.grad is not None
                    momentum = self.state[parameter]["momentum"]
                    momentum.lerp_(parameter.grad, 1 - MOMENTUM)
                    directions.append(parameter.grad.lerp(momentum, MOMENTUM).flatten(1))
                outputs, inputs = directions[0].shape
                length = group["lr"] * max(1.0, outputs / inputs) ** 0.5
                for parameter, direction in zip(parameters, orthogonal(torch.stack(directions))):
                    parameter.mul_(1 - group["lr"] * WEIGHT_DECAY).sub_(direction.view(shape), alpha=length)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices with the singular vectors of `matrices`, float32 [N, rows, columns], and singular values near 1.

    Newton-Schulz iteration, as in the source: products only.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(TURNS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x
