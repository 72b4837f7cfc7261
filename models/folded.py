"""A network in the form that only answers: normalisation folded into convolutions, tables added up, any precision."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.network import ConvNorm, Embedding, Output, PolicyValueNet


class FoldedConv(nn.Module):
    """Stands in for `ConvNorm` with the normalisation folded in; overwrites the residual it is given.

    On CPUs with oneDNN the bias, the residual and ReLU are done while the result is in registers, through the
    operators that torch.compile uses there (measured: docs/LOG.md); elsewhere by plain calls.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, inputs: int, outputs: int, kernel: int, last_of_block: bool = False) -> None:
        super().__init__()
        self.padding = kernel // 2
        self.fused = False
        self.register_buffer("weight", torch.zeros(outputs, inputs, kernel, kernel))
        self.register_buffer("bias", torch.zeros(outputs))

    @torch.no_grad()
    def load(self, layer: ConvNorm) -> None:
        """Take over the weights of a `ConvNorm` as it is in evaluation mode."""
        norm = layer.norm
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        weight = layer.conv.weight * scale[:, None, None, None]
        bias = norm.bias - norm.running_mean * scale
        self.weight.copy_(weight)
        self.bias.copy_(bias)

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        if self.fused:
            one, padding = [1, 1], [self.padding, self.padding]
            arguments = (x, self.weight, self.bias, padding, one, one, 1)
            if residual is None:
                return torch.ops.mkldnn._convolution_pointwise(*arguments, "relu", [], "")
            fused_add = torch.ops.mkldnn._convolution_pointwise_.binary
            return fused_add(residual, *arguments, "add", 1.0, "relu", [], "")
        x = F.conv2d(x, self.weight, self.bias, padding=self.padding)
        return F.relu_(x if residual is None else x.add_(residual))


class FoldedEmbedding(Embedding):
    """`Embedding` with its table added up once."""

    summed: Tensor

    def __init__(self, size: int, width: int, reach: bool = False) -> None:
        super().__init__(size, width, reach)
        self.register_buffer("summed", super().table().detach())

    @torch.no_grad()
    def load(self, embedding: Embedding) -> None:
        self.budget.copy_(embedding.budget)
        self.summed.copy_(embedding.table())

    def table(self) -> Tensor:
        return self.summed


class FoldedNetwork(PolicyValueNet):
    """A network that only answers, with tower and policy head in `dtype`; the value's dense layers stay float32.

    Args:
        network: whose weights to copy; what it learns later does not show until `load`.
        device: where to compute.
        dtype: torch.float32 or torch.bfloat16.
        discounted_share: of the discounted value in the value it answers; the rest is its outlook's, win less loss.
    """

    def __init__(
        self, network: PolicyValueNet, device: torch.device, dtype: torch.dtype, discounted_share: float = 1.0
    ) -> None:
        with torch.device("meta"):  # no memory and no random numbers spent on weights that `load` overwrites
            super().__init__(network.size, network.config, FoldedConv)
            self.embedding = FoldedEmbedding(network.size, network.config.input_channels, network.config.reach)
        self.to(dtype)
        self.value_hidden.float()
        self.value_output.float()
        self.to_empty(device=device)
        self.requires_grad_(False).eval()
        if device.type == "cpu" and has_fused_convolutions(dtype):
            for module in self.modules():
                if isinstance(module, FoldedConv):
                    module.fused = True
        self._discounted_share = discounted_share
        self.load(network)

    def heads(self, x: Tensor, actions: Tensor | None = None) -> Output:
        """As a network that learns answers, but for the value where it is mixed."""
        output = super().heads(x, actions)
        share = self._discounted_share
        if share == 1.0:
            return output
        win, _, loss = output.wdl.softmax(1).unbind(1)
        return output._replace(value=share * output.value + (1 - share) * (win - loss))

    @torch.no_grad()
    def load(self, network: PolicyValueNet) -> None:
        """Take over the weights of a network of the same size and config; ValueError if it has others."""
        if (network.size, network.config) != (self.size, self.config):
            raise ValueError(
                f"cannot take over weights: this network is {self.size} squares wide with {self.config!r}, "
                f"the other {network.size} with {network.config!r}"
            )
        sources = dict(network.named_modules())
        for name, module in self.named_modules():
            source = sources[name] if name else network
            if isinstance(module, FoldedConv) and isinstance(source, ConvNorm):
                module.load(source)
            elif isinstance(module, FoldedEmbedding) and isinstance(source, Embedding):
                module.load(source)
            elif isinstance(module, nn.Linear) and isinstance(source, nn.Linear):
                module.weight.copy_(source.weight)
                module.bias.copy_(source.bias)


@functools.cache
def has_fused_convolutions(dtype: torch.dtype) -> bool:
    """Whether this build of torch has oneDNN's fused convolutions and they agree with the plain ones in `dtype`."""
    plain, fused = (FoldedConv(8, 8, 3).to(dtype).requires_grad_(False) for _ in range(2))
    ramp = torch.linspace(-1, 1, 8 * 8 * 3 * 3).view(8, 8, 3, 3)
    fused.fused = True
    for layer in (plain, fused):
        layer.weight.copy_(ramp)
        layer.bias.copy_(ramp[0, :, 0, 0])
        layer.weight = layer.weight.contiguous(memory_format=torch.channels_last)
    x = torch.cos(torch.arange(2 * 8 * 5 * 5)).view(2, 8, 5, 5).to(dtype).contiguous(memory_format=torch.channels_last)
    try:
        with torch.inference_mode():
            pairs = [(layer(x), layer(x, x.flip(0))) for layer in (plain, fused)]
    except (AttributeError, RuntimeError):  # no such operator, or none for this precision
        return False
    tolerance = 1e-4 if dtype == torch.float32 else 5e-2
    return all(torch.allclose(a.float(), b.float(), tolerance, tolerance) for a, b in zip(*pairs))
