"""A game against an engine in the terminal; every line typed is a move, a square, a number or a command.

It works without colour, and when the lines come from a file or a program instead of a keyboard.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from app.board_text import Signs, draw_board
from app.draws import OFFER_PAUSE, accepts_draw, offers_draw
from app.language import load_language
from app.lines import line_reader
from app.phrases import ending, ordinal, repetition_warning, taking, view
from app.rules_text import goal_sentence, rules_sentences
from app.saved import game_text, keep_game, load_game
from arena.files import write_text
from arena.players import Player, Thought
from env import Game, Move
from env.files import wrong_name
from env.paths import path_of
from env.rules import SIDES

_ENGLISH = load_language("en")
_MOVE = re.compile(r"([a-z])([1-9]\d?)\s*[-–—x]?\s*([a-z])([1-9]\d?)")
_SQUARE = re.compile(r"[a-z][1-9]\d?")


class CommandError(ValueError):
    """What was typed cannot be done; the message says why."""


class Terminal:
    """A person and an engine at one board.

    Args:
        engine: plays the side that is not the person's.
        game: where to begin; changed as it is played.
        side: the person's.
        console: where to write.
        read: gives the next line for a prompt, raises `EOFError` when there are no more.
        seed: decides what the engine leaves to chance.
    """

    def __init__(
        self,
        engine: Player,
        game: Game,
        side: str,
        console: Console | None = None,
        read: Callable[[str], str] | None = None,
        seed: int = 0,
    ) -> None:
        self.engine, self.game, self.side = engine, game, side
        self.console = console or Console(highlight=False)
        self._read = read or line_reader(self.console)
        self._seed = seed
        self._signs = Signs.for_encoding(self.console.encoding)
        self._flipped = False
        self._choices: list[Move] = []
        self._offering = False
        self._offered_at = -OFFER_PAUSE
        self._left = self._interrupted = False
        self._safe = self._record()

    # Running

    def run(self) -> None:
        """Plays until the person leaves, the lines end or Ctrl-C is pressed twice; then keeps what was not saved."""
        self._say(f"{self.game.rules.title}: you play the {self.side}, {self.engine.name} the {self._other}.")
        self._say(goal_sentence(self.game.rules, _ENGLISH))
        self._say(f"The {self.game.rules.first} move first. `rules` tells the rules, `help` what you can type.")
        self._say(self._signs.legend(self.game.rules))
        self._show()
        while not self._left:
            try:
                self._go_on()
            except EOFError:
                self._say("")
                self._left = True
            except KeyboardInterrupt:
                self._say("" if self._interrupted else "\nCtrl-C once more leaves the game.")
                self._left, self._interrupted = self._interrupted, True
        self._keep()
        self._say("Goodbye.")

    def _go_on(self) -> None:
        if self.game.outcome is None and self.game.to_play != self.side:
            self._engine_plays()
        else:
            line = self._read(f"{self.side if self.game.outcome is None else 'game over'}> ")
            self._interrupted = False
            self._obey(line)

    def _record(self) -> str:
        return game_text(self.game, self.side, self.engine.name)

    def _keep(self) -> None:
        """Writes down what a person at the keyboard has played and not saved."""
        text = self._record()
        if not self.console.is_terminal or text == self._safe:
            return
        try:
            path = keep_game(self.game.rules.name, text)
        except OSError:
            self._say(text)
        else:
            self._say(f"Your game is kept; go on with it by `python play.py --load {path} --side {self.side}`.")

    def hang_up(self, *_: object) -> None:
        """End at once, the game kept: the terminal is gone, and nothing can be said any more."""
        with contextlib.suppress(OSError):
            self._keep()
        os._exit(129)

    @property
    def _other(self) -> str:
        return SIDES[1 - SIDES.index(self.side)]

    def _say(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def _show(self) -> None:
        self.console.print(draw_board(self.game, self._signs, self._flipped), soft_wrap=True)
        if self.game.outcome is not None:
            self._banner()
        elif self.game.occurrences() > 1:
            self._say(repetition_warning(self.game), "bold yellow")

    def _banner(self) -> None:
        text, style = ending(self.game, self.side)
        self._say(f"*** {text} ***", style)
        self._say("`new` begins another game; `undo`, `save FILE` and `quit` work too.")

    # The engine

    def _think(self) -> Thought:
        seed = (self._seed + self.game.ply) % 2**32
        if not self.console.is_terminal:
            return self.engine.think(self.game, seed)
        with self.console.status("thinking"):
            return self.engine.think(self.game, seed)

    def _engine_plays(self) -> None:
        thought, side = self._think(), self.game.to_play
        if self.game.draw_offered:
            if accepts_draw(thought):
                self.game.accept_draw()
                self._say("The engine accepts the draw.")
                self._show()
                return
            self._say("The engine declines the draw.")
        taken = self.game.play(thought.move)
        self._say(f"{side} play {thought.move}{taking(taken)}", "bold")
        self._show()
        rested = self.game.ply - self._offered_at >= OFFER_PAUSE
        if self.game.rules.agreement and self.game.outcome is None and offers_draw(thought) and rested:
            self.game.offer_draw()
            self._offered_at = self.game.ply
            self._say("The engine offers a draw: `accept` it, or make your move.")

    # The person

    def _obey(self, line: str) -> None:
        line = line.strip()
        word, _, rest = line.partition(" ")
        command = COMMANDS.get(word.lower())
        try:
            if not line:
                return
            if command is not None:
                command[0](self, rest.strip())
            elif line.isdecimal():
                self._pick(int(line))
            elif match := _MOVE.fullmatch(line.lower()):
                self._play(Move(match[1] + match[2], match[3] + match[4]))
            elif _SQUARE.fullmatch(line.lower()):
                self._list_moves(line)
            else:
                guess = get_close_matches(word.lower(), COMMANDS, 1)
                hint = f"; did you mean `{guess[0]}`?" if guess else "; `help` lists what you can type"
                raise CommandError(f"{word!r} is no move and no command{hint}")
        except ValueError as error:
            self._say(str(error), "red")

    def _require_turn(self) -> None:
        if self.game.outcome is not None:
            raise CommandError("The game is over; `new` begins another, `undo` takes a move back.")

    def _play(self, move: Move) -> None:
        self._require_turn()
        trial = self.game.copy()
        trial.play(move)
        end = trial.outcome
        if end is not None and end.reason == "repetition" and end.winner != self.side:
            limit = self.game.rules.repetition_limit
            fate = "you lose" if end.winner else "the game is a draw"
            question = f"This brings the position about for the {ordinal(limit)} time: {fate}. Play it all the same?"
            if not self._confirm(question):
                return
        taken = self.game.play(move)
        self._choices = []
        if self._offering and self.game.outcome is None:
            self.game.offer_draw()
        self._offering = False
        self._say(f"{self.side} play {move}{taking(taken)}", "bold")
        # The board is shown after the engine's reply, so that a turn fits on a small screen.
        if self.game.outcome is not None:
            self._show()
        elif self.game.occurrences() > 1:
            self._say(repetition_warning(self.game), "bold yellow")

    def _pick(self, number: int) -> None:
        if not self._choices:
            raise CommandError("There is no list to pick from: type a square, such as the one your piece stands on.")
        if not 1 <= number <= len(self._choices):
            raise CommandError(f"Pick a number from 1 to {len(self._choices)}.")
        self._play(self._choices[number - 1])

    def _list_moves(self, square: str) -> None:
        self._require_turn()
        square = square.lower()
        moves = self.game.legal_moves()
        if square:
            piece = self.game.piece(square)
            moves = [move for move in moves if move.origin == square]
            if not moves:
                why = "nothing stands there" if piece is None else f"the {piece} there cannot be moved by you now"
                raise CommandError(f"No move from {square}: {why}.")
        self._choices = moves
        width = len(str(len(moves)))
        for _, group in groupby(enumerate(moves, start=1), key=lambda numbered: numbered[1].origin):
            self._say("  ".join(f"{number:>{width}}) {move}{self._note(move)}" for number, move in group))
        self._say("Type a number to play that move.")

    def _note(self, move: Move) -> str:
        trial = self.game.copy()
        taken = trial.play(move)
        end = trial.outcome
        if end is None:
            return f" x{','.join(taken)}" if taken else ""
        return " wins" if end.winner == self.side else " loses" if end.winner else " draws"

    def _rules(self, _: str) -> None:
        for sentence in rules_sentences(self.game.rules, _ENGLISH):
            self.console.print(Padding(Text(sentence), (0, 0, 0, 2), expand=False))

    def _help(self, _: str) -> None:
        self._say(goal_sentence(self.game.rules, _ENGLISH))
        rows = [("d1-c1 or d1c1", "play that move"), ("d1", "list the moves of a piece; then a number plays one")]
        rows += [(usage, text) for _, usage, text in COMMANDS.values() if usage]
        width = max(len(usage) for usage, _ in rows)
        for usage, text in rows:
            self._say(f"  {usage:<{width}}  {text}")

    def _undo(self, _: str) -> None:
        game = self.game
        self._offering, self._choices = False, []
        own = [ply for ply in range(game.ply) if self._side_at(ply) == self.side]
        by_word = game.outcome is not None and game.outcome.reason in ("resignation", "agreement", "forfeit")
        if not own and not by_word:
            raise CommandError("There is no move of yours to take back.")
        if by_word:
            game.undo()
        if not (by_word and game.to_play == self.side):
            while game.ply > own[-1]:
                game.undo()
        self._offered_at = min(self._offered_at, game.ply)
        self._show()

    def _side_at(self, ply: int) -> str:
        return SIDES[(SIDES.index(self.game.start[1]) + ply) % 2]

    def _hint(self, _: str) -> None:
        self._require_turn()
        thought = self._think()
        self._say(f"Hint: {thought.move}")

    def _view(self, _: str) -> None:
        self._require_turn()
        for line in view(self._think(), self.game.to_play, self.engine.name):
            self._say(line)

    def _resign(self, _: str) -> None:
        self._require_turn()
        self.game.resign(self.side)
        self._banner()

    def _offer(self, rest: str) -> None:
        self._require_turn()
        if not self.game.rules.agreement:
            raise CommandError(f"The rules of {self.game.rules.title} know no draw by agreement.")
        match = _MOVE.fullmatch(rest.lower())
        if rest and match is None:
            raise CommandError(f"{rest!r} is no move: `offer d1-c1` plays a move and offers a draw with it.")
        self._offering = True
        if match is None:
            self._say("A draw is offered with a move: make yours, and the offer goes with it.")
            return
        try:
            self._play(Move(match[1] + match[2], match[3] + match[4]))
        finally:
            self._offering = False

    def _accept(self, _: str) -> None:
        self.game.accept_draw()
        self._banner()

    def _flip(self, _: str) -> None:
        self._flipped = not self._flipped
        self._show()

    def _board(self, _: str) -> None:
        self._show()

    def _save(self, name: str) -> None:
        if not name:
            raise CommandError("Say where to: `save FILE`.")
        path = path_of(name)
        if problem := wrong_name(path):
            raise CommandError(f"No file can have this name: {problem}.")
        if path.is_dir():
            raise CommandError(f"{path} is a folder; name a file in it.")
        if path.exists() and not self._confirm(f"{path} exists. Write over it?"):
            self._say("Not saved.")
            return
        text = self._record()
        try:
            write_text(path, text)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from None
        self._safe = text
        self._say(f"Saved to {path}.")

    def _load(self, name: str) -> None:
        if not name:
            raise CommandError("Say which: `load FILE`.")
        game = load_game(path_of(name))
        if game.rules != self.game.rules:
            raise CommandError(f"{name} is a game of {game.rules.title}; this engine plays {self.game.rules.title}.")
        self._begin(game)

    def _new(self, rest: str) -> None:
        side, layout = self.side, self.game.layout
        for word in rest.lower().split():
            if word in SIDES:
                side = word
            elif word in self.game.rules.layouts:
                layout = word
            else:
                allowed = ", ".join([*SIDES, *self.game.rules.layouts])
                raise CommandError(f"`new` knows no {word!r}; allowed are {allowed}.")
        self._begin(Game(self.game.rules, layout), side)

    def _begin(self, game: Game, side: str | None = None) -> None:
        self._keep()
        self.game, self.side = game, side or self.side
        self._safe = self._record()
        self._choices, self._offering, self._offered_at = [], False, -OFFER_PAUSE
        self._say(f"You play the {self.side}.")
        self._show()

    def _quit(self, _: str) -> None:
        self._left = True

    def _confirm(self, question: str) -> bool:
        return self._read(f"{question} (yes/no) ").strip().lower() in ("y", "yes")


COMMANDS: dict[str, tuple[Callable[[Terminal, str], None], str, str]] = {
    "moves": (Terminal._list_moves, "moves [SQUARE]", "list all legal moves, or those of one piece"),
    "undo": (Terminal._undo, "undo", "take your last move back"),
    "hint": (Terminal._hint, "hint", "what the engine would play for you"),
    "view": (Terminal._view, "view", "what the engine thinks: chances, likely line"),
    "offer": (Terminal._offer, "offer [MOVE]", "offer a draw with your move, where the rules know agreement"),
    "accept": (Terminal._accept, "accept", "accept the draw that the engine offers"),
    "resign": (Terminal._resign, "resign", "give the game up"),
    "board": (Terminal._board, "board", "show the board again"),
    "flip": (Terminal._flip, "flip", "turn the board round"),
    "new": (Terminal._new, "new [SIDE] [LAYOUT]", "begin another game"),
    "save": (Terminal._save, "save FILE", "write the game's record"),
    "load": (Terminal._load, "load FILE", "go on with a game from its record"),
    "rules": (Terminal._rules, "rules", "the rules of this game"),
    "help": (Terminal._help, "help", "this list"),
    "quit": (Terminal._quit, "quit", "leave"),
    "exit": (Terminal._quit, "", ""),
}
