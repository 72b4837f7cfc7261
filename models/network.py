"""The policy-value network: a small residual tower over the board.

After AlphaZero (Silver et al. 2018, "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play", methods): a tower of residual blocks with a policy head and a value head. Two things are taken from
KataGo (Wu 2019, "Accelerating self-play learning in Go", section 3.3 and appendix A): global pooling inside the tower
and in the value head. The policy head gives one logit for each way to leave each square. With `policy_pairs` it adds
to it how well the square that a move leaves and the one it goes to match, the product of a vector of each (as attention
does, Vaswani et al. 2017, "Attention is all you need", section 3.2.1): pieces go far, and what speaks for a move is
often to be seen only where it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

SIDES = 2
CODES = 5  # empty, attacker, defender, king, empty square on which a stop would end the game by repetition
OCCURRENCES = 3  # earlier occurrences of the position the network tells apart: 0, 1, more
REACHES = 16  # which pieces can come to an empty square: four bits above a cell's code
REACH_SHIFT, CODE_MASK = 3, 7
BUDGET_SCALE = 1 / 8  # budget ratios come in quarter steps of log2: four times the simulations is 1


class NetworkConfig(BaseModel):
    """Shape of a network. The limits keep a stranger's checkpoint from asking for more memory than a machine has."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    blocks: int = Field(default=4, ge=1, le=64, description="residual blocks in the tower")
    channels: int = Field(default=32, ge=4, le=512, description="channels of the tower; multiples of 16 are fastest")
    input_channels: int = Field(default=16, ge=4, le=128, description="channels of the learned embedding of squares")
    pool_every: int = Field(
        default=2, ge=0, le=64, description="every how many blocks one pools over the board; 0: none"
    )
    reach: bool = Field(
        default=False,
        description="whether the network is told which pieces can come to each empty square, and where the king can be "
        "after two moves; off by default, since networks made before there was this know nothing of it",
    )
    policy_channels: int = Field(default=32, ge=4, le=512, description="hidden channels of the policy head")
    policy_pairs: int = Field(
        default=0,
        ge=0,
        le=256,
        description="length of the vectors by which the policy head matches the square that a move leaves with the one "
        "it goes to; 0: it looks at the square that it leaves only",
    )
    value_channels: int = Field(default=16, ge=4, le=512, description="channels pooled by the value head")
    value_hidden: int = Field(default=32, ge=4, le=2048, description="hidden units of the value head")


class Output(NamedTuple):
    """What a network says about a batch of B positions, all float32.

    Attributes:
        logits: [B, actions], policy logits by action number (see `env.encoding`), illegal actions included; [B, K]
            where K actions were asked about.
        value: [B], in (-1, 1), expected discounted result from the view of `to_play`.
        wdl: [B, 3], logits of win, draw and loss of `to_play`, undiscounted.
    """

    logits: Tensor
    value: Tensor
    wdl: Tensor


class ConvNorm(nn.Module):
    """Convolution, batch normalisation, an optional residual, ReLU; [B, inputs, n, n] to [B, outputs, n, n].

    `last_of_block` starts the normalisation at scale 0, so that a fresh block passes its input on unchanged (Goyal et
    al. 2017, "Accurate, large minibatch SGD", section 5.1).
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, last_of_block: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        if last_of_block:
            nn.init.zeros_(self.norm.weight)

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        x = self.norm(self.conv(x))
        return F.relu(x if residual is None else x + residual)


class Embedding(nn.Module):
    """Rows of `env.encoding` to channels, int8 [B, S+3] to [B, S, width].

    A square's vector is the sum of four learned ones: for what stands there and who is to move, for how often the
    position was there before, for the square itself (which is how the network knows the special squares of its game),
    and for the budget ratio. With `reach` there is a fifth, for the pieces that can come there and who is to play. All
    but the budget's are added up in one table, so that a position costs one lookup.
    """

    def __init__(self, size: int, width: int, reach: bool = False) -> None:
        super().__init__()
        self.pieces = nn.Parameter(torch.randn(SIDES, CODES, width))
        self.reach = None
        if reach:
            # A sum of one vector for each piece that can come, to begin with; what they mean together is learnt.
            bits = torch.arange(REACHES)[:, None] >> torch.arange(REACHES.bit_length() - 1) & 1
            self.reach = nn.Parameter(0.5 * bits.float() @ torch.randn(SIDES, bits.shape[1], width))
        self.occurrences = nn.Parameter(torch.zeros(OCCURRENCES, width))
        self.squares = nn.Parameter(0.5 * torch.randn(size * size, width))
        self.budget = nn.Parameter(torch.zeros(width))

    def table(self) -> Tensor:
        """[SIDES * OCCURRENCES * codes * S, width]: the sum of the vectors; CODES codes, with reach CODES * REACHES."""
        pieces = self.pieces
        if self.reach is not None:
            pieces = (pieces[:, :, None] + self.reach[:, None]).flatten(1, 2)
        occurrences = self.occurrences[:, None, None]
        return (pieces[:, None, :, None] + occurrences + self.squares).flatten(0, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        squares = inputs.shape[1] - 3
        codes, to_play, occurrences, budget = inputs.int().split((squares, 1, 1, 1), dim=1)
        kinds = CODES
        if self.reach is None:
            codes = codes & CODE_MASK
        else:
            kinds, codes = CODES * REACHES, (codes & CODE_MASK) * REACHES + (codes >> REACH_SHIFT)
        index = (to_play * OCCURRENCES + occurrences.clamp(0, OCCURRENCES - 1)) * kinds + codes
        index = index * squares + torch.arange(squares, dtype=torch.int32, device=inputs.device)
        vectors = F.embedding(index, self.table())
        return vectors + (budget.to(vectors.dtype) * BUDGET_SCALE).unsqueeze(2) * self.budget


class Block(nn.Module):
    """Residual block of two 3x3 convolutions; with `pooled`, what is seen anywhere is told to all squares."""

    def __init__(self, channels: int, pooled: bool, layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.first = layer(channels, channels, 3)
        self.second = layer(channels, channels, 3, last_of_block=True)
        self.pooled = nn.Linear(2 * channels, channels) if pooled else None
        if self.pooled is not None:
            nn.init.zeros_(self.pooled.weight)
            nn.init.zeros_(self.pooled.bias)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.pooled is not None:
            x = x + self.pooled(pool(hidden))[:, :, None, None]
        return self.second(hidden, x)


def pool(x: Tensor) -> Tensor:
    """[B, C, n, n] to [B, 2C]: mean and maximum over the board."""
    # On the CPU, amax over channels-last bfloat16 is ten times slower than a pooling window as large as the board.
    return torch.cat((x.mean((2, 3)), F.max_pool2d(x, x.shape[-1]).flatten(1)), dim=1)


@lru_cache
def pairs_of_actions(size: int, device: torch.device) -> Tensor:
    """int64 [actions]: origin and target of each as a place in a matrix of S by S; 0 where it leaves the board."""
    with torch.inference_mode(False):
        action = torch.arange(4 * size * size * (size - 1))
        origin, direction, distance = action // (4 * (size - 1)), action // (size - 1) % 4, action % (size - 1) + 1
        rank = origin // size + torch.tensor((1, 0, -1, 0))[direction] * distance
        file = origin % size + torch.tensor((0, 1, 0, -1))[direction] * distance
        inside = (rank >= 0) & (rank < size) & (file >= 0) & (file < size)
        return torch.where(inside, (origin * size + rank) * size + file, 0).to(device)


class PolicyValueNet(nn.Module):
    """Residual policy-value network for a board of `size` x `size` squares.

    Args:
        size: squares on a side, 3 to 15.
        config: the shape.
        layer: what convolutions are made of, called as `layer(inputs, outputs, kernel, last_of_block=...)`; the
            evaluator puts a form in place that is faster and cannot learn.
    """

    def __init__(
        self, size: int, config: NetworkConfig | None = None, layer: Callable[..., nn.Module] = ConvNorm
    ) -> None:
        super().__init__()
        if not 3 <= size <= 15:
            raise ValueError(f"no network for boards of size {size}: allowed are 3 to 15")
        config = config or NetworkConfig()
        self.size = size
        self.config = config
        channels = config.channels
        self.embedding = Embedding(size, config.input_channels, config.reach)
        self.stem = layer(config.input_channels, channels, 3)
        self.blocks = nn.ModuleList(
            Block(channels, config.pool_every > 0 and number % config.pool_every == 0, layer)
            for number in range(1, config.blocks + 1)
        )
        self.policy_conv = layer(channels, config.policy_channels, 1)
        self.policy_output = nn.Linear(config.policy_channels, 4 * (size - 1))
        self.policy_pairs = None
        if config.policy_pairs:
            self.policy_pairs = nn.Linear(config.policy_channels, 2 * config.policy_pairs)
            nn.init.normal_(self.policy_pairs.weight, std=config.policy_channels**-0.5)
            nn.init.zeros_(self.policy_pairs.bias)
        self.value_conv = layer(channels, config.value_channels, 1)
        self.value_hidden = nn.Linear(2 * config.value_channels, config.value_hidden)
        self.value_output = nn.Linear(config.value_hidden, 4)
        for head in (self.policy_output, self.value_output):  # begin near the uniform policy and the value 0
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]

    def tower(self, inputs: Tensor) -> Tensor:
        """Rows of `env.encoding`, int8 [B, S+3], to the features [B, channels, n, n] that the heads read."""
        x = self.embedding(inputs).unflatten(1, (self.size, self.size)).permute(0, 3, 1, 2)
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x

    @property
    def actions(self) -> int:
        """Number of action numbers (see `env.encoding`)."""
        return 4 * self.size**2 * (self.size - 1)

    def heads(self, x: Tensor, actions: Tensor | None = None) -> Output:
        """Features [B, channels, n, n] to the output, float32 whatever the features are; `actions` as in `forward`."""
        # Channels last: the features of a square are one row, and its row of logits is the block of action numbers
        # that leave it.
        squares = self.policy_conv(x).permute(0, 2, 3, 1).flatten(1, 2).to(self.policy_output.weight.dtype)
        logits = self.policy_output(squares).flatten(1)
        if actions is not None:
            logits = logits.gather(1, actions)
        logits = logits.float()
        if self.policy_pairs is not None:
            origins, targets = self.policy_pairs(squares).chunk(2, dim=2)
            matches = (origins @ targets.transpose(1, 2)).flatten(1)
            places = pairs_of_actions(self.size, x.device)
            matches = matches[:, places] if actions is None else matches.gather(1, places[actions])
            logits = logits + matches.float() * self.config.policy_pairs**-0.5
        board = pool(self.value_conv(x)).float()
        value = self.value_output(F.relu(self.value_hidden(board)))
        return Output(logits, torch.tanh(value[:, 0]), value[:, 1:])

    def forward(self, inputs: Tensor, actions: Tensor | None = None) -> Output:
        """Rows of `env.encoding`, int8 [B, S+3] on the network's device, to `Output`.

        Args:
            inputs: the rows.
            actions: int64 [B, K], the action numbers whose logits are wanted; None: all. What nobody asks for is not
                computed, and of thousands of actions a hundred are legal.
        """
        return self.heads(self.tower(inputs), actions)
