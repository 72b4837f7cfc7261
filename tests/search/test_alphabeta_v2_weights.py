"""The evaluation of `alphabeta-v2`, its weights as data, and the moves that its search singles out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env import Game
from env.moves import immediate_win
from env.notation import format_position, square_index_of
from env.rules import RULES
from env.tables import tables
from search.alphabeta_v2 import UNIT, AlphaBetaV2
from search.v2.candidates import find_captures, threats, write_answers, write_landings
from search.v2.evaluation import TERMS, evaluate, survey
from search.v2.weights import FOLDER, from_data, hand_weights, load_weights, orbits, to_data

GAMES = tuple(RULES)


def attackers_score(game: Game) -> int:
    """The evaluation from the attackers' view."""
    static = np.zeros(2, np.int64)
    survey(load_weights(game.rules), game.arrays, static)
    return int(evaluate(tables(game.rules), load_weights(game.rules), game.arrays, static))


def random_games(name: str, rng: np.random.Generator, count: int) -> list[Game]:
    """Games that are going on, after some random moves from every layout."""
    found: list[Game] = []
    layouts = list(RULES[name].layouts)
    while len(found) < count:
        game = Game(name, layouts[len(found) % len(layouts)])
        for _ in range(int(rng.integers(60))):
            if game.outcome is None:
                game.play_action(int(rng.choice(game.legal_actions())))
        if game.outcome is None:
            found.append(game)
    return found


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_weights_that_come_with_the_project_say_where_from(file: Path) -> None:
    data, name = json.loads(file.read_text()), file.stem
    assert data["game"] == name
    assert data["command"].startswith(f"python tools/tune_alphabeta.py {name}")
    assert to_data(RULES[name], load_weights(RULES[name])) == data["weights"]
    # The unit: an attacker, on the average of all squares, within reason.
    assert 0.5 * UNIT < np.mean(list(data["weights"]["squares"]["attacker"].values())) < 2 * UNIT


def test_a_game_of_ones_own_is_played_with_weights_set_by_hand() -> None:
    gentle = replace(RULES["brandubh"], name="gentle", repetition="draw")
    assert to_data(gentle, load_weights(gentle)) == to_data(gentle, hand_weights(gentle))
    assert AlphaBetaV2(gentle, 1).run(Game(gentle), depth=3).depth == 3


def damage(data: dict[str, Any], value: Any, *keys: str) -> None:
    for key in keys[:-1]:
        data = data[key]
    if value is None:
        del data[keys[-1]]
    else:
        data[keys[-1]] = value


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("squares", "king", "d4"), None),
        (("squares", "attacker", "a1"), 2.5),
        (("terms", "defenders", "fork"), "much"),
        (("terms", "attackers"), 7),
        (("terms", "attackers", "tempo"), True),
        (("terms", "attackers", "tempo"), 10**6),
    ],
)
def test_damaged_weights_are_refused_by_name(tmp_path: Path, keys: tuple[str, ...], value: Any) -> None:
    rules = RULES["brandubh"]
    data = {"weights": to_data(rules, hand_weights(rules))}
    damage(data["weights"], value, *keys)
    file = tmp_path / "weights.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=rf"weights\.json: these weights cannot be used: weight {'.'.join(keys)}"):
        load_weights(rules, file)
    file.write_text("[]")
    with pytest.raises(ValueError, match="cannot be used"):
        load_weights(rules, file)


def test_weights_of_another_board_are_refused() -> None:
    small, large = RULES["brandubh"], RULES["tawlbwrdd"]
    with pytest.raises(ValueError, match="weight squares"):
        from_data(large, to_data(small, hand_weights(small)))


@pytest.mark.parametrize("size", [5, 7, 11])
def test_orbits_are_those_of_the_square(size: int) -> None:
    grid = orbits(size).reshape(size, size)
    assert (grid == grid.T).all() and (grid == np.rot90(grid)).all()
    half = (size + 1) // 2
    assert len(np.unique(grid)) == half * (half + 1) // 2


@pytest.mark.parametrize("name", GAMES)
def test_evaluation_is_the_same_turned_and_mirrored(name: str, rng: np.random.Generator) -> None:
    size = RULES[name].size
    for game in random_games(name, rng, 20):
        turned = np.rot90(game.board.reshape(size, size))
        for grid in (turned, turned.T):
            image = Game.from_position(
                name, format_position(size, np.ascontiguousarray(grid).reshape(-1)), game.to_play
            )
            assert attackers_score(image) == attackers_score(game)


@pytest.mark.parametrize("name", GAMES)
def test_terms_add_up(name: str, rng: np.random.Generator) -> None:
    """The evaluation is linear: the sum of what every weight gives alone."""
    rules = RULES[name]
    weights = load_weights(rules)
    static = np.zeros(2, np.int64)
    for game in random_games(name, rng, 10):
        side = int(game.arrays.info[0])
        total = 0
        for term in range(len(TERMS)):
            alone = hand_weights(rules).copy()
            alone["squares"], alone["terms"] = 0, 0
            alone["terms"][side, term] = weights.terms[side, term]
            survey(alone, game.arrays, static)
            total += int(evaluate(tables(rules), alone, game.arrays, static))
        survey(weights, game.arrays, static)
        assert attackers_score(game) == total + static[0]


@pytest.mark.parametrize("name", GAMES)
def test_captures_are_found_exactly(name: str, rng: np.random.Generator) -> None:
    """Against playing every move and looking at what it took."""
    rules = RULES[name]
    landing, out = np.zeros(rules.size, np.int32), np.zeros(rules.most_moves, np.int16)
    seen = 0
    for game in random_games(name, rng, 60):
        count = 0
        if find_captures(tables(rules), load_weights(rules), game.arrays, landing):
            count = write_landings(tables(rules), game.arrays, landing, True, out, 0)
        taking = set()
        for action in game.legal_actions():
            if game.play_action(int(action)):
                taking.add(int(action))
            game.undo()
        assert sorted(out[:count]) == sorted(taking), f"{game!r}"
        seen += len(taking)
    assert seen > 0


@pytest.mark.parametrize("name", GAMES)
def test_every_move_that_parries_is_an_answer(name: str, rng: np.random.Generator) -> None:
    """After any other move the opponent wins at once."""
    rules = RULES[name]
    landing, captures = np.zeros((2, rules.size), np.int32)
    out = np.zeros(rules.most_moves, np.int16)
    threatened = 0
    for game in random_games(name, rng, 400):
        ways = threats(tables(rules), game.arrays)
        if ways == 0:
            continue
        threatened += 1
        find_captures(tables(rules), load_weights(rules), game.arrays, captures)
        count = write_answers(tables(rules), load_weights(rules), game.arrays, captures, landing, out)
        answers = set(out[:count].tolist())
        for action in game.legal_actions():
            game.play_action(int(action))
            parries = game.outcome is not None or immediate_win(tables(rules), game.arrays) < 0
            game.undo()
            if parries:
                assert ways == 1 or wins_by(game, int(action)), f"{game!r}"
                assert int(action) in answers or wins_by(game, int(action)), f"{game!r} {game.move_of(int(action))}"
    assert threatened > 5


def wins_by(game: Game, action: int) -> bool:
    game.play_action(action)
    won = game.outcome is not None
    game.undo()
    return won


def test_evaluation_knows_that_roads_and_material_count() -> None:
    def score(position: str, to_play: str) -> int:
        return attackers_score(Game.from_position("brandubh", position, to_play))

    closed = "/7/7/7/2tKt2/7/7/7/"
    assert score("/7/7/7/2tKt2/7/7/5t1/", "attackers") > score(closed, "attackers")
    assert score("/1K5/7/7/7/7/7/7/", "defenders") < -1000
    fork, single = "/7/K6/7/7/7/7/7/", "/7/K6/7/t6/7/7/7/"
    assert score(fork, "attackers") < score(single, "attackers") < 0


def test_squares_are_told_by_name() -> None:
    rules = RULES["brandubh"]
    data = to_data(rules, hand_weights(rules))
    data["squares"]["attacker"]["b1"] = 140
    e = from_data(rules, data)
    # b1 stands for all eight squares beside a corner.
    for name in ("b1", "a2", "f1", "g2", "a6", "b7", "f7", "g6"):
        assert e.squares[1, square_index_of(name, rules.size)] == 140
    assert (e.squares[1] == 140).sum() == 8
