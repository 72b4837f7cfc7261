"""The openings that strength is measured with: frozen, playable, different under symmetry."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from arena.openings import FOLDER, Opening, load_openings
from env import RULES
from env.encoding import square_symmetries
from env.position import TO_PLAY

FROZEN = {
    "brandubh-v1": "4a84d708bd67fefa8500ec3f0e05df4282608961661634bf2ad05a05e3d525ed",
    "tawlbwrdd-bell-v1": "56568a4e5a8f380f81702e5e4fa8a10d2681a719562cabec7b8b681d7c19e794",
    "tawlbwrdd-v1": "39d02397fa7d31a98a6f23b23d5722e2d72e5e55a3603e97afdb193fb0d011c6",
}

STARTS = [(name, layout) for name, rules in RULES.items() for layout in rules.layouts]


def images(opening: Opening, name: str) -> set[bytes]:
    """The eight forms of the position that a line leads to, with its side to play."""
    game = opening.game(name)
    board, to_play = game.board, bytes([game.arrays.info[TO_PLAY]])
    forms = set()
    for symmetry in square_symmetries(game.rules.size):
        turned = np.empty_like(board)
        turned[symmetry] = board
        forms.add(turned.tobytes() + to_play)
    return forms


@pytest.mark.parametrize("stem", FROZEN)
def test_files_are_as_they_were_frozen(stem: str) -> None:
    text = (FOLDER / f"{stem}.txt").read_text(encoding="utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == FROZEN[stem], (
        "openings are never changed; make the next version"
    )
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert f"# sha256: {hashlib.sha256(body.encode()).hexdigest()}" in text.splitlines()


@pytest.mark.parametrize(("name", "layout"), STARTS)
def test_openings_are_short_many_and_different(name: str, layout: str) -> None:
    openings = load_openings(name, layout)
    assert len(openings) >= (100 if layout == RULES[name].default_layout else 50)
    seen: set[bytes] = set()
    for opening in openings:
        assert 1 <= len(opening.moves) <= 6
        forms = images(opening, name)
        assert not forms & seen, f"{opening} is a turned or mirrored form of an earlier line"
        seen |= forms
    assert {len(opening.moves) % 2 for opening in openings} == {0, 1}
