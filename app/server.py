"""The web application: routes that check what comes in, ask the hall, and answer with JSON.

    create_app(Hall(EngineMaker(Catalogue()), folder))

`app.serve` runs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response, WebSocket, WebSocketDisconnect
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

from app import schemas
from app.guard import Guard, Rate
from app.hall import OPEN_GAMES, Hall
from app.language import FOLDER as LANGUAGES
from app.language import languages
from app.levels import DEFAULT_LEVEL, LEVELS
from app.problems import Problem
from app.seated import CLOSE, Listener, Seated
from app.session import Session
from app.starts import begin, new_game, read_record
from app.studies import at_ply
from app.views import legal_view, outcome_view, rules_view
from env import RULES, Rules
from env.render import Scene, draw_picture

STATIC = Path(__file__).resolve().parent / "static"
VERSION = "0.1.0"
SOCKETS = 256
_MESSAGE = TypeAdapter(schemas.Message)

Key = Annotated[str, PathParameter(pattern=r"^[A-Za-z0-9_-]{22}$")]
Json = dict[str, Any]


def create_app(hall: Hall, names: Iterable[str] = (), static: Path = STATIC, testing: bool = False) -> FastAPI:
    """The application.

    Args:
        hall: the open games.
        names: names of this machine that requests may use, besides localhost and any IP address.
        static: folder of the page's files.
        testing: no limit on how often games are begun, and nothing is loaded before it is needed.
    """

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        if not testing:
            hall.warm_up()
        yield
        await hall.close()

    app = FastAPI(title="Branan", version=VERSION, docs_url=None, redoc_url=None, lifespan=life)
    app.add_middleware(Guard, names=list(names))
    _add_errors(app)
    _add_lists(app, hall)
    _add_games(app, hall, Rate(1e9, 1e9) if testing else Rate(60, 2))
    _add_texts(app, hall)
    _add_events(app, hall)
    _add_files(app, static)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> JSONResponse:
        headers = {"Retry-After": str(int(error.details.get("seconds", 1)) + 1)} if error.status == 429 else None
        return JSONResponse(error.body, error.status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        found = Problem("bad_request", *_faults(error.errors()))
        found.details["fields"] = _fields(error.errors())
        return JSONResponse(found.body, found.status)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(error.status_code, "bad_request")
        found = Problem(code, "There is nothing at this address." if code == "not_found" else str(error.detail))
        return JSONResponse(found.body, error.status_code, error.headers)


def _faults(errors: Iterable[Any]) -> tuple[str]:
    fields = _fields(errors)
    first = fields[0] if fields else {"field": "body", "message": "cannot be read"}
    return (f"This request cannot be understood: {first['field']}: {first['message']}.",)


def _fields(errors: Iterable[Any]) -> list[dict[str, str]]:
    """What is wrong with a request, without repeating what it said."""
    return [
        {"field": ".".join(str(part)[:64] for part in error["loc"]), "message": str(error["msg"])[:200]}
        for error in list(errors)[:8]
    ]


def _add_lists(app: FastAPI, hall: Hall) -> None:
    maker = hall.maker
    catalogue = maker.catalogue

    def levels(rules: Rules) -> list[Json]:
        found = []
        for name in LEVELS:
            making = maker.plan_level(name, rules)
            strength = making.strength
            found.append(
                {
                    "level": name,
                    "engine": making.kind,
                    "checkpoint": making.checkpoint,
                    "simulations": strength.simulations,
                    "depth": strength.depth,
                    "seconds": strength.seconds,
                    "mistakes": strength.mistakes,
                }
            )
        return found

    @app.get("/api/about")
    def about() -> Json:
        return {
            "version": VERSION,
            "default_level": DEFAULT_LEVEL,
            "games": [{**rules_view(rules), "levels": levels(rules)} for rules in RULES.values()],
            "limits": {
                "simulations": schemas.MOST_SIMULATIONS,
                "seconds": schemas.MOST_SECONDS,
                "depth": schemas.MOST_DEPTH,
                "record_bytes": schemas.RECORD_BYTES,
                "plies": schemas.MOST_PLIES,
                "open_games": OPEN_GAMES,
            },
        }

    @app.get("/api/languages")
    def known_languages() -> Json:
        return {
            "languages": [{"code": each.code, "name": each.name, "direction": each.direction} for each in languages()]
        }

    @app.get("/api/checkpoints")
    def checkpoints(game: Annotated[str | None, Query(max_length=64)] = None) -> Json:
        return {"checkpoints": [entry.view() for entry in catalogue.checkpoints(game)]}

    @app.get("/api/runs")
    def runs() -> Json:
        return {"runs": catalogue.runs()}

    @app.get("/api/runs/{run}/iterations/{iteration}")
    def selfplay(
        run: Annotated[str, PathParameter(max_length=300)],
        iteration: Annotated[int, PathParameter(ge=0, le=10**9)],
        offset: Annotated[int, Query(ge=0, le=10**6)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> Json:
        return catalogue.selfplay(run, iteration, offset, limit)


def _add_games(app: FastAPI, hall: Hall, rate: Rate) -> None:
    def check_seats(rules: Rules, seats: Iterable[Any]) -> None:
        """Problem where a player cannot play: told before the game begins."""
        for seat in seats:
            if seat is not None and not isinstance(seat, schemas.PersonSeat):
                hall.maker.plan(seat, rules)

    def set_up(request: schemas.NewGame) -> Session:
        wanted = request.selfplay
        saved = None
        if wanted is not None:
            saved = hall.maker.catalogue.selfplay_game(wanted.run, wanted.iteration, wanted.number)
        game = begin(request, saved)
        check_seats(game.rules, (request.attackers, request.defenders))
        session = Session(game, request.attackers, request.defenders)
        session.running, session.delay = request.running, request.delay
        return session

    @app.post("/api/games", status_code=201)
    async def new(request: schemas.NewGame) -> Json:
        rate.take("games begun")
        seated = await hall.open(await asyncio.to_thread(set_up, request))
        return seated.session.view()

    @app.get("/api/games/{key}")
    async def show(key: Key) -> Json:
        return (await hall.find(key)).session.view()

    @app.delete("/api/games/{key}", status_code=204, response_class=Response)
    async def delete(key: Key) -> None:
        await hall.remove(key)

    @app.post("/api/games/{key}/move")
    async def move(key: Key, request: schemas.PlayMove) -> Json:
        return await hall.change(key, lambda session: session.play(request))

    @app.post("/api/games/{key}/undo")
    async def undo(key: Key, request: schemas.Undo) -> Json:
        return await hall.change(key, lambda session: session.undo(request.ply))

    @app.post("/api/games/{key}/resign")
    async def resign(key: Key, request: schemas.Resign) -> Json:
        return await hall.change(key, lambda session: session.resign(request.side))

    @app.post("/api/games/{key}/offer_draw")
    async def offer_draw(key: Key, _: schemas.Nothing) -> Json:
        return await hall.change(key, Session.offer_draw, interrupt=False)

    @app.post("/api/games/{key}/accept_draw")
    async def accept_draw(key: Key, _: schemas.Nothing) -> Json:
        return await hall.change(key, Session.accept_draw)

    @app.post("/api/games/{key}/step")
    async def step(key: Key, _: schemas.Nothing) -> Json:
        return await hall.step(key)

    @app.post("/api/games/{key}/run")
    async def run(key: Key, request: schemas.Run) -> Json:
        return await hall.change(key, lambda session: session.set_running(request.running, request.delay))

    @app.post("/api/games/{key}/players")
    async def players(key: Key, request: schemas.Seats) -> Json:
        rules = (await hall.find(key)).session.game.rules
        await asyncio.to_thread(check_seats, rules, (request.attackers, request.defenders))
        return await hall.change(key, lambda session: session.set_seats(request.attackers, request.defenders))


def _add_texts(app: FastAPI, hall: Hall) -> None:
    drawing = asyncio.Semaphore(1)  # a picture takes a moment of a core, and many of them all of it

    @app.get("/api/games/{key}/record", response_class=PlainTextResponse)
    async def record(key: Key, ply: Annotated[int | None, Query(ge=0, le=10**6)] = None) -> PlainTextResponse:
        session = (await hall.find(key)).session
        name = f"{session.game.rules.name}-{session.game.ply if ply is None else ply}.otg"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return PlainTextResponse(session.record(ply), headers=headers)

    @app.get("/api/games/{key}/picture.png")
    async def picture(
        key: Key,
        ply: Annotated[int | None, Query(ge=0, le=10**6)] = None,
        side: Annotated[int, Query(ge=160, le=1600)] = 720,
    ) -> Response:
        game = (await hall.find(key)).session.game
        game = game.copy() if ply is None else at_ply(game, ply)

        def draw() -> bytes:
            from PIL import Image

            data = io.BytesIO()
            Image.fromarray(draw_picture(Scene.of(game), side)).save(data, "png")
            return data.getvalue()

        async with drawing:
            return Response(await asyncio.to_thread(draw), media_type="image/png")

    @app.post("/api/records")
    def check_record(request: schemas.RecordCheck) -> Json:
        game = read_record(request.record)
        return {
            "game": game.rules.name,
            "layout": game.layout,
            "plies": game.ply,
            "position": game.position,
            "to_play": game.to_play,
            "outcome": outcome_view(game.outcome),
        }

    @app.post("/api/positions")
    def check_position(request: schemas.PositionCheck) -> Json:
        game = new_game(request.game, None, request.position, request.to_play)
        return {
            "ok": True,
            "position": game.position,
            "to_play": game.to_play,
            "legal": legal_view(game),
            "outcome": outcome_view(game.outcome),
        }


def _add_events(app: FastAPI, hall: Hall) -> None:
    open_sockets: set[WebSocket] = set()

    @app.websocket("/api/games/{key}/events")
    async def events(socket: WebSocket, key: str) -> None:
        await socket.accept()
        if len(open_sockets) >= SOCKETS:
            await socket.close(4429, "too many windows")
            return
        try:
            seated = await hall.find(key)
            listener = hall.join(seated)
        except Problem as problem:
            await socket.close(4404 if problem.code == "not_found" else 4429, str(problem)[:100])
            return
        open_sockets.add(socket)
        listening = asyncio.create_task(_listen(hall, seated, listener, socket))
        try:
            while not listening.done():
                waiting = asyncio.create_task(listener.messages.get())
                await asyncio.wait([waiting, listening], return_when=asyncio.FIRST_COMPLETED)
                if not waiting.done():
                    waiting.cancel()
                    break
                if waiting.result() is CLOSE:
                    await socket.close(1001, "the server stops")
                    break
                await socket.send_json(waiting.result())
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass
        finally:
            open_sockets.discard(socket)
            listening.cancel()
            await hall.leave(seated, listener)


async def _listen(hall: Hall, seated: Seated, listener: Listener, socket: WebSocket) -> None:
    """Take what a page says over its socket, until it is gone."""
    while True:
        try:
            text = await socket.receive_text()
        except (WebSocketDisconnect, RuntimeError, KeyError):
            return
        try:
            request = _MESSAGE.validate_python(json.loads(text), strict=False)
        except ValidationError as error:
            problem = Problem("bad_request", *_faults(error.errors()))
            listener.send({"type": "error", **problem.body})
            continue
        except (ValueError, RecursionError):
            listener.send({"type": "error", **Problem("bad_request", "A message is JSON.").body})
            continue
        if isinstance(request, schemas.StopAnalysis):
            await hall.studies.end(listener, "analyse")
        else:
            await hall.studies.begin(seated, listener, request)


def _add_files(app: FastAPI, static: Path) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        path = static / "index.html"
        if not path.is_file():
            raise Problem("not_found", "The files of the page are not there.")
        return FileResponse(path)

    app.mount("/languages", StaticFiles(directory=LANGUAGES, check_dir=False))
    app.mount("/static", StaticFiles(directory=static, check_dir=False))
