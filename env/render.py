"""Positions for people: as text, as a picture, in a window, and the command `python -m env render`.

Pillow and pygame are imported only where they are needed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np

from env.game import Game
from env.notation import square_index, square_name
from env.rules import RULES, SIDES, Rules

UNICODE = "·●○♚"  # by piece code
ASCII = ".tTK"
ROLES = ("empty", "attacker", "defender", "king")
SPECIAL = {"+": "goal", "=": "only the king may stop", "#": "nobody may stop"}  # empty squares by their sign
PICTURE_SIDE = 720


class Scene(NamedTuple):
    """What there is to draw.

    Attributes:
        rules: the game.
        board: int8 (S,) piece codes.
        to_play: 0 attackers, 1 defenders.
        move: square indices (origin, target) of the last move, None where there is none.
        captured: square indices whose pieces it took.
        state: one line for people: who is to play, or how the game ended.
    """

    rules: Rules
    board: np.ndarray
    to_play: int | None
    move: tuple[int, int] | None = None
    captured: tuple[int, ...] = ()
    state: str = ""

    @classmethod
    def of(cls, game: Game) -> Scene:
        """Return the present position of a game with the move that led to it."""
        size, end = game.rules.size, game.outcome
        moves = game.moves[-1:]
        move = next(((square_index(size, m.origin), square_index(size, m.target)) for m in moves), None)
        captured = tuple(square_index(size, square) for square in game.captured)
        if end is None:
            state = f"ply {game.ply}, {game.to_play} to play"
        else:
            state = f"ply {game.ply}, {f'{end.winner} won' if end.winner else 'draw'}: {end.reason.replace('_', ' ')}"
        to_play = SIDES.index(game.to_play) if end is None else None
        return cls(game.rules, game.board, to_play, move, captured, state)


def special_sign(rules: Rules, square: str) -> str:
    """Return the sign in `SPECIAL` of an empty square, given by name; "" for squares like any other."""
    if square in rules.goal:
        return "+"
    return "#" if square in rules.closed else "=" if square in rules.king_only else ""


def draw_text(scene: Scene, *, ascii_only: bool = False, style: Callable[[str, str], str] | None = None) -> str:
    """Return a position as lines of text, last rank first, without a line end after the last.

    The last move stands in brackets: round ones where the piece came from, square ones where it stopped; `x` is where a
    piece was taken. Empty squares of special meaning are `+` (the king's goal), `=` (only the king may stop) and `#`
    (nobody may stop).

    Args:
        scene: what to draw.
        ascii_only: draw pieces as t, T and K, as in positions.
        style: called as style(role, text) for every cell and returns the text to print, so that colour can be added;
            roles are attacker, defender, king, empty, special and captured, with " moved" after the role of both
            squares of the last move.
    """
    rules, n = scene.rules, scene.rules.size
    glyphs = ASCII if ascii_only else UNICODE
    label = len(str(n))
    files = " " * label + " " + "".join(f" {chr(ord('a') + file)} " for file in range(n))
    lines = []
    for rank in reversed(range(n)):
        cells = []
        for file in range(n):
            square = rank * n + file
            piece, name = int(scene.board[square]), square_name(n, square)
            role, glyph = ROLES[piece], glyphs[piece]
            if not piece and square in scene.captured:
                role, glyph = "captured", "x"
            elif not piece and (sign := special_sign(rules, name)):
                role, glyph = "special", sign
            left, right = " ", " "
            if scene.move and square in scene.move:
                left, right = "()" if square == scene.move[0] else "[]"
                role += " moved"
            cell = f"{left}{glyph}{right}"
            cells.append(style(role, cell) if style else cell)
        number = f"{rank + 1:>{label}}"
        lines.append(f"{number} {''.join(cells)} {number}")
    return "\n".join([files, *lines, files, *([scene.state] if scene.state else [])])


def draw_picture(scene: Scene, side: int = PICTURE_SIDE) -> np.ndarray:
    """Return a position as a picture, uint8 (height, width, 3), about `side` pixels wide and high."""
    from env.picture import draw_board

    return draw_board(scene.rules, scene.board, scene.move, scene.captured, scene.to_play, side)


class Window:
    """A window that shows pictures. Where there is no display it draws into nowhere, so that programs run anyhow."""

    def __init__(self, title: str) -> None:
        """Open a window.

        Raises:
            gymnasium.error.DependencyNotInstalled: pygame is missing; the message says how to get it.
        """
        try:
            os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
            import pygame  # pyright: ignore[reportMissingImports]  (an extra)
        except ImportError as error:
            from gymnasium.error import DependencyNotInstalled

            raise DependencyNotInstalled(
                "render_mode='human' opens a window with pygame, which is not installed: pip install -e '.[human]'"
            ) from error
        self._pygame = pygame
        if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        try:
            pygame.display.init()
        except pygame.error:
            os.environ["SDL_VIDEODRIVER"] = "dummy"
            pygame.display.init()
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()
        self._screen: Any = None

    def show(self, picture: np.ndarray, frames_per_second: int) -> None:
        """Show a picture, uint8 (height, width, 3), and wait so that frames come no faster than asked."""
        pygame = self._pygame
        height, width, _ = picture.shape
        if self._screen is None or self._screen.get_size() != (width, height):
            self._screen = pygame.display.set_mode((width, height))
        self._screen.blit(pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB"), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(frames_per_second)

    def close(self) -> None:
        """Close the window; closing twice does nothing."""
        if self._pygame.display.get_init():
            self._pygame.display.quit()


def save_picture(picture: np.ndarray, path: Path) -> None:
    """Write a picture, uint8 (height, width, 3), as a PNG file, whole or not at all.

    Raises:
        OSError: the folder does not exist or cannot be written.
    """
    from PIL import Image

    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    with NamedTemporaryFile(dir=path.parent, suffix=".png", delete=False) as file:
        try:
            Image.fromarray(picture).save(file, "png", optimize=True)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def add_render_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `render` to a command line; its namespace carries `run`, a function of the namespace."""
    parser = commands.add_parser("render", help="draw a position as text or as a PNG picture")
    parser.add_argument("game", choices=list(RULES), metavar="GAME", help=f"one of {', '.join(RULES)}")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--layout", help="start of the game (default: its first layout)")
    start.add_argument("--position", help="ranks from the top, as in /3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/")
    parser.add_argument("--to-play", choices=SIDES, help="side to play in --position (default: the side that begins)")
    parser.add_argument("--moves", nargs="+", default=[], metavar="MOVE", help="moves to play first, as in d2-c2")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write a PNG picture instead of text")
    parser.add_argument(
        "--side", type=int, default=PICTURE_SIDE, metavar="PIXELS", help="its width at most (default: %(default)s)"
    )
    parser.add_argument("--ascii", action="store_true", help="text without characters beyond ASCII")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Draw what the command line asks for; return the exit status."""
    try:
        rules = RULES[arguments.game]
        if arguments.position is not None:
            game = Game.from_position(rules, arguments.position, arguments.to_play or rules.first)
        elif arguments.to_play is not None:
            raise ValueError("--to-play goes with --position; in a layout the rules say who begins")
        else:
            game = Game(rules, arguments.layout)
        for move in arguments.moves:
            game.play(move)
        scene = Scene.of(game)
        if arguments.out is None:
            print(draw_text(scene, ascii_only=arguments.ascii))
        else:
            save_picture(draw_picture(scene, arguments.side), arguments.out)
            print(f"wrote {arguments.out}")
    except (ValueError, OSError) as error:
        print(f"python -m env render: {error}", file=sys.stderr)
        return 2
    return 0
