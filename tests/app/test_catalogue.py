"""Checkpoints, runs and saved games: found by id in the folders, and nothing else."""

from pathlib import Path

import numpy as np
import pytest
from board_client import ENGINE, at, begin, command, look_on, save_checkpoint, until
from fastapi.testclient import TestClient
from safetensors.numpy import save_file

from env import Game


@pytest.fixture
def run(folder: Path) -> Path:
    """A run with three checkpoints, a file that is none, and a saved game."""
    run = folder / "runs" / "first run"
    for name in ("best", "latest", "checkpoints/000020", "checkpoints/odd"):
        save_checkpoint(run / f"{name}.safetensors", scores={"alphabeta-v1:depth=2 attackers": 0.5})
    (run / "checkpoints" / "000030.safetensors").write_bytes(b"no checkpoint")
    save_shard(run / "iterations" / "000012" / "shard.safetensors")
    return run


MOVES = ["d2-c2", "c4-c3", "c2-c1"]


def save_shard(path: Path) -> None:
    game = Game("brandubh")
    for move in MOVES:
        game.play(move)
    positions, games = 0, 1
    shard = {
        "inputs": np.zeros((positions, 52), np.int8),
        "policy_offsets": np.zeros(1, np.int64),
        "policy_actions": np.zeros(0, np.int16),
        "policy_probs": np.zeros(0, np.float32),
        "policy_weight": np.zeros(positions, np.float32),
        "value": np.zeros(positions, np.float32),
        "outlook": np.zeros((positions, 3), np.float32),
        "game": np.zeros(positions, np.int32),
        "ply": np.zeros(positions, np.int16),
        "winner": np.zeros(games, np.int8),
        "reason": np.zeros(games, np.int8),
        "length": np.array([len(MOVES)], np.int16),
        "layout": np.zeros(games, np.int16),
        "start": Game("brandubh").board[None],
        "missing": np.zeros(games, np.int8),
        "balance": np.zeros(games, np.int8),
        "move_offsets": np.array([0, len(MOVES)], np.int64),
        "moves": np.array(game.actions, np.int16),
    }
    path.parent.mkdir(parents=True)
    save_file(shard, path)


def test_checkpoints_of_runs_are_listed_and_play(client: TestClient, run: Path) -> None:
    found = client.get("/api/checkpoints?game=brandubh").json()["checkpoints"]
    ids = [each["checkpoint"] for each in found]
    assert ids == ["runs/first run/best", "runs/first run/latest", "runs/first run/000020"]
    assert (found[2]["iteration"], found[0]["scores"]) == (20, {"alphabeta-v1:depth=2 attackers": 0.5})
    assert client.get("/api/checkpoints?game=tawlbwrdd").json()["checkpoints"] == []
    seat = {"kind": "checkpoint", "checkpoint": ids[2], "simulations": 4}
    view = begin(client, attackers=seat, defenders={"kind": "person"})
    with look_on(client, view) as socket:
        shown = until(socket, at(1))["game"]
    assert sum(shown["moves"][0]["chances"].values()) == pytest.approx(1, abs=0.01)


def test_levels_play_with_a_network_as_soon_as_there_is_one(client: TestClient, run: Path) -> None:
    levels = {game["game"]: game["levels"] for game in client.get("/api/about").json()["games"]}
    assert {level["checkpoint"] for level in levels["brandubh"]} == {"runs/first run/best"}
    assert {level["engine"] for level in levels["tawlbwrdd"]} == {"alphabeta"}
    shipped = run.parents[1] / "pretrained" / "brandubh.safetensors"
    save_checkpoint(shipped)
    level = client.get("/api/about").json()["games"][0]["levels"][0]
    assert level["checkpoint"] == "pretrained/brandubh"


@pytest.mark.parametrize(
    "wanted",
    [
        "runs/first run/odd",
        "runs/first run/000030",
        "runs/../first run/best",
        "first run/best",
        "/etc/passwd",
        "runs/none/best",
    ],
)
def test_other_ids_are_no_checkpoints(client: TestClient, run: Path, wanted: str) -> None:
    request = {"game": "brandubh", "attackers": {"kind": "checkpoint", "checkpoint": wanted}}
    answer = client.post("/api/games", json=request)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_links_that_lead_out_of_the_runs_are_not_followed(
    client: TestClient, run: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    save_checkpoint(outside / "best.safetensors")
    (run.parent / "linked").symlink_to(outside)
    (run / "checkpoints" / "000040.safetensors").symlink_to(outside / "best.safetensors")
    ids = [each["checkpoint"] for each in client.get("/api/checkpoints").json()["checkpoints"]]
    assert not [name for name in ids if "linked" in name or "000040" in name]


def test_a_checkpoint_of_the_other_game_is_refused_in_a_sentence(client: TestClient, run: Path) -> None:
    request = {"game": "tawlbwrdd", "attackers": {"kind": "checkpoint", "checkpoint": "runs/first run/best"}}
    error = client.post("/api/games", json=request).json()["error"]
    assert error["message"] == "The checkpoint runs/first run/best plays brandubh, not tawlbwrdd."


def test_a_checkpoint_that_vanishes_is_told_at_the_board(client: TestClient, run: Path) -> None:
    seat = {"kind": "checkpoint", "checkpoint": "runs/first run/latest", "simulations": 4}
    view = begin(client, defenders=seat)
    (run / "latest.safetensors").unlink()
    with look_on(client, view) as socket:
        command(client, view, "move", move="d2-c2")
        told = until(socket, lambda message: message["type"] == "game" and message["game"]["notice"])["game"]
        assert (told["notice"]["code"], told["thinking"]) == ("player_missing", None)
        command(client, view, "players", defenders=ENGINE)
        until(socket, at(2))


def test_saved_games_of_self_play_are_stepped_through(client: TestClient, run: Path) -> None:
    listed = client.get("/api/runs").json()["runs"]
    assert [(each["run"], each["game"], each["selfplay"]) for each in listed] == [("first run", "brandubh", [12])]
    games = client.get("/api/runs/first run/iterations/12").json()
    assert games["total"] == 1
    assert games["games"][0] == {
        "number": 0,
        "layout": "standard",
        "missing": 0,
        "plies": 3,
        "winner": None,
        "reason": None,
        "truncated": True,
    }
    view = begin(client, selfplay={"run": "first run", "iteration": 12, "number": 0})
    assert [row["move"] for row in view["moves"]] == MOVES
    assert command(client, view, "undo", ply=1)["ply"] == 1


def test_saved_games_that_are_not_there_or_damaged_are_refused(client: TestClient, run: Path) -> None:
    for address in ("none/iterations/12", "first run/iterations/13"):
        assert client.get(f"/api/runs/{address}").status_code == 404
    wanted = {"run": "first run", "iteration": 12, "number": 1}
    assert client.post("/api/games", json={"selfplay": wanted}).status_code == 404
    shard = run / "iterations" / "000012" / "shard.safetensors"
    shard.write_bytes(shard.read_bytes()[:-9])
    answer = client.get("/api/runs/first run/iterations/12")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_possible")
