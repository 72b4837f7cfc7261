"""The game in a whole terminal: the table with its windows and files. `app.terminal` is the one for plain lines."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from app.asked import asked_for
from app.board_text import Signs
from app.engines import AnySeat
from app.hall import Hall
from app.language import languages, load_language, usual_language
from app.problems import Problem
from app.rules_text import rules_chapters
from app.saved import keep_game, load_game
from app.schemas import PersonSeat
from app.screen_dialogs import AskChoice, AskLine, AskNewGame, AskYesNo, ShowText
from app.screen_play import PlayTable
from app.screen_players import known_players, read_seat, seat_of, seat_text
from app.screen_table import KEYS, MOVES_KEYS, key_name
from app.screen_words import game_title, problem_text
from app.session import Session
from arena.files import write_text
from env import RULES, Game, Rules
from env.files import wrong_name
from env.paths import path_of
from env.rules import SIDES


class FullScreen(PlayTable):
    """The whole of it."""

    # Windows

    def action_new(self) -> None:
        """Begin another game."""
        self.run_worker(self._new())

    async def _new(self) -> None:
        say = self.say
        starts = [
            (game_title({"game": rules.name, "layout": layout}, say), f"{rules.name}/{layout}")
            for rules in RULES.values()
            for layout in rules.layouts
        ]
        rules = RULES[self.view["game"]]
        start = f"{rules.name}/{self.view['layout'] or rules.default_layout}"
        now = [seat_of(self.view, side) for side in SIDES]
        players = await asyncio.to_thread(known_players, self.hall.maker.catalogue, say, *now)
        texts = [seat_text(seat) for seat in now]
        answer = await self.push_screen_wait(AskNewGame(say, starts, players, (start, texts[0], texts[1])))
        if answer is None:
            return
        name, layout = answer[0].split("/")
        attackers, defenders = (read_seat(text) for text in answer[1:])
        if await self._can_play(RULES[name], attackers) and await self._can_play(RULES[name], defenders):
            await self._sit(Session(Game(name, layout), attackers, defenders))

    async def _can_play(self, rules: Rules, seat: AnySeat) -> bool:
        """Whether somebody can play a game; why not is told."""
        try:
            if not isinstance(seat, PersonSeat):
                await asyncio.to_thread(self.hall.maker.plan, seat, rules)
        except Problem as problem:
            self._tell(problem_text(problem, self.say), "bad")
            return False
        return True

    def action_players(self) -> None:
        """Other players in this game."""
        self.run_worker(self._change_player())

    async def _change_player(self) -> None:
        say = self.say
        side = await self.push_screen_wait(
            AskChoice(say("action.players"), [(say(f"side.{side}"), side) for side in SIDES], SIDES[1])
        )
        if side is None:
            return
        now = seat_of(self.view, side)
        players = await asyncio.to_thread(known_players, self.hall.maker.catalogue, say, now)
        text = await self.push_screen_wait(AskChoice(say(f"side.{side}"), players, seat_text(now)))
        if text is None:
            return
        sides = {side: read_seat(text)}
        if await self._can_play(RULES[self.view["game"]], sides[side]):
            await self._do(lambda session: session.set_seats(sides.get(SIDES[0]), sides.get(SIDES[1])))

    def action_rules(self) -> None:
        """The rules of this game."""
        rules, say = RULES[self.view["game"]], self.say
        title = say("rules.title", game=rules.title)
        self.push_screen(ShowText(title, rules_chapters(rules, say), say.direction == "rtl"))

    def action_help(self) -> None:
        """What can be done, and the signs of the board."""
        say = self.say
        keys = [("←↑→↓ Enter", say("terminal.arrows"))]
        keys += [(key_name(key), say(text)) for key, _, text in (*KEYS, *MOVES_KEYS)]
        width = max(len(key) for key, _ in keys)
        lines = [f"{key:<{width}}  {text}" for key, text in keys]
        signs = [f"{getattr(self.signs, name)}  {say(f'piece.{name}')}" for name in ("attacker", "defender", "king")]
        signs += [
            f"+  {say('square.goal')}",
            f"=  {say('square.king_only')}",
            f"{self.signs.taken}  {say('game.captured')}",
        ]
        self.push_screen(ShowText(say("terminal.help"), [("", lines), (say("game.board"), signs)]))

    def action_language(self) -> None:
        """Choose the language."""
        self.run_worker(self._choose_language())

    async def _choose_language(self) -> None:
        choices = [(language.name, language.code) for language in languages()]
        code = await self.push_screen_wait(AskChoice(self.say("app.language"), choices, self.say.code))
        if code is not None:
            self.say = load_language(code)
            self._said = None
            self._list_moves({**self.view, "id": ""})
            self._draw()

    # Files

    def action_save(self) -> None:
        """Write the record to a file."""
        self.run_worker(self._save())

    async def _save(self) -> None:
        assert self._seated is not None
        name = await self.push_screen_wait(AskLine(self.say("terminal.save.ask"), f"{self.view['game']}.otg"))
        if name is None:
            return
        path = path_of(name)
        if problem := wrong_name(path):
            self._tell(f"{name[:60]}: {problem}", "bad")
            return
        if path.exists():
            question = self.say("terminal.exists", path=path)
            if not await self.push_screen_wait(AskYesNo(self.say, question, self.say("action.save"))):
                return
        text = self._seated.session.record()
        try:
            await asyncio.to_thread(write_text, path, text)
        except OSError as error:
            self._tell(f"{path}: {error.strerror or error}", "bad")
            return
        self._safe = text
        self._tell(self.say("terminal.saved", path=path), "good")

    def action_load(self) -> None:
        """Go on with a game from its record."""
        self.run_worker(self._load())

    async def _load(self) -> None:
        name = await self.push_screen_wait(AskLine(self.say("terminal.load.ask")))
        if name is None or self._seated is None:
            return
        try:
            game = await asyncio.to_thread(load_game, path_of(name))
        except ValueError as error:
            self._tell(str(error).split("\n", 1)[0], "bad")
            return
        seats = self._seated.session.seats
        await self._sit(Session(game, seats[SIDES[0]], seats[SIDES[1]]))

    # Leaving

    def action_leave(self) -> None:
        """Leave; the game is kept."""
        self.run_worker(self._leave())

    async def _leave(self) -> None:
        note = self._stand_up()
        await self.hall.close()
        self.exit(note)

    def _stand_up(self) -> str | None:
        """Keep what has been played and not saved; say where."""
        if self._seated is None:
            return None
        text = self._seated.session.record()
        if text == self._safe:
            return None
        try:
            path = keep_game(self.view["game"], text)
        except OSError:
            return text
        self._safe = text
        side = next((side for side in SIDES if self.view["players"][side]["kind"] == "person"), SIDES[0])
        return self.say("terminal.kept", command=f"python play.py --terminal --load {path} --side {side}")

    def _hang_up(self) -> None:
        """The terminal is gone: nothing can be shown or asked any more."""
        with contextlib.suppress(Exception):
            self._stand_up()
        os._exit(129)


def open_full_screen(options: argparse.Namespace) -> None:
    """Play in the whole terminal until the person leaves.

    Args:
        options: the command line of `play.py`.

    Raises:
        ValueError: something asked for cannot be.
    """
    session, maker = asked_for(options)
    say = usual_language() if options.language is None else load_language(options.language)
    screen = FullScreen(Hall(maker, None, options.threads), session, say, Signs.for_encoding(sys.stdout.encoding))
    note = screen.run()
    if note:
        print(note)
    if screen.return_code:
        raise ValueError("the full-screen terminal failed; `--plain` plays in plain lines")
