"""The rules of the games as data.

Everything that one tafl game does differently from another is a field of `Rules`; `RULES` is the table of games.
What all of them share is written in the kernels (`env.moves`, `env.board`): pieces move like rooks, nobody jumps or
passes, only the piece that moved takes, a soldier is taken between two enemies, and an empty throne may be crossed by
anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

ATTACKERS, DEFENDERS = 0, 1
SIDES = ("attackers", "defenders")


@dataclass(frozen=True)
class Rules:
    """One game. Squares are text (`"d4"`), positions are ranks from the top (see `env.notation`).

    Attributes:
        name: key in `RULES`, and what records and checkpoints call the game.
        title: name for people.
        size: squares on a side, 3 to 15.
        layouts: starts of the game by name, as positions; the first is the default.
        first: side that moves first from every layout.
        throne: the square in the middle that has rules of its own.
        king_only: squares on which only the king may stop.
        closed: squares on which nobody may stop.
        hostile: squares that stand in for an enemy of soldiers of both sides, always.
        hostile_while_empty: squares that do so while nobody is on them.
        hostile_to_king: squares that stand in for an attacker against the king.
        edge_hostile: whether the board's edge stands in for an enemy of soldiers.
        king_armed: whether the king takes, as the piece that moves and as the piece that stands across.
        king_surrounded: squares on which the king is taken only when all his neighbours are attackers;
            elsewhere two attackers on opposite sides take him.
        king_walls: squares that count as an attacker beside a king who has to be surrounded.
        goal: squares on which the king wins.
        no_moves: what a side without a legal move gets, `"loss"` or `"draw"`.
        repetition_limit: the occurrence of a position that ends the game.
        repetition: what that gives the side that brought it about, `"loss"` or `"draw"`.
        agreement: whether the players may agree a draw.
        opentafl: the settings by which OpenTafl comes nearest to the game, for `env.records`.
    """

    name: str
    title: str
    size: int
    layouts: Mapping[str, str] = field(hash=False)
    throne: str
    goal: frozenset[str]
    first: str = "attackers"
    king_only: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    hostile: frozenset[str] = frozenset()
    hostile_while_empty: frozenset[str] = frozenset()
    hostile_to_king: frozenset[str] = frozenset()
    edge_hostile: bool = False
    king_armed: bool = True
    king_surrounded: frozenset[str] = frozenset()
    king_walls: frozenset[str] = frozenset()
    no_moves: str = "loss"
    repetition_limit: int = 3
    repetition: str = "loss"
    agreement: bool = False
    opentafl: str = ""

    def __post_init__(self) -> None:
        if not 3 <= self.size <= 15:
            raise ValueError(f"size {self.size} of game {self.name!r}: allowed are 3 to 15")
        if not self.layouts:
            raise ValueError(f"game {self.name!r} has no layout")
        for name, value, allowed in (
            ("first", self.first, SIDES),
            ("no_moves", self.no_moves, ("loss", "draw")),
            ("repetition", self.repetition, ("loss", "draw")),
        ):
            if value not in allowed:
                raise ValueError(f"{name}={value!r} of game {self.name!r}: allowed are {', '.join(allowed)}")
        if self.repetition_limit < 2:
            raise ValueError(f"repetition_limit {self.repetition_limit} of game {self.name!r}: at least 2")
        object.__setattr__(self, "layouts", MappingProxyType(dict(self.layouts)))

    @property
    def default_layout(self) -> str:
        """Name of the first layout."""
        return next(iter(self.layouts))

    @property
    def cells(self) -> int:
        """Number of squares."""
        return self.size * self.size

    @property
    def most_moves(self) -> int:
        """No position has more legal moves: a square can be reached from four directions, by one piece each."""
        return 4 * self.cells

    @property
    def actions(self) -> int:
        """Number of action numbers (see `env.encoding`)."""
        return self.cells * 4 * (self.size - 1)

    def __reduce__(self) -> tuple[type[Rules], tuple[object, ...]]:
        # A mapping proxy cannot be pickled or deep-copied; worker processes of vector environments need both.
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        return Rules, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)


def _corners(size: int) -> frozenset[str]:
    last = chr(ord("a") + size - 1)
    return frozenset({"a1", f"{last}1", f"a{size}", f"{last}{size}"})


def _edges(size: int) -> frozenset[str]:
    return frozenset(
        f"{chr(ord('a') + file)}{rank + 1}"
        for file in range(size)
        for rank in range(size)
        if file in (0, size - 1) or rank in (0, size - 1)
    )


BRANDUBH = Rules(
    name="brandubh",
    title="Brandubh",
    size=7,
    layouts={"standard": "/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"},
    throne="d4",
    goal=_corners(7),
    king_only=_corners(7) | {"d4"},
    hostile=_corners(7),
    hostile_while_empty=frozenset({"d4"}),
    hostile_to_king=_corners(7),
    king_surrounded=frozenset({"d4"}),
    no_moves="loss",
    repetition_limit=3,
    repetition="loss",
    opentafl="surf:n tfr:l ks:w cenh: cenhe:tcnkm",
)

TAWLBWRDD = Rules(
    name="tawlbwrdd",
    title="Tawlbwrdd",
    size=11,
    layouts={
        "serif": "/3ttttt3/5t5/11/t4T4t/t3TTT3t/tt1TTKTT1tt/t3TTT3t/t4T4t/11/5t5/3ttttt3/",
        "bell": "/4ttt4/4t1t4/5t5/5T5/tt2TTT2tt/t1tTTKTTt1t/tt2TTT2tt/5T5/5t5/4t1t4/4ttt4/",
    },
    throne="f6",
    goal=_edges(11),
    closed=frozenset({"f6"}),
    hostile_while_empty=frozenset({"f6"}),
    king_surrounded=frozenset({"f6", "e6", "g6", "f5", "f7"}),
    king_walls=frozenset({"f6"}),
    no_moves="draw",
    repetition_limit=2,
    repetition="draw",
    agreement=True,
    opentafl="esc:e surf:n tfr:d ks:c cor: cens: cenh:",
)

RULES: Mapping[str, Rules] = MappingProxyType({rules.name: rules for rules in (BRANDUBH, TAWLBWRDD)})


def get_rules(game: Rules | str) -> Rules:
    """Return the rules of a game given by name, or `game` itself.

    Raises:
        ValueError: no such game; the message lists those there are.
    """
    if isinstance(game, Rules):
        return game
    try:
        return RULES[game]
    except (KeyError, TypeError):  # unknown, or of a type that cannot be a name
        raise ValueError(f"no game is called {game!r}; there are: {', '.join(RULES)}") from None
