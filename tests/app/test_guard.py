"""Who is heard: this machine's own page, and nobody else's."""

import json

import pytest
from board_client import begin, look_on
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app.guard import MOST_BODY, Rate
from app.problems import Problem


def code(client: TestClient, **headers: str) -> str | None:
    answer = client.get("/api/about", headers={name.replace("_", "-"): value for name, value in headers.items()})
    return None if answer.status_code == 200 else answer.json()["error"]["code"]


@pytest.mark.parametrize("host", ["localhost", "localhost:8642", "127.0.0.1:8642", "[::1]:80", "192.168.1.7:8642"])
def test_its_own_addresses_are_answered(client: TestClient, host: str) -> None:
    assert code(client, host=host) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8642", "", "localhost/x", "a b"]
)
def test_other_names_are_refused_so_that_dns_rebinding_finds_nothing(client: TestClient, host: str) -> None:
    assert code(client, host=host) == "forbidden"


def test_other_sites_are_refused_and_its_own_page_is_not(client: TestClient) -> None:
    assert code(client, host="localhost:80", origin="http://localhost:80") is None
    assert code(client, host="localhost:80", origin="http://evil.example") == "forbidden"
    assert code(client, host="localhost:80", origin="null") == "forbidden"
    assert code(client, host="localhost:80", origin="http://localhost:81") == "forbidden"
    assert code(client, sec_fetch_site="cross-site") == "forbidden"
    assert code(client, sec_fetch_site="same-origin") is None
    assert code(client, sec_fetch_site="cross-site", sec_fetch_mode="navigate") is None  # a link on another page


def test_other_sites_get_no_socket(client: TestClient) -> None:
    view = begin(client)
    address = f"ws://localhost/api/games/{view['id']}/events"
    with pytest.raises(WebSocketDisconnect) as refused:
        with client.websocket_connect(address, headers={"origin": "http://evil.example"}):
            pass
    assert refused.value.code == 4403
    with client.websocket_connect(address, headers={"origin": "http://localhost"}) as socket:
        assert socket.receive_json()["game"]["id"] == view["id"]


def test_forms_cannot_command(client: TestClient) -> None:
    answer = client.post("/api/games", content=json.dumps({"game": "brandubh"}), headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "unsupported"


def test_large_requests_are_refused_whatever_their_header_says(client: TestClient) -> None:
    for size, headers in ((MOST_BODY + 1, {}), (MOST_BODY + 1, {"content-length": "10"})):
        body = b'{"record": "' + b"a" * size + b'"}'
        answer = client.post("/api/records", content=body, headers={"content-type": "application/json", **headers})
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "too_large"


def test_every_answer_forbids_scripts_that_are_not_files_of_the_page(client: TestClient) -> None:
    for address in ("/", "/api/about", "/nowhere", "/static/nothing.js"):
        headers = client.get(address).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"


def test_files_outside_of_the_page_are_not_served(client: TestClient) -> None:
    for name in (
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/languages/../levels.py",
        "/static/..%2fpage.py",
    ):
        assert client.get(name).status_code == 404, name


def test_a_socket_to_no_game_is_closed_with_its_code(client: TestClient) -> None:
    with look_on(client, {"id": "A" * 22}) as socket, pytest.raises(WebSocketDisconnect) as closed:
        socket.receive_json()
    assert closed.value.code == 4404


def test_games_are_not_begun_faster_than_they_may_be() -> None:
    rate = Rate(burst=2, per_second=1e-6)
    rate.take("games begun")
    rate.take("games begun")
    with pytest.raises(Problem, match="wait a moment") as refused:
        rate.take("games begun")
    assert (refused.value.code, refused.value.status) == ("too_many", 429)
