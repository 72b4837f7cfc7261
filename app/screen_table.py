"""The table of the full-screen terminal, to be looked at: board, moves, analysis. `app.screen_play` lets one play."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.board_text import Signs
from app.hall import Hall
from app.language import Language
from app.levels import DEFAULT_LEVEL
from app.problems import Problem
from app.schemas import Analyse, LevelSeat, PersonSeat
from app.screen_board import Board, Picture
from app.screen_words import (
    analysis_lines,
    captured_text,
    game_title,
    move_line,
    player_name,
    problem_text,
    status_lines,
)
from app.seated import Listener, Seated
from app.session import Session
from env import RULES, Game
from env.rules import SIDES

HINT_SIMULATIONS, ANALYSIS_SIMULATIONS = 512, 4_096

NARROW, WIDE = 70, 120
"""Columns from which on the panel stands beside the board, and all keys are shown (`?` tells of them anyway)."""

KEYS = (
    ("n", "new", "action.new"),
    ("u", "undo", "action.undo"),
    ("h", "hint", "action.hint"),
    ("a", "analysis", "action.analysis"),
    ("m", "move", "terminal.move"),
    ("d", "draw", "action.offer_draw"),
    ("r", "resign", "action.resign"),
    ("f", "flip", "action.flip"),
    ("p", "players", "action.players"),
    ("w", "pause", "action.pause"),
    ("t", "step", "action.step"),
    ("s", "save", "action.save"),
    ("l", "load", "action.load"),
    ("i", "rules", "action.rules"),
    ("g", "language", "app.language"),
    ("question_mark", "help", "terminal.help"),
    ("q", "leave", "action.quit"),
)
"""Key, action, and the text that names it."""

MOVES_KEYS = (
    ("left_square_bracket,comma", "earlier", "action.back"),
    ("right_square_bracket,full_stop", "later", "action.forward"),
    ("home", "first", "action.first"),
    ("end", "last", "action.last"),
)


class Table(App[str | None]):
    """One person, or two, at a board that fills the terminal.

    Args:
        hall: where the game is played.
        session: the game to begin with; None: ask which.
        say: the language.
        signs: characters that the terminal can show.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "Branan"
    BINDINGS: ClassVar = [
        *(Binding(key, action, show=False) for key, action, _ in (*KEYS, *MOVES_KEYS)),
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True),
        Binding("f1", "help", show=False),
    ]
    CSS_PATH = "full_screen.tcss"

    def __init__(self, hall: Hall, session: Session | None, say: Language, signs: Signs) -> None:
        super().__init__()
        self.hall, self.say, self.signs = hall, say, signs
        self._asks = session is None
        self._first = session or Session(
            Game(next(iter(RULES.values()))), PersonSeat(), LevelSeat(kind="level", level=DEFAULT_LEVEL)
        )
        self.view: dict[str, Any] = self._first.view()
        self._seated: Seated | None = None
        self._listener: Listener | None = None
        self._shown: int | None = None  # ply that is looked at, None for the present
        self._chosen: str | None = None
        self._hint: tuple[str, ...] = ()
        self._wants_hint = self._analyses = False
        self._found: dict[str, Any] | None = None
        self._said: tuple[str, str] | None = None
        self._offering = False
        self._safe = ""

    # The screen

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Horizontal(id="middle"):
            yield Board(self._picture(), self.signs)
            with Vertical(id="side"):
                yield Static(id="players")
                yield Static(id="status")
                yield Static(id="analysis", markup=False)
                yield OptionList(id="moves", markup=False, compact=True)
        yield Static(id="keys")

    async def on_mount(self) -> None:
        """Sit down; where nothing was asked for, ask."""
        if os.name == "posix":
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self._hang_up)
            loop.add_signal_handler(signal.SIGTERM, lambda: self.run_worker(self._leave()))
        self.query_one(Board).focus()
        await self._sit(self._first)
        if self._asks:
            self.action_new()

    async def _sit(self, session: Session) -> None:
        """Go to another game; the one before is kept."""
        self._stand_up()
        if self._seated is not None and self._listener is not None:
            await self.hall.leave(self._seated, self._listener)
        self._safe = session.record()
        self._shown, self._chosen, self._hint, self._found, self._said = None, None, (), None, None
        self._offering = False
        self._seated = await self.hall.open(session)
        self._listener = self.hall.join(self._seated)
        self.run_worker(self._listen(self._listener), group="listen", exclusive=True)

    async def _listen(self, listener: Listener) -> None:
        while True:
            message = await listener.messages.get()
            if message["type"] == "game":
                await self._take(message["game"])
            elif message["type"] == "analysis":
                self._take_analysis(message)
            elif message["type"] == "error":
                error = message["error"]
                self._tell(problem_text(Problem(error["code"], error["message"]), self.say), "bad")

    async def _take(self, view: dict[str, Any]) -> None:
        """Show the game as it stands now."""
        moved = view["position"] != self.view["position"] or view["id"] != self.view["id"]
        before, self.view = self.view, view
        if moved:
            self._chosen, self._hint, self._found = None, (), None
            if self._shown is not None and self._shown >= view["ply"]:
                self._shown = None
            if view["ply"] != before["ply"]:
                self._said = None
        self._list_moves(before)
        self._draw()
        if moved:
            await self._study()

    def _take_analysis(self, found: dict[str, Any]) -> None:
        if found["ply"] != self._at or found["position"] != self._position(self._at):
            return
        self._found = found
        if self._wants_hint and found["done"] and found["line"]:
            self._wants_hint = False
            self._hint = tuple(found["line"][0].split("-"))
            self._tell(self.say("game.hint", move=found["line"][0]), "good")
            if self._analyses:
                self.run_worker(self._study())
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """In a narrow window the panel stands below the board."""
        self.query_one("#middle").set_class(event.size.width < NARROW, "narrow")
        self.call_after_refresh(self._draw_keys)

    # What is looked at

    @property
    def _at(self) -> int:
        return self.view["ply"] if self._shown is None else self._shown

    def _position(self, ply: int) -> str:
        return self.view["moves"][ply - 1]["position"] if ply else self.view["start"]["position"]

    def _picture(self) -> Picture:
        row = self.view["moves"][self._at - 1] if self._at else None
        present = self._shown is None
        targets = {}
        if present and self._chosen:
            for legal in self.view["legal"]:
                origin, target = legal["move"].split("-")
                if origin == self._chosen:
                    again = legal["ends"] and legal["ends"]["reason"] == "repetition"
                    targets[target] = str(legal["occurrences"]) if again else ""
        return Picture(
            RULES[self.view["game"]],
            self._position(self._at),
            tuple(row["move"].split("-")) if row else (),
            tuple(row["captured"]) if row else (),
            targets,
            self._chosen if present else None,
            self._hint if present else (),
        )

    def _draw(self) -> None:
        say, view = self.say, self.view
        self.query_one(Board).show(self._picture())
        self.query_one("#head", Static).update(game_title(view, say))
        names = []
        for side, sign in zip(SIDES, (self.signs.attacker, self.signs.defender)):
            turn = "▸" if side == view["to_play"] and not view["outcome"] else " "
            names.append(f"{turn} {sign} {say(f'side.{side}')}: {player_name(view['players'][side], say)}")
        self.query_one("#players", Static).update(Content("\n".join(names)))
        told = [*status_lines(view, say)]
        if self._shown is not None:
            told = [(say("game.past", ply=self._shown, plies=view["ply"]), "warn")]
        elif view["captured"]:
            told.append((captured_text(view["captured"], say), ""))
        if self._offering:
            told.append((say("game.offering"), "warn"))
        if self._said:
            told.append(self._said)
        colours = {"good": "#9fd07a", "bad": "#ff8f7a", "warn": "#f3d250", "": ""}
        text = Content("\n").join(Content.styled(line, f"bold {colours[kind]}" if kind else "") for line, kind in told)
        self.query_one("#status", Static).update(text)
        panel = self.query_one("#analysis", Static)
        panel.display = self._analyses
        if self._analyses:
            over = view["outcome"] and self._at == view["ply"]
            found = (
                [say("analysis.over")]
                if over
                else analysis_lines(self._found, self.signs, say, max(20, panel.size.width))
            )
            panel.update("\n".join(found))
        self._draw_keys()

    def _draw_keys(self) -> None:
        say, can = self.say, self.view["can"]
        hidden = {
            "resign": not can["resign"],
            "draw": not (can["offer_draw"] or can["accept_draw"]),
            "pause": not can["run"],
            "step": not can["run"],
        }
        parts = []
        for key, action, text in KEYS:
            if hidden.get(action) or (self.size.width < WIDE and action in ("move", "players", "language", "flip")):
                continue
            name = say("action.accept_draw" if action == "draw" and can["accept_draw"] else text)
            if action == "pause":
                name = say("action.pause" if self.view["running"] else "action.run")
            shown = key_name(key)
            parts.append(
                Content.assemble((shown, f"bold #f3d250 @click=app.{action}"), (f" {name}", f"@click=app.{action}"))
            )
        self.query_one("#keys", Static).update(Content("  ").join(parts))

    def _list_moves(self, before: dict[str, Any]) -> None:
        moves, rows = self.query_one("#moves", OptionList), self.view["moves"]
        same = before["id"] == self.view["id"] and before["moves"] == rows[: len(before["moves"])]
        if not same or moves.option_count != len(before["moves"]) + 1:
            moves.clear_options()
            moves.add_option(Option(f"  0   {self.say('game.start')}"))
        for row in rows[moves.option_count - 1 :]:
            moves.add_option(Option(move_line(row, self.signs, self.say)))
        with self.prevent(OptionList.OptionHighlighted):
            moves.highlighted = self._at

    def _tell(self, text: str, kind: str = "") -> None:
        self._said = (text, kind)
        self._draw()

    # Looking

    def action_flip(self) -> None:
        """Turn the board."""
        board = self.query_one(Board)
        board.flipped = not board.flipped
        board.refresh()

    def _look_at(self, ply: int) -> None:
        ply = max(0, min(ply, self.view["ply"]))
        self._shown = None if ply == self.view["ply"] else ply
        self._found, self._hint = None, ()
        with self.prevent(OptionList.OptionHighlighted):
            self.query_one("#moves", OptionList).highlighted = ply
        self._draw()
        self.run_worker(self._study())

    def action_earlier(self) -> None:
        """A move earlier."""
        self._look_at(self._at - 1)

    def action_later(self) -> None:
        """A move later."""
        self._look_at(self._at + 1)

    def action_first(self) -> None:
        """The start."""
        self._look_at(0)

    def action_last(self) -> None:
        """The present."""
        self._look_at(self.view["ply"])

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """A move of the list is chosen."""
        if event.option_list.id == "moves" and event.option_index != self._at:
            self._look_at(event.option_index)

    async def action_analysis(self) -> None:
        """Analysis on or off."""
        self._analyses = not self._analyses
        self._found = None
        self._draw()
        await self._study()

    async def action_hint(self) -> None:
        """What the strongest engine would play."""
        if self.view["can"]["move"] and self._shown is None:
            self._wants_hint = True
            self._tell(self.say("app.loading"))
            await self._study()

    async def _study(self) -> None:
        """Ask for what the screen shows of analysis."""
        if self._seated is None or self._listener is None:
            return
        over = self.view["outcome"] and self._at == self.view["ply"]
        if over or not (self._analyses or self._wants_hint):
            self._wants_hint = False
            await self.hall.studies.end(self._listener, "analyse")
            return
        simulations = HINT_SIMULATIONS if self._wants_hint else ANALYSIS_SIMULATIONS
        request = Analyse(type="analyse", ply=self._at, simulations=simulations)
        await self.hall.studies.begin(self._seated, self._listener, request)

    # What `app.screen_play` and `app.full_screen` add

    def action_new(self) -> None:
        """Begin another game."""

    async def _leave(self) -> None:
        self.exit(None)

    def _stand_up(self) -> str | None:
        """Keep what has been played; say where."""

    def _hang_up(self) -> None:
        os._exit(129)


def key_name(key: str) -> str:
    """Keys as people know them."""
    names = {
        "question_mark": "?",
        "left_square_bracket": "[",
        "right_square_bracket": "]",
        "comma": ",",
        "full_stop": ".",
    }
    return " ".join(names.get(each, each if len(each) == 1 else each.capitalize()) for each in key.split(","))
