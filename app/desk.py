"""Where searches run: threads that answer people first, and stop a search whose answer nobody waits for any more.

*Replies* are moves that a person waits for; *studies* are all other searches: analysis, and engines that play each
other. A study pauses while a reply is being searched, so that no tab makes the game in another one slow.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

REPLIES = 8

_TOLD_EVERY = 0.02  # seconds; a search that is just beginning forgets that it was told to stop


class Stopped(Exception):
    """The work was put off before it began, or its outcome is not worth having any more."""


class _Job:
    def __init__(self, work: Callable[[], Any], stop: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        self.work, self.stop, self.loop = work, stop, loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.dropped = self.running = False

    def run(self) -> None:
        result: Any = None
        error: BaseException | None = None
        self.running = True
        try:
            if not self.dropped:
                result = self.work()
        except BaseException as raised:
            error = raised
        self.running = False
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program ends
            self.loop.call_soon_threadsafe(self._tell, result, error)

    def _tell(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        elif self.dropped:
            self.future.set_exception(Stopped())
        else:
            self.future.set_result(result)


class _Threads:
    """Threads with one queue; daemons, so that none keeps the program from ending."""

    def __init__(self, name: str, count: int) -> None:
        self._queue: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self.jobs: set[_Job] = set()
        for number in range(count):
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._queue.get().run()

    async def run(self, work: Callable[[], Result], stop: Callable[[], None]) -> Result:
        """The result of `work`, done in a thread; when the waiting task is cancelled, the search is stopped first."""
        job = _Job(work, stop, asyncio.get_running_loop())
        self.jobs.add(job)
        self._queue.put(job)
        try:
            return await asyncio.shield(job.future)
        except asyncio.CancelledError:
            job.dropped = True
            job.future.add_done_callback(lambda future: future.cancelled() or future.exception())
            while job.running:
                stop()
                await asyncio.sleep(_TOLD_EVERY)
            raise
        finally:
            self.jobs.discard(job)

    def stop(self) -> None:
        """Tell all searches that run now."""
        for job in list(self.jobs):
            if job.running:
                job.stop()


class Desk:
    """Runs searches.

    Args:
        threads: replies searched at a time; None: more than there are cores, so that a quick one does not wait for slow
            ones: the operating system shares the cores out fairly.
    """

    def __init__(self, threads: int | None = None) -> None:
        count = threads or max(REPLIES, os.cpu_count() or 1)
        self._replies = _Threads("reply", count)
        self._studies = _Threads("study", max(1, (os.cpu_count() or 1) // 2))
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._open = 0

    async def reply(self, work: Callable[[], Result], stop: Callable[[], None]) -> Result:
        """A search that a person waits for."""
        self._open += 1
        self._quiet.clear()
        self._studies.stop()
        try:
            return await self._replies.run(work, stop)
        finally:
            self._open -= 1
            if not self._open:
                self._quiet.set()

    async def study(self, work: Callable[[], Result], stop: Callable[[], None]) -> Result:
        """Any other search; it begins when nobody waits for a reply, and may come back early when somebody does."""
        await self._quiet.wait()
        return await self._studies.run(work, stop)

    @property
    def disturbed(self) -> bool:
        """Whether a person waits at this moment, so that a study that has come back may have been cut short."""
        return not self._quiet.is_set()

    def stop(self) -> None:
        """Tell everything that runs to end."""
        self._replies.stop()
        self._studies.stop()
