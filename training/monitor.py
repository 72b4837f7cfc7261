"""What one sees of a run: a live display or plain lines, TensorBoard curves, and a picture of a game now and then."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from env import Game
from env.picture import draw_board
from env.rules import Rules
from training.config import RunConfig

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

PICTURE_BOARDS = (2, 4)  # rows and columns of positions in a picture of a game
PICTURE_SIDE = 260  # pixels of one of them

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
        """Print nothing more, and let nothing be printed at exit either: that would fail again."""
        self.quiet = True
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


class Monitor:
    """The display and the curves of one start of a run.

    Args:
        path: the run's folder.
        config: its settings.
        iteration: the last iteration on disk; later TensorBoard events are cut.
        began: `time.monotonic()` at which the run would have begun, had it never been stopped.
        on_gone: called when nobody can read the output any more.
    """

    def __init__(
        self, path: Path, config: RunConfig, iteration: int, began: float, on_gone: Callable[[], None]
    ) -> None:
        self.config, self._path, self._began = config, path, began
        self._purge_step = iteration + 1
        self._row: Row = {"step": iteration}
        self._phase, self._notes = "getting ready", {"checkpoint": "", "measurement": "", "best": "not measured yet"}
        self._on_gone = on_gone
        self.console = _Console(self._gone)
        self._live = Live(get_renderable=self._render, console=self.console, refresh_per_second=4, transient=True)
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> Monitor:
        if self.config.monitor.tensorboard:
            # Imported late: it takes a second.
            from torch.utils.tensorboard import SummaryWriter

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

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._quietly(lambda: self.console.print(Text.from_markup(text), soft_wrap=True))

    def phase(self, text: str) -> None:
        """Say what is going on at the moment."""
        self._phase = text

    def note(self, **notes: str) -> None:
        """Set what is said about the next `checkpoint`, the next `measurement` and the `best` network."""
        self._notes |= notes

    def row(self, row: Row) -> None:
        """Show and record an iteration's metrics.

        Raises:
            OSError: the curves cannot be written.
        """
        self._row = row
        self.curves({name: value for name, value in row.items() if "/" in name}, int(row["step"]))
        if not self.console.is_terminal:
            self.say(_line(row))

    def curves(self, metrics: Row, iteration: int) -> None:
        """Add a point to the curves of `metrics`."""
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(name, value, iteration)

    def picture(self, rules: Rules, layout: str, moves: np.ndarray, iteration: int) -> None:
        """Record a picture of a finished game.

        Args:
            rules, layout: where it began.
            moves: int16, its action numbers.
            iteration: when it was played.
        """
        if self._writer is not None:
            self._writer.add_image("games/selfplay", game_picture(rules, layout, moves), iteration, dataformats="HWC")

    def _gone(self) -> None:
        self.console.silence()
        self._on_gone()

    def _quietly(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError:
            self._gone()

    def _render(self) -> Group:
        row, elapsed = self._row, time.monotonic() - self._began
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right")
        grid.add_column()
        limit = self.config.run.minutes
        bar = ProgressBar(total=60 * limit, completed=min(elapsed, 60 * limit), width=30) if limit else Text("")
        clock = Table.grid(padding=(0, 1))
        clock.add_row(_clock(elapsed) + (f" of {_clock(60 * limit)}" if limit else ""), bar)
        grid.add_row("elapsed", clock)
        grid.add_row("iteration", f"{row['step']:,.0f}   [dim]now {self._phase}[/]")
        for label, text in _parts(row):
            grid.add_row(label, text)
        grid.add_row("next", f"checkpoint {self._notes['checkpoint']}, measurement {self._notes['measurement']}")
        grid.add_row("best", self._notes["best"])
        return Group(Text(f"{self.config.game}  {self._path}", style="bold"), grid)


def game_picture(rules: Rules, layout: str, moves: np.ndarray) -> np.ndarray:
    """Return uint8 (height, width, 3): positions of a game from its start to its end, evenly spread."""
    rows, columns = PICTURE_BOARDS
    shown = set(np.unique(np.linspace(0, len(moves), rows * columns).round().astype(int)).tolist())
    game = Game(rules, layout)
    boards = []
    for ply in range(len(moves) + 1):
        if ply:
            game.play_action(int(moves[ply - 1]))
        if ply in shown:
            boards.append(draw_board(rules, game.arrays.board, side=PICTURE_SIDE, **_last_move(game)))
    blank = np.full_like(boards[0], 255)
    boards += [blank] * (rows * columns - len(boards))
    return np.vstack([np.hstack(boards[i : i + columns]) for i in range(0, rows * columns, columns)])


def _last_move(game: Game) -> dict:
    from env.notation import square_index

    if not game.moves:
        return {"to_play": int(game.arrays.info[0])}
    move, size = game.moves[-1], game.rules.size
    return {
        "move": (square_index(size, move.origin), square_index(size, move.target)),
        "captured": [square_index(size, square) for square in game.captured],
        "to_play": int(game.arrays.info[0]),
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
            f"truncated {show('selfplay/truncated', '.0%')}   budget ratio {show('selfplay/budget_ratio', '.2f')}",
        ),
    ]


def _line(row: Row) -> str:
    parts = "   ".join(f"{label} {text}" for label, text in _parts(row))
    return f"{_clock(row['seconds'])}   iteration {row['step']:.0f}   {' '.join(parts.split())}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
