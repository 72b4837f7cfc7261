"""Boards for a report: positions with a move, heat maps, and the small files that they become in a page."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from env import Game, Rules
from env.notation import square_index
from env.picture import MARGIN, draw_board
from env.position import TO_PLAY

SIDE = 480
"""Pixels of a board's side, at most."""

HEAT = (214, 60, 32)


def position_picture(game: Game, move: str | None = None) -> Image.Image:
    """A position with its last move, or before a move that is shown by an arrow."""
    size, rules = game.rules.size, game.rules
    to_play = int(game.arrays.info[TO_PLAY]) if game.outcome is None else None
    captured: list[int] = []
    if move is None and game.moves:
        move = str(game.moves[-1])
        captured = [square_index(size, square) for square in game.captured]
    squares = None
    if move is not None:
        origin, target = move.split("-")
        squares = square_index(size, origin), square_index(size, target)
    return Image.fromarray(
        draw_board(rules, game.arrays.board, move=squares, captured=captured, to_play=to_play, side=SIDE)
    )


def heat_picture(rules: Rules, layout: str, shares: np.ndarray) -> Image.Image:
    """The start with a glow on every square, the stronger the greater its share.

    Args:
        rules, layout: the game and its start.
        shares: float64 (S,), of 1; those of at least a fiftieth are written on their squares in percent.
    """
    board = Game(rules, layout).arrays.board
    image = Image.fromarray(draw_board(rules, board, side=SIDE)).convert("RGBA")
    square = int(SIDE / (rules.size + 2 * MARGIN))
    margin = (image.width - rules.size * square) / 2
    glow = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(glow)
    font = ImageFont.load_default(max(9, square * 0.30))
    top = max(float(shares.max()), 1e-9)
    for index in np.flatnonzero(shares > 0):
        rank, file = divmod(int(index), rules.size)
        left, upper = margin + file * square, image.height - margin - (rank + 1) * square
        strength = float(shares[index]) / top
        # A power below 1 lets the weaker squares be seen too.
        draw.rectangle((left, upper, left + square - 1, upper + square - 1), fill=(*HEAT, round(200 * strength**0.75)))
    image = Image.alpha_composite(image, glow)
    draw = ImageDraw.Draw(image)
    for index in np.flatnonzero(shares >= 0.02):
        rank, file = divmod(int(index), rules.size)
        centre = margin + (file + 0.5) * square, image.height - margin - (rank + 0.5) * square
        text = f"{100 * shares[index]:.0f}"
        draw.text(centre, text, (255, 255, 255), font, anchor="mm", stroke_width=2, stroke_fill=(40, 10, 4))
    return image.convert("RGB")


def data_uri(image: Image.Image) -> str:
    """A picture as text that a page can hold."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=82, method=6)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def side_by_side(images: list[Image.Image]) -> Image.Image:
    """Some pictures in one row, white between them."""
    gap = 12
    width, height = sum(image.width for image in images) + gap * (len(images) - 1), max(i.height for i in images)
    row = Image.new("RGB", (width, height), "white")
    left = 0
    for image in images:
        row.paste(image, (left, 0))
        left += image.width + gap
    return row
