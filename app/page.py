"""From the command line to the page in the browser."""

from __future__ import annotations

import argparse
import ipaddress
import socket

from platformdirs import user_data_path

from app.asked import asked_for

INSTALL = "pip install -c constraints.txt -e '.[play]'"


def open_page(options: argparse.Namespace) -> None:
    """Serve the page until told to stop; where a game is asked for, it is begun and the page opens on it.

    Args:
        options: the command line of `play.py`.

    Raises:
        ValueError: something asked for cannot be.
    """
    try:
        from app.hall import Hall
        from app.serve import open_socket, serve
        from app.server import create_app
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("fastapi", "starlette", "uvicorn", "websockets"):
            raise ValueError(f"the page needs {error.name}: {INSTALL}, or play with --terminal") from None
        raise
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise ValueError(f"--port {options.port}: allowed are 0 to 65535")
    session, maker = asked_for(options)
    folder = options.data or user_data_path("branan", appauthor=False) / "games"
    listener = open_socket(options.host, options.port)
    hall = Hall(maker, folder, options.threads)
    fragment = ""
    if session is not None:
        hall.take_in(session)
        fragment = f"#game={session.key}"
    if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
        print("Everybody who can reach this machine can play and see all games; there is no password.")
    names = {options.host, socket.gethostname()}
    print(f"Games are kept in {folder}. Ctrl-C stops.")
    serve(create_app(hall, names), hall, listener, fragment, not options.no_browser)
