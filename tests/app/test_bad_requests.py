"""Requests by the thousand that nobody should send: refused in a sentence, and the server goes on as before."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_client import begin, look_on
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.catalogue import Catalogue
from app.engines import EngineMaker
from app.hall import Hall
from app.problems import STATUS
from app.server import create_app

COMMANDS = ("move", "undo", "resign", "offer_draw", "accept_draw", "step", "run", "players")
KEYS = (
    "game layout position to_play record selfplay attackers defenders running delay move offer_draw ply side kind "
    "level depth seconds checkpoint simulations run iteration number type engine"
).split()
WORDS = (
    "brandubh tawlbwrdd serif attackers defenders person level alphabeta checkpoint random normal d2-c2 d4-d4 a1 "
    "analyse graph stop_analysis given runs/x/best ../../etc/passwd /3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/ /7/7/7/3K3/7/7/7/"
).split()

words = st.sampled_from(WORDS) | st.text(max_size=12) | st.text("/0123456789tTKab-", max_size=30)
numbers = st.integers(-3, 12) | st.integers() | st.floats() | st.sampled_from([0.5, 1e308, 2**63])
leaves = st.none() | st.booleans() | numbers | words
objects = st.recursive(
    st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), leaves, max_size=5),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner | leaves | st.lists(leaves, max_size=3), max_size=5),
    max_leaves=12,
)
bodies = st.one_of(
    objects.map(json.dumps),
    st.lists(leaves, max_size=3).map(json.dumps),
    st.text(max_size=30),
    st.builds(lambda text, at: text[:at], objects.map(json.dumps), st.integers(0, 60)),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
ids = st.just("") | st.text("AZaz09-_.", min_size=20, max_size=24) | st.sampled_from(["..", "%2e%2e", "%00", "x" * 300])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("server")
    maker = EngineMaker(Catalogue([folder / "runs"], folder / "pretrained"), "cpu")
    app = create_app(Hall(maker, folder / "games", threads=2), testing=True)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def send(client: TestClient, method: str, address: str, body: bytes | None = None) -> None:
    answer = client.request(method, address, content=body, headers={"content-type": "application/json"})
    if answer.status_code < 400:
        return
    error = answer.json()["error"]
    assert answer.status_code == STATUS[error["code"]], answer.text
    assert answer.status_code != 500, answer.text
    assert len(error["message"].splitlines()) == 1, error
    assert "Traceback" not in answer.text


@given(body=bodies)
def test_nothing_that_is_posted_to_begin_or_to_check_makes_the_server_fail(client: TestClient, body: bytes) -> None:
    for address in ("/api/games", "/api/positions", "/api/records"):
        send(client, "POST", address, body)


@given(name=st.sampled_from(COMMANDS), body=bodies)
def test_no_command_makes_the_server_fail(client: TestClient, name: str, body: bytes) -> None:
    game = begin(client, game="tawlbwrdd", defenders={"kind": "random"})
    send(client, "POST", f"/api/games/{game['id']}/{name}", body)
    assert client.get(f"/api/games/{game['id']}").status_code == 200


@given(
    name=ids, command=st.sampled_from(["", *(f"/{name}" for name in COMMANDS), "/record", "/picture.png", "/events"])
)
def test_no_address_makes_the_server_fail(client: TestClient, name: str, command: str) -> None:
    for method in ("GET", "POST", "DELETE", "PUT", "PATCH"):
        send(client, method, f"/api/games/{name}{command}", b"{}" if method == "POST" else None)


@given(query=st.dictionaries(st.sampled_from(["ply", "side", "offset", "limit", "game"]), words, max_size=3))
def test_no_query_makes_the_server_fail(client: TestClient, query: dict[str, str]) -> None:
    for address in ("/api/checkpoints", "/api/runs/x/iterations/1", "/api/runs"):
        answer = client.get(address, params=query)
        assert answer.status_code in (200, 404, 422)


@given(texts=st.lists(objects.map(json.dumps) | st.text(max_size=20), max_size=4))
def test_nothing_said_over_a_socket_breaks_it(client: TestClient, texts: list[str]) -> None:
    game = begin(client)
    with look_on(client, game) as socket:
        for text in texts:
            socket.send_text(text)
        socket.send_json({"type": "analyse", "ply": 9})
        while True:
            message: dict[str, Any] = socket.receive_json()
            if message["type"] == "error" and message["error"]["code"] == "not_possible":
                break


@pytest.mark.slow
@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(
    method=st.sampled_from(["GET", "POST", "POST", "POST", "DELETE"]),
    address=st.sampled_from(
        ["/api/games", "/api/positions", "/api/records", *(f"/api/games/KEY/{name}" for name in COMMANDS)]
    ),
    body=bodies,
)
def test_thousands_of_bad_requests_leave_a_game_that_goes_on(
    client: TestClient, method: str, address: str, body: bytes
) -> None:
    game = begin(client)
    send(client, method, address.replace("KEY", game["id"]), None if method == "GET" else body)
    assert client.get(f"/api/games/{game['id']}").status_code in (200, 404)
    fresh = begin(client)
    answer = client.post(f"/api/games/{fresh['id']}/move", json={"move": "d2-c2"})
    assert answer.json()["ply"] == 1


def test_more_games_than_there_is_room_for_put_the_oldest_aside_and_not_away(client: TestClient) -> None:
    first = begin(client)
    for _ in range(70):
        begin(client)
    assert client.get(f"/api/games/{first['id']}").json()["id"] == first["id"]
