"""What tests say to the server, and the smallest checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fastapi.testclient import TestClient

from models.checkpoint import Header, Provenance, save
from models.network import NetworkConfig, PolicyValueNet

Json = dict[str, Any]
ENGINE = {"kind": "alphabeta", "depth": 1}


def save_checkpoint(path: Path, game: str = "brandubh", size: int = 7, **known: Any) -> Path:
    """An untrained checkpoint of the smallest kind."""
    torch.manual_seed(0)
    config = NetworkConfig(blocks=1, channels=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = Header(game=game, size=size, network=config, discount=0.98, provenance=Provenance(**known))
    save(path, PolicyValueNet(size, config), header)
    return path


def begin(client: TestClient, **request: Any) -> Json:
    """A new game's view; Brandubh between two persons unless told otherwise."""
    if not {"record", "selfplay"} & request.keys():
        request.setdefault("game", "brandubh")
    answer = client.post("/api/games", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def command(client: TestClient, game: Json, name: str, **request: Any) -> Json:
    """The view after a command that has to succeed."""
    answer = client.post(f"/api/games/{game['id']}/{name}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, game: Json, name: str, **request: Any) -> tuple[str, str]:
    """Code and message of a command that has to be refused."""
    answer = client.post(f"/api/games/{game['id']}/{name}", json=request)
    assert answer.status_code >= 400, answer.text
    error = answer.json()["error"]
    return error["code"], error["message"]


def until(socket: Any, wanted: Callable[[Json], bool]) -> Json:
    """The first message of a kind."""
    for _ in range(200):
        message = socket.receive_json()
        if wanted(message):
            return message
    raise AssertionError("200 messages, and not the one that was waited for")


def at(ply: int) -> Callable[[Json], bool]:
    """Whether a message shows the game at a ply, nobody thinking."""
    return lambda message: (
        message["type"] == "game" and message["game"]["ply"] == ply and not message["game"]["thinking"]
    )


def look_on(client: TestClient, game: Json) -> Any:
    """A socket at a game, as a page opens one."""
    return client.websocket_connect(f"ws://localhost/api/games/{game['id']}/events")
