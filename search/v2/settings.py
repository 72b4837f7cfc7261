"""What the search of `alphabeta-v2` leaves out or adds to plain minimax.

The kernels do not import this, so that other numbers do not compile them anew.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True, slots=True)
class Settings:
    """What the search leaves out or adds to plain minimax; all zero is plain minimax to the depth asked for.

    Attributes:
        quiescence: plies of captures, answers to threats and king's roads after the last ply of the depth.
        roads: of these plies, in how many the king may open a road.
        closing: of these plies, in how many an attacker may step beside the king to threaten him.
        replies: of these plies, in how many threats are answered; later whoever is threatened may stand still, too.
        answers: 1: where the opponent threatens to win at once only moves that may parry are searched.
        extensions: 1: such positions are searched one ply deeper.
        reductions: percent of the usual reduction of late quiet moves.
        pruning: quiet moves tried with one ply left before the rest is left out; more with more plies left.
        deeper: 1: the table's results of greater depth are used, too.
        aspiration: half the first window around the score of the depth before, in hundredths of an attacker.
    """

    quiescence: int = 0
    roads: int = 0
    closing: int = 0
    replies: int = 0
    answers: int = 0
    extensions: int = 0
    reductions: int = 0
    pruning: int = 0
    deeper: int = 0
    aspiration: int = 0

    def array(self) -> np.ndarray:
        """Return the settings as int32 (10,), in the order above."""
        return np.array([getattr(self, item.name) for item in fields(self)], np.int32)


PLAIN = Settings()
SELECTIVE = Settings(
    quiescence=6,
    roads=2,
    closing=0,
    replies=3,
    answers=1,
    extensions=1,
    reductions=100,
    pruning=0,
    deeper=1,
    aspiration=60,
)
