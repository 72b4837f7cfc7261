"""What both alpha-beta players do around their kernels: which games they take, the past laid out, the clock."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np

from env.game import Game
from env.position import REVERSIBLE
from env.rules import Rules
from env.tables import Tables
from search.transposition import GENERATIONS, Path, new_path


def require_game(rules: Rules, game: Game) -> None:
    """Refuse a game that cannot be searched.

    Raises:
        ValueError: it is over or of other rules.
    """
    if game.rules != rules:
        raise ValueError(f"this search plays {rules.name}, not {game.rules.name}")
    if game.outcome is not None:
        raise ValueError(f"the game is over ({game.outcome.reason}); there is no move to search for")


def lay_out_past(t: Tables, path: Path, game: Game, levels: int) -> Path:
    """Fill a path with a game's past, for a search of up to `levels` plies; return it, or a longer one in its place."""
    ply = game.ply
    if ply + levels + 2 > len(path.history):
        path = new_path(game.rules.cells, 2 * (ply + levels + 2))
    path.history[: ply + 1] = game.history[: ply + 1]
    first = int(game.arrays.info[REVERSIBLE])
    made = np.array(game.actions[first:], np.int64)
    path.moved[first + 1 : ply + 1, 0] = made // (4 * (game.rules.size - 1))
    path.moved[first + 1 : ply + 1, 1] = t.target[made]
    return path


def next_generation(table: np.ndarray, generation: int) -> int:
    """Return the generation after `generation`, whose entries are all there is to the table from now on."""
    if generation < GENERATIONS:
        return generation + 1
    table.view(np.uint8).fill(0)
    return 1


@contextlib.contextmanager
def set_after(flag: np.ndarray, seconds: float | None) -> Iterator[None]:
    """Fill `flag` with 1 once `seconds` have passed, if that is before the block ends; None: never."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(max(0.0, seconds), flag.fill, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
