"""The exact solver against plain ways to solve a position: everything that can be reached, and minimax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attractor import Reachable, past_of, plies_of

from env import RULES, Game, Move, Rules
from env.notation import format_position
from env.rules import SIDES
from search.proof import Prover, prove, shortest_win

MIDDLE = frozenset({"b2"})
CORNERS = frozenset({"a1", "d1", "a4", "d4"})
EDGE = frozenset({"a1", "a2", "a3", "a4"})
START = {"start": "/4/1tt1/1Kt1/4/"}
# The two games on boards so small that all that can be reached from a position can be written down.
SMALL = (
    Rules(
        "small-corners", "Small, corners", 4, START, "b2", CORNERS, king_only=CORNERS | MIDDLE, hostile=CORNERS,
        hostile_while_empty=MIDDLE, hostile_to_king=CORNERS, king_surrounded=MIDDLE,
    ),
    Rules(
        "small-edge", "Small, edge", 4, START, "b2", EDGE, closed=MIDDLE, hostile_while_empty=MIDDLE,
        king_surrounded=MIDDLE | {"b3", "c2"}, king_walls=MIDDLE, no_moves="draw", repetition_limit=2,
        repetition="draw",
    ),
)  # fmt: skip
EASY, HARD = 300, 20_000


def random_position(rules: Rules, attackers: int, defenders: int, rng: np.random.Generator) -> Game:
    """A game in which as many pieces stand anywhere, and which is not over."""
    names = [_name(rules, square) for square in range(rules.cells)]
    free = [square for square, name in enumerate(names) if name not in rules.king_only | rules.closed]
    while True:
        board = np.zeros(rules.cells, np.int8)
        king, *others = rng.permutation(free)[: attackers + defenders + 1]
        if names[king] in rules.goal:
            continue
        board[king], board[others] = 3, [1] * attackers + [2] * defenders
        side = SIDES[int(rng.integers(2))]
        game = Game.from_position(rules, format_position(rules.size, board), side)
        if game.outcome is None:
            return game


def _name(rules: Rules, square: int) -> str:
    return "abcdefghijk"[square % rules.size] + str(square // rules.size + 1)


@pytest.fixture(scope="module", params=SMALL, ids=lambda rules: rules.name)
def small(request: pytest.FixtureRequest) -> tuple[Rules, Prover]:
    return request.param, Prover(request.param, 1)


FEW = [(2, 0), (1, 1)]
MORE = [pytest.param(*pieces, marks=pytest.mark.slow) for pieces in ((3, 0), (2, 1))]


@pytest.mark.parametrize(("attackers", "defenders"), FEW + MORE)
def test_agrees_with_all_that_can_be_reached(small: tuple[Rules, Prover], attackers: int, defenders: int) -> None:
    rules, prover = small
    rng = np.random.default_rng((attackers, defenders))
    reachable: Reachable | None = None
    for _ in range(6):
        game = random_position(rules, attackers, defenders, rng)
        if reachable is None or (game.position, game.to_play) not in reachable.follow:
            reachable = Reachable(game)
        for side in SIDES:
            wins = reachable.wins(side)
            plies = plies_of(wins, game)
            proof = prover.prove(game, side, HARD)
            assert proof.result == ("disproven" if plies is None else "proven"), (game, side)
            assert prove(game, side, HARD).result == proof.result
            shortest = prover.shortest_win(game, side, HARD, most=40)
            assert (shortest.result, shortest.plies) == (proof.result, plies), (game, side)
            if plies is None:
                continue
            assert plies <= (proof.plies or 0)
            if game.to_play == side:
                for found in (proof, shortest):
                    assert found.move is not None
                    after = game.copy()
                    after.play(found.move)
                    left = 0 if after.outcome else plies_of(wins, after)
                    assert left is not None and (found is proof or left == plies - 1)


@pytest.mark.parametrize(("attackers", "megabytes"), [(2, 0.01), (3, 1.0)])
def test_every_position_of_a_small_board(small: tuple[Rules, Prover], attackers: int, megabytes: float) -> None:
    """With few nodes and a shared table, be it ever so small, answers are right or open; some are of each kind.

    Positions of three attackers show a disproof that was stored without the path it rests on: one answer in a thousand.
    """
    rules, _ = small
    prover = Prover(rules, megabytes)
    rng = np.random.default_rng((attackers, 0))
    reachable = Reachable(random_position(rules, attackers, 0, rng))
    states = sorted(reachable.follow)
    answers = set()
    for side in SIDES:
        wins = reachable.wins(side)
        for index in rng.permutation(len(states))[:3500]:
            game = Game.from_position(rules, *states[index])
            if game.outcome is None:
                for nodes in (1, EASY, HARD)[: 2 if attackers == 2 else 3]:
                    result = prover.prove(game, side, nodes).result
                    answers.add(result)
                    assert result in ("unknown", "disproven" if plies_of(wins, game) is None else "proven")
    assert answers == {"unknown", "proven", "disproven"}


def back_to(start: Game, move: Move) -> Iterator[Game]:
    """Games that begin with the position after a move and come back to the one before it."""
    after = start.copy()
    after.play(move)
    if after.outcome is not None or after.captured:
        return
    for reply in after.legal_moves():
        game = Game.from_position(start.rules, after.position, after.to_play)
        for step in (reply, Move(move.target, move.origin), Move(reply.target, reply.origin)):
            if game.outcome is not None or step not in game.legal_moves():
                break
            game.play(step)
        else:
            if game.outcome is None and game.position == start.position:
                yield game


@pytest.mark.parametrize(("limit", "ruling"), [(3, "loss"), (2, "draw")])
def test_positions_of_the_past_count_against_the_prover(limit: int, ruling: str) -> None:
    """The same position after a game may be harder to win, and what was stored without the past does not help."""
    rules = replace(SMALL[0], name="past", repetition_limit=limit, repetition=ruling)
    prover = Prover(rules, 1)
    rng = np.random.default_rng(5)
    reachable = Reachable(random_position(rules, 2, 0, rng))
    changed = tried = 0
    for side in SIDES:
        wins = reachable.wins(side)
        longer = [state for state, plies in wins.items() if plies > 2 and state[1] == side]
        for index in rng.permutation(len(longer))[:30]:
            fresh = Game.from_position(rules, *longer[index])
            move = prover.shortest_win(fresh, side).move
            assert move is not None
            for game in list(back_to(fresh, move))[:2]:
                tried += 1
                plies = plies_of(reachable.wins(side, past_of(game)), game)
                assert prover.shortest_win(game, side, HARD, most=40).plies == plies, (game, side)
                assert prover.prove(game, side, HARD).result == ("disproven" if plies is None else "proven")
                changed += plies != plies_of(wins, game)
    assert tried and changed


def test_what_cannot_be_asked() -> None:
    game = Game("brandubh")
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"side": "both"}, "no side is called 'both'; there are: attackers, defenders"),
        ({"side": "attackers", "nodes": 0}, "nodes 0: at least 1 is needed"),
        ({"side": "attackers", "within": -1}, "within -1 plies: allowed are 0 to"),
        ({"side": "attackers", "within": 1000}, "within 1000 plies: allowed are 0 to"),
    )
    for arguments, message in refused:
        with pytest.raises(ValueError, match=message):
            prove(game, **arguments)
    with pytest.raises(ValueError, match="this prover plays tawlbwrdd, not brandubh"):
        Prover("tawlbwrdd", 1).prove(game, "attackers")


def test_a_finished_game_is_settled() -> None:
    game = Game("brandubh")
    game.resign("attackers")
    assert prove(game, "defenders").proven and prove(game, "attackers").disproven
    assert shortest_win(game, "defenders").plies == 0


def test_the_same_question_gets_the_same_answer() -> None:
    game = Game.from_position("brandubh", "/4t2/7/1t1t3/4Ktt/1t5/5t1/3t3/", "attackers")
    assert prove(game, "attackers") == prove(game, "attackers")
    proof = shortest_win(game, "attackers")
    assert (proof.result, proof.plies, proof.within) == ("proven", 11, 11)
    assert shortest_win(game, "attackers", most=9).result == "disproven"
    assert shortest_win(game, "attackers", nodes=200).result == "unknown"


def test_a_side_shut_in_loses_where_the_rules_say_so() -> None:
    text = "/7/t6/Tt5/K3t2/Tt5/t6/7/"
    proof = shortest_win(Game.from_position("brandubh", text, "attackers"), "attackers", most=3)
    assert (proof.plies, str(proof.move)) == (1, "e4-b4")
    mild = replace(RULES["brandubh"], name="mild", no_moves="draw")
    assert shortest_win(Game.from_position(mild, text, "attackers"), "attackers", most=1).disproven
