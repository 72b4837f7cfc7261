"""A server in this process, its games and runs in a temporary folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.catalogue import Catalogue
from app.engines import EngineMaker
from app.hall import Hall
from app.server import create_app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds `runs/`, `pretrained/` and `games/` of the server of this test."""
    for name in ("runs", "pretrained"):
        (tmp_path / name).mkdir()
    return tmp_path


Serve = Callable[[], TestClient]


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Starts the server; called again, it stops the one before and starts anew on the same folders."""
    running: list[TestClient] = []

    def start() -> TestClient:
        while running:
            running.pop().__exit__(None, None, None)
        maker = EngineMaker(Catalogue([folder / "runs"], folder / "pretrained"), "cpu")
        app = create_app(Hall(maker, folder / "games", threads=2), testing=True)
        client = TestClient(app, base_url="http://localhost")
        client.__enter__()
        running.append(client)
        return client

    yield start
    while running:
        running.pop().__exit__(None, None, None)


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """The server, started."""
    return serve()
