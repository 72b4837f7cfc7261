"""The suites that come with the project: frozen, and right by a search that has nothing in common with the solver."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from plain_search import PlainSearch

from arena.suite import Entry, Suite, load_suite, read_suite, suite_versions
from env import RULES, Game
from env.encoding import square_symmetries
from env.rules import SIDES
from search.proof import Prover

ROOT = Path(__file__).resolve().parents[2]
FROZEN = {
    "brandubh-v1": "cb5467024e799864af7b32d30cb34b2e328a0fbf2f4ad5fe219b15b18daf0f15",
    "tawlbwrdd-v1": "94d38fe1f8ea59401ed764ef2ff92e75ead0b500acf39170f8b483ad6064e1b0",
}
GAMES = list(RULES)
LIMIT = 3_000_000  # moves of the plain search for a win that is longer than the shortest


def check(suite: Suite, entry: Entry, plain: PlainSearch) -> int:
    """See that an entry is right; return how many of its keeping moves were too slow to be seen plainly."""
    game = entry.game(suite.rules)
    assert plain.forced(game, entry.side, entry.plies), f"{entry}: no win in so many plies"
    assert plain.forced(game, entry.side, entry.plies - 2) is False, f"{entry}: there is a shorter win"
    unseen = 0
    for move, plies in entry.keeps.items():
        after = game.copy()
        after.play(move)
        kept = plain.forced(after, entry.side, plies - 1, LIMIT if plies > entry.plies else 1 << 60)
        assert kept is not False, f"{entry}: {move} does not keep the win in {plies} plies"
        unseen += kept is None
    shortest = {move for move, plies in entry.keeps.items() if plies == entry.plies}
    for move in map(str, game.legal_moves()):
        if move not in shortest and move not in entry.keeps and not entry.is_open(move):
            after = game.copy()
            after.play(move)
            assert not plain.forced(after, entry.side, min(entry.plies, 5) - 1), f"{entry}: {move} wins"
    return unseen


@pytest.mark.parametrize("name", GAMES)
def test_suites_are_as_they_were_frozen(name: str) -> None:
    assert suite_versions(name)
    for path in suite_versions(name):
        text = path.read_text(encoding="utf-8")
        assert hashlib.sha256(text.encode()).hexdigest() == FROZEN[path.stem], (
            "suites are never changed; make the next version"
        )
        body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
        assert f"# sha256: {hashlib.sha256(body.encode()).hexdigest()}" in text.splitlines()


@pytest.mark.parametrize("name", GAMES)
def test_suites_are_varied(name: str) -> None:
    """Both sides, several lengths, no trivial position, no position twice."""
    suite = load_suite(name)
    assert {entry.side for entry in suite.entries} == set(SIDES)
    for side in SIDES:
        assert len({entry.plies for entry in suite.entries if entry.side == side}) >= 3
    seen: set[tuple[bytes, str]] = set()
    for entry in suite.entries:
        game = entry.game(suite.rules)
        assert entry.plies >= 3
        assert len(entry.keeps) <= len(game.legal_moves()) / 3
        forms = {(game.board[np.argsort(each)].tobytes(), entry.side) for each in square_symmetries(suite.rules.size)}
        assert not forms & seen
        seen |= forms


@pytest.mark.parametrize("name", GAMES)
def test_a_sample_is_right(name: str) -> None:
    suite, plain = load_suite(name), PlainSearch(name)
    short = [entry for entry in suite.entries if entry.plies <= (7 if suite.rules.size < 9 else 5)]
    for entry in short[:: max(1, len(short) // 8)]:
        check(suite, entry, plain)


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_every_entry_is_right(name: str) -> None:
    plain = PlainSearch(name)
    for path in suite_versions(name):
        suite = read_suite(path, name)
        unseen = sum(check(suite, entry, plain) for entry in suite.entries)
        moves = sum(len(entry.keeps) for entry in suite.entries)
        print(f"{path.stem}: {len(suite.entries)} entries; {unseen} of {moves} keeping moves are too slow to be seen")
        assert unseen < moves / 2


@pytest.mark.parametrize("name", GAMES)
def test_the_plain_search_agrees_with_the_solver(name: str, rng: np.random.Generator) -> None:
    plain, prover = PlainSearch(name), Prover(name, 4)
    answers = set()
    while len(answers) < 4:
        game = Game(name)
        while game.outcome is None and game.ply < 200:
            game.play_action(int(rng.choice(game.legal_actions())))
        for _ in range(min(4, game.ply - 1)):
            game.undo()
            fresh = Game.from_position(name, game.position, game.to_play)
            for side in SIDES:
                for depth in range(4):
                    answer = plain.forced(fresh, side, depth)
                    assert answer == prover.prove(fresh, side, within=depth).proven
                    answers.add((answer, side))


def test_damage_would_be_seen() -> None:
    """The check is no rubber stamp: a wrong length, a wrong move, a missing move are all found."""
    suite = load_suite(GAMES[0])
    plain = PlainSearch(GAMES[0])
    entry = next(entry for entry in suite.entries if entry.plies == 5)
    game = entry.game(suite.rules)
    loser = next(str(move) for move in game.legal_moves() if str(move) not in entry.keeps)
    best = next(move for move, plies in entry.keeps.items() if plies == 5)
    slower = {move: plies for move, plies in entry.keeps.items() if plies > 5}
    for broken in (
        Entry(entry.position, entry.side, 3, {best: 3}),
        Entry(entry.position, entry.side, 7, {best: 7}),
        Entry(entry.position, entry.side, 5, {loser: 5}),
        Entry(entry.position, entry.side, 5, slower),
    ):
        with pytest.raises(AssertionError):
            check(suite, broken, plain)


@pytest.mark.slow
def test_the_same_command_makes_the_same_suite(tmp_path: Path) -> None:
    made = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        command = [sys.executable, "tools/make_suite.py", GAMES[0], "--games", "12", "--open", "-1", "--out", str(out)]
        done = subprocess.run([*command, "--workers", workers], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made.append((out / f"{GAMES[0]}-v1.txt").read_bytes())
        assert read_suite(out / f"{GAMES[0]}-v1.txt").entries
    assert made[0] == made[1]
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 2 and "suites are never changed" in again.stderr
