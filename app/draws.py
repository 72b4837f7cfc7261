"""When an engine agrees to a draw, and when it offers one; the only place that says so."""

from __future__ import annotations

from arena.players import Thought

ACCEPTS_BELOW = 0.1
"""An engine accepts a draw unless it expects more than this (from -1, a loss, to 1, a win; undiscounted)."""

OFFER_CHANCE = 0.9
"""It offers one when it holds a draw to be this likely, ..."""

OFFER_PAUSE = 20
"""... and then keeps still for so many plies."""


def accepts_draw(thought: Thought, margin: float = ACCEPTS_BELOW) -> bool:
    """Whether an engine of this opinion takes the draw that it is offered: where it expects no more than `margin`."""
    return thought.expectation <= margin


def offers_draw(thought: Thought) -> bool:
    """Whether an engine of this opinion would offer one with its move."""
    return thought.proven == "draw" or (thought.outlook is not None and thought.outlook[1] >= OFFER_CHANCE)
