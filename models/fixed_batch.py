"""Answers to batches of a few fixed sizes: on a GPU recorded once as a CUDA graph, then replayed.

A small network on a large GPU is answered faster than Python can start its thirty kernels one by one. A graph starts
them all at once, for arrays of fixed sizes at fixed places. So questions are copied into buffers that the device reads
from directly (page-locked memory), padded to the next size there is a graph for, and answers come back the same way:
logits of the legal moves and values, in one array. Every instance works on a stream of its own, so that copies and
kernels of one overlap with those of another; while it waits for the device it lets go of the interpreter lock.

On a CPU the same code runs without graphs, streams and locked memory: for tests, and to try it before there is a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.folded import FoldedNetwork

SMALLEST = 8  # rows of the smallest graph; each next one has four times as many, up to the batch
COLUMNS = 64  # graphs have a multiple of this many legal moves a row
WARMING = 3  # calls before a recording: libraries choose kernels and make their workspaces in the first ones

# Two recordings at once would each see the other's allocations.
_recording = threading.Lock()


class FixedBatch:
    """A folded network, asked in batches of fixed sizes. Use one instance from one thread at a time.

    Args:
        network: its weights may be written over later, in place.
        batch: the most rows of a question.
    """

    def __init__(self, network: FoldedNetwork, batch: int) -> None:
        self._network, self._batch = network, batch
        self._device = network.embedding.summed.device
        self._graphs: dict[tuple[int, int], _Graph] = {}
        self._on_gpu = self._device.type == "cuda"
        self._stream = torch.cuda.Stream(self._device) if self._on_gpu else None
        self._pool = torch.cuda.graph_pool_handle() if self._on_gpu else None

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Rows and legal moves of the graphs that were recorded so far."""
        return sorted(self._graphs)

    def synchronise(self) -> None:
        """Wait until what other streams did is there for this one: after weights were written over."""
        if self._on_gpu:
            torch.cuda.current_stream(self._device).synchronize()

    @torch.inference_mode()
    def __call__(
        self,
        inputs: NDArray[np.int8],
        actions: NDArray[np.int16],
        widest: int,
        logits: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        """Answer up to `batch` rows; arrays as in `models.Evaluator`, of which the first `widest` columns count."""
        graph = self._graph(len(inputs), widest)
        count = len(inputs)
        graph.questions[:count] = inputs
        graph.chosen[:count, :widest] = actions[:, :widest]
        graph.replay()
        logits[:, :widest] = graph.answers[:count, :widest]
        values[:] = graph.answers[:count, -1]

    def _graph(self, rows: int, widest: int) -> _Graph:
        size = SMALLEST
        while size < rows:
            size *= 4
        key = min(size, self._batch), max(1, -(-widest // COLUMNS)) * COLUMNS
        if key not in self._graphs:
            self._graphs[key] = _Graph(self._network, self._device, *key, self._stream, self._pool)
        return self._graphs[key]


class _Graph:
    """Buffers and recorded work for one size of batch.

    Attributes:
        questions: int8 [rows, S+3], chosen: int16 [rows, columns], what is asked; numpy's view of the locked memory.
        answers: float32 [rows, columns + 1], logits of the chosen actions, and the value.
    """

    def __init__(
        self,
        network: FoldedNetwork,
        device: torch.device,
        rows: int,
        columns: int,
        stream: torch.cuda.Stream | None,
        pool: Any,
    ) -> None:
        self._stream = stream
        shapes = ((rows, network.size**2 + 3), torch.int8), ((rows, columns), torch.int16)
        locked = stream is not None
        host = [torch.zeros(shape, dtype=dtype, pin_memory=locked) for shape, dtype in shapes]
        answer = torch.zeros((rows, columns + 1), dtype=torch.float32, pin_memory=locked)
        self.questions, self.chosen, self.answers = (tensor.numpy() for tensor in (*host, answer))
        there = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in shapes]
        result = torch.zeros((rows, columns + 1), dtype=torch.float32, device=device)
        self._copies_there, self._copy_back = list(zip(there, host)), (answer, result)
        self._finished = torch.cuda.Event() if locked else None

        def work() -> None:
            inputs, chosen = there
            # The clamp is for the columns beyond a row's last action, which may hold no action number at all.
            output = network(inputs, chosen.long().clamp_(0, network.actions - 1))
            result[:, :columns] = output.logits
            result[:, columns] = output.value

        self._work = work if stream is None else _record(work, stream, pool)

    def replay(self) -> None:
        """Answer what the buffers ask; they hold the answers when this returns."""
        if self._stream is None:
            self._run()
            return
        with torch.cuda.stream(self._stream):
            self._run()
            assert self._finished is not None
            self._finished.record(self._stream)
        self._finished.synchronize()

    def _run(self) -> None:
        for target, source in self._copies_there:
            target.copy_(source, non_blocking=True)
        self._work()
        target, source = self._copy_back
        target.copy_(source, non_blocking=True)


def _record(work: Callable[[], None], stream: torch.cuda.Stream, pool: Any) -> Callable[[], None]:
    """Record what `work` does on the device; return what does it again.

    Its inputs and outputs lie outside of the graphs' pool, and its other tensors are gone when it returns, so that
    graphs which share a pool may be replayed in any order, one at a time.
    """
    with _recording:
        torch.cuda.synchronize(stream.device)  # buffers were made on another stream
        with torch.cuda.stream(stream):
            for _ in range(WARMING):
                work()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        # thread_local: other threads may go on using the device meanwhile.
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            work()
    return graph.replay
