"""Players' texts and what comes of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arena.player_text import PlayerError, checkpoint_game, read_player
from arena.players import ROOT, default_player, parse_player
from env import RULES, Game
from models import Provenance, load, save


def after(game: str, *moves: str) -> Game:
    played = Game(game)
    for move in moves:
        played.play(move)
    return played


def some_games(game: str) -> list[Game]:
    return [Game(game), after(game, "d1-c1"), after(game, "d1-b1")]


def test_texts_are_taken_apart() -> None:
    assert read_player("random").options == {}
    assert read_player("alphabeta-v1:depth=4").options == {"depth": 4}
    assert read_player(" alphabeta-v1,seconds=0.5 ").options == {"seconds": 0.5}
    assert read_player("alphabeta-v2:nodes=100000,noise=20").options == {"nodes": 100_000, "noise": 20}


@pytest.mark.parametrize(
    "text", ["{}", "{}:simulations=16", "{}:simulations=16,seconds=2", "{}:seconds=2:simulations=16", "{}, seconds = 2"]
)
def test_checkpoints_texts(text: str, checkpoints: dict[str, Path]) -> None:
    path = checkpoints["brandubh"]
    player = read_player(text.format(path))
    assert player.path == path
    assert player.game == "brandubh"
    assert {"simulations": 16, "seconds": 2.0}.items() >= player.options.items()
    assert ("simulations" in player.options) == ("simulations" in text)


def test_paths_may_hold_colons_commas_and_equals(tmp_path: Path, checkpoints: dict[str, Path]) -> None:
    for name in ("12:30", "a,b", "lr=3", "x:seconds=1", "a:b=c/d"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        shutil.copy(checkpoints["brandubh"], folder / "best.safetensors")
        assert read_player(str(folder)).path == folder / "best.safetensors"
        player = read_player(f"{folder}/best.safetensors:simulations=3")
        assert (player.path, player.options) == (folder / "best.safetensors", {"simulations": 3})


def test_a_run_gives_its_best_else_its_latest(tmp_path: Path, checkpoints: dict[str, Path]) -> None:
    with pytest.raises(PlayerError, match="a run folder without a checkpoint"):
        read_player(str(tmp_path))
    shutil.copy(checkpoints["brandubh"], tmp_path / "latest.safetensors")
    assert read_player(f"{tmp_path}:simulations=2").path == tmp_path / "latest.safetensors"
    shutil.copy(checkpoints["brandubh"], tmp_path / "best.safetensors")
    assert read_player(str(tmp_path)).path == tmp_path / "best.safetensors"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no player"),
        (":depth=3", "names no player"),
        ("randm", "did you mean random"),
        ("alphabeta", "did you mean alphabeta-v"),
        ("alphabeta-v3:depth=3", "did you mean alphabeta-v"),
        (
            "alphabeta-v1:dept=4",
            r"no option is called 'dept' \(did you mean depth\?\); .* depth=NUMBER or seconds=NUMBER",
        ),
        ("alphabeta-v1:4", "'4' is no option; alphabeta-v1 takes depth=NUMBER or seconds=NUMBER"),
        ("alphabeta-v1:depth", "'depth' is no option"),
        ("alphabeta-v1:depth=4:depth=5", "given twice"),
        ("alphabeta-v1:depth=4,seconds=1", "not both"),
        ("alphabeta-v1:depth=0", "depth=0 has to be a whole number from 1 to"),
        ("alphabeta-v1:depth=2.5", "depth=2.5 has to be a whole number"),
        ("alphabeta-v1:depth=1000", "depth=1000 has to be"),
        ("alphabeta-v1:seconds=0", "seconds=0 has to be a number above 0"),
        ("alphabeta-v1:seconds=nan", "seconds=nan has to be"),
        ("alphabeta-v1:seconds=", "seconds= has to be"),
        ("alphabeta-v1:nodes=5", "no option is called 'nodes'"),
        (
            "alphabeta-v2:node=5",
            r"did you mean nodes\?\); alphabeta-v2 takes depth=NUMBER, nodes=NUMBER,",
        ),
        ("alphabeta-v2:nodes=5,seconds=1", "takes depth, nodes or seconds, not nodes and seconds"),
        ("alphabeta-v2:depth=2,noise=-4", "noise=-4 has to be a whole number from 1 to 10000"),
        ("random:depth=3", "random takes none"),
        ("runs/nowhere/best.safetensors", "there is no player or file 'runs/nowhere/best.safetensors'"),
        ("~nosuchuser/best.safetensors", "there is no player or file '~nosuchuser/best.safetensors'"),
        ("~nosuchuser/x:simulations=2", "there is no player or file '~nosuchuser/x'"),
        ("~no\0user/x", "there is no player or file"),
    ],
)
def test_mistakes_are_told_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(PlayerError, match=said) as caught:
        read_player(text)
    assert "\n" not in str(caught.value)


def test_a_mistyped_file_gets_a_suggestion(checkpoints: dict[str, Path]) -> None:
    path = checkpoints["brandubh"]
    with pytest.raises(PlayerError, match=f"did you mean {path}"):
        read_player(str(path).replace("brandubh", "brandub"))
    with pytest.raises(PlayerError, match=r"'64' is no option; .* takes simulations=NUMBER or seconds=NUMBER"):
        read_player(f"{path}:64")


def test_checkpoints_of_another_game_and_damaged_ones_are_refused(tmp_path: Path, checkpoints: dict[str, Path]) -> None:
    with pytest.raises(PlayerError, match="plays tawlbwrdd, not brandubh"):
        parse_player(str(checkpoints["tawlbwrdd"]), "brandubh")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(checkpoints["brandubh"].read_bytes()[:100])
    with pytest.raises(PlayerError, match=r"damaged\.safetensors"):
        parse_player(str(damaged), "brandubh")
    with pytest.raises(PlayerError, match=r"damaged\.safetensors"):
        checkpoint_game(damaged)


def test_devices_and_missing_games_are_told(checkpoints: dict[str, Path]) -> None:
    with pytest.raises(PlayerError, match="device 'abacus' is not there"):
        parse_player(str(checkpoints["brandubh"]), device="abacus")
    with pytest.raises(PlayerError, match="say which"):
        parse_player("alphabeta-v1:depth=2")


@pytest.mark.parametrize("game", RULES)
@pytest.mark.parametrize(
    "text",
    [
        "random",
        "alphabeta-v1:depth=1",
        "alphabeta-v1:seconds=0.02",
        "alphabeta-v2:nodes=90",
        "checkpoint:simulations=4",
    ],
)
def test_players_answer_legally_and_leave_games_alone(text: str, game: str, checkpoints: dict[str, Path]) -> None:
    player = parse_player(text.replace("checkpoint", str(checkpoints[game])), game, threads=2)
    games = some_games(game)
    before = [each.position for each in games]
    moves = player.choose(games, [1, 2, 3])
    assert [move in each.legal_moves() for move, each in zip(moves, games)] == [True] * 3
    thought = player.think(games[1], 2)
    assert thought.move in games[1].legal_moves()
    assert -1 <= thought.expectation <= 1
    assert thought.line[:1] in ((), (thought.move,))
    assert [each.position for each in games] == before
    assert player.choose([]) == []


@pytest.mark.parametrize(
    "text", ["random", "alphabeta-v1:depth=2", "alphabeta-v2:nodes=50,noise=9", "checkpoint:simulations=8"]
)
def test_a_name_makes_the_same_player_and_a_seed_the_same_move(text: str, checkpoints: dict[str, Path]) -> None:
    player = parse_player(text.replace("checkpoint", str(checkpoints["brandubh"])), "brandubh", threads=1)
    twin = parse_player(player.name, "brandubh", threads=3)
    assert twin.name == player.name
    games, seeds = some_games("brandubh") * 2, [7, 8, 9, 10, 11, 12]
    moves = player.choose(games, seeds)
    assert moves == player.choose(games, seeds) == twin.choose(games, seeds)
    assert player.think(games[4], seeds[4]).move == moves[4]


def test_a_checkpoint_searches_with_its_share_of_the_discount(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    checkpoint, path = load(checkpoints["brandubh"]), tmp_path / "patient.safetensors"
    save(path, checkpoint.network, checkpoint.header.model_copy(update={"discounted_share": 0.0}))
    won = Game.from_position("brandubh", "/1t5/7/7/7/7/7/3K1t1/", "defenders")
    values = [parse_player(f"{each}:simulations=64").think(won).value for each in (checkpoints["brandubh"], path)]
    assert values == [pytest.approx(0.98), pytest.approx(1.0)]


def test_seeds_decide_what_is_left_to_chance() -> None:
    for text in ("random", "alphabeta-v1:depth=1"):
        player = parse_player(text, "brandubh")
        assert len(set(player.choose([Game("brandubh")] * 20, range(20)))) > 1
        with pytest.raises(ValueError, match="1 seeds for 2 games"):
            player.choose([Game("brandubh")] * 2, [1])


def test_limits_without_options(checkpoints: dict[str, Path]) -> None:
    path = str(checkpoints["brandubh"])
    assert parse_player(path).name == f"{path}:simulations=64"
    assert parse_player(path, simulations=5).name == f"{path}:simulations=5"
    assert parse_player(path, seconds=0.5).name == f"{path}:seconds=0.5"
    assert parse_player(f"{path}:simulations=9", simulations=5, seconds=1).name == f"{path}:simulations=9"
    assert parse_player("alphabeta-v1", "brandubh").name == "alphabeta-v1:depth=2"
    assert parse_player("alphabeta-v1", "brandubh", seconds=3).name == "alphabeta-v1:seconds=3"
    assert parse_player("alphabeta-v2", "brandubh").name == "alphabeta-v2:depth=2"
    assert parse_player("alphabeta-v2:noise=9", "brandubh", seconds=3).name == "alphabeta-v2:seconds=3,noise=9"


def test_alphabeta_sees_wins_and_losses() -> None:
    player = parse_player("alphabeta-v1:depth=3", "brandubh")
    game = Game.from_position("brandubh", "/3K3/7/7/7/7/7/1t3t1/", "attackers")  # two ways out, one move to close them
    thought = player.think(game)
    assert (thought.proven, thought.plies) == ("loss", 2)
    assert thought.expectation < -0.9
    game.play(thought.move)
    thought = player.think(game)
    assert (thought.proven, thought.plies) == ("win", 1)
    assert thought.expectation > 0.9


def test_the_default_player_is_the_newest_runs_best(
    tmp_path: Path, checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.players.ROOT", tmp_path / "nowhere")
    runs = tmp_path / "runs"
    with pytest.raises(PlayerError, match=r"no checkpoint that plays tawlbwrdd yet: .*--config configs/tawlbwrdd.yaml"):
        default_player("tawlbwrdd", runs)
    for age, (run, game) in enumerate({"new": "brandubh", "old": "brandubh", "other": "tawlbwrdd"}.items()):
        best = runs / run / "best.safetensors"
        best.parent.mkdir(parents=True)
        shutil.copy(checkpoints[game], best)
        os.utime(best, (1e9 - age, 1e9 - age))
    (runs / "broken").mkdir()
    (runs / "broken" / "best.safetensors").write_bytes(b"nonsense")
    assert default_player("brandubh", runs) == default_player(None, runs) == str(runs / "new" / "best.safetensors")
    assert default_player("tawlbwrdd", runs) == str(runs / "other" / "best.safetensors")
    monkeypatch.chdir(tmp_path)
    assert default_player("brandubh") == str(Path("runs/new/best.safetensors"))

    # A run that has only begun has a checkpoint too, of random weights.
    begun = load(runs / "new" / "best.safetensors")
    header = begun.header.model_copy(update={"provenance": Provenance(run="begun", step=0)})
    (runs / "begun").mkdir()
    save(runs / "begun" / "best.safetensors", begun.network, header)
    assert default_player("brandubh", runs) == str(runs / "new" / "best.safetensors")


@pytest.mark.skipif(os.name != "posix", reason="sends the POSIX signal")
def test_ctrl_c_ends_a_long_search() -> None:
    """All threads are deep in kernels that would take hours; as a program, since threads would outlive a failure."""
    program = (
        "import os, signal, threading\n"
        "from arena.players import AlphaBetaPlayer\n"
        "from env import RULES, Game\n"
        "player = AlphaBetaPlayer(RULES['tawlbwrdd'], depth=30, threads=2)\n"
        "threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    player.choose([Game('tawlbwrdd')] * 4)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def test_thinking_goes_on_with_what_was_found_before(checkpoints: dict[str, Path]) -> None:
    player = parse_player(f"{checkpoints['brandubh']}:simulations=200")
    game = Game("brandubh")
    for move in player.think(game).line[:2]:
        game.play(move)
    assert "kept from before" in player.think(game).effort
