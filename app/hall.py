"""All open games: engines that move in them, pages that look on, files that keep them over a restart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

from app.desk import Desk, Stopped
from app.engines import Engine, EngineMaker, Making
from app.problems import Problem, first_line
from app.seated import CLOSE, Listener, Message, Seated
from app.session import Session
from app.studies import Studies
from arena.players import Thought
from env import RULES, Game
from env.files import remove_drafts, write_whole

OPEN_GAMES = 64
KEPT_GAMES = 500
LISTENERS = 16
"""Sockets that look on at one game."""

LEAVE_AFTER = 2.0
"""Seconds after which a game's searches end when nobody looks on any more: a reload is quicker than that."""

HEARTBEAT = 0.5
_KEY = re.compile(r"[A-Za-z0-9_-]{22}")
_log = logging.getLogger("branan")


class Hall:
    """The open games.

    Args:
        maker: makes engines.
        folder: where games are kept; None: nowhere.
        threads: replies searched at a time (`app.desk`).
    """

    def __init__(self, maker: EngineMaker, folder: Path | None, threads: int | None = None) -> None:
        self.maker = maker
        self.folder = folder
        self.desk = Desk(threads)
        self.studies = Studies(self.desk, maker)
        self._seated: dict[str, Seated] = {}
        self._told = False
        self._closing = False
        self._warming: asyncio.Task[None] | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                remove_drafts(folder)
            except OSError as error:
                self._cannot_keep(error)

    # Games come and go

    async def open(self, session: Session) -> Seated:
        """Take in a new game; the one that nobody has used for longest makes room.

        Raises:
            Problem: there are as many as there may be, and somebody looks on at each.
        """
        self._make_room()
        seated = self._seated[session.key] = Seated(session)
        await self.keep(seated)
        await asyncio.to_thread(self._prune)
        self.drive(seated)
        return seated

    def take_in(self, session: Session) -> None:
        """Take in a game before anything runs; its engine waits until somebody looks on."""
        self._seated[session.key] = Seated(session)

    async def find(self, key: str) -> Seated:
        """An open game, or one that was kept.

        Raises:
            Problem: there is none of this id.
        """
        seated = self._seated.get(key)
        if seated is None:
            seated = await self._read(key)
            if key in self._seated:  # two asked at the same time
                seated = self._seated[key]
            else:
                self._make_room()
                self._seated[key] = seated
                self.drive(seated)
        seated.used = time.monotonic()
        return seated

    async def remove(self, key: str) -> None:
        """Close a game and forget it."""
        seated = await self.find(key)
        async with seated.lock:
            await self.halt(seated)
            self._seated.pop(key, None)
            if self.folder is not None:
                with contextlib.suppress(OSError):
                    (self.folder / f"{key}.json").unlink(missing_ok=True)

    async def _read(self, key: str) -> Seated:
        missing = Problem("not_found", "There is no game of this id (any more).", game=key[:64])
        if self.folder is None or not _KEY.fullmatch(key):
            raise missing
        try:
            data = await asyncio.to_thread((self.folder / f"{key}.json").read_bytes)
            session = await asyncio.to_thread(Session.from_kept, data)
        except OSError:
            raise missing from None
        except ValueError as error:
            raise Problem("not_found", f"The file of this game cannot be read: {first_line(error)}") from None
        if session.key != key:
            raise missing
        seated = Seated(session)
        seated.kept = data
        return seated

    def _make_room(self) -> None:
        while len(self._seated) >= OPEN_GAMES:
            idle = [seated for seated in self._seated.values() if not seated.listeners and not seated.lock.locked()]
            if not idle:
                raise Problem("too_many", f"{OPEN_GAMES} games are open, each in a window: close one first.")
            oldest = min(idle, key=lambda seated: seated.used)
            self._seated.pop(oldest.session.key)
            if oldest.driver is not None:
                oldest.driver.cancel()

    # Keeping

    async def keep(self, seated: Seated) -> None:
        """Write a game to its file."""
        if self.folder is None:
            return
        data = seated.session.kept()
        if data == seated.kept:
            return
        try:
            await asyncio.to_thread(write_whole, self.folder / f"{seated.session.key}.json", data)
            seated.kept = data
        except OSError as error:
            self._cannot_keep(error)

    def _cannot_keep(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "Games cannot be kept in %s (%s): they end with this program.", self.folder, error.strerror or error
            )

    def _prune(self) -> None:
        """Delete the oldest files where there are more than `KEPT_GAMES`."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            files = [path for path in self.folder.glob("*.json") if _KEY.fullmatch(path.stem)]
            if len(files) > KEPT_GAMES:
                files.sort(key=lambda path: path.stat().st_mtime)
                for path in files[: len(files) - KEPT_GAMES]:
                    if path.stem not in self._seated:
                        path.unlink(missing_ok=True)

    # What people do

    async def change(self, key: str, act: Callable[[Session], None], *, interrupt: bool = True) -> Message:
        """Do something to a game, keep it, show it, and let the engines go on; return the view.

        Args:
            key: the game.
            act: changes the session, or raises `Problem` and leaves it as it was.
            interrupt: whether a search that is going on has lost its point.
        """
        seated = await self.find(key)
        async with seated.lock:
            act(seated.session)  # before the search is stopped, so that a refused request does not cost one
            if interrupt:
                await self.halt(seated)
            await self.keep(seated)
            seated.publish()
            self.drive(seated)
            return seated.session.view()

    async def step(self, key: str) -> Message:
        """Let the engine that is to play make one move."""
        seated = await self.find(key)
        async with seated.lock:
            if seated.driver is not None and not seated.driver.done():
                raise Problem("not_possible", "An engine is thinking already.")
            if not seated.session.engine_can_step:
                raise Problem("not_possible", "There is no engine to move now.")
            seated.driver = step = asyncio.create_task(self._engine_moves(seated))
        await asyncio.wait([step])
        if step.cancelled():
            raise Problem("not_possible", "The engine was stopped before it had moved.")
        self.drive(seated)
        return seated.session.view()

    # Engines

    def drive(self, seated: Seated) -> None:
        """Let the engines move that are due, in a task of their own; two engines only while somebody looks on."""
        running = seated.driver is not None and not seated.driver.done()
        seen = bool(seated.listeners) or not seated.session.watched
        if seen and seated.session.engine_is_due and not running and not self._closing:
            seated.driver = asyncio.create_task(self._drive(seated))

    async def halt(self, seated: Seated) -> None:
        """Stop the engine that is searching; its move is not made."""
        driver, seated.driver = seated.driver, None
        if driver is not None and not driver.done():
            driver.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await driver

    async def _drive(self, seated: Seated) -> None:
        session = seated.session
        while session.engine_is_due:
            watched = session.watched
            if not await self._engine_moves(seated):
                return
            if watched and session.engine_is_due:
                await asyncio.sleep(session.delay)

    async def _engine_moves(self, seated: Seated) -> bool:
        """One move of the engine that is to play; False where it cannot move, which is told at the board."""
        session = seated.session
        game, side = session.game.copy(), session.game.to_play
        session.set_thinking(side)
        seated.publish()
        heart = asyncio.create_task(self._beat(seated, side))
        try:
            making = await asyncio.to_thread(self.maker.plan, session.seat, game.rules)
            seed = (session.seed + game.ply) % 2**32
            thought = await self._think(seated, making, game, seed)
        except Problem as problem:
            session.set_thinking(None)
            self._give_up(seated, "player_missing" if problem.code == "not_found" else "engine_failed", str(problem))
            return False
        except (MemoryError, RuntimeError, FloatingPointError, ValueError) as error:
            _log.warning("An engine failed: %s", error)
            session.set_thinking(None)
            self._give_up(seated, "engine_failed", f"The engine failed: {first_line(error) or 'out of memory'}")
            return False
        finally:
            heart.cancel()
            session.thinking = None
        session.engine_plays(thought)
        await self.keep(seated)
        seated.publish()
        return True

    async def _think(self, seated: Seated, making: Making, game: Game, seed: int) -> Thought:
        """The engine's thought, for a person at once, for lookers-on when no person waits anywhere."""
        run = self.desk.study if seated.session.watched else self.desk.reply
        engine = await run(lambda: self._engine(seated, making, game), lambda: None)
        while True:
            thought = await run(lambda: engine.think(game, seed), engine.stop)
            if not (seated.session.watched and self.desk.disturbed):
                return thought

    def _give_up(self, seated: Seated, code: str, message: str) -> None:
        seated.session.running = False
        seated.session.say(code, message)
        seated.publish()

    async def _beat(self, seated: Seated, side: str) -> None:
        begin = time.monotonic()
        while True:
            await asyncio.sleep(HEARTBEAT)
            for listener in seated.listeners:
                listener.send({"type": "thinking", "side": side, "seconds": round(time.monotonic() - begin, 1)})

    def _engine(self, seated: Seated, making: Making, game: Game) -> Engine:
        """The game's own engine, so that what it has searched for this game can serve its next move."""
        engine = seated.engines.get(making)
        if engine is None:
            engine = self.maker.make(making, game.rules)
            if len(seated.engines) >= 4:
                seated.engines.pop(next(iter(seated.engines)))
            seated.engines[making] = engine
        return engine

    # Looking on

    def join(self, seated: Seated) -> Listener:
        """A page begins to look on.

        Raises:
            Problem: there are too many of them.
        """
        if len(seated.listeners) >= LISTENERS:
            raise Problem("too_many", f"{LISTENERS} windows look on at this game already.")
        listener = Listener()
        seated.listeners.add(listener)
        if seated.leaving is not None:
            seated.leaving.cancel()
            seated.leaving = None
        self.drive(seated)
        listener.send({"type": "game", "game": seated.session.view()})
        return listener

    async def leave(self, seated: Seated, listener: Listener) -> None:
        """A page looks on no more; when it was the last, searches end soon."""
        seated.listeners.discard(listener)
        seated.used = time.monotonic()
        await self.studies.end_all(listener)
        if not seated.listeners and not self._closing:
            loop = asyncio.get_running_loop()
            seated.leaving = loop.call_later(LEAVE_AFTER, lambda: loop.create_task(self._left(seated)))

    async def _left(self, seated: Seated) -> None:
        if not seated.listeners:
            async with seated.lock:
                await self.halt(seated)
                seated.session.thinking = None
                seated.engines.clear()

    # The beginning and the end

    def warm_up(self) -> None:
        """Begin to load and compile what first moves need."""

        async def warm() -> None:
            for rules in RULES.values():
                with contextlib.suppress(Problem, Stopped):
                    await self.desk.study(lambda r=rules: self.maker.warm_up(r), lambda: None)

        self._warming = asyncio.create_task(warm())

    async def close(self) -> None:
        """Stop all searches, keep what is not kept yet, and send the lookers-on away."""
        self._closing = True
        if self._warming is not None:
            self._warming.cancel()
        self.desk.stop()
        for seated in list(self._seated.values()):
            for listener in list(seated.listeners):
                await self.studies.end_all(listener)
                listener.send(CLOSE)
            await self.halt(seated)
            await self.keep(seated)
