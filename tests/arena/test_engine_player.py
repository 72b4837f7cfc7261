"""Other programs as players: every way in which they may fail costs them the game and nobody anything else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines import command, player
from hypothesis import example, given
from hypothesis import strategies as st

import evaluate
from arena.engine_player import EngineError, EnginePlayer
from arena.engine_process import Closed, EngineProcess
from arena.fault import CRASHED, ERROR, FLOOD, ILLEGAL, KINDS, TIME, Fault
from arena.match import MatchResult, play_match
from arena.match_result import tag_text
from arena.openings import Opening
from arena.player_text import PlayerError, read_player
from arena.players import RandomPlayer, parse_player
from arena.protocol import position_text
from env import RULES, Game
from env.records import format_record, parse_record, record_of

BRANDUBH = RULES["brandubh"]
OPENINGS = [Opening("standard", ("d1-c1",), "test", 1), Opening("standard", ("d2-e2", "d3-c3"), "test", 2)]
ROOT = Path(evaluate.__file__).parent


@pytest.fixture(autouse=True)
def nobody_is_left(tmp_path: Path) -> Iterator[None]:
    """No process that a test has started outlives it, not even as a zombie."""
    yield
    if not Path("/proc/self/stat").exists():
        return
    end = time.monotonic() + 10
    while left := processes(parent=os.getpid()):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def processes(parent: int = -1, group: int = -1) -> list[str]:
    """Children of a process, those that have ended and were not waited for among them; or who lives in a group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, its_parent, its_group = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:3]
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if int(its_parent) == parent and (state == "Z" or "engines.py" in line):
            found.append(f"{state} {line}")
        if int(its_group) == group and state != "Z":
            found.append(f"{state} {line}")
    return found


def left_of(group: int) -> list[str]:
    """What is left of a group that has been killed; a busy machine takes a moment to bury the dead."""
    until = time.monotonic() + 5
    while (found := processes(group=group)) and time.monotonic() < until:
        time.sleep(0.02)
    return found


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that say nothing are not waited for as long as in earnest."""
    monkeypatch.setattr("arena.engine_player.FIRST_MOVE_SECONDS", 5.0)


def match(name: str, games: int = 2, seconds: float = 0.5, max_plies: int = 30, threads: int = 2) -> MatchResult:
    engine = parse_player(player(name, seconds), BRANDUBH, threads=threads, programs=True)
    assert isinstance(engine, EnginePlayer)
    try:
        return play_match(RandomPlayer(), engine, BRANDUBH, OPENINGS, games, max_plies, seed=1)
    finally:
        engine.close()


@pytest.mark.parametrize("name", ["good", "banner", "crlf", "half", "asks", "long", "eager"])
def test_programs_that_speak_the_protocol_play(name: str) -> None:
    result = match(name)
    assert result.faults == {"player": {}, "opponent": {}}
    assert result.games == 2
    assert result.times["opponent"].moves >= 20
    assert all(game.reason in ("unfinished", "repetition", "king_escaped", "king_captured") for game in result.played)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("dead", CRASHED, "it ended with status 3, and said: cannot find my weights"),
        ("crash", CRASHED, "it ended with status 7, and said: out of cheese"),
        ("deaf", TIME, "no move within"),
        ("slow", TIME, "no move within"),
        ("endless", TIME, "no move within"),
        ("flood", FLOOD, "more than 20,000 lines"),
        ("illegal", ILLEGAL, "a1-a1, there is no piece on a1"),
        ("foreign", ILLEGAL, "not your piece"),
        ("nonsense", ILLEGAL, "castles, a rank number"),
        ("gives-up", ERROR, "out of ideas"),
        ("resigns", ERROR, "it resigns"),
    ],
)
def test_programs_that_fail_lose_that_game(name: str, kind: str, said: str) -> None:
    result = match(name)
    assert result.games == 2
    assert result.score["overall"] == 1.0
    assert result.ends == {"forfeit": 2}
    assert result.faults == {"player": {}, "opponent": {kind: 2}}
    for game, record in zip(result.played, result.records()):
        assert game.fault is not None
        assert said in game.fault.text
        text = format_record(record)
        assert f"[fault:{kind}: " in text
        assert Fault.parse(parse_record(text).tags["fault"]).kind == kind


@given(st.sampled_from(KINDS), st.text())
@example(ERROR, "]")
@example(ERROR, "")
@example(CRASHED, "\x1b[31m\x00 red [/red]\u0085")
def test_faults_are_read_back_from_records_as_they_were(kind: str, text: str) -> None:
    fault = Fault(kind, text)
    assert str(fault).isprintable()
    game = Game("brandubh")
    game.forfeit("attackers")
    record = parse_record(format_record(record_of(game, None, fault=tag_text(str(fault)))))
    assert Fault.parse(record.tags["fault"]) == fault


def test_a_program_that_says_no_hello_is_given_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.protocol.HELLO_SECONDS", 0.3)
    result = match("mute")
    assert result.faults["opponent"] == {TIME: 2}
    assert all(game.fault is not None and game.fault.text == "no hello within 0.3 s" for game in result.played)


def test_only_the_first_game_waits_long_for_a_first_move() -> None:
    engine = parse_player(player("deaf", 0.1), BRANDUBH, threads=1, programs=True)
    assert isinstance(engine, EnginePlayer)
    games = [Game("brandubh"), Game("brandubh")]
    answers = [engine.attempt([game])[0] for game in games]
    assert answers == [Fault(TIME, "no move within 5.6 s"), Fault(TIME, "no move within 0.6 s")]
    for game in games:
        engine.release(game)
    engine.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at Linux's list of processes")
def test_a_program_that_hears_no_signal_is_ended_with_its_children(tmp_path: Path) -> None:
    process = EngineProcess([sys.executable, *command("stubborn").split()[1:]])
    assert process.line(time.monotonic() + 60) == "hello"
    assert len(processes(group=process.process_id)) == 2
    process.end()
    assert left_of(process.process_id) == []


@pytest.mark.parametrize("kind", ["orphans", "runaway"])
def test_a_program_that_leaves_its_children_behind_has_crashed(kind: str) -> None:
    process = EngineProcess([sys.executable, *command(kind).split()[1:]])
    assert process.line(time.monotonic() + 60) == "hello"
    process.send("position")
    with pytest.raises(Closed):
        process.line(time.monotonic() + 6)
    assert process.last_words() == "it ended with status 5, and said: gone"
    with pytest.raises(Closed):
        process.line(time.monotonic())
    assert left_of(process.process_id) == []
    process.end()


def test_children_go_with_the_program_that_takes_its_leave() -> None:
    process = EngineProcess([sys.executable, *command("orphans", "politely").split()[1:]])
    assert process.line(time.monotonic() + 60) == "hello"
    assert process.line(time.monotonic() + 0.2) is None
    process.end("goodbye")
    assert process.last_words().startswith("it ended with status 0")
    assert left_of(process.process_id) == []


def test_lines_are_read_as_they_come_and_nobody_waits_for_a_reader(tmp_path: Path) -> None:
    process = EngineProcess([sys.executable, *command("deaf").split()[1:]])
    assert process.line(time.monotonic() + 60) == "hello"
    begun = time.monotonic()
    for _ in range(200):
        process.send("status " + "x" * 10_000)  # far more than a pipe holds
    assert process.line(begun + 0.2) is None
    process.kill()
    with pytest.raises(Closed):
        process.line(time.monotonic() + 60)
    process.end()


def test_what_a_program_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = parse_player(player("good", 0.25, str(log)), BRANDUBH, threads=1, programs=True)
    assert isinstance(engine, EnginePlayer)
    game = Game("brandubh")
    game.play("d1-c1")
    begin = "/2t4/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
    expected = [
        f"rules dim:7 name:Brandubh atkf:n surf:n tfr:l ks:w cenh: cenhe:tcnkm start:{begin}",
        f"position {begin}",
        "side defenders",
        "clock 250* 250* 1 1 1",
        "play defenders",
    ]
    game.play(engine.choose([game])[0])
    expected.append(f"move {position_text(game)}")
    game.play("d2-d1")
    expected += ["clock 250* 250* 1 1 1", f"opponent-move d2-d1 {position_text(game)}", "play defenders"]
    game.play(engine.choose([game])[0])
    expected.append(f"move {position_text(game)}")
    game.resign("attackers")
    engine.release(game)
    engine.close()
    assert log.read_text().splitlines() == [*expected, "finish 3", "goodbye"]


def test_long_moves_are_told_with_captures(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = parse_player(player("long", 0.25, str(log)), BRANDUBH, threads=1, programs=True)
    assert isinstance(engine, EnginePlayer)
    game = Game.from_position("brandubh", "/3t3/T6/5K1/7/7/1tT4/7/", "defenders")
    game.play(engine.choose([game])[0])
    assert game.play("d7-d2") == ["c2"]
    engine.choose([game])
    engine.release(game)
    engine.close()
    assert f"opponent-move d7-d2xc2 {position_text(game)}" in log.read_text()


def test_choosing_outside_of_a_match_raises() -> None:
    engine = parse_player(player("dead"), BRANDUBH, programs=True)
    game = Game("brandubh")
    with pytest.raises(EngineError, match="crashed: it ended with status 3"):
        engine.choose([game])
    assert isinstance(engine, EnginePlayer)
    engine.close()


def test_texts_of_engines() -> None:
    text = read_player("engine:seconds=0.5:java -jar open.jar --level=3:4", programs=True)
    assert (text.name, text.options, text.command) == ("engine", {"seconds": 0.5}, "java -jar open.jar --level=3:4")
    assert read_player("engine:tafl --depth=3", programs=True).command == "tafl --depth=3"
    engine = EnginePlayer(command("good"), 0.5)
    assert read_player(engine.name, programs=True).command == command("good")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("engine:", "an engine needs the command that starts it"),
        ("engine:seconds=2:", "an engine needs the command that starts it"),
        ("engine:seconds=0:x", "seconds=0 has to be a number above 0"),
        ("engine:seconds=1:seconds=2:x", "given twice"),
        ("engine:no-such-program-anywhere --x", "there is no program 'no-such-program-anywhere'"),
        ("engine:'", "this command cannot be read"),
    ],
)
def test_texts_that_name_no_engine_are_refused(text: str, said: str) -> None:
    with pytest.raises(PlayerError, match=said) as caught:
        parse_player(text, BRANDUBH, programs=True)
    assert "\n" not in str(caught.value)


def test_programs_are_run_only_where_the_command_line_says_so() -> None:
    with pytest.raises(PlayerError, match="programs play only where the command line"):
        read_player("engine:rm -rf nothing")
    with pytest.raises(PlayerError, match="programs play only where the command line"):
        parse_player("engine:rm -rf nothing", BRANDUBH)


def test_the_door_tells_who_failed_and_how(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "games"
    options = ["--opponent", player("crash"), "--games", "2", "--threads", "1", "--save", str(folder)]
    assert evaluate.main(["random", *options]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "forfeited by the opponent: crashed" in out
    assert "Game 1, forfeited by the opponent: crashed: it ended with status 7, and said: out of cheese." in out
    assert evaluate.main(["--resume", str(folder), "--opponent", player("crash")]) == 0
    assert "forfeited by the opponent: crashed" in " ".join(capsys.readouterr().out.split())


@pytest.mark.skipif(os.name != "posix", reason="sends the POSIX signal")
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_ctrl_c_and_kill_end_the_programs_too(name: str, status: int, tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "games"
    arguments = ["random", "--opponent", player("slow", 60, str(log)), "--games", "4", "--threads", "1"]
    arguments += ["--save", str(folder)]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "evaluate.py"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell's background job ignores
    ) as process:
        try:
            end = time.monotonic() + 600
            while not log.exists() or log.read_text().count("play ") < 3:
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.05)
            process.send_signal(getattr(signal, name))
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == status, err
    assert f"--resume {folder}" in " ".join(out.split())
    if Path("/proc/self/stat").exists():
        running = [(folder / "cmdline").read_bytes() for folder in Path("/proc").glob("[0-9]*") if folder.exists()]
        assert not any(str(log).encode() in line for line in running)
