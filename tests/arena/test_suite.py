"""Suites of solved positions: read with care, asked of players, counted right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from arena.players import Thought, parse_player
from arena.suite import ALL, Entry, Suite, SuiteError, entry_line, read_suite, run_suite, verdict
from env import RULES, Game, Move
from search.proof import Prover

ROOT = Path(__file__).resolve().parents[2]
# The attackers take the king on f6 in 5 plies; b4-e4 wins as well, but slowly.
POSITION = "/4t2/1t2K2/2ttT2/1t4t/5t1/7/3t3/"
LINE = f"{POSITION} | attackers | 5 | f3-f6:5 g4-g6:7 b4-e4:13 | f3-f7 | standard game 4 ply 22"
HEAD = "# suite: try\n# game: brandubh\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "try-v1.txt"
    path.write_text(text, encoding="utf-8")
    return path


class Plays:
    """A player that plays the moves it was given, position by position."""

    name = "plays"

    def __init__(self, *moves: str) -> None:
        self.moves = list(moves)

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        return [Move.parse(self.moves.pop(0)) for _ in games]

    def think(self, game: Game, seed: int = 0) -> Thought:
        return Thought(Move.parse(self.moves[0]))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, HEAD + "\n" + LINE + "\n"), "brandubh")
    assert (suite.name, suite.rules) == ("try-v1", RULES["brandubh"])
    (entry,) = suite.entries
    assert (entry.side, entry.plies, entry.number) == ("attackers", 5, 1)
    assert entry.keeps == {"f3-f6": 5, "g4-g6": 7, "b4-e4": 13}
    assert entry.unsettled == ("f3-f7",)
    assert entry_line(entry) == LINE
    assert entry.game(suite.rules).position == POSITION


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no solved position"),
        (HEAD, "holds no solved position"),
        (LINE, "line 1: a line '# game: NAME' has to come first"),
        ("# game: chess\n" + LINE, "line 1: no game is called 'chess'; there are: brandubh, tawlbwrdd"),
        ("# game: tawlbwrdd\n" + LINE, "line 1: the suite is for tawlbwrdd, not for brandubh"),
        (HEAD + LINE + "\n# game: tawlbwrdd", "line 4: the suite is for tawlbwrdd, and a line above says brandubh"),
        (HEAD + LINE + "\n" + LINE[:40], "line 4: 2 columns between bars, but 6 are needed: position, side, plies,"),
        (HEAD + LINE.replace("/4t2/", "/4t3/"), "line 3: .* this rank has more than 7 squares"),
        (HEAD + LINE.replace("attackers", "white"), "line 3: no side is called 'white'"),
        (HEAD + LINE.replace("f3-f6:5", "f3-f6"), "line 3: 'f3-f6' is no keeping move with its plies, as d1-c1:5"),
        (HEAD + LINE.replace("f3-f6:5", "f3-f6:4"), "line 3: 'f3-f6:4' is no keeping move with its plies"),
        (HEAD + LINE.replace("f3-f6:5", "f3-e6:5"), "line 3: 'f3-e6' is no legal move in this position"),
        (HEAD + LINE.replace("| f3-f7 |", "| f3-e7 |"), "line 3: 'f3-e7' is no legal move in this position"),
        (HEAD + LINE.replace("| f3-f7 |", "| f3-f6 |"), "line 3: f3-f6 cannot both keep the win and be open"),
        (HEAD + LINE.replace("| 5 |", "| 3 |"), "line 3: '3' plies, but the shortest of the keeping moves takes 5"),
        (HEAD + LINE.replace("f3-f6:5 g4-g6:7 b4-e4:13", ""), "line 3: no move keeps the win"),
    ],
)
def test_damage_is_told_in_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SuiteError, match=message) as caught:
        read_suite(path, "brandubh")
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_files_that_are_no_suite(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"there is no suite .*missing\.txt"):
        read_suite(tmp_path / "missing.txt")
    with pytest.raises(SuiteError, match="cannot be read"):
        read_suite(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SuiteError, match="this is no text in UTF-8"):
        read_suite(tmp_path / "binary")
    with pytest.raises(SuiteError, match="not a regular file"):
        read_suite(Path(os.devnull))


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    file = tmp_path / "marked.txt"
    file.write_text(HEAD + LINE, encoding="utf-8-sig")
    assert len(read_suite(file).entries) == 1


def entries() -> tuple[Entry, ...]:
    keeps = {"f3-f6": 5, "g4-g6": 7, "b4-e4": 13}
    other = Entry("/7/7/2t3T/1t5/1t2t1K/6t/3t3/", "defenders", 5, {"g3-g4": 5}, (), "", 2)
    return Entry(POSITION, "attackers", 5, keeps, ("f3-f7",), "", 1), other


def test_shares_are_counted_by_side_and_length() -> None:
    suite = Suite("try-v1", RULES["brandubh"], entries())
    told: list[tuple[int, int, int]] = []
    result = run_suite(Plays("g4-g6", "g3-f3"), suite, progress=lambda *numbers: told.append(numbers))
    assert result.kept == 0.5 and told == [(2, 2, 1)]
    assert (result.share("attackers").share, result.share("defenders").share) == (1.0, 0.0)
    assert result.share(plies=5).positions == 2 and result.share(plies=7).share is None
    assert result.share().interval[0] < 0.5 < result.share().interval[1]
    (blunder,) = result.blunders
    assert (blunder.move, blunder.entry.keeps) == ("g3-f3", {"g3-g4": 5})
    data = json.loads(json.dumps(result.to_json()))
    assert data["kept"] == 0.5 and data["by_side"]["attackers"]["kept"] == 1.0
    assert data["by_length"]["5"]["positions"] == 2 and data["by_side_and_length"]["defenders"]["5"]["kept"] == 0.0
    assert data["blunders"][0]["played"] == "g3-f3" and data["blunders"][0]["keeping"] == ["g3-g4"]
    assert (data["player"], data["suite"], data["game"], data["positions"]) == ("plays", "try-v1", "brandubh", 2)


def test_moves_that_the_suite_leaves_open_are_asked_of_the_solver() -> None:
    entry, _ = entries()
    game = entry.game("brandubh")
    open_one = Entry(entry.position, entry.side, 5, {"f3-f6": 5}, ("g4-g6", "e7-d7"))
    prover = Prover("brandubh", 8)
    assert verdict(open_one, game, Move.parse("g4-g6"), prover) is True
    assert verdict(open_one, game, Move.parse("b4-e4"), prover) is False  # as the suite says, rightly or not
    suite = Suite("try", RULES["brandubh"], (open_one,))
    assert run_suite(Plays("g4-g6"), suite).kept == 1.0
    assert verdict(open_one, game, Move.parse("e7-d7"), None) is None
    all_open = Entry(entry.position, entry.side, 5, {"f3-f6": 5}, (ALL,))
    assert verdict(all_open, game, Move.parse("f3-f6"), None) is True
    assert verdict(all_open, game, Move.parse("b4-e4"), prover) is True
    assert verdict(all_open, game, Move.parse("d1-d3"), prover) is False


def test_what_is_not_settled_does_not_count_as_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = entries()
    monkeypatch.setattr("arena.suite.OPEN_NODES", 1)
    result = run_suite(Plays("f3-f7"), Suite("try", RULES["brandubh"], (entry,)))
    assert (result.kept, result.unsettled, result.blunders) == (0.0, 1, ())
    assert result.to_json()["unsettled"] == 1


def test_players_of_the_project_are_asked(tmp_path: Path) -> None:
    suite = Suite("try-v1", RULES["brandubh"], entries())
    deep = run_suite(parse_player("alphabeta-v1:depth=6", "brandubh", threads=1), suite)
    assert deep.kept == 1.0 and deep.seconds > 0
    random = [run_suite(parse_player("random"), suite, seed).answers for seed in range(8)]
    assert len(set(random)) > 1  # the seed decides
    assert run_suite(parse_player("random"), suite, 3).answers == random[3]


def test_after_ctrl_c_the_answers_so_far_count(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Plays):
        def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
            if not self.moves:
                raise KeyboardInterrupt
            return super().choose(games, seeds)

    monkeypatch.setattr("arena.suite.TOGETHER", 1)
    suite = Suite("try-v1", RULES["brandubh"], entries())
    result = run_suite(Stopped("f3-f6"), suite)
    assert result.interrupted and len(result.answers) == 1 and result.kept == 1.0
    with pytest.raises(KeyboardInterrupt):
        run_suite(Stopped(), suite)


def evaluate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    command = [sys.executable, "evaluate.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_door_tells_the_shares(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + "\n".join(entry_line(entry) for entry in entries()) + "\n")
    done = evaluate("alphabeta-v1:depth=6", "--suite", path, "--json", tmp_path / "f.json", "--threads", "1")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "100.0% of 2" in done.stdout and "wins in 5 plies" in done.stdout
    data = json.loads((tmp_path / "f.json").read_text())
    assert data["kept"] == 1.0 and data["player"] == "alphabeta-v1:depth=6"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--game", "tawlbwrdd"), "the suite is for brandubh, not for tawlbwrdd"),
        (("--simulations", "8"), "--simulations is for checkpoints, and no player is one"),
        (("--opponent", "random"), "--opponent does not belong to a suite but to a match"),
        (("--layout", "standard"), "--layout does not belong to a suite"),
    ],
)
def test_the_door_refuses(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + LINE + "\n")
    done = evaluate("random", "--suite", path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("evaluate.py: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_the_door_names_a_damaged_line(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + LINE + "\n" + LINE[:-60] + "\n")
    done = evaluate("random", "--suite", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "line 4: " in done.stderr
