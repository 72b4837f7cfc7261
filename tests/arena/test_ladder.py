"""The ladder: which checkpoints, against whom, and games that are kept, counted once and gone on with."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import evaluate
from arena import anchors as anchors_module
from arena.anchors import AnchorsError, Known, load_anchors, ratings_path, read_ratings
from arena.ladder import BATCH, choose_opponent, find_rungs, play_ladder, seek_opponent
from arena.ladder_command import ladder_table
from arena.ladder_games import Batch, GameStore, LadderError, LadderGame, fingerprint
from arena.openings import load_openings
from arena.rating import Anchors, Estimate, fit
from env import RULES
from env.rules import SIDES
from models.checkpoint import load, save
from models.network import PolicyValueNet

pytest.importorskip("statsmodels")
GAME = "brandubh"

# Random play alone makes quick games.
STRENGTHS = {"random": {"attackers": 0.0, "defenders": 0.0}}
ZERO = Estimate(0.0, 0.0, 0.0)
KNOWN = Known(
    "test",
    "brandubh-v1",
    Anchors(STRENGTHS, -100.0),
    {"random": {"attackers": ZERO, "defenders": ZERO, "overall": ZERO}},
)


@pytest.fixture
def run(tmp_path: Path, checkpoints: dict[str, Path]) -> Path:
    """A run's folder with checkpoints of three steps; `best` is that of the second, `latest` a third."""
    import torch

    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    first = load(checkpoints[GAME])
    for step, names in ((10, ["checkpoints/000001"]), (20, ["checkpoints/000002", "best"]), (30, ["latest"])):
        torch.manual_seed(step)
        origin = first.header.provenance.model_copy(update={"run": "run", "step": step, "core_seconds": 60.0 * step})
        header = first.header.model_copy(update={"provenance": origin})
        network = PolicyValueNet(header.size, header.network)
        for name in names:
            save(folder / f"{name}.safetensors", network, header)
    return folder


def ladder_of(run: Path, copies: Path, games: int, known: Known = KNOWN, store: GameStore | None = None):
    rules = RULES[GAME]
    copies.mkdir(exist_ok=True)
    rungs = find_rungs(run, copies)
    with store or GameStore(run) as opened:
        return play_ladder(
            run, rungs, rules, known, load_openings(rules), opened, games=games, simulations=2, threads=1
        )  # fmt: skip


def test_a_run_s_checkpoints_in_order_and_each_once(run: Path, tmp_path: Path):
    rungs = find_rungs(run, tmp_path)
    assert [(rung.name, rung.step, rung.core_minutes) for rung in rungs] == [
        ("000001", 10, 10.0), ("000002", 20, 20.0), ("latest", 30, 30.0)
    ]  # fmt: skip
    assert len({rung.weights for rung in rungs}) == 3
    assert [rung.name for rung in find_rungs(run, tmp_path, 2)] == ["000001", "latest"]
    assert [rung.name for rung in find_rungs(run, tmp_path, 1)] == ["latest"]


def test_a_network_is_the_same_under_another_name_and_header(checkpoints: dict[str, Path], tmp_path: Path):
    checkpoint = load(checkpoints[GAME])
    origin = checkpoint.header.provenance.model_copy(update={"step": 77, "date": "2026-11-30"})
    save(
        tmp_path / "other.safetensors", checkpoint.network, checkpoint.header.model_copy(update={"provenance": origin})
    )
    assert fingerprint(tmp_path / "other.safetensors") == fingerprint(checkpoints[GAME])
    for change in ({"discount": 0.9}, {"discounted_share": 0.1}):
        save(tmp_path / "slower.safetensors", checkpoint.network, checkpoint.header.model_copy(update=change))
        assert fingerprint(tmp_path / "slower.safetensors") != fingerprint(checkpoints[GAME])


def test_games_are_kept_and_gone_on_with(run: Path, tmp_path: Path):
    """A second call plays only what is missing; what is there stays as it is, byte for byte."""
    first = ladder_of(run, tmp_path / "copies", BATCH)
    files = {path: path.read_bytes() for path in (run / "ladder").glob("*/*.json")}
    assert len(files) == 3 and first.games == 3 * BATCH
    again = ladder_of(run, tmp_path / "copies", BATCH)
    assert again.ratings == first.ratings and len(list((run / "ladder").glob("*/*.json"))) == 3
    more = ladder_of(run, tmp_path / "copies", BATCH + 1)
    assert more.games == 6 * BATCH
    assert all(path.read_bytes() == data for path, data in files.items())
    batches = more.batches["latest"]
    assert not {g.opening for g in batches[0].games} & {g.opening for g in batches[1].games}, "fresh openings first"
    rated = [game for name, each in more.batches.items() for batch in each for game in batch.rated(name)]
    assert fit(rated, KNOWN.anchors).players == more.ratings


def test_a_damaged_batch_is_left_out_and_named(run: Path, tmp_path: Path):
    ladder_of(run, tmp_path / "copies", BATCH)
    broken = sorted((run / "ladder").glob("*/000001.json"))[0]
    broken.write_text(broken.read_text()[:100])
    store = GameStore(run)
    ladder = ladder_of(run, tmp_path / "copies", BATCH, store=store)
    assert ladder.games == 3 * BATCH and len(list(broken.parent.glob("*.json"))) == 2
    assert [note for note in store.notes if str(broken) in note]


def test_a_stranger_s_file_of_the_last_number_hides_no_batches(run: Path, tmp_path: Path):
    ladder_of(run, tmp_path / "copies", BATCH)
    folder = sorted((run / "ladder").glob("*/"))[0]
    (folder / "999999.json").write_text("junk")
    for games in (BATCH + 1, 2 * BATCH + 1):
        assert ladder_of(run, tmp_path / "copies", games).games >= 3 * games
    assert sorted(path.stem for path in folder.glob("*.json"))[-2:] == ["000004", "999999"]


def spoil(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a stored batch."""
    batch = json.loads(path.read_text())
    change(batch)
    path.write_text(json.dumps(batch))


def test_stored_games_are_played_through(run: Path, tmp_path: Path):
    """What the moves do not bear out is left out, and the file is named."""
    only = run / "latest.safetensors"
    rungs = find_rungs(only, tmp_path)
    rules, openings = RULES[GAME], load_openings(GAME)
    with GameStore(run) as store:
        play_ladder(only, rungs, rules, KNOWN, openings, store, games=BATCH, simulations=2, threads=1)
    (path,) = (run / "ladder").glob("*/000001.json")
    whole = path.read_text()
    changes: list[tuple[Callable[[dict[str, Any]], object], str]] = [
        (lambda b: b.update(games=[]), "no games"),
        (lambda b: b.update(games=[g for g in b["games"] if g["side"] == "attackers"]), "all played from both sides"),
        (lambda b: b.update(games=b["games"] * 3), "several times"),
        (lambda b: b.update(opponent="alphabeta-v1:depth=99"), "not among the players of test"),
        (lambda b: b["games"][2].update(opening=9999), "game 3 begins with opening 9999"),
        (lambda b: b["games"][2].update(opening=10**30), "damaged"),
        (lambda b: b["games"][2].update(moves=""), "game 3: its moves do not begin with opening"),
        (lambda b: b["games"][2].update(moves=b["games"][2]["moves"] + " a1-a1"), "('a1-a1') cannot be played"),
        (lambda b: b["games"][2].update(moves=b["games"][2]["moves"].rsplit(" ", 1)[0]), "do not lead to the end"),
        (lambda b: b["games"][2].update(reason="{x}"), "do not lead to the end"),
        (lambda b: [g.update(score=1 - g["score"] if g["score"] != 0.5 else 1.0) for g in b["games"]], "its points"),
    ]
    for change, said in changes:
        path.write_text(whole)
        spoil(path, change)
        store = GameStore(run)
        ladder = play_ladder(only, rungs, rules, KNOWN, openings, store, games=0, simulations=2)
        assert ladder.games == 0
        (note,) = store.notes
        assert str(path) in note and said in note and note.endswith("left out.")
    path.write_text(whole)
    assert play_ladder(only, rungs, rules, KNOWN, openings, GameStore(run), games=0, simulations=2).games == BATCH


def test_a_batch_that_takes_the_place_of_a_damaged_one_repeats_none(run: Path, tmp_path: Path):
    only = run / "latest.safetensors"
    ladder_of(only, tmp_path / "copies", 2 * BATCH, store=GameStore(run))
    spoil(next((run / "ladder").glob("*/000001.json")), lambda batch: batch.update(games=[]))
    ladder = ladder_of(only, tmp_path / "copies", 2 * BATCH, store=GameStore(run))
    assert len({batch.seed for batch in ladder.batches["latest"]}) == 2


def test_a_checkpoint_that_cannot_be_read_is_left_out_and_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("arena.ladder_command.load_anchors", lambda rules, layout: KNOWN)
    (run / "checkpoints" / "000000.safetensors").write_text("junk")
    (run / "checkpoints" / "000009.safetensors").mkdir()
    copies, notes = tmp_path / "copies", []
    copies.mkdir()
    assert [rung.name for rung in find_rungs(run, copies, notes=notes)] == ["000001", "000002", "latest"]
    assert len(notes) == 2 and all(note.count(str(run)) == 1 and str(copies) not in note for note in notes)
    arguments = ["--ladder", str(run), "--games", "1", "--simulations", "2", "--threads", "1"]
    assert evaluate.main(arguments) == 0
    assert "000000.safetensors" in (said := "".join(capsys.readouterr().out.split())) and "000009" in said
    junk = run / "checkpoints" / "000000.safetensors"
    with pytest.raises(LadderError, match=re.escape(str(junk))):
        find_rungs(junk, copies)


def test_two_processes_do_not_play_for_one_ladder(run: Path):
    with GameStore(run), pytest.raises(LadderError, match="another process"), GameStore(run):
        pass


def test_games_without_a_run_are_kept_nowhere(checkpoints: dict[str, Path], tmp_path: Path):
    ladder = ladder_of(checkpoints[GAME], tmp_path, BATCH, store=GameStore(None))
    assert ladder.games == BATCH and not (checkpoints[GAME].parent / "ladder").exists()


def test_opponents_are_chosen_near_the_player_s_strength():
    strengths = {str(elo): {"attackers": float(elo), "defenders": float(elo)} for elo in range(0, 2001, 200)}
    ladder = Anchors(strengths, 0.0)
    assert choose_opponent(ladder, None) == "1000"
    for elo in (0.0, 600.0, 1400.0, 2000.0):
        assert choose_opponent(ladder, {"attackers": elo, "defenders": elo}) == f"{elo:.0f}"
    # Strong as one side, weak as the other: the side of which less is known decides.
    lopsided = {"attackers": 200.0, "defenders": 1800.0}
    assert int(choose_opponent(ladder, lopsided, {"attackers": 9.0, "defenders": 0.0})) >= 1600
    assert int(choose_opponent(ladder, lopsided, {"attackers": 0.0, "defenders": 9.0})) <= 400


def batch(opponent: str, *scores: float) -> Batch:
    """Games of the run's network as alternating sides."""
    games = [
        LadderGame(opening=1, side=SIDES[i % 2], score=score, reason="king_captured", moves="")  # pyright: ignore
        for i, score in enumerate(scores)
    ]
    return Batch(
        weights="w", simulations=2, opponent=opponent, game=GAME, layout="standard", openings="brandubh-v1", seed=0,
        max_plies=100, date="2026-11-30T12:00:00", games=games,
    )  # fmt: skip


def test_who_only_lost_meets_weaker_players_and_who_only_won_stronger_ones():
    strengths = {str(elo): {"attackers": float(elo), "defenders": float(elo)} for elo in range(0, 2001, 200)}
    ladder = Anchors(strengths, 0.0)
    assert seek_opponent(ladder, []) is None
    assert seek_opponent(ladder, [batch("1000", 0, 1)]) is None
    assert seek_opponent(ladder, [batch("1000", 0, 0.5)]) is None
    assert seek_opponent(ladder, [batch("1000", 0, 0)]) == "400"
    assert seek_opponent(ladder, [batch("1000", 0, 0), batch("400", 0, 0)]) == "200"
    assert seek_opponent(ladder, [batch("1000", 0, 0), batch("400", 0, 1)]) is None
    assert seek_opponent(ladder, [batch("0", 0, 0)]) is None
    assert seek_opponent(ladder, [batch("1000", 1, 1)]) == "1600"
    assert seek_opponent(ladder, [batch("2000", 1, 1)]) is None


def test_a_checkpoint_meets_its_like_before_another_one_plays(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A network that loses to all but random play: middle, halfway down, then random, and only then the next."""
    names = ["random", *(f"alphabeta-v1:depth={depth}" for depth in range(1, 5))]
    strengths = {name: {"attackers": 300.0 * i, "defenders": 300.0 * i} for i, name in enumerate(names)}
    known = Known("test", "brandubh-v1", Anchors(strengths, 0.0), {})
    met: list[tuple[str, str]] = []

    def lost(player, other, *_, **__):
        met.append((player, other))
        return MatchOver(other)

    class MatchOver:
        interrupted = False

        def __init__(self, opponent: str) -> None:
            self.opponent = opponent

    def kept(result: MatchOver, weights: str, simulations: int, date: str) -> Batch:
        scores = [0.0, 1.0] if result.opponent == "random" else [0.0, 0.0]
        return batch(result.opponent, *scores * (BATCH // 2)).model_copy(update={"weights": weights})

    monkeypatch.setattr("arena.ladder.parse_player", lambda text, *_, **__: text.split("/")[-1].split(":simul")[0])
    monkeypatch.setattr("arena.ladder.play_match", lost)
    monkeypatch.setattr("arena.ladder.batch_of", kept)
    ladder_of(run, tmp_path / "copies", 3 * BATCH, known)
    first = [other for player, other in met[:3]]
    assert len({player for player, _ in met[:3]}) == 1
    assert first == ["alphabeta-v1:depth=2", "alphabeta-v1:depth=1", "random"]
    assert met[3][0] != met[0][0] and met[3][1] in ("random", "alphabeta-v1:depth=1"), "begins where its relation is"


def test_who_lost_everything_has_a_bound_and_stands_below_all(run: Path, tmp_path: Path):
    ladder = ladder_of(run, tmp_path / "copies", BATCH)
    lost = [batch("random", *[0.0] * BATCH)]
    half = [batch("random", *[0.0, 1.0] * (BATCH // 2))]
    won = [batch("random", *[1.0] * BATCH)]
    batches = {"000001": lost, "000002": half, "latest": won}
    rated = [game for name, each in batches.items() for one in each for game in one.rated(name)]
    ratings = fit(rated, KNOWN.anchors).players
    ladder = replace(ladder, ratings=ratings, batches=batches)
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w"))
    console.print(ladder_table(ladder))
    lines = console.export_text().splitlines()
    rows = {line.split()[0]: line for line in lines if line.strip() and line.split()[0] in (*batches, "random")}
    # Half of the games, but all of one side and none of the other: nothing is known of the mean.
    assert list(rows)[:2] == ["latest", "random"]
    assert rows["latest"].count(">") == 3 and "±" not in rows["latest"]
    assert rows["000001"].count("<") == 3 and "±" not in rows["000001"]
    assert "?" in rows["000002"] and "<" in rows["000002"] and ">" in rows["000002"]
    overall = ratings["000001"].overall
    assert overall is not None and f"< {overall.high:.0f}" in rows["000001"]
    flags = {player["name"]: player["open_end"] for player in ladder.to_json()["players"]}
    assert flags == {"000001": "low", "000002": "both", "latest": "high"}


@pytest.mark.parametrize("name", [name for name in RULES if ratings_path(name).exists()])
def test_known_players_are_rated_as_their_games_say(name: str):
    path = ratings_path(name)
    known = read_ratings(path)
    assert (known.ratings, known.game) == (path.stem, name)
    found = fit(known.games())
    assert known.players.keys() == {"random", *found.players}
    for player, rating in found.players.items():
        for part in ("attackers", "defenders"):
            estimate = rating.side(part).estimate
            assert estimate is not None
            stored = getattr(known.players[player], part)
            assert stored == pytest.approx((estimate.elo, estimate.low, estimate.high), abs=0.2)
    assert known.advantage[0] == pytest.approx(found.advantage.elo, abs=0.2)
    assert read_ratings(path).text() == path.read_text()
    assert load_anchors(name).anchors.strengths["random"] == {"attackers": 0.0, "defenders": 0.0}


def test_missing_and_damaged_ratings_are_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(anchors_module, "FOLDER", tmp_path)
    with pytest.raises(
        AnchorsError, match=r"no known players .* `python tools/make_ratings.py brandubh` measures them"
    ):
        load_anchors(GAME)
    (tmp_path / f"{GAME}-v1.json").write_text('{"ratings": 3')
    with pytest.raises(AnchorsError, match="damaged"):
        load_anchors(GAME)


def test_the_command_tells_and_writes(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("arena.ladder_command.load_anchors", lambda rules, layout: KNOWN)
    out = tmp_path / "ladder.json"
    arguments = ["--ladder", str(run), "--games", "1", "--checkpoints", "2", "--simulations", "2", "--threads", "1"]
    assert evaluate.main([*arguments, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "000001" in printed and "latest" in printed and "random" in printed and "32 games" in printed
    assert "--games 1 makes 16 of each checkpoint" in printed
    written = json.loads(out.read_text())
    assert [player["name"] for player in written["players"]] == ["000001", "latest"]
    for player in written["players"]:
        low, high = player["overall"][1:]
        assert low < player["overall"][0] < high
        assert player["attackers"]["games"] + player["defenders"]["games"] == BATCH
        assert player["opponents"] == {"random": BATCH}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ladder", "nowhere"], "no such run"),
        (["--ladder", "{run}:simulations=4"], "(how many simulations: --simulations)"),
        (["--ladder", "{tmp}"], "a run without checkpoints"),
        (["random", "--ladder", "{tmp}"], "has no part in it"),
        (["--ladder", "{run}", "--checkpoints", "0"], "--checkpoints 0"),
        (["--ladder", "{run}", "--game", "tawlbwrdd"], "plays brandubh, not tawlbwrdd"),
        (["--ladder", "{run}", "--layout", "bell"], "bell"),
        (["--ladder", "{run}", "--depth", "3"], "--depth does not belong to a ladder"),
        (["--checkpoints", "3"], "belong"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    run: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert evaluate.main([each.format(tmp=empty, run=run) for each in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (run / "ladder").exists() or not list((run / "ladder").glob("*/*.json"))


def test_ctrl_c_forgets_the_batch_at_hand_and_keeps_the_others(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from arena.players import RandomPlayer

    calls = 0
    choose = RandomPlayer.choose

    def tired(self: RandomPlayer, games, seeds=None):
        nonlocal calls
        calls += 1
        if (run / "ladder").glob("*/*.json") and len(list((run / "ladder").glob("*/*.json"))) == 1 and calls > 5:
            raise KeyboardInterrupt
        return choose(self, games, seeds)

    monkeypatch.setattr(RandomPlayer, "choose", tired)
    ladder = ladder_of(run, tmp_path / "copies", BATCH)
    assert ladder.interrupted and ladder.games == BATCH and len(ladder.ratings) == 1
    assert len(list((run / "ladder").glob("*/*.json"))) == 1


def test_the_table_fits_a_terminal(run: Path, tmp_path: Path):
    ladder = ladder_of(run, tmp_path / "copies", BATCH)
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    console.print(ladder_table(ladder))
    rows = [line for line in console.export_text().splitlines() if "000001" in line]
    assert len(rows) == 1 and sum(rows[0].count(sign) for sign in "±<>?") == 3
