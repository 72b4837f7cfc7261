"""Games by way of the server: begun, played, taken back, ended, kept over a restart."""

from collections.abc import Callable
from pathlib import Path

import pytest
from board_client import ENGINE, at, begin, command, look_on, refused, until
from fastapi.testclient import TestClient

from env import RULES, Game
from env.records import parse_record


@pytest.mark.parametrize("name", RULES)
def test_a_game_begins_in_every_layout_with_its_legal_moves(client: TestClient, name: str) -> None:
    for layout, position in RULES[name].layouts.items():
        view = begin(client, game=name, layout=layout)
        assert (view["position"], view["layout"], view["ply"], view["outcome"]) == (position, layout, 0, None)
        assert [row["move"] for row in view["legal"]] == [str(move) for move in Game(name, layout).legal_moves()]
        assert client.get(f"/api/games/{view['id']}").json() == view


def test_moves_are_played_and_listed(client: TestClient) -> None:
    view = begin(client, position="/7/7/t2K3/T6/7/t6/7/", to_play="attackers")
    view = command(client, view, "move", move="A2-A3", ply=0)
    assert (view["captured"], view["ply"], view["to_play"]) == (["a4"], 1, "defenders")
    row = view["moves"][0]
    assert (row["side"], row["move"], row["captured"], row["position"]) == (
        "attackers",
        "a2-a3",
        ["a4"],
        view["position"],
    )
    assert view["start"] == {"position": "/7/7/t2K3/T6/7/t6/7/", "to_play": "attackers"}


def test_refused_moves_change_nothing_and_say_why(client: TestClient) -> None:
    view = begin(client)
    code, message = refused(client, view, "move", move="d1-d7")
    assert code == "illegal_move"
    assert "blocked by the attacker on d2" in message
    assert "\n" not in message
    assert refused(client, view, "move", move="d2-c2", ply=3)[0] == "not_your_turn"
    assert refused(client, view, "move", move="z9-z8")[0] == "illegal_move"
    assert refused(client, view, "move", move="d2-c2", offer_draw=True)[0] == "not_possible"
    assert refused(client, view, "undo")[0] == "not_possible"
    assert client.get(f"/api/games/{view['id']}").json() == view


def test_an_engine_answers_and_is_taken_back_with_ones_own_move(client: TestClient) -> None:
    view = begin(client, defenders=ENGINE)
    with look_on(client, view) as socket:
        assert socket.receive_json()["game"]["ply"] == 0
        command(client, view, "move", move="d2-c2")
        shown = until(socket, at(2))["game"]
        assert shown["moves"][1]["side"] == shown["start"]["to_play"].replace("attackers", "defenders")
        assert command(client, view, "undo")["ply"] == 0
        command(client, view, "move", move="d2-e2")
        until(socket, at(2))
        command(client, view, "move", move=until_legal(client, view))
        until(socket, at(4))
        assert command(client, view, "undo", ply=2)["ply"] == 2


def until_legal(client: TestClient, view: dict) -> str:
    return client.get(f"/api/games/{view['id']}").json()["legal"][0]["move"]


def test_two_windows_show_the_same_game(client: TestClient) -> None:
    view = begin(client)
    with look_on(client, view) as one, look_on(client, view) as other:
        command(client, view, "move", move="d2-c2")
        shown = [until(socket, at(1))["game"] for socket in (one, other)]
    assert shown[0] == shown[1]


def test_a_person_does_not_move_for_the_engine(client: TestClient) -> None:
    view = begin(client, attackers={"kind": "alphabeta", "seconds": 30})
    assert view["can"]["move"] is False
    assert refused(client, view, "move", move="d2-c2")[0] == "not_your_turn"
    assert command(client, view, "resign")["outcome"] == {
        "winner": "attackers",
        "loser": "defenders",
        "reason": "resignation",
    }
    assert refused(client, view, "move", move="d2-c2")[0] == "game_over"
    assert command(client, view, "undo")["outcome"] is None


def test_every_legal_move_tells_whether_it_repeats_or_ends_the_game(client: TestClient) -> None:
    view = begin(client)
    for move in ("d2-c2", "d3-c3", "c2-d2", "c3-d3", "d2-c2", "d3-c3", "c2-d2"):
        view = command(client, view, "move", move=move)
    ends = {row["move"]: row for row in view["legal"] if row["ends"]}
    assert ends == {
        "c3-d3": {
            "move": "c3-d3",
            "captured": [],
            "occurrences": 3,
            "ends": {"winner": "attackers", "loser": "defenders", "reason": "repetition"},
        }
    }
    view = command(client, view, "move", move="c3-d3")
    assert (view["outcome"]["reason"], view["occurrences"], view["legal"]) == ("repetition", 3, [])


def test_draws_are_offered_and_accepted_where_the_rules_know_them(client: TestClient) -> None:
    view = begin(client, game="tawlbwrdd")
    assert refused(client, view, "offer_draw")[0] == "not_possible"
    view = command(client, view, "move", move="a4-a3", offer_draw=True)
    assert (view["draw_offered"], view["can"]["accept_draw"]) == ("attackers", True)
    view = command(client, view, "move", move=view["legal"][0]["move"])
    assert view["draw_offered"] is None
    view = command(client, view, "offer_draw")
    view = command(client, view, "accept_draw")
    assert view["outcome"] == {"winner": None, "loser": None, "reason": "agreement"}
    other = begin(client)
    command(client, other, "move", move="d2-c2")
    assert refused(client, other, "offer_draw")[0] == "not_possible"


def test_an_engine_takes_a_draw_only_when_it_does_not_stand_better(client: TestClient) -> None:
    lost = "/11/11/11/11/11/4K6/11/t9t/11/5t5/11/"  # a lone king that reaches the edge in one move
    view = begin(client, game="tawlbwrdd", position=lost, to_play="attackers", defenders=ENGINE)
    with look_on(client, view) as socket:
        command(client, view, "move", move="a4-a5", offer_draw=True)
        shown = until(socket, at(2))["game"]
        assert (shown["notice"]["code"], shown["outcome"]["reason"]) == ("draw_declined", "king_escaped")
    view = begin(client, game="tawlbwrdd", position=lost, to_play="defenders", attackers=ENGINE)
    with look_on(client, view) as socket:
        command(client, view, "move", move="e6-e5", offer_draw=True)
        shown = until(socket, lambda message: message["type"] == "game" and message["game"]["outcome"])["game"]
        assert (shown["notice"]["code"], shown["outcome"]["reason"]) == ("draw_accepted", "agreement")


def test_engines_play_each_other_only_while_somebody_looks_on(client: TestClient) -> None:
    view = begin(client, attackers=ENGINE, defenders={"kind": "random"}, delay=0)
    assert client.get(f"/api/games/{view['id']}/picture.png").status_code == 200  # time enough for many moves
    assert client.get(f"/api/games/{view['id']}").json()["ply"] == 0
    with look_on(client, view) as socket:
        until(socket, lambda message: message["type"] == "game" and message["game"]["ply"] >= 3)
        paused = command(client, view, "run", running=False)
    assert paused["running"] is False
    assert command(client, view, "step")["ply"] == paused["ply"] + 1 or paused["outcome"]


def test_players_change_in_mid_game(client: TestClient) -> None:
    view = begin(client, defenders=ENGINE)
    view = command(client, view, "players", attackers=ENGINE, defenders={"kind": "person"})
    with look_on(client, view) as socket:
        assert until(socket, at(1))["game"]["can"]["move"]


def test_a_game_survives_a_restart_with_everything_in_it(serve: Callable[[], TestClient]) -> None:
    client = serve()
    view = begin(client, game="tawlbwrdd", layout="bell", defenders=ENGINE)
    with look_on(client, view) as socket:
        command(client, view, "move", move="g11-h11")
        before = until(socket, at(2))["game"]
    client = serve()
    after = client.get(f"/api/games/{view['id']}").json()
    differs = {key for key in before if before[key] != after[key]}
    assert differs <= {"revision"}
    assert command(client, after, "undo")["ply"] == 0


def test_a_deleted_game_is_gone_for_good(serve: Callable[[], TestClient]) -> None:
    client = serve()
    view = begin(client)
    assert client.delete(f"/api/games/{view['id']}").status_code == 204
    assert client.get(f"/api/games/{view['id']}").status_code == 404
    assert serve().get(f"/api/games/{view['id']}").status_code == 404


def test_a_damaged_or_foreign_file_is_no_game(serve: Callable[[], TestClient], folder: Path) -> None:
    client = serve()
    view = begin(client)
    kept = folder / "games" / f"{view['id']}.json"
    text = kept.read_text(encoding="utf-8")
    stranger = "A" * 22
    (folder / "games" / f"{stranger}.json").write_text(text, encoding="utf-8")
    kept.write_text(text[: len(text) // 2], encoding="utf-8")
    client = serve()
    assert client.get(f"/api/games/{view['id']}").json()["error"]["code"] == "not_found"
    assert client.get(f"/api/games/{stranger}").status_code == 404


def test_records_go_out_and_come_back(client: TestClient) -> None:
    view = begin(client)
    for move in ("d2-c2", "c4-c3"):
        view = command(client, view, "move", move=move)
    answer = client.get(f"/api/games/{view['id']}/record")
    assert "attachment" in answer.headers["content-disposition"]
    assert [str(move) for move in parse_record(answer.text).moves] == ["d2-c2", "c4-c3"]
    again = begin(client, record=answer.text)
    assert (again["position"], again["ply"]) == (view["position"], 2)
    assert client.get(f"/api/games/{view['id']}/record?ply=1").text.count("c4-c3") == 0
    checked = client.post("/api/records", json={"record": answer.text}).json()
    assert (checked["game"], checked["plies"], checked["outcome"]) == ("brandubh", 2, None)


@pytest.mark.parametrize(
    ("position", "problem"),
    [
        ("/7/7/7/7/7/7/7/", "no_king"),
        ("/K6/7/7/7/7/7/7/", "king_on_goal"),
        ("/7/KK5/7/7/7/7/7/", "second_king"),
        ("/t6/1K5/7/7/7/7/7/", "piece_forbidden"),
        ("/x6/1K5/7/7/7/7/7/", "unreadable"),
        ("/8/", "unreadable"),
    ],
)
def test_positions_that_cannot_be_are_refused_with_their_fault(client: TestClient, position: str, problem: str) -> None:
    request = {"game": "brandubh", "position": position, "to_play": "attackers"}
    for address in ("/api/positions", "/api/games"):
        answer = client.post(address, json=request)
        assert answer.status_code == 422
        error = answer.json()["error"]
        assert (error["code"], error["details"]["problem"]) == ("bad_position", problem)


def test_positions_that_can_be_come_with_their_moves(client: TestClient) -> None:
    request = {"game": "brandubh", "position": "/7/7/7/7/7/1K5/7/", "to_play": "defenders"}
    answer = client.post("/api/positions", json=request).json()
    assert answer["outcome"] is None
    assert {row["move"] for row in answer["legal"]} >= {"b2-b1", "b2-g2"}


def test_a_broken_record_is_refused_with_its_place(client: TestClient) -> None:
    view = begin(client)
    text = client.get(f"/api/games/{view['id']}/record").text + "1. d1-d7\n"
    error = client.post("/api/games", json={"record": text}).json()["error"]
    assert (error["code"], error["details"]["line"]) == ("bad_record", text.count("\n"))


def test_pictures_are_png_and_show_the_ply_asked_for(client: TestClient) -> None:
    view = begin(client)
    view = command(client, view, "move", move="d2-c2")
    address = f"/api/games/{view['id']}/picture.png"
    pictures = [client.get(f"{address}?side=200&ply={ply}").content for ply in (0, 1)]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert pictures[0] != pictures[1]
    assert client.get(f"{address}?ply=2").status_code == 409
