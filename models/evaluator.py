"""Positions in, logits of the legal moves and values out; numpy on both sides, any device between."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from models.checkpoint import Checkpoint
from models.fixed_batch import FixedBatch
from models.folded import FoldedNetwork
from models.network import CODES, SIDES, PolicyValueNet

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MARGIN = 1.15  # how much faster bfloat16 has to be before precision is given up for it


class Evaluator:
    """A network made ready to answer fast: its own copy of the weights, normalisation folded in.

    Use one instance from one thread at a time; instances share nothing. On the CPU an instance computes with as many
    threads as the calling thread has set (`torch.set_num_threads`). No global state is changed.

    Args:
        network: whose weights to copy; what it learns later does not show until `load`.
        device: where to compute, as torch names it.
        dtype: "float32", "bfloat16" (the value's dense layers stay float32), or "auto": a measurement decides, made
            once a process for each shape of network (see `choose_dtype`, about a second).
        batch: the most positions computed at once; longer inputs are cut up.
        fixed: whether batches are padded to a few fixed sizes, which a GPU answers by replaying CUDA graphs
            (`models.fixed_batch`); None: on a GPU.
        discounted_share: how much of the values is the discounted one, as a search with this setting wants them
            (`search.SearchConfig`); the rest is the undiscounted expectation.

    Raises:
        ValueError: for another dtype, a batch below 1, or a share that is none.
    """

    def __init__(
        self,
        network: PolicyValueNet,
        device: torch.device | str = "cpu",
        dtype: str = "auto",
        batch: int = 256,
        fixed: bool | None = None,
        discounted_share: float = 1.0,
    ) -> None:
        if dtype not in (*DTYPES, "auto"):
            raise ValueError(f"unknown dtype {dtype!r}: allowed are {', '.join(DTYPES)} and auto")
        if batch < 1:
            raise ValueError(f"batch {batch}: at least 1")
        if not 0 <= discounted_share <= 1:
            raise ValueError(f"discounted_share {discounted_share}: allowed are 0 to 1")
        self.device = torch.device(device)
        self.dtype = _measured_dtype(network, self.device, batch) if dtype == "auto" else dtype
        self.batch = batch
        self._network = FoldedNetwork(network, self.device, DTYPES[self.dtype], discounted_share)
        fixed = self.device.type == "cuda" if fixed is None else fixed
        self._fixed = FixedBatch(self._network, batch) if fixed else None

    @classmethod
    def of(cls, checkpoint: Checkpoint, device: torch.device | str = "cpu", dtype: str = "auto") -> Evaluator:
        """Return the evaluator of a checkpoint: it answers the values that its searches worked with when it learnt."""
        return cls(checkpoint.network, device, dtype, discounted_share=checkpoint.header.discounted_share)

    @property
    def size(self) -> int:
        """Squares on a side of the boards it knows."""
        return self._network.size

    def load(self, network: PolicyValueNet) -> None:
        """Take over the present weights of a network of the same shape; ValueError if it has another."""
        self._network.load(network)
        if self._fixed is not None:
            self._fixed.synchronise()

    @torch.inference_mode()
    def __call__(
        self,
        inputs: NDArray[np.int8],
        actions: NDArray[np.int16],
        counts: NDArray[np.int32],
        logits: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        """Evaluate B positions.

        Args:
            inputs: [B, S+3], rows of `env.encoding`.
            actions: [B, M], in row b the `counts[b]` legal action numbers first; the rest may be anything.
            counts: [B], 0 to M.
            logits: [B, M], written: the policy logits of these actions; columns from `counts[b]` on are unspecified.
            values: [B], written: expected results in [-1, 1] from the view of `to_play`, discounted as said above.
        """
        for start in range(0, len(inputs), self.batch):
            rows = slice(start, start + self.batch)
            widest = int(counts[rows].max())
            if self._fixed is not None:
                self._fixed(inputs[rows], actions[rows], widest, logits[rows], values[rows])
                continue
            # The clamp is for the unspecified columns, which may hold no action number at all.
            chosen = self._to_device(actions[rows, :widest]).long().clamp_(0, self._network.actions - 1)
            output = self._network(self._to_device(inputs[rows]), chosen)
            logits[rows, :widest] = output.logits.cpu().numpy()
            values[rows] = output.value.cpu().numpy()

    @torch.inference_mode()
    def outlook(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """What people are shown: [B, 3] probabilities of win, draw and loss of `to_play`, for inputs [B, S+3]."""
        result = np.empty((len(inputs), 3), np.float32)
        for start in range(0, len(inputs), self.batch):
            rows = slice(start, start + self.batch)
            result[rows] = self._network(self._to_device(inputs[rows])).wdl.softmax(1).cpu().numpy()
        return result

    def _to_device(self, array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class DtypeChoice(NamedTuple):
    """Outcome of `choose_dtype`: the dtype's name, and evaluations per second of every dtype measured."""

    dtype: str
    speeds: dict[str, float]


def choose_dtype(
    network: PolicyValueNet, batch: int = 256, device: torch.device | str = "cpu", seconds: float = 1.0
) -> DtypeChoice:
    """Measure which dtype evaluates faster here; bfloat16 has to be 15 % faster than float32 to be chosen.

    The dtypes take turns and the best time of each counts, so that other work on the machine does not decide. Half
    precision that this machine emulates is given up after one call.

    Args:
        network: of the shape to be used; its weights do not matter.
        batch: positions a call.
        device: where.
        seconds: about how long to measure, all dtypes together.
    """
    device = torch.device(device)
    inputs = _some_inputs(network.size, batch).to(device)
    networks = {name: FoldedNetwork(network, device, dtype) for name, dtype in DTYPES.items()}
    best = {name: min(_time(each, inputs) for _ in range(2)) for name, each in networks.items()}
    if best["bfloat16"] < 2 * best["float32"]:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for name, each in networks.items():
                best[name] = min(best[name], _time(each, inputs))
    choice = "bfloat16" if best["bfloat16"] * MARGIN < best["float32"] else "float32"
    return DtypeChoice(choice, {name: batch / each for name, each in best.items()})


_measured: dict[tuple[object, ...], str] = {}


def _measured_dtype(network: PolicyValueNet, device: torch.device, batch: int) -> str:
    key = (network.size, network.config, device, batch)
    if key not in _measured:
        _measured[key] = choose_dtype(network, batch, device).dtype
    return _measured[key]


@torch.inference_mode()
def _time(network: FoldedNetwork, inputs: torch.Tensor) -> float:
    start = time.perf_counter()
    network(inputs).value.cpu()  # the copy waits for the device
    return time.perf_counter() - start


def _some_inputs(size: int, batch: int) -> torch.Tensor:
    """Rows of the encoding to measure with: [batch, S+3] int8, every piece code and side among them."""
    inputs = torch.zeros((batch, size * size + 3), dtype=torch.int8)
    board = torch.arange(batch * size * size, dtype=torch.int32).view(batch, -1)
    inputs[:, : size * size] = (board * 7 % 11).remainder(CODES).to(torch.int8)
    inputs[:, size * size] = torch.arange(batch).remainder(SIDES).to(torch.int8)
    return inputs
