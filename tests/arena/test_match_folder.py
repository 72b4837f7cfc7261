"""Matches that stop and go on: games kept, read back, and the same result in the end."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import evaluate
from arena.match import MatchResult, play_match
from arena.match_folder import MatchFolder, MatchFolderError, read_settings
from arena.match_result import MoveTimes, PlayedGame
from arena.openings import Opening
from arena.players import Player, RandomPlayer, parse_player
from arena.sprt import Sprt
from env import RULES
from env.records import parse_record
from models import Evaluator, load, save

ROOT = Path(evaluate.__file__).parent
BRANDUBH = RULES["brandubh"]
OPENINGS = [
    Opening("standard", tuple(line.split()), "test", number)
    for number, line in enumerate(["d1-c1", "d2-e2 d3-c3", "d1-f1 d5-c5", "a4-a3"], start=1)
]
SETTINGS = {"player": "random", "opponent": "random", "games": 12, "seed": 1, "sprt": None}


class Stop(Exception):
    """Ends a match from inside, as a kill would."""


def lines(result: MatchResult) -> list[tuple[int, ...]]:
    return [game.line for game in result.played]


def without_times(result: MatchResult) -> dict[str, object]:
    return {**result.to_json(), "seconds": 0}


def resumed(
    folder: Path, players: tuple[Player, Player], games: int, after: int, at_once: int, sprt: Sprt | None = None
) -> MatchResult:
    """A match that is killed when `after` games are kept, and goes on."""
    pairs = [OPENINGS[i % 4] for i in range(games)]
    settings = {**SETTINGS, "player": players[0].name, "opponent": players[1].name}
    with MatchFolder(folder, settings) as first:

        def keep(played: PlayedGame) -> None:
            first.keep(played)
            if len(list(folder.glob("*.otg"))) >= after:
                raise Stop

        with pytest.raises(Stop):
            play_match(*players, BRANDUBH, OPENINGS, games, seed=1, at_once=at_once, keep=keep, sprt=sprt)
    with MatchFolder(folder, settings) as second:
        # The order of openings decides which pair has which.
        order = [game.opening for game in play_match(*players, BRANDUBH, OPENINGS, games, 5, seed=1).played[::2]]
        assert len(order) <= len(pairs)
        finished = second.finished(BRANDUBH, order, 4 * BRANDUBH.cells)
        assert len(finished) == after
        return play_match(
            *players,
            BRANDUBH,
            OPENINGS,
            games,
            seed=1,
            at_once=at_once,
            finished=finished,
            keep=second.keep,
            sprt=sprt,
        )


@pytest.mark.parametrize("at_once", [3, 100])
@pytest.mark.parametrize("opponent", ["random", "alphabeta-v1:depth=1"])
def test_a_match_that_was_stopped_ends_as_if_it_had_not_been(tmp_path: Path, opponent: str, at_once: int) -> None:
    players = RandomPlayer(), parse_player(opponent, BRANDUBH, threads=1)
    whole = play_match(*players, BRANDUBH, OPENINGS, 12, seed=1)
    again = resumed(tmp_path / "m", players, 12, after=5, at_once=at_once)
    assert lines(again) == lines(whole)
    assert without_times(again) == without_times(whole)


def test_networks_too_come_out_the_same(tmp_path: Path, checkpoints: dict[str, Path]) -> None:
    # Few games are left after the stop, so that batches are of other sizes.
    player = parse_player(f"{checkpoints['brandubh']}:simulations=8", BRANDUBH, threads=1)
    players = player, RandomPlayer()
    whole = play_match(*players, BRANDUBH, OPENINGS, 12, seed=1)
    again = resumed(tmp_path / "m", players, 12, after=10, at_once=100)
    assert lines(again) == lines(whole)


def test_networks_see_no_small_batches_in_a_match(
    checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Libraries compute those in another order, with other last bits, which may or may not change a move.
    rows: list[int] = []
    evaluate_rows = Evaluator.__call__

    def counted(self: Evaluator, *arrays: np.ndarray) -> None:
        rows.append(len(arrays[0]))
        evaluate_rows(self, *arrays)

    monkeypatch.setattr(Evaluator, "__call__", counted)
    player = parse_player(f"{checkpoints['brandubh']}:simulations=8", BRANDUBH, threads=1)
    play_match(player, RandomPlayer(), BRANDUBH, OPENINGS, 2, 20, seed=1, at_once=1)
    assert len(rows) > 8 and min(rows) == 8


def test_how_many_go_at_a_time_changes_nothing(checkpoints: dict[str, Path]) -> None:
    player = parse_player(f"{checkpoints['brandubh']}:simulations=6", BRANDUBH, threads=2)
    results = [
        play_match(player, RandomPlayer(), BRANDUBH, OPENINGS, 10, max_plies=60, seed=2, at_once=at_once)
        for at_once in (1, 4, 100)
    ]
    assert lines(results[0]) == lines(results[1]) == lines(results[2])


def test_games_begin_in_order_so_that_pairs_come_early() -> None:
    kept: list[int] = []
    play_match(
        RandomPlayer(),
        RandomPlayer(),
        BRANDUBH,
        OPENINGS,
        20,
        seed=1,
        at_once=2,
        keep=lambda game: kept.append(game.number),
    )
    assert sorted(kept) == list(range(20))
    # With two at a time nobody can be far ahead of the first that goes on.
    assert all(number <= index + 1 + 20 // 2 for index, number in enumerate(kept))
    assert kept[0] in (0, 1)


def test_a_sequential_test_decides_on_the_first_pairs_whichever_were_over_first(tmp_path: Path) -> None:
    players = parse_player("alphabeta-v1:depth=2", BRANDUBH, threads=1), RandomPlayer()
    sprt = Sprt(0, 100)
    narrow, wide = (
        play_match(*players, BRANDUBH, OPENINGS, 400, seed=1, at_once=at_once, sprt=sprt) for at_once in (2, 64)
    )
    assert narrow.sprt is not None and narrow.sprt.accepted == "H1"
    assert not narrow.interrupted
    assert narrow.games == 2 * narrow.sprt.taken < 400
    assert without_times(narrow) == without_times(wide)
    again = resumed(tmp_path / "m", players, 400, after=7, at_once=2, sprt=sprt)
    assert without_times(again) == without_times(narrow)


def test_a_sequential_test_may_stay_undecided() -> None:
    result = play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS, 12, max_plies=200, seed=1, sprt=Sprt(-5, 5))
    assert result.sprt is not None
    assert (result.sprt.accepted, result.games, result.interrupted) == ("", 12, False)
    assert sum(result.sprt.counts) == 6
    assert result.to_json()["sprt"]["accepted"] == "undecided"


def test_a_folder_is_of_one_match_and_of_one_process(tmp_path: Path) -> None:
    with MatchFolder(tmp_path / "m", SETTINGS) as folder:
        assert read_settings(folder.path) == SETTINGS
        with pytest.raises(MatchFolderError, match=f"process {os.getpid()} plays in this folder at this moment"):
            MatchFolder(tmp_path / "m", SETTINGS)
    with pytest.raises(MatchFolderError, match="holds a match with games 12, not 14"):
        MatchFolder(tmp_path / "m", {**SETTINGS, "games": 14})
    MatchFolder(tmp_path / "m", SETTINGS).close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(MatchFolderError, match="there is a folder of that name already, and it holds no match"):
        MatchFolder(tmp_path / "other", SETTINGS)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]
    (tmp_path / "m" / "match.json").write_text("{")
    with pytest.raises(MatchFolderError, match="is damaged"):
        MatchFolder(tmp_path / "m", SETTINGS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "it is no object"),
        ("7", "it is no object"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"format": 1, "player": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}", "nested too deeply|player: "),
        ('{"format": 1, "games": ' + "9" * 5000 + "}", "digit"),
        ({"sprt": 5}, "sprt: input should be a valid"),
        ({"sprt": [0, 5, 0.05]}, "sprt 3: field required"),
        ({"sprt": [0, 5, "x", 0.05]}, "sprt 2: input should be a valid number"),
        ({"sprt": [0, 1e300, 0.05, 0.05]}, "Elo lies between"),
        ({"sprt": [0, float("nan"), 0.05, 0.05]}, "sprt"),
        ({"player": 5}, "player: input should be a valid string"),
        ({"opponent": None}, "opponent: input should be a valid string"),
        ({"game": "chess"}, "game 'chess': there are"),
        ({"game": [1]}, "game: input should be a valid string"),
        ({"games": "x"}, "games: input should be a valid integer"),
        ({"games": 1e300}, "games: "),
        ({"games": 10**12}, "games: input should be less than or equal to 100000"),
        ({"games": True}, "games: input should be a valid integer"),
        ({"seed": "x"}, "seed: input should be a valid integer"),
        ({"seed": -4}, "seed: input should be greater than or equal to 0"),
        ({"max_plies": [1]}, "max_plies: input should be a valid integer"),
        ({"openings_checksum": "x"}, "openings_checksum: "),
        ({"surprise": 1}, "surprise: extra inputs are not permitted"),
    ],
)
def test_a_damaged_manifest_is_refused_with_what_is_wrong(
    text: str | dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(text, dict):
        text = json.dumps({"format": 1, **SETTINGS, **text})
    (tmp_path / "match.json").write_text(text)
    assert evaluate.main(["--resume", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert re.search(rf"match\.json is damaged \(.*({said})", error), error
    assert error.count("\n") == 1 and len(error) < 1000


def test_a_folder_that_was_only_just_begun_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "lock").touch()
    (folder / ".match.json.0123abcd.tmp").write_text("{")
    with MatchFolder(folder, SETTINGS) as begun:
        assert not begun.begun
        assert {path.name for path in folder.iterdir()} == {"lock", "match.json"}


def test_records_that_do_not_belong_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    with MatchFolder(folder, SETTINGS) as match:
        played = play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS, 4, seed=1, keep=match.keep).played
        order = [game.opening for game in played[::2]]
        limit = 4 * BRANDUBH.cells
        assert sorted(match.finished(BRANDUBH, order, limit)) == [0, 1, 2, 3]
        good = (folder / "0002.otg").read_text()
        for damaged, said in (
            (good[: len(good) // 2], "cannot be read"),
            (good.replace("attackers:random", "attackers:somebody"), "attackers is somebody, not random"),
            (good.replace("round:2", "round:3"), "round is 3, not 2"),
            (re.sub(r"time:\d+ moves", f"time:{'9' * 400} moves", good), "does not tell times"),
            (re.sub(r"\[player-time.*\n", "", good), "it has no tag 'player-time'"),
            (re.sub(r"\[result:.*\n\[termination.*\n", "", good).replace(good.split("\n")[-2], ""), "is not over|read"),
        ):
            (folder / "0002.otg").write_text(damaged)
            with pytest.raises(MatchFolderError, match=rf"0002\.otg.*({said}).*delete it") as caught:
                match.finished(BRANDUBH, order, limit)
            assert "\n" not in str(caught.value)
        (folder / "0002.otg").write_text(good)
        with pytest.raises(MatchFolderError, match=r"0001\.otg: this game goes on after ply 5, the match's limit"):
            match.finished(BRANDUBH, order, 5)
        (folder / "0002.otg").unlink()
        assert sorted(match.finished(BRANDUBH, order, limit)) == [0, 2, 3]
        shutil.copy(folder / "0001.otg", folder / "0009.otg")
        with pytest.raises(MatchFolderError, match=r"0009\.otg.*it has only 4 games.*delete it if"):
            match.finished(BRANDUBH, order, limit)
        (folder / "0009.otg").rename(folder / "00001.otg")  # another name of a game that is there is no name of one
        assert sorted(match.finished(BRANDUBH, order, limit)) == [0, 2, 3]


def test_times_are_kept_with_the_games(tmp_path: Path) -> None:
    with MatchFolder(tmp_path / "m", SETTINGS) as match:
        result = play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS, 4, seed=1, keep=match.keep)
        finished = match.finished(BRANDUBH, [game.opening for game in result.played[::2]], 4 * BRANDUBH.cells)
    for game in result.played:
        for role, times in game.times.items():
            assert times.moves > 0
            read = finished[game.number].times[role]
            assert (read.moves, read.seconds) == (times.moves, pytest.approx(times.seconds, abs=1e-3))
    moves = sum(game.game.ply - len(game.opening.moves) for game in result.played)
    assert sum(times.moves for times in result.times.values()) == moves
    with pytest.raises(ValueError, match="does not tell times"):
        MoveTimes.parse("yesterday")


OPTIONS = ["alphabeta-v1:depth=1", "--opponent", "random", "--games", "40", "--seed", "3", "--threads", "1"]


def door(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "evaluate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.skipif(os.name != "posix", reason="sends the POSIX signal")
def test_a_killed_match_goes_on_by_the_door(tmp_path: Path) -> None:
    folder, file = tmp_path / "m", tmp_path / "f.json"
    command = [sys.executable, str(ROOT / "evaluate.py"), *OPTIONS, "--at-once", "2", "--save", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 600
        while len(list(folder.glob("*.otg"))) < 3:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = len(list(folder.glob("*.otg")))
    assert 3 <= kept < 40
    assert evaluate.main(["--resume", str(folder), "--json", str(file), "--threads", "1"]) == 0
    result = json.loads(file.read_text())
    assert (result["games"], result["seed"], result["opponent"]) == (40, 3, "random")
    records = [parse_record(path.read_text()) for path in sorted(folder.glob("*.otg"))]
    assert [record.tags["round"] for record in records] == [str(n + 1) for n in range(40)]
    assert evaluate.main([*OPTIONS, "--json", str(file)]) == 0
    assert {**json.loads(file.read_text()), "seconds": 0} == {**result, "seconds": 0}


@pytest.mark.parametrize("role", ["player", "opponent"])
def test_a_folder_starts_no_program(role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, trace = tmp_path / "m", tmp_path / "trace"
    assert (
        evaluate.main(["random", "--opponent", "random", "--games", "2", "--save", str(folder), "--threads", "1"]) == 0
    )
    manifest = folder / "match.json"
    settings = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**settings, role: f"engine:touch {trace}"}))
    assert evaluate.main(["--resume", str(folder)]) == 2
    assert f"the {role} of this match is a program" in capsys.readouterr().err
    assert not trace.exists()


def test_the_door_goes_on_only_with_the_same_match(
    tmp_path: Path, checkpoints: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, network = tmp_path / "m", tmp_path / "net.safetensors"
    shutil.copy(checkpoints["brandubh"], network)
    options = ["--opponent", "random", "--games", "2", "--max-plies", "12", "--threads", "1"]
    first = [f"{network}:simulations=2", *options, "--save", str(folder)]
    assert evaluate.main(first) == 0
    assert "2 records are in" in capsys.readouterr().out
    assert evaluate.main(first) == 0  # the same command again: everything is there already
    assert "goes on with the 2 games" in capsys.readouterr().out
    for changed, said in (
        (["random", *options, "--save", str(folder)], f"holds a match with player {network}:simulations=2, not random"),
        ([*first[:1], *options, "--resume", str(folder), "--seed", "4"], "with seed 0, not 4"),
        (["--resume", str(folder), "--game", "tawlbwrdd"], "brandubh, not tawlbwrdd"),
        (["random", "--sprt", "0", "5", "--alpha", "5e-324"], "is at least 1e-06"),
        (["--resume", str(folder), "--sprt", "0", "5"], "with sprt none, not 0.0 5.0 0.05 0.05"),
        (["--resume", str(folder), "--depth", "3"], "with opponent random, not alphabeta-v1:depth=3"),
        (["--resume", str(tmp_path)], "is no match's folder"),
        ([*first, "--resume", str(folder)], "one folder is enough"),
        (["random", "--alpha", "0.1"], "--alpha is for --sprt"),
        (["random", "--sprt", "5", "0"], "has to be the smaller one"),
        (["random", "--at-once", "0"], "--at-once 0: has to be at least 1"),
    ):
        assert evaluate.main(changed) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    learnt = load(network)
    with torch.no_grad():
        for weights in learnt.network.parameters():
            weights += 0.01
    save(network, learnt.network, learnt.header)
    assert evaluate.main(first) == 2
    assert "the file of the player has changed since this match began" in capsys.readouterr().err


def test_the_seed_nought_is_a_seed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "m"
    assert evaluate.main(["random", "--opponent", "random", "--games", "2", "--seed", "3", "--save", str(folder)]) == 0
    capsys.readouterr()
    assert evaluate.main(["--resume", str(folder), "--seed", "0"]) == 2
    assert "holds a match with seed 3, not 0" in capsys.readouterr().err
    assert evaluate.main(["--resume", str(folder)]) == 0


def test_a_full_disk_is_told_with_the_file_and_the_way_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with MatchFolder(tmp_path / "m", SETTINGS) as match:
        monkeypatch.setattr("arena.match_folder.write_text", full)
        with pytest.raises(OSError, match=r"0001\.otg cannot be written \(No space left on device\).*--resume .*m$"):
            play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS, 2, seed=1, at_once=1, keep=match.keep)


def test_the_door_tells_a_sequential_test(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    options = ["--opponent", "random", "--sprt", "-10", "100", "--threads", "1", "--json", str(file)]
    assert evaluate.main(["alphabeta-v1:depth=2", *options]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "H1 accepted: at these error rates the difference is taken to be" in out and "rather than -10" in out
    assert "stops at a lucky moment" in out
    sprt = json.loads(file.read_text())["sprt"]
    assert (sprt["accepted"], sprt["elo0"], sprt["elo1"], sprt["elo_model"]) == ("H1", -10, 100, "logistic")
    assert sprt["llr"] >= sprt["bounds"][1]
