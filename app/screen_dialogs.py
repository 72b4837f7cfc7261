"""Windows of the full-screen terminal: a new game, a question, a line of text, something to read, a list."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Select, Static
from textual.widgets.option_list import Option

from app.language import Language

Choice = tuple[str, str]
"""What people read, and what it stands for."""


class _Window(ModalScreen[Any]):
    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class AskNewGame(_Window):
    """Which game, and who plays; answers (start, attackers, defenders) or None."""

    def __init__(self, say: Language, starts: list[Choice], players: list[Choice], now: tuple[str, str, str]) -> None:
        super().__init__()
        self._say, self._starts, self._players, self._now = say, starts, players, now

    def compose(self) -> ComposeResult:
        say = self._say
        rows = (("start.game", self._starts), ("side.attackers", self._players), ("side.defenders", self._players))
        with Vertical(classes="window"):
            yield Label(say("action.new"), classes="title")
            for number, ((key, choices), value) in enumerate(zip(rows, self._now)):
                yield Label(say(key))
                known = value in {choice for _, choice in choices}
                yield Select(
                    choices, value=value if known else choices[0][1], allow_blank=False, id=f"row{number}", compact=True
                )
            with Horizontal(classes="buttons"):
                yield Button(say("action.play"), variant="primary", id="yes", compact=True)
                yield Button(say("app.cancel"), id="no", compact=True)

    def on_mount(self) -> None:
        """Enter begins at once."""
        self.query_one("#yes", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        if event.button.id == "yes":
            self.dismiss(tuple(self.query_one(f"#row{number}", Select).value for number in range(3)))
        else:
            self.dismiss(None)


class AskYesNo(_Window):
    """A question; answers True or False."""

    BINDINGS: ClassVar = [
        Binding("y", "answer(True)", show=False),
        Binding("n,escape", "answer(False)", show=False),
    ]

    def __init__(self, say: Language, question: str, yes: str) -> None:
        super().__init__()
        self._say, self._question, self._yes = say, question, yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Label(self._question, classes="question")
            with Horizontal(classes="buttons"):
                yield Button(self._yes, variant="primary", id="yes", compact=True)
                yield Button(self._say("app.cancel"), id="no", compact=True)

    def on_mount(self) -> None:
        """The harmless answer is at hand."""
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Answer by a key."""
        self.dismiss(answer)


class AskLine(_Window):
    """A line of text, such as a move or a file's name; answers the text or None."""

    def __init__(self, title: str, text: str = "", hint: str = "") -> None:
        super().__init__()
        self._title, self._text, self._hint = title, text, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Label(self._title, classes="title")
            yield Input(self._text, placeholder=self._hint, id="line", compact=True, max_length=1000)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(event.value.strip() or None)


class ShowText(_Window):
    """Something to read: chapters with titles."""

    BINDINGS: ClassVar = [Binding("escape,q,enter", "leave", show=False)]

    def __init__(self, title: str, chapters: list[tuple[str, list[str]]], right_to_left: bool = False) -> None:
        super().__init__()
        self._title, self._chapters = title, chapters
        self._side = "right" if right_to_left else "left"

    def compose(self) -> ComposeResult:
        with Vertical(classes="window tall"):
            yield Label(self._title, classes="title", markup=False)
            with VerticalScroll(id="text"):
                for name, sentences in self._chapters:
                    for text, style in ((name, "chapter"), *((sentence, "sentence") for sentence in sentences)):
                        line = Static(text, classes=style, markup=False)
                        line.styles.text_align = "right" if self._side == "right" else "left"
                        yield line

    def on_mount(self) -> None:
        """Scroll with the keys."""
        self.query_one("#text").focus()


class AskChoice(_Window):
    """One of a list; answers what it stands for, or None."""

    def __init__(self, title: str, choices: list[Choice], now: str) -> None:
        super().__init__()
        self._title, self._choices, self._now = title, choices, now

    def compose(self) -> ComposeResult:
        with Vertical(classes="window"):
            yield Label(self._title, classes="title", markup=False)
            yield OptionList(*(Option(text, id=choice) for text, choice in self._choices), compact=True)

    def on_mount(self) -> None:
        """Begin at what is chosen now."""
        choices = self.query_one(OptionList)
        choices.highlighted = next((n for n, (_, choice) in enumerate(self._choices) if choice == self._now), 0)
        choices.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer."""
        self.dismiss(event.option.id)
