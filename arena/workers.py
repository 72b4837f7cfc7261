"""Threads that search games of one player at the same time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar


class _Stoppable(Protocol):
    def stop(self) -> None: ...


Tool = TypeVar("Tool", bound=_Stoppable)
Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers(Generic[Tool]):
    """Threads that each borrow a tool (a search with its tables) that serves one thread at a time.

    Networks compute with one torch thread in each: several games at once use the cores better, and threads of OpenMP
    that wait for each other take the cores from everybody else.
    """

    def __init__(self, threads: int | None, make: Callable[[], Tool]) -> None:
        self._threads, self._make = count_threads(threads), make
        self._idle: SimpleQueue[Tool] = SimpleQueue()
        self._made: list[Tool] = []
        self.spent: list[float] = []  # seconds that each job of the last `map` took

    def map(self, work: Callable[[Tool, Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """`work(tool, job)` for each job, in order; Ctrl-C and failures stop the others first, a second Ctrl-C all."""
        self.spent = []
        if not jobs:
            return []
        threads = min(self._threads, len(jobs))
        while len(self._made) < threads:
            self._made.append(self._make())
            self._idle.put(self._made[-1])

        def borrow(job: Job) -> tuple[Result, float]:
            tool = self._idle.get()
            started = time.perf_counter()
            try:
                return work(tool, job), time.perf_counter() - started
            finally:
                self._idle.put(tool)

        with ThreadPoolExecutor(threads, initializer=_one_torch_thread) as pool:
            futures: list[Future[tuple[Result, float]]] = []
            try:
                futures.extend(pool.submit(borrow, job) for job in jobs)
                done = [future.result() for future in futures]
                self.spent = [spent for _, spent in done]
                return [result for result, _ in done]
            except BaseException:
                try:
                    pool.shutdown(wait=False, cancel_futures=True)
                    # Told again and again, since a search that is just beginning forgets what it was told before.
                    while not all(future.done() for future in futures):
                        for tool in self._made:
                            tool.stop()
                        time.sleep(0.02)
                except KeyboardInterrupt:
                    os._exit(130)  # the threads cannot be ended otherwise, and the person wants to leave now
                raise


def _one_torch_thread() -> None:
    if torch := sys.modules.get("torch"):  # only if a network is in play at all
        torch.set_num_threads(1)


def count_threads(threads: int | None) -> int:
    """How many threads to use: as many as were asked for, else one a core."""
    return max(1, threads or os.cpu_count() or 1)
