"""A child process that speaks in lines. Whatever it does, nobody who talks to it waits longer than he wants to."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from queue import Empty, Full, Queue, SimpleQueue

LONGEST_LINE = 1 << 16
WAITING_LINES = 1000
POLITE_SECONDS = 1.0
"""How long a process may take to leave by itself, and again after it was told to."""


class Closed(Exception):
    """The process says no more: it has ended, or has closed its output."""


class EngineProcess:
    """A running command, its output read and its input written by threads.

    Args:
        arguments: the command; no shell is asked.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        # A session of its own: Ctrl-C is for the host, which then ends the command and all that it has started.
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=os.name == "posix",
        )
        self.started = time.monotonic()
        self._lines: Queue[str | None] = Queue(WAITING_LINES)
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._last_words = b""
        self._ending = False
        self._end_lock = threading.Lock()
        self._closed = False
        self._left = threading.Event()
        self._signal_lock = threading.Lock()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors, self._write)
        ]
        for thread in (*self._threads, threading.Thread(target=self._watch, daemon=True)):
            thread.start()

    @property
    def process_id(self) -> int:
        """The operating system's number of the process."""
        return self._process.pid

    def send(self, *lines: str) -> None:
        """Sends lines in one piece, without waiting for anybody to read them."""
        text = "".join(f"{line}\n" for line in lines)
        self._outgoing.put(text.encode("ascii", "replace"))

    def line(self, deadline: float) -> str | None:
        """The next line, without its end and what surrounds it; None where there is none until the deadline.

        Args:
            deadline: as `time.monotonic` tells time.

        Raises:
            Closed: there will be none.
        """
        if self._closed:
            raise Closed
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return None
        if line is None:
            self._closed = True
            raise Closed
        return line

    def last_words(self) -> str:
        """How it ended, and the last line that it wrote to its standard error, if any."""
        self._left.wait(POLITE_SECONDS)
        self._threads[1].join(0.2)
        status = self._process.returncode
        how = "its output is closed" if status is None else f"it ended with status {status}"
        said = [line.strip() for line in self._last_words.decode("ascii", "replace").splitlines() if line.strip()]
        return how + (f", and said: {said[-1][:200]}" if said else "")

    def end(self, *farewell: str) -> None:
        """Sends last lines and closes the process's input; a process that does not leave then is made to."""
        with self._end_lock:
            if self._ending:
                return
            self._ending = True
            if farewell:
                self.send(*farewell)
            self._outgoing.put(None)
            if farewell and self._left.wait(POLITE_SECONDS):
                self._clear()
                return
            for number in ("SIGTERM", "SIGKILL"):
                self._signal(getattr(signal, number, signal.SIGTERM))
                if self._left.wait(POLITE_SECONDS):
                    break
            self._clear()

    def kill(self) -> None:
        """Ends the process at once."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def _signal(self, number: int) -> None:
        with self._signal_lock, contextlib.suppress(OSError):
            if self._process.returncode is not None:
                return
            if os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def _watch(self) -> None:
        """Waits for the process to end, and ends what it has started and left behind."""
        if hasattr(os, "waitid"):  # until it is waited for in earnest, nobody else is given its number
            with contextlib.suppress(OSError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            with self._signal_lock:
                self._process.wait()
        else:
            self._process.wait()
            if os.name == "posix":
                with contextlib.suppress(OSError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        self._left.set()
        # Whoever got away in a session of its own may hold the output open: nobody waits for what it says.
        self._threads[0].join(POLITE_SECONDS)
        if self._threads[0].is_alive():
            self._put(None)

    def _clear(self) -> None:
        for thread in self._threads:
            thread.join(POLITE_SECONDS)
        for thread, stream in zip(self._threads, (self._process.stdout, self._process.stderr)):
            if stream is not None and not thread.is_alive():  # somebody it has started may still hold the other end
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        rest, skipping = b"", False
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._process.stdout.fileno(), 1 << 16):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    if not skipping and not self._put(line.decode("ascii", "replace").strip()):
                        return
                    skipping = False
                if len(rest) > LONGEST_LINE:  # no line of the protocol is so long: the rest of it is passed over
                    rest, skipping = b"", True
            if rest.strip() and not skipping:
                self._put(rest.decode("ascii", "replace").strip())
        self._put(None)

    def _put(self, line: str | None) -> bool:
        while True:
            try:
                self._lines.put(line, timeout=0.1)
                return True
            except Full:  # a process that talks faster than it is listened to has to wait
                if self._ending or self._closed:
                    return False

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._process.stderr.fileno(), 1 << 16):
                self._last_words = (self._last_words + chunk)[-2000:]

    def _write(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := self._outgoing.get()) is not None:
                while data:
                    data = data[self._process.stdin.write(data) or 0 :]
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()
