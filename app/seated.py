"""An open game with everything that serves it: its engines, and the pages that look on."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from app.engines import Engine, Making
from app.session import Session

Message = dict[str, Any]
CLOSE: Message = {"type": "close"}
"""Not to be sent: the socket is to be closed instead."""


class Listener:
    """A page that looks on; messages wait here until its socket takes them."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue(256)
        self.studies: dict[str, asyncio.Task[None]] = {}

    def send(self, message: Message) -> None:
        """Queue a message; of a page that takes none, the oldest is dropped: the next one shows all of the game."""
        while True:
            try:
                self.messages.put_nowait(message)
                return
            except asyncio.QueueFull:
                self.messages.get_nowait()


class Seated:
    """A session with what serves it: its engines, the task that lets them move, the pages that look on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = asyncio.Lock()
        self.engines: dict[Making, Engine] = {}
        self.driver: asyncio.Task[Any] | None = None
        self.listeners: set[Listener] = set()
        self.leaving: asyncio.TimerHandle | None = None
        self.kept = b""
        self.graphs: dict[tuple[Making, int], tuple[list[int], list[Message]]] = {}
        self.used = time.monotonic()

    def publish(self) -> None:
        """Show the game as it stands to everybody who looks on."""
        if self.listeners:
            message = {"type": "game", "game": self.session.view()}
            for listener in self.listeners:
                listener.send(message)
