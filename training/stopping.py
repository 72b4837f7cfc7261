"""Stopping a run from outside, without harm: Ctrl-C, a closed terminal, `kill`.

The first signal only leaves a request. The iteration at work gets some seconds to end; after that the work is given up
at its next step, since the iteration before is safe on disk. A second signal ends the process on the spot.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from search.mcts import Evaluate

GRACE_SECONDS = 5.0

_WORDS = {"SIGINT": "Ctrl-C", "SIGTERM": "a request to terminate", "SIGHUP": "the terminal was closed"}


class Interrupted(Exception):
    """The work at hand was given up because somebody asked to stop."""


class Stop:
    """A request to stop, made by signals while used as a context.

    Args:
        grace: seconds that the work at hand gets to end by itself.
        notify: told the reason once, in the main thread.

    Attributes:
        last_words: gives the line to end with when a second signal ends the process.
        last_act: what to do before that end, such as giving back a lock.
    """

    def __init__(self, grace: float = GRACE_SECONDS, notify: Callable[[str], None] | None = None) -> None:
        self.grace, self.notify = grace, notify
        self.last_words: Callable[[], str] = lambda: "Ended at once."
        self.last_act: Callable[[], None] = lambda: None
        self.reason: str | None = None
        self._deadline = float("inf")
        self._earlier: dict[signal.Signals, Any] = {}

    def __bool__(self) -> bool:
        return self.reason is not None

    def request(self, reason: str) -> None:
        """Ask to stop."""
        if self.reason is None:
            self._deadline = time.monotonic() + self.grace
            self.reason = reason

    def check(self) -> None:
        """Call between the steps of long work.

        Raises:
            Interrupted: when a stop was asked for and its grace is over.
        """
        if self.reason is not None and time.monotonic() > self._deadline:
            raise Interrupted(self.reason)

    def __enter__(self) -> Stop:
        for name in _WORDS:
            number = getattr(signal, name, None)
            # What the parent had ignored stays ignored: nohup does that with SIGHUP.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                self._earlier[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.reason is not None:
            self._end(128 + number)
        self.request(_WORDS[signal.Signals(number).name])
        if self.notify is not None:
            self.notify(self.reason or "")

    def _end(self, status: int) -> NoReturn:
        # Not `print`: the signal may have come in the midst of one.
        with contextlib.suppress(OSError, ValueError):
            handle = sys.__stdout__.fileno() if sys.__stdout__ else 1
            terminal = os.isatty(handle)
            os.set_blocking(handle, False)  # a reader that is stuck is not waited for
            cursor = "\x1b[?25h\n" if terminal else ""  # the live display had hidden it
            os.write(handle, f"{cursor}{self.last_words()}\n".encode())
            os.set_blocking(handle, True)  # a terminal is shared with the shell
        with contextlib.suppress(OSError):  # the signal may have come when it was being done already
            self.last_act()
        os._exit(status)


class Guarded:
    """An evaluator before whose every call `check` is called, which may stop the work by raising."""

    def __init__(self, evaluator: Evaluate, check: Callable[[], None]) -> None:
        self._evaluator, self._check = evaluator, check

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        self._check()
        self._evaluator(inputs, actions, counts, logits, values)
