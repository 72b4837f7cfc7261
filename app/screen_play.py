"""Playing at the table of the full-screen terminal: moves by keys, mouse or typing, and what else one may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.problems import Problem
from app.schemas import PlayMove
from app.screen_board import Board
from app.screen_dialogs import AskLine, AskYesNo
from app.screen_table import Table
from app.screen_words import problem_text, repetition_question
from app.session import Session
from env import RULES


class PlayTable(Table):
    """A table at which one can play."""

    async def _do(self, act: Callable[[Session], None], interrupt: bool = True) -> None:
        """Something to the game; a refusal is told."""
        assert self._seated is not None
        self._said = None
        try:
            await self.hall.change(self._seated.session.key, act, interrupt=interrupt)
        except Problem as problem:
            self._tell(problem_text(problem, self.say), "bad")

    def on_board_chosen(self, event: Board.Chosen) -> None:
        """Choose a piece, or the square that it goes to."""
        if self._shown is not None:
            self._look_at(self.view["ply"])
            return
        if not self.view["can"]["move"]:
            return
        rows = [row for row in self.view["legal"] if row["move"] == f"{self._chosen}-{event.square}"]
        if rows:
            self.run_worker(self._play(rows[0]))
            return
        movable = any(row["move"].startswith(f"{event.square}-") for row in self.view["legal"])
        self._chosen = event.square if movable and event.square != self._chosen else None
        self._hint = ()
        self._draw()

    def on_board_dropped(self) -> None:
        """Give the choice up."""
        self._chosen, self._hint, self._said = None, (), None
        self._draw()

    async def _play(self, row: dict[str, Any]) -> None:
        ends, to_play = row["ends"], self.view["to_play"]
        self._chosen = None
        self._draw()
        if ends and ends["reason"] == "repetition" and ends["winner"] != to_play:
            question = repetition_question(row, RULES[self.view["game"]], self.say)
            if not await self.push_screen_wait(AskYesNo(self.say, question, self.say("game.warn.play"))):
                return
        request = PlayMove(move=row["move"], offer_draw=self._offering, ply=self.view["ply"])
        self._offering = False
        await self._do(lambda session: session.play(request))

    def action_move(self) -> None:
        """Type a move."""
        self.run_worker(self._type_move())

    async def _type_move(self) -> None:
        example = self.view["legal"][0]["move"] if self.view["legal"] else "d1-c1"
        text = await self.push_screen_wait(AskLine(self.say("terminal.move.ask", example=example), hint=example))
        if text is None:
            return
        words = "".join(character for character in text.lower() if character.isalnum())
        row = next((row for row in self.view["legal"] if row["move"].replace("-", "") == words), None)
        if row is not None and self.view["can"]["move"]:
            await self._play(row)
        elif 5 <= len(text) <= 7:
            await self._do(lambda session: session.play(PlayMove(move=text)))  # refused, and told why
        else:
            self._tell(self.say("error.illegal_move"), "bad")

    async def action_undo(self) -> None:
        """Take the last move back."""
        self._shown, self._offering = None, False
        await self._do(Session.undo)

    def action_resign(self) -> None:
        """Give up, after a question."""
        if self.view["can"]["resign"]:
            self.run_worker(self._resign())

    async def _resign(self) -> None:
        say = self.say
        if await self.push_screen_wait(AskYesNo(say, say("game.resign.ask"), say("action.resign"))):
            await self._do(lambda session: session.resign(None))

    async def action_draw(self) -> None:
        """Accept the offer that stands, or offer a draw: at once after one's own move, else with the next."""
        can = self.view["can"]
        if can["accept_draw"]:
            await self._do(Session.accept_draw)
        elif can["offer_draw"] and can["move"]:
            self._offering = not self._offering
            self._draw()
        elif can["offer_draw"]:
            await self._do(Session.offer_draw, interrupt=False)

    async def action_pause(self) -> None:
        """Let two engines go on, or halt them."""
        if self.view["can"]["run"]:
            running = not self.view["running"]
            await self._do(lambda session: session.set_running(running))

    async def action_step(self) -> None:
        """One move of two engines."""
        if self.view["can"]["step"] and self._seated is not None:
            try:
                await self.hall.step(self._seated.session.key)
            except Problem as problem:
                self._tell(problem_text(problem, self.say), "bad")
