"""Reports: a page that stands alone, written whole or not at all, and never over what is somebody else's."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from safetensors.numpy import save_file

import evaluate
from arena.anchors import Known
from arena.players import Thought
from arena.rating import Anchors, Estimate
from arena.report import ReportError, check_folder
from arena.report_command import look_at_suite
from arena.report_figures import short, smooth
from arena.report_game import _forced, _turns
from arena.report_run import read_run
from arena.report_words import place
from arena.suite import Share
from env import RULES, Game
from env.notation import Move
from models.checkpoint import load, save

pytest.importorskip("statsmodels")
pytest.importorskip("matplotlib")
GAME = "brandubh"
ZERO = Estimate(0.0, 0.0, 0.0)
KNOWN = Known(
    "test",
    "brandubh-v1",
    Anchors({"random": {"attackers": 0.0, "defenders": 0.0}}, -100.0),
    {"random": {"attackers": ZERO, "defenders": ZERO, "overall": ZERO}},
)
FEW = ["--games", "1", "--checkpoints", "2", "--simulations", "2", "--threads", "1"]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random play is the only known player, and no suite is looked at: that is quick."""
    monkeypatch.setattr("arena.ladder_command.load_anchors", lambda rules, layout: KNOWN)
    monkeypatch.setattr("arena.report_command.look_at_suite", lambda *_: (None, "No suite."))
    monkeypatch.setattr("arena.report_command.THINKING", 2)


def shard(rng: np.random.Generator, games: int) -> dict[str, np.ndarray]:
    """What a report needs of an iteration: games of a few random moves."""
    lines = []
    for _ in range(games):
        game = Game(GAME)
        while game.ply < 10 and game.outcome is None:
            game.play_action(int(rng.choice(game.legal_actions())))
        lines.append(game.actions)
    lengths = [len(line) for line in lines]
    return {
        "moves": np.concatenate(lines).astype(np.int16),
        "move_offsets": np.cumsum([0, *lengths]).astype(np.int64),
        "missing": np.zeros(games, np.int8),
        "layout": np.zeros(games, np.int16),
    }


@pytest.fixture
def run(tmp_path: Path, checkpoints: dict[str, Path]) -> Path:
    """A run of three iterations with two checkpoints."""
    folder = tmp_path / "young"
    (folder / "checkpoints").mkdir(parents=True)
    first = load(checkpoints[GAME])
    for step, name in ((10, "checkpoints/000001"), (20, "latest")):
        origin = first.header.provenance.model_copy(
            update={"run": "young", "step": step, "core_seconds": 60.0 * step, "positions": 1000 * step, "games": step}
        )
        first.network.load_state_dict({k: v + step / 1000 for k, v in first.network.state_dict().items()})
        save(folder / f"{name}.safetensors", first.network, first.header.model_copy(update={"provenance": origin}))
    rows = [
        {"step": step, "positions": 500 * step, "charts/core_minutes": 2.0 * step, "selfplay/game_length": 30.0 + step,
         "selfplay/attackers_win_share": 0.1 * step, "selfplay/defenders_win_share": 1 - 0.1 * step,
         "selfplay/attackers_budget": 2.0}
        for step in (1, 2, 3)
    ]  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 4, "posi')
    (folder / "config.yaml").write_text("game: brandubh\nrun:\n  seed: 7\nnetwork:\n  blocks: 1\n  channels: 8\n")
    rng = np.random.default_rng(1)
    for iteration in (1, 2, 3):
        (folder / "iterations" / f"{iteration:06d}").mkdir(parents=True)
        save_file(shard(rng, 5), folder / "iterations" / f"{iteration:06d}" / "shard.safetensors")
    return folder


class Page(HTMLParser):
    """Collects what a page refers to and says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words += data


def report(run: Path, out: Path, *more: str) -> Page:
    assert evaluate.main(["--report", str(out), "--ladder", str(run), *FEW, *more]) == 0
    return Page((out / "index.html").read_text())


def test_the_page_stands_alone_and_tells_everything(run: Path, tmp_path: Path):
    page = report(run, tmp_path / "out")
    assert "script" not in page.tags and "link" not in page.tags
    assert page.links and all(link.startswith(("data:image/", "#")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids)), "every identifier once, though many drawings share a page"
    for heading in ("Strength", "Self-play", "Openings", "Solved positions", "A game", "What was run"):
        assert heading in page.words
    for said in ("young", "000001", "latest", "32 games against known players", "seed 7", "No suite.", "blocks 1"):
        assert said in page.words
    assert page.tags.count("svg") == 7 and page.tags.count("img") >= 5
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "report.json", "openings.png", "game.png", "chances.png", "selfplay-wins.png"} <= names
    numbers = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [player["name"] for player in numbers["ladder"]["players"]] == ["000001", "latest"]


def test_blunders_in_solved_positions_are_counted_and_shown(monkeypatch: pytest.MonkeyPatch):
    """The king reaches a corner at once, or the player moves something else."""
    from arena.report_sections import _lost_words
    from arena.suite import Entry, Suite

    entries = [Entry("/7/7/7/K1t3T/7/7/3t3/", "defenders", 1, {"a4-a1": 1, "a4-a7": 1}, (), "", n) for n in (1, 2)]
    monkeypatch.setattr("arena.report_command.load_suite", lambda rules: Suite("tiny", rules, tuple(entries)))

    class Half:
        name = "half"

        def choose(self, games: list[Game], seeds: object = None) -> list[Move]:
            return [Move("a4", "a7"), Move("g4", "g5")]

    found, note = look_at_suite(cast(Any, Half()), "half", RULES[GAME], 2)
    assert found is not None and note == ""
    assert found.rows[None]["defenders"] == found.rows[1]["both"] == Share(1, 2)
    ((number, side, plies, played, winning, one, two),) = found.blunders
    assert (number, side, plies, played, winning) == (2, "defenders", 1, "g4-g5", ["a4-a1", "a4-a7"])
    assert one.size == two.size and one.tobytes() != two.tobytes()
    assert _lost_words(found).startswith("One win was given away for certain")


def test_a_report_is_replaced_and_other_things_are_not(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text(json.dumps({"mark": "branan report", "files": ["old.png"]}))
    (out / "old.png").write_bytes(b"")
    report(run, out)
    assert not (out / "old.png").exists()
    (out / "mine.txt").write_text("something of somebody's")
    assert evaluate.main(["--report", str(out), "--ladder", str(run), *FEW]) == 2
    assert "holds something else than a report" in capsys.readouterr().err
    assert (out / "mine.txt").exists() and (out / "index.html").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


def test_nothing_is_left_of_a_report_that_failed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text(json.dumps({"mark": "branan report", "files": []}))
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("arena.report.os.fsync", full)
    assert evaluate.main(["--report", str(out), "--ladder", str(run), *FEW]) == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


def test_a_checkpoint_alone_has_a_page_that_says_what_is_missing(checkpoints: dict[str, Path], tmp_path: Path):
    page = report(checkpoints[GAME], tmp_path / "out")
    assert "its run is not at hand" in page.words and "no curve to draw" in page.words
    assert "no heat map" in page.words and "A game" in page.words


def test_damaged_parts_of_a_run_are_left_out(run: Path, tmp_path: Path):
    (run / "metrics.jsonl").write_bytes(b"\xff\xfe\x00")
    (run / "config.yaml").write_text("a: [")
    for path in (run / "iterations").glob("*/shard.safetensors"):
        path.write_bytes(path.read_bytes()[:50])
    data = read_run(run, RULES[GAME])
    assert (data.rows, data.config, data.openings) == ([], {}, [])
    assert "too few iterations" in report(run, tmp_path / "out").words


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        "no json",
        "[1]",
        '{"step": 4, "positions": 1e308}',
        '{"step": 4, "positions": 1' + "0" * 400 + "}",
    ],
)
def test_damaged_lines_of_metrics_are_left_out_and_told(run: Path, line: str):
    rows = read_run(run, RULES[GAME]).rows
    path = run / "metrics.jsonl"
    path.write_text(line + "\n" + path.read_text())
    data = read_run(run, RULES[GAME])
    assert [row for row in data.rows if len(row) > 1] == rows
    assert len(data.notes) == 1 and str(path) in data.notes[0]


@pytest.mark.parametrize("text", ["a: 2026-99-99", "a: !!int x", "[" * 3000, "a: !!python/object:os.system x", "a: ["])
def test_settings_that_cannot_be_read_are_left_out_and_told(run: Path, text: str):
    (run / "config.yaml").write_text(text)
    data = read_run(run, RULES[GAME])
    assert data.config == {} and len(data.rows) == 3
    assert len(data.notes) == 1 and str(run / "config.yaml") in data.notes[0]


def test_settings_that_a_page_cannot_show_are_left_out(run: Path):
    (run / "config.yaml").write_text(f"run: 5\nsearch:\n  rule: 0x{'f' * 5000}\n  simulations: 8\n  a: &a [*a]\n")
    assert read_run(run, RULES[GAME]).config == {"search": {"simulations": 8}}


@pytest.mark.parametrize(
    "change",
    [
        {"move_offsets": np.array([0])},
        {"move_offsets": np.array([0, 4, 99, 5, 5, 5])},
        {"move_offsets": np.linspace(0, 50, 6)},
        {"moves": np.ones(50, np.float32)},
        {"moves": np.ones((50, 2), np.int16)},
        {"missing": np.zeros(9, np.int8)},
        {"missing": np.zeros(9, np.int8), "layout": np.zeros(9, np.int16)},
    ],
)
def test_damaged_games_of_an_iteration_are_left_out_and_told(run: Path, change: dict[str, np.ndarray]):
    path = run / "iterations" / "000002" / "shard.safetensors"
    save_file({**shard(np.random.default_rng(1), 5), **change}, path)
    data = read_run(run, RULES[GAME])
    assert [found.iterations for found in data.openings] == [(1, 1), (3, 3)]
    assert len(data.notes) == 1 and str(path) in data.notes[0]


def test_openings_are_counted_for_both_sides_and_mirrored(run: Path):
    early, late = read_run(run, RULES[GAME]).openings
    assert (early.iterations, early.games, late.iterations, late.games) == ((1, 1), 5, (2, 3), 10)
    for targets in late.targets.values():
        board = targets.reshape(7, 7)
        assert board.sum() == pytest.approx(1)
        assert np.allclose(board, board.T) and np.allclose(board, board[::-1])
    assert sum(share for _, share in early.first) <= 1 and early.first[0][1] >= early.first[-1][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "{tmp}/no/where", "--ladder", "{run}"], "does not exist"),
        (["--report", "{run}", "--ladder", "{run}"], "something else than a report"),
        (["--report", "{run}/metrics.jsonl", "--ladder", "{run}"], "not a folder"),
        (["--report", "{tmp}/out", "random"], "about a run or a checkpoint"),
        (["--report", "{tmp}/out", "~nosuchuser/run"], "there is no player or file '~nosuchuser/run'"),
        (["--report", "{tmp}/out", "{run}", "--ladder", "{run}"], "not both"),
        (["--ladder", "{run}", "--no-suite"], "--no-suite does not belong to a ladder"),
        (["--report", "{tmp}/out", "--depth", "3"], "does not belong to a report"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    run: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert evaluate.main([each.format(tmp=tmp_path, run=run) for each in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_an_empty_folder_is_no_obstacle(tmp_path: Path):
    check_folder(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty")
    with pytest.raises(ReportError):
        check_folder(tmp_path)


def test_the_moments_of_a_game_are_where_it_turns():
    # Even plies are the attackers': they throw away 0.5 at ply 4, the defenders 0.3 at ply 9.
    chances = [0.55, 0.55, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4, 0.4, 1.0]
    assert _turns(chances, 0, None) == [4, 9]
    assert _turns(chances, 5, None) == [9], "not in the opening, which nobody chose"
    assert _turns(chances, 0, 7) == [4, 7, 9]
    assert _turns([0.5] * 20, 2, None) == [11], "a game without a turn is shown in its middle"
    move = Move("a1", "a2")
    proven = [Thought(move), Thought(move, proven="win"), Thought(move), Thought(move, proven="loss"),
              Thought(move, proven="win")]  # fmt: skip
    assert _forced(proven) == 2 and _forced(proven[:3]) is None


def test_numbers_are_short_and_curves_are_smooth():
    assert [short(x) for x in (12, 1234, 1_850_401)] == ["12", "1.23k", "1.85M"]
    assert smooth([1.0, 2.0]) == [1.0, 2.0]
    assert len(smooth([0.0, 1.0] * 100)) == 200 and 0.3 < smooth([0.0, 1.0] * 100)[-1] < 0.7


def test_no_text_of_a_run_becomes_part_of_the_page(run: Path, tmp_path: Path):
    """A folder's name is somebody's text, not ours."""
    odd = run.rename(run.with_name("<b onclick=x>&odd"))
    text = (tmp_path / "out", report(odd, tmp_path / "out"))[0] / "index.html"
    assert not re.search(r"<b onclick", text.read_text()) and "&lt;b onclick=x&gt;&amp;odd" in text.read_text()


def test_what_is_said_of_strength_is_what_games_show():
    known = {str(elo): {"attackers": Estimate(elo, elo, elo)} for elo in (0, 200, 400, 600)}
    ladder = cast(Any, SimpleNamespace(known=SimpleNamespace(estimates=known)))
    assert place(ladder, "attackers", Estimate(390, 350, 430)) == "about as strong as 400"
    assert place(ladder, "attackers", Estimate(300, 150, 450)) == "about as strong as 200 to 400"
    assert place(ladder, "attackers", Estimate(300, 250, 350)) == "between 200 and 400"
    assert place(ladder, "attackers", Estimate(-90, -150, -20)) == "below 0"
    assert place(ladder, "attackers", Estimate(700, 650, 750)).startswith("above 600")
    assert place(ladder, "attackers", Estimate(-300, -700, 5), "low") == "below 5 Elo, having lost every game"


def test_the_handicap_that_a_run_ended_with_is_told(run: Path, tmp_path: Path):
    ratio, temperature = "times the defenders' simulations", "the defenders drew their moves"
    words = report(run, tmp_path / "out", "--no-suite").words
    assert ratio in words and temperature not in words
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()[:3]]
    rows[-1] |= {"selfplay/attackers_budget": 1.0, "selfplay/defenders_temperature": 1.5}
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = report(run, tmp_path / "out", "--no-suite").words
    assert temperature in words and "temperature of 1.5" in words and ratio not in words


def test_a_report_without_the_suite_says_so(run: Path, tmp_path: Path):
    assert "asked for with --no-suite" in report(run, tmp_path / "out", "--no-suite").words


def test_open_answers_make_a_share_a_range():
    assert (Share(1, 4).text, Share(1, 4, 1).text, Share(0, 0).text) == ("25.0%", "25.0% to 50.0%", "-")
    assert Share(1, 4).reach == Share(1, 4).interval
    assert Share(1, 4, 1).reach == (Share(1, 4).interval[0], Share(2, 4).interval[1])
