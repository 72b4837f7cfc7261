"""Runs the page's server: finds a port, says where the page is, opens it, and stops within a second when told to."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from app.hall import Hall

PORT = 8642
_PORTS_TRIED = 20
_STOP_AT_ONCE = 0.8  # seconds after which a stop does not wait for anything any more


class ServeError(ValueError):
    """The page cannot be served; the message is one sentence for people."""


def open_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens; without a `port` the first free one from `PORT` on.

    Raises:
        ServeError: the port is taken, or the address is none of this machine.
    """
    ports = [port] if port is not None else [*range(PORT, PORT + _PORTS_TRIED), 0]
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ServeError(f"--host {host}: this machine has no such address ({error})") from None
    problem: OSError | None = None
    for number in ports:
        listener = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            problem = error
    assert problem is not None
    why = problem.strerror or str(problem)
    raise ServeError(f"nothing can listen on {host} port {ports[0]} ({why}); try another --port") from None


def address(listener: socket.socket, fragment: str = "") -> str:
    """Where the page is for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    found = ipaddress.ip_address(host)
    if found.is_unspecified:
        host = "127.0.0.1" if found.version == 4 else "::1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{fragment}"


class _Server(uvicorn.Server):
    """Stops searches at once when told to stop, and everything a moment later."""

    def __init__(self, config: uvicorn.Config, hall: Hall, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._hall, self._ready = hall, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._hall.desk.stop()
        # Whatever else hangs, this ends the program; games are on the disk already.
        timer = threading.Timer(_STOP_AT_ONCE, os._exit, (0,))
        timer.daemon = True
        timer.start()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._hall.close()
        await super().shutdown(sockets)


def serve(app: FastAPI, hall: Hall, listener: socket.socket, fragment: str = "", browser: bool = True) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        app: the application.
        hall: its open games.
        listener: see `open_socket`.
        fragment: of the address that is printed and opened, as "#game=...".
        browser: whether to open the page.
    """
    place = address(listener, fragment)

    def ready() -> None:
        print(f"Branan is at {place}", flush=True)
        if browser and _has_browser():
            threading.Thread(target=webbrowser.open, args=(place,), daemon=True).start()

    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        ws_max_size=65_536,
        ws_ping_interval=20.0,
        ws_per_message_deflate=False,
        limit_concurrency=400,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
        server_header=False,
        date_header=False,
    )
    server = _Server(config, hall, ready)
    server.run(sockets=[listener])
    if not server.started:
        raise ServeError("the server could not start; its reason is above")
    # Searches that do not notice a stop at once would abort the interpreter as it takes itself apart.
    sys.stdout.flush()
    os._exit(0)


def _has_browser() -> bool:
    """Whether there is a browser with a window; one in the terminal would take it over."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True
