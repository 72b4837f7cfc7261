"""What one sees of a run: a live display or plain lines, TensorBoard curves, and a picture of a game now and then."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from env import Game
from env.board import TO_PLAY
from env.notation import square_index
from env.picture import draw_board
from env.rules import SIDES
from training.config import RunConfig
from training.output import OutputError, nobody_reads, silence

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

PICTURE_BOARDS = (2, 4)  # rows and columns of positions in a picture of a game
PICTURE_SIDE = 260  # pixels of one of them
CAPTION_HEIGHT = 22  # pixels

Row = Mapping[str, int | float]


class _Console(Console):
    """A console that outlives its terminal."""

    def __init__(self, on_gone: Callable[[], None]) -> None:
        super().__init__(highlight=False)
        self._on_gone = on_gone

    def on_broken_pipe(self) -> None:
        self.quiet = True
        self._on_gone()

    def silence(self) -> None:
        """Print nothing more, not even at exit."""
        self.quiet = True
        silence(sys.stdout)


class Monitor:
    """The display and the curves of one start of a run.

    Args:
        path: the run's folder.
        config: its settings.
        row: metrics of the last iteration on disk, {} where there is none; later TensorBoard events are cut.
        began: `time.monotonic()` at which the run would have begun, had it never been stopped.
        on_gone: called when nobody can read the output any more.
    """

    def __init__(self, path: Path, config: RunConfig, row: Row, began: float, on_gone: Callable[[], None]) -> None:
        self.config, self._path, self._began = config, path, began
        self._row: Row = row or {"step": 0}
        self._purge_step = int(self._row["step"]) + 1
        self._phase: Callable[[], str] = lambda: "getting ready"
        self._notes = {"next": "", "best": "not measured yet", "stopping": ""}
        self._on_gone = on_gone
        self.console = _Console(self._gone)
        self._live = Live(get_renderable=self._render, console=self.console, refresh_per_second=4, transient=True)
        self._writer: SummaryWriter | None = None
        self._hook = threading.excepthook

    def __enter__(self) -> Monitor:
        if self.config.monitor.tensorboard:
            # Imported late: it takes a second.
            from torch.utils.tensorboard import SummaryWriter

            self._hook = threading.excepthook
            threading.excepthook = self._silent_writers
            self._writer = SummaryWriter(str(self._path), purge_step=self._purge_step, flush_secs=20)
        if self.console.is_terminal:
            self._quietly(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        self._quietly(self._live.stop)
        if self._writer is not None:
            try:
                self._writer.close()
            except OSError:
                pass  # the curves of the last seconds are in metrics.jsonl
            self._writer = None
            threading.excepthook = self._hook

    def say(self, text: str, fold: bool = False) -> None:
        """Print a line that stays. Only prose is folded between words to fit a terminal: commands are to be copied.

        Raises:
            training.output.OutputError: standard output takes no more, as where its disk is full.
        """
        soft = not (fold and self.console.is_terminal)
        self._quietly(lambda: self.console.print(Text.from_markup(text), soft_wrap=soft))

    def phase(self, text: str | Callable[[], str]) -> None:
        """Say what is going on at the moment; a function is asked as often as the display is drawn."""
        self._phase = text if callable(text) else lambda: text

    def note(self, **notes: str) -> None:
        """Set what is said of what comes `next` and of the `best` network; '' leaves the line out."""
        self._notes |= notes

    def stopping(self, text: str) -> None:
        """Say that the run is about to stop; safe in a signal handler."""
        self._notes["stopping"] = text
        if not self.console.is_terminal:
            with contextlib.suppress(OSError, RuntimeError):  # the signal may have come in the midst of another print
                print(text, flush=True)

    def row(self, row: Row) -> None:
        """Show and record an iteration's metrics.

        Raises:
            OSError: the curves cannot be written.
        """
        self._row = row
        self.curves({name: value for name, value in row.items() if "/" in name}, int(row["step"]))
        if self._writer is not None:
            self._writer.flush()  # a killed process leaves the curves of all iterations that it told of
        if not self.console.is_terminal:
            self.say(_line(row))

    def curves(self, metrics: Row, iteration: int) -> None:
        """Add a point to the curves of `metrics`."""
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(name, value, iteration)

    def picture(self, game: Game, moves: np.ndarray, iteration: int) -> None:
        """Record a picture of a finished game.

        Args:
            game: as it began.
            moves: int16, its action numbers.
            iteration: when it was played.
        """
        if self._writer is not None:
            self._writer.add_image("games/selfplay", game_picture(game, moves), iteration, dataformats="HWC")

    def _gone(self) -> None:
        self.console.silence()
        self._on_gone()

    def _silent_writers(self, told: threading.ExceptHookArgs) -> None:
        """Say nothing of what stops TensorBoard's writing thread: it is raised once more where curves are added."""
        if not (isinstance(told.exc_value, OSError) and type(told.thread).__module__.startswith("tensorboard")):
            self._hook(told)

    def _quietly(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            if not nobody_reads(error, sys.stdout):
                raise OutputError.of(error) from None
            self._gone()

    def _render(self) -> Group:
        row, elapsed = self._row, time.monotonic() - self._began
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right")
        grid.add_column()
        limit = self.config.run.minutes
        bar = ProgressBar(total=60 * limit, completed=min(elapsed, 60 * limit), width=30) if limit else Text("")
        time_row = Table.grid(padding=(0, 1))
        time_row.add_row(clock(elapsed) + (f" of {clock(60 * limit)}" if limit else ""), bar)
        grid.add_row("elapsed", time_row)
        grid.add_row("iteration", f"{row['step']:,.0f}   [dim]now {self._phase()}[/]")
        for label, text in _parts(row):
            grid.add_row(label, text)
        for label, text in self._notes.items():
            if text:
                grid.add_row(label, text)
        # The cursor waits in the empty line, where the ^C that a terminal shows does no harm to the display.
        return Group(Text(f"{self.config.game}  {self._path}", style="bold"), grid, Text(""))


def game_picture(start: Game, moves: np.ndarray) -> np.ndarray:
    """Return uint8 (height, width, 3): positions of a game from its start to its end, evenly spread."""
    rows, columns = PICTURE_BOARDS
    shown = set(np.unique(np.linspace(0, len(moves), rows * columns).round().astype(int)).tolist())
    game, rules = start.copy(), start.rules
    boards = []
    for ply in range(len(moves) + 1):
        if ply:
            game.play_action(int(moves[ply - 1]))
        if ply in shown:
            board = draw_board(rules, game.arrays.board, side=PICTURE_SIDE, **_last_move(game))
            caption = f"ply {ply}" + (f": {_ending(game)}" if ply == len(moves) else "")
            boards.append(np.vstack([board, _caption(caption, board.shape[1])]))
    blank = np.full_like(boards[0], 255)
    boards += [blank] * (rows * columns - len(boards))
    return np.vstack([np.hstack(boards[i : i + columns]) for i in range(0, rows * columns, columns)])


def _ending(game: Game) -> str:
    if game.outcome is None:
        return "truncated"
    result = f"{game.outcome.winner} win" if game.outcome.winner else "draw"
    return f"{result}, {game.outcome.reason.replace('_', ' ')}"


def _caption(text: str, width: int) -> np.ndarray:
    """Return uint8 (CAPTION_HEIGHT, width, 3): black on white."""
    image = Image.new("RGB", (width, CAPTION_HEIGHT), "white")
    middle = (width / 2, CAPTION_HEIGHT / 2)
    ImageDraw.Draw(image).text(middle, text, "black", ImageFont.load_default(CAPTION_HEIGHT * 0.6), anchor="mm")
    return np.asarray(image)


def _last_move(game: Game) -> dict:
    to_play = int(game.arrays.info[TO_PLAY]) if game.outcome is None else None
    if not game.moves:
        return {"to_play": to_play}
    move, size = game.moves[-1], game.rules.size
    return {
        "move": (square_index(size, move.origin), square_index(size, move.target)),
        "captured": [square_index(size, square) for square in game.captured],
        "to_play": to_play,
    }


def _parts(row: Row) -> list[tuple[str, str]]:
    """Return label and text of what is known of an iteration."""

    def show(name: str, form: str) -> str:
        value = row.get(name)
        return "-" if value is None or not math.isfinite(value) else format(value, form)

    return [
        ("games", f"{show('games', ',.0f')}   length {show('selfplay/game_length', '.0f')} plies"),
        ("positions", f"{show('positions', ',.0f')}   {show('speed/positions_per_second', ',.0f')}/s"),
        ("losses", f"policy {show('losses/policy', '.3f')}   value {show('losses/value', '.3f')}"),
        (
            "wins",
            f"attackers {show('selfplay/attackers_win_share', '.0%')}   "
            f"defenders {show('selfplay/defenders_win_share', '.0%')}   draws {show('selfplay/draws', '.0%')}   "
            f"truncated {show('selfplay/truncated', '.0%')}",
        ),
        ("balance", _handicap(row)),
    ]


def _handicap(row: Row) -> str:
    ratio = row.get("selfplay/attackers_budget")
    if ratio is None:
        return "-"
    for side in SIDES:
        if temperature := row.get(f"selfplay/{side}_temperature"):
            return f"{side} draw their moves at temperature {temperature:.2f}"
    if ratio == 1:
        return "both sides search alike"
    return f"{'attackers' if ratio > 1 else 'defenders'} search {max(ratio, 1 / ratio):.1f} times as much"


def _line(row: Row) -> str:
    parts = "   ".join(f"{label} {text}" for label, text in _parts(row))
    return f"{clock(row['seconds'])}   iteration {row['step']:.0f}   {' '.join(parts.split())}"


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds, with hours where there are any."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
