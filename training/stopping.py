"""Stopping a run from outside, without harm: Ctrl-C, a closed terminal, `kill`.

The first signal only leaves a request. The iteration at work gets some seconds to end; after that the work is given up
at its next step, since the iteration before is safe on disk. A second signal ends the process on the spot.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

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
    """

    def __init__(self, grace: float = GRACE_SECONDS, notify: Callable[[str], None] | None = None) -> None:
        self.grace, self.notify = grace, notify
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
            if sys.stdout.isatty():
                os.write(sys.stdout.fileno(), b"\x1b[?25h\n")  # the live display had hidden the cursor
            os._exit(128 + number)
        self.request(_WORDS[signal.Signals(number).name])
        if self.notify is not None:
            self.notify(self.reason or "")


class Guarded:
    """An evaluator whose every call is a moment to stop."""

    def __init__(self, evaluator: Evaluate, stop: Stop) -> None:
        self._evaluator, self._stop = evaluator, stop

    def __call__(
        self, inputs: np.ndarray, actions: np.ndarray, counts: np.ndarray, logits: np.ndarray, values: np.ndarray
    ) -> None:
        self._stop.check()
        self._evaluator(inputs, actions, counts, logits, values)
