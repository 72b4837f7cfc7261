"""Sessions at the board, typed by a script."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.saved import load_game
from app.terminal import Terminal
from arena.players import Thought
from env import Game, Move
from env.records import format_record, record_of


class Book:
    """Plays the moves it was given, then the first legal one; thinks what it is told to."""

    name = "book"

    def __init__(self, *moves: str, **thought: object) -> None:
        self._moves = list(moves)
        self._thought = thought

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        return [self.think(game).move for game in games]

    def think(self, game: Game, seed: int = 0) -> Thought:
        move = Move.parse(self._moves.pop(0)) if self._moves else game.legal_moves()[0]
        return Thought(move, **self._thought)  # type: ignore[arg-type]


class Session:
    """One run of the terminal and all that it printed."""

    def __init__(self, engine: Book, game: Game, *typed: str, side: str = "attackers") -> None:
        written, lines = StringIO(), iter(typed)
        console = Console(file=written, width=200, highlight=False)

        def read(prompt: str) -> str:
            console.print(prompt, markup=False)
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        self.terminal = Terminal(engine, game, side, console, read)
        self.terminal.run()
        self.unread = list(lines)
        self.output = written.getvalue()

    @property
    def moves(self) -> list[str]:
        return [str(move) for move in self.terminal.game.moves]


Play = Callable[..., Session]


@pytest.fixture
def play() -> Play:
    def start(
        *typed: str, engine: Book | None = None, game: Game | str = "brandubh", side: str = "attackers"
    ) -> Session:
        return Session(engine or Book(), Game(game) if isinstance(game, str) else game, *typed, side=side)

    return start


def test_moves_are_typed_or_picked(play: Play) -> None:
    session = play("d1-c1", "D2E2", "c1", "1", engine=Book("d3-c3", "c3-d3"))
    assert session.moves[:5] == ["d1-c1", "d3-c3", "d2-e2", "c3-d3", "c1-c2"]
    assert "1) c1-c2" in session.output
    assert session.output.count("attackers play") == 3


def test_mistakes_are_told_and_change_nothing(play: Play) -> None:
    session = play(
        "d1-d7", "c4-c5", "z1-z2", "d4", "e1", "7", "moves", "99", "quiet", "save", "load", "new here", "undo"
    )
    assert session.moves == []
    for said in (
        "blocked by the attacker on d2",
        "not your piece",
        "there is no file z",
        "the king there cannot be moved by you now",
        "nothing stands there",
        "no list to pick from",
        "Pick a number from 1 to 40",
        "did you mean `quit`?",
        "Say where to",
        "Say which",
        "`new` knows no 'here'",
        "no move of yours to take back",
    ):
        assert said in session.output
    assert session.output.rstrip().endswith("Goodbye.")


def test_lists_say_what_moves_do(play: Play) -> None:
    game = Game.from_position("brandubh", "/7/7/t2K3/T6/7/t6/7/", "attackers")
    assert "a2-a3 xa4" in play("moves a2", game=game).output
    game = Game.from_position("brandubh", "/3K3/7/7/7/7/7/1t5/", "defenders")
    assert "d7-a7 wins" in play("d7", game=game, side="defenders").output


@pytest.mark.parametrize("side", ["attackers", "defenders"])
def test_undo_goes_back_to_ones_last_move(play: Play, side: str) -> None:
    first = ["d1-c1"] if side == "attackers" else ["d3-c3"]
    engine = Book("d3-c3" if side == "attackers" else "d1-c1", "c3-b3" if side == "attackers" else "c1-b1")
    session = play(*first, "undo", "undo", engine=engine, side=side)
    assert session.moves == ([] if side == "attackers" else ["d1-c1"])
    assert "no move of yours" in session.output


def test_resigning_ends_the_game_and_can_be_taken_back(play: Play) -> None:
    session = play("resign", "d1-c1", "undo", "d1-c1", engine=Book("d3-c3"))
    assert "You lose (defenders win): the attackers resigned" in session.output
    assert "The game is over" in session.output
    assert session.moves == ["d1-c1", "d3-c3"]


def test_the_end_is_told_in_words(play: Play) -> None:
    game = Game.from_position("brandubh", "/3K3/7/7/7/7/7/1t3t1/", "attackers")
    session = play("b1-b7", "new defenders", engine=Book("d7-g7"), game=game)
    assert "You lose (defenders win): the king has reached his goal, after 2 plies" in session.output
    assert "You play the defenders." in session.output
    assert session.terminal.game.moves[:1] == Game("brandubh").legal_moves()[:1]


SHUFFLE = ("d1-c1", "d3-c3", "c1-d1", "c3-d3") * 2


def test_a_losing_repetition_is_warned_of(play: Play) -> None:
    game = Game("brandubh")
    for move in SHUFFLE[:-1]:
        game.play(move)
    session = play("c3-d3", "no", "c3-b3", game=game.copy(), side="defenders")
    assert "This brings the position about for the third time: you lose. Play it all the same?" in session.output
    assert session.moves[7] == "c3-b3"
    session = play("c3-d3", "yes", game=game.copy(), side="defenders")
    assert "You lose (attackers win)" in session.output
    assert "for the third time, brought about by the defenders" in session.output


def test_a_winning_move_needs_no_warning_and_a_second_occurrence_is_told(play: Play) -> None:
    session = play(*SHUFFLE[::2], engine=Book(*SHUFFLE[1::2]))
    assert "This position has come about 2 times; the third time loses for the side that" in session.output
    assert "all the same" not in session.output
    assert "You win (attackers win): the position has come about for the third time" in session.output


def test_a_drawing_repetition_is_warned_of(play: Play) -> None:
    typed = ("d1-c1", "c1-d1", "yes")
    engine = Book("f8-g8", "g8-f8")
    session = play(*typed, engine=engine, game="tawlbwrdd")
    outcome = session.terminal.game.outcome
    assert outcome is not None
    assert outcome.reason == "repetition"
    assert "A draw: the position has come about for the second time" in session.output


def test_hint_and_view(play: Play) -> None:
    line = (Move("d1", "c1"), Move("d3", "c3"))
    engine = Book(line=line, outlook=(0.25, 0.125, 0.625), effort="12 simulations")
    output = play("hint", "view", engine=engine).output
    assert f"Hint: {Game('brandubh').legal_moves()[0]}" in output
    assert "attackers win 25%, draw 12%, defenders win 62%" in output
    assert "Likely: d1-c1 d3-c3" in output
    assert "(12 simulations)" in output
    output = play("view", engine=Book(proven="loss", plies=4, score="-3")).output
    assert "Certain: the defenders win in 4 plies" in output


@pytest.mark.parametrize(("expectation", "accepted"), [(0.0, True), (0.6, False)])
def test_the_engine_answers_an_offer(play: Play, expectation: float, accepted: bool) -> None:
    for typed in (["offer", "d1-c1"], ["offer d1-c1"]):
        session = play(*typed, engine=Book(expectation=expectation), game="tawlbwrdd")
        outcome = session.terminal.game.outcome
        assert (outcome is not None and outcome.reason == "agreement") == accepted
        assert ("accepts the draw" if accepted else "declines the draw") in session.output
        assert len(session.moves) == (1 if accepted else 2)


def test_an_offer_goes_with_one_move_only(play: Play) -> None:
    session = play("offer", "d1-c1", "c1-d1", engine=Book("f8-g8", "g8-h8", expectation=0.9), game="tawlbwrdd")
    assert session.output.count("declines") == 1


def test_the_engines_offer_can_be_accepted(play: Play) -> None:
    session = play("accept", "d1-c1", "accept", engine=Book(outlook=(0.02, 0.95, 0.03)), game="tawlbwrdd")
    assert "there is no draw offer to accept" in session.output
    assert "The engine offers a draw" in session.output
    outcome = session.terminal.game.outcome
    assert outcome is not None
    assert outcome.reason == "agreement"


def test_no_agreement_where_the_rules_know_none(play: Play) -> None:
    session = play("offer", "accept", "d1-c1", engine=Book(outlook=(0.0, 1.0, 0.0)))
    assert "know no draw by agreement" in session.output
    assert "The engine offers" not in session.output


def test_games_are_saved_and_loaded(play: Play, tmp_path: Path) -> None:
    file = tmp_path / "game.otg"
    session = play("d1-c1", f"save {file}", engine=Book("d3-c3"))
    assert [str(move) for move in load_game(file).moves] == ["d1-c1", "d3-c3"]
    session = play(f"load {file}", "undo", "d1-b1", f"save {file}", "no", engine=Book("d3-b3"))
    assert "exists. Write over it?" in session.output
    assert "Not saved." in session.output
    assert session.moves == ["d1-b1", "d3-b3"]
    assert [str(move) for move in load_game(file).moves] == ["d1-c1", "d3-c3"]
    play(f"load {file}", "c1-b1", f"save {file}", "yes", engine=Book("c3-d3"))
    assert len(load_game(file).moves) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["game.otg"]


def test_records_that_cannot_be_used_are_refused(play: Play, tmp_path: Path) -> None:
    other = tmp_path / "other.otg"
    other.write_text(format_record(record_of(Game("tawlbwrdd"))), encoding="utf-8")
    damaged = tmp_path / "damaged.otg"
    damaged.write_text(other.read_text(encoding="utf-8").replace("name:Tawlbwrdd", "name:Chess"), encoding="utf-8")
    binary = tmp_path / "binary.otg"
    binary.write_bytes(b"\xff\xfe\x00")
    typed = [f"load {name}" for name in (other, damaged, binary, tmp_path / "none.otg", tmp_path, "~nosuchuser/x")]
    session = play(*typed, f"save {tmp_path}", f"save {tmp_path / 'no' / 'folder.otg'}", "save ~nosuchuser/x")
    assert "is a game of Tawlbwrdd; this engine plays Brandubh" in session.output
    assert "no game is called 'Chess'" in session.output
    assert "is no text file" in session.output
    assert session.output.count("cannot be read") == 3
    assert "is a folder; name a file in it" in session.output
    assert session.output.count("cannot be written") == 2
    assert session.moves == []


def test_help_lists_every_command_and_flip_turns_the_board(play: Play) -> None:
    output = play("help", "flip").output
    for word in ("moves", "undo", "hint", "view", "offer", "accept", "resign", "flip", "new", "save", "load", "quit"):
        assert f"  {word}" in output
    assert "    g  f  e  d  c  b  a" in output


def test_quit_reads_no_further_and_ctrl_c_leaves_politely(play: Play) -> None:
    assert play("quit", "d1-c1").unread == ["d1-c1"]

    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    written = StringIO()
    Terminal(Book(), Game("brandubh"), "attackers", Console(file=written), interrupt).run()
    assert written.getvalue().rstrip().endswith("Goodbye.")
    assert written.getvalue().count("Ctrl-C once more") == 1


def test_one_ctrl_c_by_mistake_ends_nothing(play: Play) -> None:
    typed = iter([None, "board", None, "d1-c1"])

    def read(_: str) -> str:
        line = next(typed, "quit")
        if line is None:
            raise KeyboardInterrupt
        return line

    terminal = Terminal(Book(), Game("brandubh"), "attackers", Console(file=StringIO()), read)
    terminal.run()
    assert len(terminal.game.moves) == 2


@pytest.mark.parametrize(("typed", "kept"), [(["d1-c1"], 1), (["d1-c1", "new"], 1), (["flip"], 0), (["saved"], 0)])
def test_what_a_person_has_not_saved_is_kept(
    typed: list[str], kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = tmp_path / "own.otg"
    lines = iter(["d1-c1", f"save {own}"] if typed == ["saved"] else typed)
    written = StringIO()
    console = Console(file=written, force_terminal=True, width=200)

    def read(_: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    Terminal(Book("d3-c3"), Game("brandubh"), "attackers", console, read).run()
    files = list(tmp_path.glob("branan-brandubh-*.otg"))
    assert len(files) == kept
    for file in files:
        assert str(file) in written.getvalue()
        assert [str(move) for move in load_game(file).moves] == ["d1-c1", "d3-c3"]


def test_a_turn_shows_one_board_and_both_moves(play: Play) -> None:
    output = play("d1-c1", engine=Book("d3-c3")).output
    assert output.count(" 7  +") == 2
    assert output.index("attackers play d1-c1") < output.index("defenders play d3-c3") < output.rindex(" 7  +")


def test_everybody_is_told_what_they_want(play: Play) -> None:
    output = play("rules").output
    assert output.count("the king reaches his goal: the corners.") == 2
    assert "brings about the same position for the third time loses" in output
    output = play("help", game="tawlbwrdd").output
    assert output.count("the king reaches his goal: the edge squares.") == 2
