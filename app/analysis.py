"""What searches found, as JSON in the attackers' view."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from app.engines import AlphaBetaEngine, Engine, NetworkEngine
from app.views import attackers_chances
from arena.players import Thought, alphabeta_thought, network_thought
from env import Game
from env.rules import SIDES
from search.evaluation import UNIT
from search.mcts import SearchResult
from search.tree import DRAW, LOSS, UNKNOWN, WIN

FIRST_STEP, STEP_FACTOR = 32, 4
"""An analysis searches this many simulations, then so many times more, and so on: something to see at once."""


def steps(simulations: int) -> list[int]:
    """Simulations of the searches that an analysis is made of; the last has all of them."""
    sizes, size = [], FIRST_STEP
    while size < simulations:
        sizes.append(size)
        size *= STEP_FACTOR
    return [*sizes, simulations]


def analyse(engine: Engine, game: Game, simulations: int) -> dict[str, Any]:
    """A position as an engine sees it after so many simulations, or, for one without, as hard as it tries anyway."""
    if isinstance(engine, NetworkEngine):
        return network_view(engine, game, engine.study([game], 0, simulations)[0])
    found = engine.study(game) if isinstance(engine, AlphaBetaEngine) else None
    thought = engine.think(game, 0) if found is None else alphabeta_thought(found)
    return {
        "simulations": 0,
        "network": None,
        "search": search_view(thought, game),
        "line": [str(move) for move in thought.line or (thought.move,)],
        "moves": [],
        "score": None if found is None or thought.proven else f"{_sign(game) * found.score / UNIT:+.2f}",
        "depth": None if found is None else found.depth,
        "nodes": None if found is None else found.nodes,
    }


def network_view(engine: NetworkEngine, game: Game, result: SearchResult) -> dict[str, Any]:
    """A tree search and the network's own view."""
    order = np.argsort(-result.policy, kind="stable")
    sign = _sign(game)
    moves = [
        {
            "move": str(game.move_of(int(result.actions[index]))),
            "prior": round(float(result.prior[index]), 4),
            "policy": round(float(result.policy[index]), 4),
            "visits": int(result.visits[index]),
            "value": None if isnan(result.values[index]) else round(sign * float(result.values[index]), 4),
            "proven": _proven(result, int(index), game),
        }
        for index in order
    ]
    return {
        "simulations": result.simulations,
        "network": outlook_view(engine.outlooks([game])[0], game),
        "search": search_view(network_thought(result), game, result.value),
        "line": [str(move) for move in result.line],
        "moves": moves,
        "score": None,
        "depth": None,
        "nodes": None,
    }


def graph(engine: Engine, games: list[Game], simulations: int) -> list[dict[str, Any]]:
    """The values of positions, one point each; positions in which the game is over have the result."""
    points: list[dict[str, Any]] = []
    going_on = [game for game in games if game.outcome is None]
    if isinstance(engine, NetworkEngine) and going_on:
        found = dict(zip(map(id, going_on), engine.study(going_on, 0, simulations)))
        outlooks = dict(zip(map(id, going_on), engine.outlooks(going_on)))
    else:
        found, outlooks = {}, {}
    for game in games:
        point: dict[str, Any] = {"ply": game.ply, "network": None, "search": None}
        if game.outcome is not None:
            winner = game.outcome.winner
            point["search"] = _certain(winner or "draw", 0)
        elif id(game) in found:
            result = found[id(game)]
            point["network"] = outlook_view(outlooks[id(game)], game)
            point["search"] = search_view(network_thought(result), game, result.value)
        elif not isinstance(engine, NetworkEngine):
            thought = engine.think(game, 0)
            point["search"] = search_view(thought, game) if thought.score else None
        points.append(point)
    return points


def outlook_view(outlook: np.ndarray, game: Game) -> dict[str, Any]:
    """The network's chances of the side to play, float (3,)."""
    win, draw, loss = (round(float(chance), 4) for chance in outlook)
    attackers, defenders = (win, loss) if game.to_play == SIDES[0] else (loss, win)
    return {
        "value": round(attackers - defenders, 4),
        "chances": {"attackers": attackers, "draw": draw, "defenders": defenders},
    }


def search_view(thought: Thought, game: Game, value: float | None = None) -> dict[str, Any]:
    """What a search expects; `value` is its own measure for the side to play, `None` the thought's expectation."""
    other = SIDES[1 - SIDES.index(game.to_play)]
    proven = {"win": game.to_play, "loss": other, "draw": "draw", None: None}[thought.proven]
    if proven is not None:
        return _certain(proven, thought.plies)
    chances = attackers_chances(thought, game.to_play)
    return {
        "value": round(_sign(game) * (thought.expectation if value is None else value), 4),
        "chances": None if chances is None else dict(zip(("attackers", "draw", "defenders"), _rounded(chances))),
        "proven": None,
        "proven_plies": None,
    }


def _certain(result: str, plies: int | None) -> dict[str, Any]:
    sides = ("attackers", "draw", "defenders")
    return {
        "value": {"attackers": 1.0, "draw": 0.0, "defenders": -1.0}[result],
        "chances": {side: float(side == result) for side in sides},
        "proven": result,
        "proven_plies": plies,
    }


def _proven(result: SearchResult, index: int, game: Game) -> str | None:
    """Which side a move is proven to win for, or that it is a draw."""
    other = SIDES[1 - SIDES.index(game.to_play)]
    names = {WIN: game.to_play, LOSS: other, DRAW: "draw", UNKNOWN: None}
    return names[int(result.proofs[index])]


def _rounded(chances: tuple[float, float, float]) -> tuple[float, ...]:
    return tuple(round(float(chance), 4) for chance in chances)


def _sign(game: Game) -> int:
    return 1 if game.to_play == SIDES[0] else -1
