"""Every rule case of seeds/rules/cases.json, in all eight symmetries."""

import json
from pathlib import Path

import pytest
from board_symmetry import SYMMETRIES, turn_move, turn_position, turn_square
from slow_rules import SlowGame

from env import RULES, Game, IllegalMove, NotationError

CASES = json.loads((Path(__file__).parents[2] / "seeds/rules/cases.json").read_text(encoding="utf-8"))
MOVES = [case for case in CASES["cases"] if "move" in case]
LEGALITY = [case for case in CASES["cases"] if "move" not in case]

symmetric = pytest.mark.parametrize("symmetry", SYMMETRIES)


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


def told(game: Game) -> dict | None:
    return game.outcome and {"winner": game.outcome.winner, "reason": game.outcome.reason}


def load(case: dict, symmetry: int) -> Game:
    return Game.from_position(case["game"], turn_position(case["game"], case["position"], symmetry), case["to_play"])


def test_the_file_is_read_whole():
    ids = [case["id"] for kind in ("cases", "sequences", "refused") for case in CASES[kind]]
    assert len(ids) == len(set(ids)) > 100
    assert all("illegal" in case and "legal" in case for case in LEGALITY)


@symmetric
@each(MOVES)
def test_move(case, symmetry):
    name = case["game"]
    game = load(case, symmetry)
    move = turn_move(name, case["move"], symmetry)
    assert move in map(str, game.legal_moves())
    assert game.play(move) == sorted(turn_square(name, square, symmetry) for square in case["captures"])
    assert told(game) == case["outcome"]
    assert game.position == turn_position(name, case["after"], symmetry)


@symmetric
@each(LEGALITY)
def test_legality(case, symmetry):
    game = load(case, symmetry)
    before = game.position
    for move in case["illegal"]:
        with pytest.raises(IllegalMove):
            game.play(turn_move(case["game"], move, symmetry))
        assert game.position == before
    legal = set(map(str, game.legal_moves()))
    for move in case["legal"]:
        move = turn_move(case["game"], move, symmetry)
        assert move in legal
        game.play(move)
        game.undo()


@symmetric
@each(CASES["sequences"])
def test_sequence(case, symmetry):
    name = case["game"]
    rules = RULES[name]
    start = case.get("position") or rules.layouts[case.get("layout", rules.default_layout)]
    game = Game.from_position(name, turn_position(name, start, symmetry), case.get("to_play", rules.first))
    for index, move in enumerate(case["moves"]):
        assert game.outcome is None
        captured = game.play(turn_move(name, move, symmetry))
        if "captures" in case:
            assert captured == sorted(turn_square(name, square, symmetry) for square in case["captures"][index])
    if case.get("agree_draw"):
        game.offer_draw()
        game.accept_draw()
    assert told(game) == case["outcome"]
    if "after" in case:
        assert game.position == turn_position(name, case["after"], symmetry)


@symmetric
@each(CASES["refused"])
def test_refused(case, symmetry):
    position = case["position"]
    # Texts whose ranks are no board cannot be turned; they are refused as they are.
    broken = {"b-refused-size", "b-refused-short-rank", "b-refused-long-rank", "b-refused-ranks"}
    if case["id"] not in broken:
        position = turn_position(case["game"], position, symmetry)
    with pytest.raises(NotationError):
        Game.from_position(case["game"], position, case["to_play"])


@each(MOVES)
def test_the_slow_reading_agrees_with_the_cases(case):
    slow = SlowGame(case["game"], case["position"], case["to_play"])
    assert slow.play(*case["move"].split("-")) == case["captures"]
    assert slow.outcome == (case["outcome"] and (case["outcome"]["winner"], case["outcome"]["reason"]))
