"""What pages ask engines about a game: the analysis of a position, the values of all positions."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import Any

from app.analysis import analyse, graph, steps
from app.desk import Desk, Stopped
from app.engines import AnySeat, EngineMaker, Making, seat_view
from app.levels import Strength
from app.problems import Problem, first_line
from app.schemas import Analyse, Graph
from app.seated import Listener, Message, Seated
from env import Game, Rules

GRAPH_STEP = 16  # positions searched at a time


class Studies:
    """Analyses positions for pages, each page at most one position and one graph at a time.

    Args:
        desk: where searches run.
        maker: makes engines.
    """

    def __init__(self, desk: Desk, maker: EngineMaker) -> None:
        self._desk, self._maker = desk, maker

    async def end(self, listener: Listener, kind: str) -> None:
        """Stop a page's "analyse" or "graph"."""
        study = listener.studies.pop(kind, None)
        if study is not None and not study.done():
            study.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await study

    async def end_all(self, listener: Listener) -> None:
        """Stop whatever a page has asked for."""
        for kind in list(listener.studies):
            await self.end(listener, kind)

    async def begin(self, seated: Seated, listener: Listener, request: Analyse | Graph) -> None:
        """Begin a study for a page, in place of the one of its kind before."""
        await self.end(listener, request.type)
        work = self._analyse if isinstance(request, Analyse) else self._graph
        listener.studies[request.type] = asyncio.create_task(self._guarded(work, seated, listener, request))

    async def _guarded(self, work: Any, seated: Seated, listener: Listener, request: Analyse | Graph) -> None:
        try:
            await work(seated, listener, request)
        except Problem as problem:
            listener.send({"type": "error", **problem.body})
        except Stopped:
            pass
        except (MemoryError, RuntimeError, FloatingPointError, ValueError) as error:
            problem = Problem("failed", f"The analysis failed: {first_line(error) or 'out of memory'}")
            listener.send({"type": "error", **problem.body})

    async def _plan(self, seat: AnySeat | None, rules: Rules, quick: bool = False) -> tuple[Making, Message]:
        making = await asyncio.to_thread(self._maker.for_study, seat, rules)
        if quick and making.kind == "alphabeta":
            making = replace(making, strength=Strength(depth=2))
        kind = "checkpoint" if making.kind == "network" else making.kind
        name = making.checkpoint or making.kind
        view = {"kind": kind, "checkpoint": making.checkpoint, "name": name} if seat is None else seat_view(seat)
        return making, view

    async def _analyse(self, seated: Seated, listener: Listener, request: Analyse) -> None:
        game = at_ply(seated.session.game, request.ply)
        if game.outcome is not None:
            raise Problem("game_over", "The game is over in this position; there is nothing to analyse.")
        making, view = await self._plan(request.engine, game.rules)
        engine = await self._desk.study(lambda: self._maker.make(making, game.rules), lambda: None)
        head = {"type": "analysis", "ply": game.ply, "position": game.position, "to_play": game.to_play, "engine": view}
        begin = time.monotonic()
        for simulations in steps(request.simulations):
            while True:
                found = await self._desk.study(lambda n=simulations: analyse(engine, game, n), engine.stop)
                if not self._desk.disturbed:
                    break
            seconds = round(time.monotonic() - begin, 2)
            final = not found["moves"] or found["search"]["proven"] is not None
            done = final or simulations == request.simulations
            listener.send({**head, "done": done, "seconds": seconds, **found})
            if done:
                return

    async def _graph(self, seated: Seated, listener: Listener, request: Graph) -> None:
        game = seated.session.game
        making, view = await self._plan(request.engine, game.rules, quick=True)
        actions = game.actions
        before, points = seated.graphs.get((making, request.simulations), ([], []))
        same = next((ply for ply, pair in enumerate(zip(before, actions)) if pair[0] != pair[1]), len(before))
        points = points[: min(same, len(actions)) + 1]
        if game.outcome is not None:
            points = points[: len(actions)]  # the last one has a result now
        missing = [at_ply(game, ply) for ply in range(len(points), len(actions) + 1)]
        if missing:
            engine = await self._desk.study(lambda: self._maker.make(making, game.rules), lambda: None)
            for first in range(0, len(missing), GRAPH_STEP):
                part = missing[first : first + GRAPH_STEP]
                while True:
                    found = await self._desk.study(lambda p=part: graph(engine, p, request.simulations), engine.stop)
                    if not self._desk.disturbed:
                        break
                points = points + found
            # A resignation ends a position that goes on when it is taken back.
            lasting = points if game.outcome is None else points[:-1]
            seated.graphs = {(making, request.simulations): (actions, lasting)}
        listener.send({"type": "graph", "engine": view, "done": True, "points": points})


def at_ply(game: Game, ply: int) -> Game:
    """A copy of a game as it stood at a ply.

    Raises:
        Problem: it has not come so far.
    """
    if ply > game.ply:
        raise Problem("not_possible", f"The game has come to ply {game.ply}, not to {ply}.")
    copy = game.copy()
    while copy.ply > ply:
        copy.undo()
    return copy
