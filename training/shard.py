"""What one iteration of self-play yields: finished games, and the positions of theirs that train the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from env import Game, Rules
from env.board import REASONS
from env.notation import format_position
from training import ranges
from training.ranges import Range, require_inputs, require_ranges

_OFFSETS = {"policy_offsets", "move_offsets"}


@dataclass(frozen=True)
class Shard:
    """Positions and games as flat arrays: P positions with T legal moves in all, G games.

    Attributes:
        inputs: int8 (P, S + 3), input rows (`env.encoding`).
        policy_offsets: int64 (P + 1,), where each position's legal moves begin in the next two.
        policy_actions: int16 (T,), all legal actions of the positions.
        policy_probs: float32 (T,), improved policy of the search over them.
        policy_weight: float32 (P,), 0 where there is nothing to learn about moves (all are lost), else 1.
        value: float32 (P,), result from the view of the side to play, discounted by the plies to the end; for a
            truncated game the search's last value takes the result's place.
        outlook: float32 (P, 3), win, draw, loss of the side to play, undiscounted.
        game: int32 (P,), the position's game, a row of the arrays below.
        ply: int16 (P,), moves played before the position.
        winner: int8 (G,), 1 attackers, -1 defenders, 0 nobody.
        reason: int8 (G,), code in `env.board.REASONS`; 0 for a truncated game.
        length: int16 (G,), plies.
        layout: int16 (G,), which of the rules' layouts it began from.
        start: int8 (G, S), the board it began from; it lacks pieces where there was a handicap of that kind.
        missing: int8 (G,), how many pieces.
        balance: int8 (G,), the handicap in quarter steps: log2 of attackers' to defenders' simulations, or the
            temperature of the defenders' moves (negative: the attackers').
        move_offsets: int64 (G + 1,), where each game's moves begin in the next.
        moves: int16 (sum of lengths,), action numbers.
        counters: sums over the iteration, as `evaluations`, `simulations`, `search_seconds`.
    """

    inputs: np.ndarray
    policy_offsets: np.ndarray
    policy_actions: np.ndarray
    policy_probs: np.ndarray
    policy_weight: np.ndarray
    value: np.ndarray
    outlook: np.ndarray
    game: np.ndarray
    ply: np.ndarray
    winner: np.ndarray
    reason: np.ndarray
    length: np.ndarray
    layout: np.ndarray
    start: np.ndarray
    missing: np.ndarray
    balance: np.ndarray
    move_offsets: np.ndarray
    moves: np.ndarray
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def positions(self) -> int:
        """Number of positions P."""
        return len(self.inputs)

    @property
    def games(self) -> int:
        """Number of games G."""
        return len(self.winner)

    def game_moves(self, game: int) -> np.ndarray:
        """Return the action numbers of one game, int16 (length,)."""
        return self.moves[self.move_offsets[game] : self.move_offsets[game + 1]]

    def new_game(self, rules: Rules, game: int) -> Game:
        """Return one of the games as it began, for its moves to be played."""
        if not self.missing[game]:
            return Game(rules, list(rules.layouts)[self.layout[game]])
        return Game.from_position(rules, format_position(rules.size, self.start[game]), rules.first)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything but the counters, by field name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "counters"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], counters: Mapping[str, float] | None = None) -> Shard:
        """Return the shard that `arrays()` was taken from.

        Raises:
            ValueError: an array is missing, or lengths do not fit together.

        See `require` for what the arrays of a stranger need besides.
        """
        names = [item.name for item in fields(cls) if item.name != "counters"]
        if missing := [name for name in names if name not in arrays]:
            raise ValueError(f"the shard lacks {', '.join(missing)}")
        shard = cls(**{name: np.asarray(arrays[name]) for name in names}, counters=dict(counters or {}))
        shard._check()
        return shard

    def _check(self) -> None:
        positions, games = self.positions, self.games
        expected = {
            "policy_offsets": positions + 1,
            "policy_actions": int(self.policy_offsets[-1]) if len(self.policy_offsets) else 0,
            "policy_probs": len(self.policy_actions),
            "move_offsets": games + 1,
            "moves": int(self.move_offsets[-1]) if len(self.move_offsets) else 0,
            **dict.fromkeys(("policy_weight", "value", "outlook", "game", "ply"), positions),
            **dict.fromkeys(("reason", "length", "layout", "start", "missing", "balance"), games),
        }
        for name, length in expected.items():
            if len(getattr(self, name)) != length:
                raise ValueError(f"the shard's {name} has {len(getattr(self, name))} rows, expected are {length}")

    def require(self, rules: Rules) -> None:
        """See that the arrays hold only what they can in a game.

        Raises:
            ValueError: where one does not; the message names it.
        """
        long = Range(0, np.iinfo(np.int16).max)
        for name, steps in (("policy_offsets", ranges.moves(rules)), ("move_offsets", long)):
            offsets = getattr(self, name)
            if offsets[0] != 0:
                raise ValueError(f"{name} begins with {offsets[0]} instead of 0")
            require_ranges({f"{name} (steps)": np.diff(offsets)}, {f"{name} (steps)": steps})
        require_inputs("inputs", self.inputs, rules)
        if self.start.shape[1:] != (rules.cells,) or self.outlook.shape[1:] != (3,):
            raise ValueError(f"start and outlook have the shapes {self.start.shape} and {self.outlook.shape}")
        require_ranges(
            self.arrays(),
            {
                **dict.fromkeys(("policy_actions", "moves"), ranges.actions(rules)),
                **dict.fromkeys(("policy_probs", "policy_weight", "outlook"), ranges.SHARE),
                "value": ranges.VALUE,
                "game": Range(0, max(0, self.games - 1)),
                **dict.fromkeys(("ply", "length"), long),
                "winner": Range(-1, 1),
                "reason": Range(0, len(REASONS) - 1),
                "layout": ranges.layouts(rules),
                "start": ranges.BOARD,
                "missing": Range(0, rules.cells),
                "balance": ranges.BALANCE,
            },
        )

    @classmethod
    def concatenate(cls, shards: Sequence[Shard]) -> Shard:
        """Return several shards as one, in order; counters are added up."""
        arrays: dict[str, np.ndarray] = {}
        for name in shards[0].arrays():
            parts = [getattr(shard, name) for shard in shards]
            if name in _OFFSETS:
                ends = np.cumsum([0] + [part[-1] for part in parts])
                parts = [parts[0], *(part[1:] + end for part, end in zip(parts[1:], ends[1:], strict=False))]
            elif name == "game":
                firsts = np.cumsum([0] + [shard.games for shard in shards])
                parts = [part + first for part, first in zip(parts, firsts, strict=False)]
            arrays[name] = np.concatenate(parts).astype(parts[0].dtype)
        counters: dict[str, float] = {}
        for shard in shards:
            for name, value in shard.counters.items():
                counters[name] = counters.get(name, 0.0) + value
        return cls(**arrays, counters=counters)
