"""The words of the engine protocol, and our players as an engine of other programs."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import play
from arena.engine_player import EnginePlayer
from arena.engine_server import EngineServer, best_lines
from arena.match import play_match
from arena.openings import Opening
from arena.players import Player, RandomPlayer, parse_player
from arena.protocol import Clock, finish_code, parse_protocol_position, position_text, start_lines
from env import RULES, Game, Rules
from env.notation import WrittenMove, format_move, parse_move
from env.opentafl import RulesError, parse_rules_text
from env.records import play_written, rules_text

ROOT = Path(play.__file__).parent
BRANDUBH = RULES["brandubh"]
START = f"rules {rules_text(BRANDUBH, BRANDUBH.layouts['standard'], 'attackers')}"
CUSTOM = "/3t3/T6/5K1/7/7/1tT4/7/"  # last rank first
CUSTOM_REVERSED = "/7/1tT4/7/7/5K1/T6/3t3/"


def played(rules: Rules, seed: int) -> Game:
    """A game after some random moves, not over."""
    rng = np.random.default_rng(seed)
    game = Game(rules, list(rules.layouts)[seed % len(rules.layouts)])
    for _ in range(int(rng.integers(0, 40))):
        after = game.copy()
        after.play_action(int(rng.choice(game.legal_actions())))
        if after.outcome is not None:
            break
        game = after
    return game


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@given(seed=st.integers(0, 2**32 - 1))
def test_positions_moves_and_rules_round_trip(rules: Rules, seed: int) -> None:
    game = played(rules, seed)
    assert parse_protocol_position(rules, position_text(game)) == game.position
    said = parse_rules_text(start_lines(game, game.to_play)[0].removeprefix("rules "))
    assert (said.rules, said.position, said.to_play, said.differences) == (rules, game.position, game.to_play, ())
    for move in game.legal_moves():
        written = play_written(game.copy(), move)
        assert written.move == move
        assert parse_move(format_move(written), rules.size) == written
        assert parse_move(str(move)).move == move


@given(st.sampled_from("kKtT"), st.sets(st.sampled_from(["c3", "d4", "a11", "k1"]), min_size=1), st.sampled_from("+-"))
def test_other_programs_spellings_mean_the_same(symbol: str, captured: set[str], info: str) -> None:
    bare, squares = "b2-b10", sorted(captured)
    for text in (f"x{'/'.join(squares)}", "".join(f"x{square}" for square in squares), f"xT{'/T'.join(squares)}"):
        for end in ("", info, 2 * info):
            read = parse_move(f"{symbol}{bare}{text}{end}", 11)
            assert read == WrittenMove(parse_move(bare).move, symbol, frozenset(captured), end)
    assert parse_move(f"{bare}x").captured == frozenset()
    assert parse_move(bare).captured is None


@pytest.mark.parametrize(
    "text", ["", "b2", "b2^b5", "b2=b5", "b2^=b5", "b2-b5y", "b2-b5+-", "b2-b12", "Xb2-b5", "b2-l2"]
)
def test_what_is_no_move_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="column"):
        parse_move(text, 11)


def test_which_rank_comes_first() -> None:
    game = Game.from_position("brandubh", CUSTOM, "defenders")
    assert position_text(game) == CUSTOM_REVERSED
    assert parse_protocol_position(BRANDUBH, CUSTOM_REVERSED) == CUSTOM
    for key, text in (("start", CUSTOM_REVERSED), ("starti", CUSTOM)):
        assert parse_rules_text(f"dim:7 name:brandubh atkf:n {key}:{text}").position == CUSTOM


def test_rules_of_other_programs() -> None:
    start = "/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
    theirs = f"dim:7 name:Brandubh surf:n atkf:y tfr:w ks:w nj:n cj:j cenh: cenhe:tcnkm start:{start}"
    said = parse_rules_text(theirs)
    assert said.rules == BRANDUBH
    assert set(said.differences) == {"tfr:w, not tfr:l", "nj:n, not nj:c"}
    nameless = re.sub(r"name:\S+ ", "", START.removeprefix("rules "))
    assert parse_rules_text(nameless).rules == BRANDUBH
    with pytest.raises(RulesError, match=r"no game here is called 'Copenhagen'.*Brandubh \(7x7\), Tawlbwrdd \(11x11\)"):
        parse_rules_text("dim:11 name:Copenhagen start:" + "/11" * 11 + "/")
    assert parse_rules_text(theirs.replace("name:Brandubh", "name:Brandub"), BRANDUBH).rules == BRANDUBH
    with pytest.raises(RulesError, match="dim:7, but Tawlbwrdd has 11"):
        parse_rules_text(theirs, RULES["tawlbwrdd"])
    with pytest.raises(ValueError, match="a second king"):
        parse_rules_text("dim:7 name:Brandubh start:/7/7/K1K4/7/7/7/7/")


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        ("1000* 2000* 1 1 1", 0.94),
        ("50000 1 10 3 3", 10.0),
        ("50000 1 0 0 0", 2.0),
        ("-1 -1 0 0 0", None),
        ("40 40", 0.0016),
    ],
)
def test_time_for_a_move(clock: str, seconds: float | None) -> None:
    read = Clock.parse(clock)
    assert read.move_seconds("attackers") == (seconds if seconds is None else pytest.approx(seconds))
    assert Clock.parse(str(read).removeprefix("clock ")) == read
    for word in ("", "soon", "1", "1 2 x"):
        with pytest.raises(ValueError, match="is no clock"):
            Clock.parse(word)


def test_codes_of_the_end() -> None:
    game = Game("brandubh")
    assert finish_code(game) == 0
    game.resign("defenders")
    assert finish_code(game) == 2
    draw = Game("tawlbwrdd")
    draw.play(draw.legal_moves()[0])
    draw.offer_draw()
    draw.accept_draw()
    assert finish_code(draw) == 1


def converse(*lines: str, player: str = "alphabeta-v1:depth=2", rules: Rules | None = None) -> list[str]:
    """What our engine says to these lines."""
    said: list[str] = []

    def make(rules: Rules) -> Player:
        return parse_player(player, rules, threads=1)

    EngineServer(said.append, make, timed=False, rules=rules).run(lines)
    assert said[0] == "simple-moves on"
    return said[1:]


def test_the_engine_plays_both_sides_of_a_conversation() -> None:
    game = Game("brandubh")
    [answer] = converse(START, "side attackers", "clock 100* 100* 1 1 1", "play attackers")
    game.play(answer.removeprefix("move "))
    reply = game.legal_moves()[3]
    lines = [START, "side attackers", "play attackers", f"move {position_text(game)}"]
    game.play(reply)
    [first, second] = converse(*lines, f"opponent-move {reply} {position_text(game)}", "play attackers")
    assert first == answer
    assert second.removeprefix("move ") in map(str, game.legal_moves())


def test_the_engine_takes_a_position_and_long_moves() -> None:
    [answer] = converse(START.replace("atkf:y", "atkf:n"), f"position {CUSTOM_REVERSED}", "play defenders")
    game = Game.from_position("brandubh", CUSTOM, "defenders")
    game.play(answer.removeprefix("move "))
    before = [START.replace("atkf:y", "atkf:n"), f"position {CUSTOM_REVERSED}", "side attackers"]
    # The defenders' move is told in the long form, with a piece that stands elsewhere afterwards.
    game = Game.from_position("brandubh", CUSTOM, "defenders")
    game.play("f5-f4")
    answers = converse(*before, f"opponent-move Kf5-f4 {position_text(game)}", "play attackers")
    assert answers[0].removeprefix("move ") in map(str, game.legal_moves())


def test_the_engine_believes_the_host() -> None:
    # A move that it cannot follow, with the position that comes of it.
    game = Game.from_position("brandubh", CUSTOM, "attackers")
    answers = converse(START, "side attackers", f"opponent-move c4-c5 {position_text(game)}", "play attackers")
    assert answers[-1].removeprefix("move ") in map(str, game.legal_moves())
    # After an error the same is asked again, of the same position.
    first = converse(START, "play attackers", "error 2 no", "play attackers")
    assert first[0] == first[1]
    # Asked for the side that does not move, it moves for it.
    [answer] = converse(START, "play defenders")
    assert answer.removeprefix("move ") in map(
        str, Game.from_position("brandubh", BRANDUBH.layouts["standard"], "defenders").legal_moves()
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["rules dim:11 name:Hnefatafl start:" + "/11" * 11 + "/"],
            ["no game here is called 'Hnefatafl'", "error -1 rules"],
        ),
        (["play attackers"], ["no rules have been told", "error -1 play"]),
        ([START, "play nobody"], ["'nobody' is no side", "error -1 play"]),
        ([START, "clock soon"], ["is no clock", "error 0 clock"]),
        ([START, f"clock {'9' * 320} {'9' * 320} 0 0 0"], ["is no clock", "error 0 clock"]),
        ([START, f"clock 1000 1000 {'9' * 400} 1 1"], ["is no clock", "error 0 clock"]),
        ([START, "analyze 1 inf"], ["analyze needs a number", "error 0 analyze"]),
        ([START, "analyze 1 1e30"], ["analyze needs a number", "error 0 analyze"]),
        ([START, "position /7/"], ["this position has 1 ranks", "error 0 position"]),
        ([START, "opponent-move d1"], ["a hyphen belongs here", "error 0 opponent-move"]),
        ([START, "opponent-move d1-c2"], ["not on a line", "error 0 opponent-move"]),
        ([START, "analyze many 1"], ["analyze needs a number", "error 0 analyze"]),
    ],
)
def test_the_engine_tells_what_it_cannot_do_and_goes_on(lines: list[str], said: list[str]) -> None:
    answers = converse(*lines, START, "finish 0", "a new word", "", "play attackers")
    status, error, *rest = answers
    assert status.startswith("status ") and said[0] in status
    assert error == said[1]
    assert len(rest) == 1 and rest[0].startswith("move ")


def test_a_game_that_is_nearly_ours_is_played_with_a_remark() -> None:
    remark, move = converse(START.replace("tfr:l", "tfr:w"), "play attackers")
    assert remark.startswith("status playing Brandubh by its own rules") and "tfr:w, not tfr:l" in remark
    assert move.startswith("move ")


def test_goodbye_ends_the_conversation() -> None:
    assert converse(START, "goodbye", "play attackers") == []


@pytest.mark.parametrize("player", ["alphabeta-v1:depth=2", "random", "network"])
def test_analysis_tells_lines_with_values(player: str, checkpoints: dict[str, Path]) -> None:
    name = f"{checkpoints['brandubh']}:simulations=4" if player == "network" else player
    [one, three] = converse(START, "analyze 1 0.2", "analyze 3 0.2", player=name)
    for answer, count in ((one, 1), (three, 3)):
        words = answer.split(" ")
        assert words[:2] == ["analysis", str(count)]
        assert len(words) == 2 + 2 * count
        for line, value in zip(words[2::2], words[3::2]):
            game = Game("brandubh")
            for move in line.split("|"):
                game.play(move)
            assert -1 <= float(value) <= 1


def test_the_best_line_wins() -> None:
    game = Game.from_position("brandubh", "/7/7/7/3K3/7/7/1t3t1/", "defenders")
    player = parse_player("alphabeta-v1:depth=3", "brandubh", threads=1)
    lines = best_lines(game, 3, 1.0, lambda seconds: player)
    assert [value for _, value in lines] == sorted(value for _, value in lines)
    assert lines[0][1] == -1.0  # the attackers' view


def engine(*options: str) -> str:
    return f"engine:seconds=0.3:{sys.executable} {ROOT / 'play.py'} --engine --threads 1 {' '.join(options)}"


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our engine is waited for on a machine that has much else to do, and may have to compile first."""
    monkeypatch.setattr("arena.engine_player.FIRST_MOVE_SECONDS", 300.0)
    monkeypatch.setattr("arena.protocol.HELLO_SECONDS", 60.0)


@pytest.mark.parametrize(("game", "layout"), [("brandubh", "standard"), ("tawlbwrdd", "bell")])
def test_our_engine_plays_whole_games_with_our_host(game: str, layout: str, patience: None) -> None:
    rules = RULES[game]
    player = parse_player(engine("random"), rules, threads=1, programs=True)
    assert isinstance(player, EnginePlayer)
    opening = Opening(layout, tuple(str(move) for move in Game(rules, layout).legal_moves()[:1]))
    try:
        result = play_match(player, RandomPlayer(), rules, [opening], 2, 200, seed=3)
    finally:
        player.close()
    assert result.faults == {"player": {}, "opponent": {}}
    assert result.times["player"].moves >= 10
    assert set(result.ends) <= {"king_escaped", "king_captured", "repetition", "no_moves", "unfinished"}


def test_our_engine_plays_from_a_position_with_its_clock(patience: None) -> None:
    player = parse_player(engine("alphabeta-v1"), BRANDUBH, threads=1, programs=True)
    assert isinstance(player, EnginePlayer)
    game = Game.from_position("brandubh", "/7/7/7/3K3/7/7/1t3t1/", "defenders")
    try:
        while game.outcome is None:
            game.play(player.choose([game])[0])
            if game.outcome is None:
                game.play(game.legal_moves()[0])
            assert game.ply < 12
        assert game.outcome.reason == "king_escaped"
    finally:
        player.release(game)
        player.close()


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    lines = f"{START}\nplay attackers\nstatus nothing\nopponent-move c4-c5\n"
    command = [sys.executable, str(ROOT / "play.py"), "--engine", "random", "--seed", "4", "--threads", "1"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    assert done.returncode == 0
    said = done.stdout.splitlines()
    assert said[:2] == ["hello", "simple-moves on"]
    assert re.fullmatch(r"move [a-g]\d-[a-g]\d", said[2])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "randm"], "did you mean random"),
        (["--engine", "--terminal"], "--engine and --terminal"),
        (["--engine", "engine:cat"], "programs play only where"),
        (["--engine", "random", "--simulations", "0"], "--simulations 0"),
    ],
)
def test_engines_that_cannot_be_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play.main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
