"""The eight symmetries of a board, on the names of squares and on position texts, independent of `env.encoding`."""

from __future__ import annotations

from slow_rules import SIZE, Square, name, read, square_of

SYMMETRIES = range(8)


def turn(square: Square, size: int, symmetry: int) -> Square:
    """Mirror files, then ranks, then swap them, by the three bits of `symmetry`."""
    file, rank = square
    if symmetry & 1:
        file = size + 1 - file
    if symmetry & 2:
        rank = size + 1 - rank
    return (rank, file) if symmetry & 4 else (file, rank)


def turn_square(game: str, text: str, symmetry: int) -> str:
    return name(turn(square_of(text), SIZE[game], symmetry))


def turn_move(game: str, text: str, symmetry: int) -> str:
    return "-".join(turn_square(game, part, symmetry) for part in text.split("-"))


def turn_position(game: str, text: str, symmetry: int) -> str:
    size = SIZE[game]
    pieces = {turn(square, size, symmetry): piece for square, piece in read(text).items()}
    rows = []
    for rank in range(size, 0, -1):
        row, empty = "", 0
        for file in range(1, size + 1):
            piece = pieces.get((file, rank))
            if piece is None:
                empty += 1
                continue
            row += (str(empty) if empty else "") + piece
            empty = 0
        rows.append(row + (str(empty) if empty else ""))
    return "/" + "/".join(rows) + "/"
