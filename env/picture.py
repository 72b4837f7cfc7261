"""A position as a picture of a carved board.

Everything on the picture is a height field lit by one lamp from the upper left: grooves between the squares, the
ornaments of special squares, and the pieces. Heights are in pixels, colours are float32 RGB in [0, 1]. Boards and
pieces are drawn `SUPERSAMPLING` times larger, scaled down and kept, so that only the first picture of a size takes a
moment.

Nothing here knows a game: what a square looks like follows from the fields of its `Rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from env.rules import Rules

SUPERSAMPLING = 2
MARGIN = 0.62  # width of the frame in squares

LAMP = np.array([-0.50, -0.58, 0.64], np.float32)  # towards the light: x to the right, y down, z to the eye
OAK = ((0.57, 0.37, 0.17), (0.90, 0.70, 0.43))  # darkest and lightest grain
HONEY = ((0.70, 0.46, 0.17), (0.98, 0.78, 0.42))
WALNUT = ((0.16, 0.085, 0.045), (0.36, 0.21, 0.12))
EBONY = (0.115, 0.095, 0.09)
BONE = (0.93, 0.88, 0.76)
GOLD = (0.86, 0.62, 0.18)
AMBER = (255, 176, 32)
CRIMSON = (168, 24, 18)


# ---------------------------------------------------------------------------------------------------------- material


def _noise(rng: np.random.Generator, height: int, width: int, rows: float, columns: float) -> np.ndarray:
    """Return float32 (height, width): smooth noise of mean 0 with about `rows` by `columns` independent spots."""
    grid = rng.standard_normal((max(2, round(rows)), max(2, round(columns)))).astype(np.float32)
    return np.asarray(Image.fromarray(grid).resize((width, height), Image.Resampling.BICUBIC))


def _wood(
    rng: np.random.Generator, height: int, width: int, tones: Sequence[Sequence[float]], unit: float
) -> np.ndarray:
    """Return float32 (height, width, 3): planks whose grain runs from left to right; `unit` is a square in pixels."""
    down, across = height / unit, width / unit
    rings = np.arange(height, dtype=np.float32)[:, None] / unit * 2.2 + _noise(rng, height, width, down + 1, across / 3)
    grain = 0.5 + 0.22 * np.sin(2 * np.pi * rings)
    grain = grain + 0.13 * _noise(rng, height, width, down * 9, across * 0.7)
    grain = grain + 0.10 * _noise(rng, height, width, down * 30, across * 1.5)
    pores = _noise(rng, height, width, down * 40, across * 5)
    grain = np.clip(grain - 0.12 * (pores > 1.5), 0, 1)[..., None]
    dark, light = (np.array(tone, np.float32) for tone in tones)
    return dark + (light - dark) * grain


def _lit(colour: np.ndarray, height: np.ndarray, gloss: float) -> np.ndarray:
    """Return `colour` (h, w, 3) as the lamp shows it on a surface of the given `height` (h, w)."""
    slope_y, slope_x = np.gradient(height)
    length = np.sqrt(slope_x**2 + slope_y**2 + 1)
    facing = (-slope_x * LAMP[0] - slope_y * LAMP[1] + LAMP[2]) / length
    # The eye is straight above, so the reflected ray meets it where the normal lies half-way between lamp and eye.
    half = (LAMP + (0, 0, 1)) / np.linalg.norm(LAMP + (0, 0, 1))
    shine = np.clip((-slope_x * half[0] - slope_y * half[1] + half[2]) / length, 0, 1) ** 40
    light = 0.38 + 0.62 * np.clip(facing, 0, None) / LAMP[2]
    return colour * light[..., None] + gloss * (shine - half[2] ** 40)[..., None].clip(0)


def _soft_step(distance: np.ndarray, width: float) -> np.ndarray:
    """Return 1 where `distance` is well below 0, 0 where it is well above, a smooth ramp of `width` pixels between."""
    ramp = np.clip(0.5 - distance / width, 0, 1)
    return ramp * ramp * (3 - 2 * ramp)


# ------------------------------------------------------------------------------------------------------------- board


def _grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the pixels of a square, from -1 to 1."""
    axis = (np.arange(side, dtype=np.float32) + 0.5) / side * 2 - 1
    return axis[None, :], axis[:, None]


def _carve_throne(side: int) -> np.ndarray:
    """Return the depth, 0 to 1, of a flower of four petals in a ring."""
    x, y = _grid(side)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    line = 0.035
    petal = 0.36 + 0.30 * np.abs(np.cos(2 * angle)) ** 1.5
    flower = np.exp(-(((radius - petal) / line) ** 2))
    inner = np.exp(-(((radius - 0.20) / line) ** 2))
    ring = np.exp(-(((radius - 0.80) / line) ** 2))
    return np.maximum.reduce([flower, inner, ring])


def _carve_knot(side: int) -> np.ndarray:
    """Return the depth, 0 to 1, of four interlaced loops."""
    x, y = _grid(side)
    line = 0.04
    loops = [
        np.exp(-(((np.hypot(x - 0.27 * a, y - 0.27 * b) - 0.36) / line) ** 2))
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    frame = np.exp(-(((np.maximum(np.abs(x), np.abs(y)) - 0.82) / line) ** 2))
    return np.maximum.reduce([*loops, frame])


def _carve_bars(side: int) -> np.ndarray:
    """Return the depth, 0 to 1, of a lattice: nobody stops here."""
    x, y = _grid(side)
    inside = np.maximum(np.abs(x), np.abs(y)) < 0.74
    lattice = np.maximum(np.cos(np.pi * (x + y) * 3.5), np.cos(np.pi * (x - y) * 3.5))
    frame = np.exp(-(((np.maximum(np.abs(x), np.abs(y)) - 0.82) / 0.04) ** 2))
    return np.maximum(frame, inside * np.clip(lattice * 6 - 5, 0, 1))


def _carve_goal(side: int) -> np.ndarray:
    """Return the depth, 0 to 1, of a small lozenge."""
    x, y = _grid(side)
    return np.exp(-(((np.abs(x) + np.abs(y) - 0.22) / 0.04) ** 2))


def _ornament(rules: Rules, square: str, side: int) -> np.ndarray | None:
    if square == rules.throne:
        flower = _carve_throne(side)
        return np.maximum(flower, 0.8 * _carve_bars(side)) if square in rules.closed else flower
    if square in rules.closed:
        return _carve_bars(side)
    if square in rules.king_only:
        return _carve_knot(side)
    return _carve_goal(side) if square in rules.goal else None


def _label(draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, font: ImageFont.FreeTypeFont) -> None:
    x, y = at
    step = font.size / 18
    draw.text((x - step, y - step), text, (20, 8, 2, 200), font, anchor="mm")  # the far wall of the groove, in shade
    draw.text((x + step, y + step), text, (255, 214, 160, 110), font, anchor="mm")
    draw.text((x, y), text, (226, 178, 112, 255), font, anchor="mm")


@lru_cache(maxsize=8)
def _board(rules: Rules, square: int) -> Image.Image:
    """Return the empty board with `square` pixels to a square."""
    unit = square * SUPERSAMPLING
    frame, n = round(unit * MARGIN), rules.size
    side, field = 2 * frame + n * unit, slice(frame, frame + n * unit)
    rng = np.random.default_rng(7)
    colour = _wood(rng, side, side, WALNUT, unit)
    # Left and right rails run upright, mitred at the corners.
    upright = _wood(rng, side, side, WALNUT, unit).transpose(1, 0, 2)
    y, x = np.mgrid[:side, :side]
    rails = (np.minimum(x, side - 1 - x) < np.minimum(y, side - 1 - y))[..., None]
    colour = np.where(rails, upright, colour)
    height = np.zeros((side, side), np.float32)

    oak, honey = (_wood(rng, 2 * n * unit, n * unit, tones, unit) for tones in (OAK, HONEY))
    for rank in range(n):
        for file in range(n):
            name = f"{chr(ord('a') + file)}{rank + 1}"
            special = name in rules.king_only | rules.closed | rules.goal
            top, left = int(rng.integers(0, (2 * n - 1) * unit)), int(rng.integers(0, (n - 1) * unit + 1))
            tile = (honey if special else oak)[top : top + unit, left : left + unit] * rng.uniform(0.93, 1.05)
            if (rank + file) % 2:  # neighbouring blocks show end and side of the grain
                tile = tile.transpose(1, 0, 2) * 0.95
            rows = slice(frame + (n - 1 - rank) * unit, frame + (n - rank) * unit)
            columns = slice(frame + file * unit, frame + (file + 1) * unit)
            depth = _ornament(rules, name, unit)
            if depth is not None:
                tile = tile * (1 - 0.42 * depth[..., None])
                height[rows, columns] -= depth * unit * 0.020
            colour[rows, columns] = tile

    # Grooves between the squares, and a rounded frame that stands above the field.
    along = np.abs((np.arange(n * unit) + unit / 2) % unit - unit / 2)
    groove = np.exp(-((along / (unit * 0.014)) ** 2)).astype(np.float32)
    groove = np.maximum(groove[None, :], groove[:, None])
    colour[field, field] *= 1 - 0.45 * groove[..., None]
    height[field, field] -= groove * unit * 0.022
    outside = np.maximum(np.maximum(frame - x, x - (side - 1 - frame)), np.maximum(frame - y, y - (side - 1 - frame)))
    bead = unit * 0.07
    height += unit * 0.09 * _soft_step(-(outside - bead), bead * 1.6)
    height -= unit * 0.14 * _soft_step(frame - outside, bead * 2.2)
    height -= unit * 0.02 * np.exp(-(((outside - frame * 0.86) / (unit * 0.014)) ** 2))
    sunk = _soft_step(outside + unit * 0.05, unit * 0.22)[..., None]  # the frame shades the field a little
    colour *= np.where(outside[..., None] < 0, 0.72 + 0.28 * sunk, 1)

    lit = _lit(colour, height, 0.10)
    image = Image.fromarray((lit.clip(0, 1) * 255).astype(np.uint8))
    text = Image.new("RGBA", image.size)
    draw, font = ImageDraw.Draw(text), ImageFont.load_default(max(8, unit * 0.25))
    assert isinstance(font, ImageFont.FreeTypeFont)  # a size was given
    for index in range(n):
        middle = frame + (index + 0.5) * unit
        for edge in (frame * 0.47, side - frame * 0.47):
            _label(draw, (middle, edge), chr(ord("a") + index), font)
            _label(draw, (edge, side - middle), str(index + 1), font)
    image.paste(text, mask=text)
    return image.resize((side // SUPERSAMPLING, side // SUPERSAMPLING), Image.Resampling.LANCZOS)


# ------------------------------------------------------------------------------------------------------------ pieces


def _dome(radius: np.ndarray, edge: float, rise: float) -> np.ndarray:
    """Return the height of a flattened dome: steep at the rim, nearly level on top."""
    return rise * np.sqrt(np.clip(1 - (radius / edge) ** 4, 0, None))


def _attacker(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distance to the outline, height and colour of an eight-sided stone with a flat top."""
    angles = np.arange(8) * np.pi / 4
    radius = np.max([x * np.cos(a) + y * np.sin(a) for a in angles], axis=0)
    height = np.minimum((0.74 - radius) * 0.62, 0.17) + np.minimum((0.74 - radius) * 1.6, 0.12)
    height = height - 0.045 * np.exp(-(((radius - 0.24) / 0.035) ** 2))
    return radius - 0.74, height, np.broadcast_to(np.array(EBONY, np.float32), (*radius.shape, 3))


def _defender(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distance to the outline, height and colour of a turned disc with two rings."""
    radius = np.hypot(x, y)
    rings = np.exp(-(((radius - 0.47) / 0.03) ** 2)) + np.exp(-(((radius - 0.13) / 0.045) ** 2))
    height = _dome(radius, 0.70, 0.30) - 0.035 * rings
    colour = np.array(BONE, np.float32) * (1 - 0.30 * rings[..., None])
    return radius - 0.70, height, colour


def _king(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distance to the outline, height and colour of a great disc with a golden crown on it."""
    x, y = np.broadcast_arrays(x, y)
    radius = np.hypot(x, y)
    x, y = x * 0.82, y * 0.82
    zigzag = 0.04 - (0.46 - 0.4 * np.abs(x)) * np.abs(2 * (x / 0.40 % 1) - 1)  # upper edge: the middle point is highest
    outline = np.maximum.reduce([(zigzag - y) * 0.5, y - 0.30, np.abs(x) - 0.32 + 0.20 * (y - 0.30)])
    crown = _soft_step(outline, 0.05)
    band = np.exp(-(((y - 0.15) / 0.022) ** 2)) * crown
    rim = np.exp(-(((radius - 0.70) / 0.055) ** 2))
    height = _dome(radius, 0.84, 0.34) + 0.055 * crown - 0.03 * band
    gilt = np.clip(crown + rim, 0, 1)[..., None]
    colour = np.array(BONE, np.float32) * (1 - gilt) + np.array(GOLD, np.float32) * gilt
    colour = colour * (1 - 0.5 * band[..., None])
    return radius - 0.84, height, colour


PIECES = (None, _attacker, _defender, _king)  # by piece code


@lru_cache(maxsize=32)
def _piece(code: int, square: int) -> Image.Image:
    """Return an RGBA picture, two squares wide, of a piece in the middle with its shadow."""
    side = 2 * square * SUPERSAMPLING
    x, y = (axis * 2 for axis in _grid(side))  # 1 is half a square
    shape = PIECES[code]
    assert shape is not None
    outline, height, colour = shape(x, y)
    pixel = 4 / side
    lit = _lit(colour, np.where(outline < 0, height, 0) / pixel, 0.55)
    lit = lit * (0.55 + 0.45 * _soft_step(outline + 0.05, 0.10))[..., None]  # the rim turns away from the light
    alpha = _soft_step(outline, 2 * pixel)
    piece = np.concatenate([lit.clip(0, 1), alpha[..., None]], axis=2)
    image = Image.fromarray((piece * 255).astype(np.uint8))

    offset = side * 0.030
    cast = np.asarray(Image.fromarray((alpha * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(offset * 0.8)))
    cast = np.roll(cast, (round(offset * 1.16), round(offset)), (0, 1))
    shadow = np.zeros((side, side, 4), np.uint8)
    shadow[..., :3] = (24, 10, 2)
    shadow[..., 3] = cast * 0.62
    return Image.alpha_composite(Image.fromarray(shadow), image).resize(
        (2 * square, 2 * square), Image.Resampling.LANCZOS
    )


# ------------------------------------------------------------------------------------------------------------- marks


def _mark_move(draw: ImageDraw.ImageDraw, start: np.ndarray, end: np.ndarray, unit: float) -> None:
    """Tint the two squares and lay an arrow between their middles (pixels)."""
    for x, y in (start, end):
        inset = unit * 0.49
        draw.rectangle((x - inset, y - inset, x + inset, y + inset), (*AMBER, 112))
    way = (end - start) / np.linalg.norm(end - start)
    side = np.array((-way[1], way[0]))
    tip, thin, wide, head = end - way * unit * 0.40, unit * 0.055, unit * 0.16, unit * 0.27
    neck, tail = tip - way * head, start
    arrow = [tail + side * thin, neck + side * thin, neck + side * wide, tip]
    arrow += [neck - side * wide, neck - side * thin, tail - side * thin]
    dot = unit * 0.12
    draw.polygon([tuple(point) for point in arrow], (*AMBER, 215))
    draw.ellipse((*(tail - dot), *(tail + dot)), (*AMBER, 215))


def _mark_capture(draw: ImageDraw.ImageDraw, centre: np.ndarray, unit: float) -> None:
    """Draw a cross where a piece was taken."""
    x, y = centre
    arm, width = unit * 0.25, max(1, round(unit * 0.10))
    for sign in (1, -1):
        ends = (x - arm, y - sign * arm, x + arm, y + sign * arm)
        draw.line(ends, (*CRIMSON, 235), width)
        for px, py in (ends[:2], ends[2:]):
            draw.ellipse((px - width / 2, py - width / 2, px + width / 2, py + width / 2), (*CRIMSON, 235))


def draw_board(
    rules: Rules,
    board: np.ndarray,
    move: tuple[int, int] | None = None,
    captured: Sequence[int] = (),
    to_play: int | None = None,
    side: int = 720,
) -> np.ndarray:
    """Return a picture of a position.

    Args:
        rules: the game.
        board: int8 (S,) piece codes.
        move: squares (origin, target) of the last move, marked by an arrow.
        captured: squares whose pieces that move took, crossed out.
        to_play: side (0 attackers, 1 defenders) whose piece stands in the corner of the frame; None for nobody.
        side: width and height wanted, in pixels; the picture is at most this large, by whole pixels to a square.

    Returns:
        uint8 (height, width, 3), height = width.

    Raises:
        ValueError: `side` leaves a square less than 8 pixels.
    """
    square = int(side / (rules.size + 2 * MARGIN))
    if square < 8:
        raise ValueError(
            f"a picture of {side} pixels is too small for {rules.size} squares: take {8 * (rules.size + 2)}"
        )
    image = _board(rules, square).copy()
    margin = (image.width - rules.size * square) / 2

    def centre(index: int) -> np.ndarray:
        rank, file = divmod(index, rules.size)
        return np.array((margin + (file + 0.5) * square, image.height - margin - (rank + 0.5) * square))

    if move is not None:
        marks = Image.new("RGBA", (image.width * SUPERSAMPLING, image.height * SUPERSAMPLING), (*AMBER, 0))
        draw = ImageDraw.Draw(marks)
        start, end = (centre(index) * SUPERSAMPLING for index in move)
        _mark_move(draw, start, end, square * SUPERSAMPLING)
        for index in captured:
            _mark_capture(draw, centre(index) * SUPERSAMPLING, square * SUPERSAMPLING)
        marks = marks.resize(image.size, Image.Resampling.BOX)
        image.paste(marks, mask=marks)
    for index in np.flatnonzero(board):
        sprite = _piece(int(board[index]), square)
        x, y = np.round(centre(int(index)) - square).astype(int)
        image.paste(sprite, (int(x), int(y)), sprite)
    if to_play is not None:
        sprite = _piece(to_play + 1, max(6, round(square * MARGIN * 0.72)))
        corner = round(image.width - margin * 0.5 - sprite.width / 2)
        image.paste(sprite, (corner, corner), sprite)
    return np.array(image)
