"""What a page is told of a game by engines: analysis and graph, with a network and without."""

from pathlib import Path

import pytest
from board_client import begin, command, look_on, save_checkpoint, until
from fastapi.testclient import TestClient

from app.views import attackers_chances
from arena.players import Thought
from env import Game, Move

QUICK = {"kind": "alphabeta", "depth": 2}


@pytest.fixture
def network(folder: Path) -> dict[str, str]:
    save_checkpoint(folder / "pretrained" / "brandubh.safetensors")
    return {"kind": "checkpoint", "checkpoint": "pretrained/brandubh"}


def test_an_analysis_grows_and_tells_of_every_legal_move(client: TestClient, network: dict[str, str]) -> None:
    view = begin(client)
    view = command(client, view, "move", move="d2-c2")
    with look_on(client, view) as socket:
        socket.send_json({"type": "analyse", "ply": 0, "engine": network, "simulations": 200})
        found = [until(socket, lambda message: message["type"] == "analysis")]
        while not found[-1]["done"]:
            found.append(until(socket, lambda message: message["type"] == "analysis"))
    assert [each["simulations"] for each in found] == [32, 128, 200]
    last = found[-1]
    assert (last["ply"], last["position"], last["to_play"]) == (0, view["start"]["position"], "attackers")
    assert {row["move"] for row in last["moves"]} == {str(move) for move in Game("brandubh").legal_moves()}
    assert sum(row["policy"] for row in last["moves"]) == pytest.approx(1, abs=0.01)
    assert sum(last["network"]["chances"].values()) == pytest.approx(1, abs=0.01)
    assert last["line"][0] in {row["move"] for row in last["moves"]}


def test_chances_are_told_in_the_attackers_view() -> None:
    thought = Thought(Move("d2", "c2"), outlook=(0.7, 0.1, 0.2))
    assert attackers_chances(thought, "attackers") == (0.7, 0.1, 0.2)
    assert attackers_chances(thought, "defenders") == (0.2, 0.1, 0.7)


# The side to play wins with its next move.
WON = {"attackers": "/7/7/2tK3/7/4t2/7/7/", "defenders": "/2K4/7/7/7/7/7/3t3/"}


@pytest.mark.parametrize("winner", WON)
@pytest.mark.parametrize("kind", ["network", "alphabeta"])
def test_a_certain_win_is_marked_and_told_in_the_attackers_view(
    client: TestClient, network: dict[str, str], winner: str, kind: str
) -> None:
    view = begin(client, position=WON[winner], to_play=winner)
    with look_on(client, view) as socket:
        engine = network if kind == "network" else QUICK
        socket.send_json({"type": "analyse", "ply": 0, "engine": engine, "simulations": 100})
        found = until(socket, lambda message: message["type"] == "analysis" and message["done"])
    assert found["search"]["proven"] == winner
    assert found["search"]["value"] == (1 if winner == "attackers" else -1)
    assert found["search"]["chances"][winner] == 1
    assert found["search"]["proven_plies"] == 1
    if kind == "network":
        best = next(row for row in found["moves"] if row["move"] == found["line"][0])
        assert best["proven"] == winner


@pytest.mark.parametrize("engine", ["network", "alphabeta"])
def test_the_graph_has_a_point_for_each_ply_and_remembers_them(
    client: TestClient, network: dict[str, str], engine: str
) -> None:
    seat = network if engine == "network" else QUICK
    view = begin(client)
    with look_on(client, view) as socket:

        def ask() -> list[dict]:
            socket.send_json({"type": "graph", "engine": seat, "simulations": 16})
            return until(socket, lambda message: message["type"] == "graph")["points"]

        first = ask()
        for move in ("d2-c2", "c4-c3"):
            view = command(client, view, "move", move=move)
        later = ask()
        assert [point["ply"] for point in later] == [0, 1, 2]
        assert later[0] == first[0]
        command(client, view, "undo", ply=1)
        command(client, view, "move", move="c4-c5")
        other = ask()
        assert other[:2] == later[:2]
        command(client, view, "resign", side="attackers")
        assert ask()[2]["search"] == {
            "value": -1.0,
            "chances": {"attackers": 0.0, "draw": 0.0, "defenders": 1.0},
            "proven": "defenders",
            "proven_plies": 0,
        }
        command(client, view, "undo", ply=2)
        assert ask() == other


def test_without_a_network_alphabeta_analyses(client: TestClient) -> None:
    view = begin(client, position=WON["defenders"], to_play="defenders")
    with look_on(client, view) as socket:
        socket.send_json({"type": "analyse", "ply": 0})
        found = until(socket, lambda message: message["type"] == "analysis")
    assert found["engine"]["kind"] == "alphabeta"
    assert (found["done"], found["network"], found["search"]["proven"]) == (True, None, "defenders")


def test_messages_that_cannot_be_are_answered_and_the_socket_stays(client: TestClient) -> None:
    view = begin(client)
    with look_on(client, view) as socket:
        for text in ("", "[1", "7", '{"type": "dance"}', '{"type": "analyse", "ply": -1}', "[" * 5000):
            socket.send_text(text)
            assert until(socket, lambda message: message["type"] == "error")["error"]["code"] == "bad_request"
        socket.send_json({"type": "analyse", "ply": 7})
        assert until(socket, lambda message: message["type"] == "error")["error"]["code"] == "not_possible"
        gone = {"kind": "checkpoint", "checkpoint": "runs/../../etc/passwd"}
        socket.send_json({"type": "analyse", "ply": 0, "engine": gone})
        assert until(socket, lambda message: message["type"] == "error")["error"]["code"] == "not_found"
        socket.send_json({"type": "analyse", "ply": 0, "engine": QUICK})
        assert until(socket, lambda message: message["type"] == "analysis")["done"]


def test_a_long_analysis_makes_nobody_wait_and_ends_when_told(client: TestClient, network: dict[str, str]) -> None:
    busy, other = begin(client), begin(client, defenders={"kind": "alphabeta", "depth": 1})
    with look_on(client, busy) as studying, look_on(client, other) as playing:
        studying.send_json({"type": "analyse", "ply": 0, "engine": network, "simulations": 20_000})
        until(studying, lambda message: message["type"] == "analysis")
        command(client, other, "move", move="d2-c2")
        until(playing, lambda message: message["type"] == "game" and message["game"]["ply"] == 2)
        studying.send_json({"type": "stop_analysis"})
        studying.send_json({"type": "graph", "engine": network, "simulations": 8})
        until(studying, lambda message: message["type"] == "graph")
