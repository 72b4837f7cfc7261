"""A match between two players: many games at once, each opening played twice with the sides swapped.

Games advance in lock-step: in every round each player is asked once, for its moves in all games where it is to move.
What a player leaves to chance is decided by seeds made of the match's seed, the game's number and the ply, so a match
between players without a clock is played the same again.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from arena.interval import wilson
from arena.openings import Opening
from arena.players import Player
from env import Game, IllegalMove, Rules
from env.records import Record, record_of
from env.rules import SIDES

UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """One game of a match.

    Attributes:
        number: its place in the match, from 0; numbers 2k and 2k + 1 are the pair k.
        opening: where it began.
        side: the first player's side.
        game: the game as it stands at the end.
        score: the first player's: 1 for a win, 1/2 for a draw or an unfinished game, 0 for a loss.
    """

    number: int
    opening: Opening
    side: str
    game: Game
    score: float

    @property
    def reason(self) -> str:
        """Why it ended; `"unfinished"` at the ply limit."""
        return self.game.outcome.reason if self.game.outcome else UNFINISHED


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a match has come: games ended, games in all, plies played, and the first player's points."""

    ended: int
    games: int
    plies: int
    points: float


@dataclass(frozen=True)
class MatchResult:
    """What a match came to, from the first player's view.

    Attributes:
        player, opponent: the players' names.
        rules, layout, openings: what was played, from which collection of openings.
        seed, max_plies: as given.
        planned: games that were to be played; more than `games` if the match was interrupted, and then the games
            that happened to be over first are counted, which are the short ones.
        played: the games that came to an end, in the order of their numbers.
        seconds: time each side spent on its moves, `{"player": s, "opponent": s}`.
    """

    player: str
    opponent: str
    rules: Rules
    layout: str
    openings: str
    seed: int
    max_plies: int
    planned: int
    played: tuple[PlayedGame, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Number of games that came to an end."""
        return len(self.played)

    @property
    def interrupted(self) -> bool:
        """Whether fewer games were played than planned."""
        return self.games < self.planned

    def side(self, side: str | None) -> list[PlayedGame]:
        """The games that the first player played as `side`; `None`: all."""
        return [game for game in self.played if side in (None, game.side)]

    @property
    def score(self) -> dict[str, float | None]:
        """Mean score as attackers, as defenders and overall, in [0, 1]; `None` where no game was played."""
        parts = {side: [game.score for game in self.side(side)] for side in SIDES}
        parts["overall"] = [game.score for game in self.played]
        return {name: sum(scores) / len(scores) if scores else None for name, scores in parts.items()}

    @property
    def interval(self) -> tuple[float, float]:
        """95 % score interval of the overall score, from pairs of games.

        The two games of a pair share an opening, which may favour a side, so only whole pairs are independent; of
        pairs that were played move for move alike only one counts. See `arena.interval.wilson`.
        """
        pairs: dict[int, list[PlayedGame]] = {}
        for game in self.played:
            pairs.setdefault(game.number // 2, []).append(game)
        whole = [pair for pair in pairs.values() if len(pair) == 2]
        scores = [(first.score + second.score) / 2 for first, second in whole]
        distinct = {(_line(first), _line(second)) for first, second in whole}
        return wilson(sum(scores) / len(scores) if scores else 0.5, len(distinct))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % score intervals as attackers and as defenders.

        A player has one game of each pair on either side, so the games of a side are independent; of those that were
        played move for move alike only one counts.
        """
        intervals = {}
        for side in SIDES:
            games = self.side(side)
            mean = sum(game.score for game in games) / len(games) if games else 0.5
            intervals[side] = wilson(mean, len({_line(game) for game in games}))
        return intervals

    @property
    def unfinished(self) -> int:
        """Games cut off at the ply limit."""
        return sum(game.game.outcome is None for game in self.played)

    @property
    def distinct(self) -> int:
        """Different sequences of moves among the games."""
        return len({_line(game) for game in self.played})

    @property
    def ends(self) -> dict[str, int]:
        """Games by the reason of their end, the commonest first."""
        return dict(Counter(game.reason for game in self.played).most_common())

    @property
    def lengths(self) -> dict[str, float]:
        """Mean, shortest and longest length of the games in plies, the opening included."""
        plies = [game.game.ply for game in self.played] or [0]
        return {"mean": sum(plies) / len(plies), "min": min(plies), "max": max(plies)}

    def results(self, side: str | None = None) -> dict[str, int]:
        """How many games were won, drawn, lost and unfinished, as one side or as both (`None`)."""
        games = self.side(side)
        cut = sum(game.game.outcome is None for game in games)
        won, lost = (sum(game.score == score for game in games) for score in (1.0, 0.0))
        return {"won": won, "drawn": len(games) - won - lost - cut, "lost": lost, UNFINISHED: cut}

    def records(self) -> list[Record]:
        """The games as records, with the players, the opening and the number of each among the tags."""
        player, opponent = _tag(self.player), _tag(self.opponent)
        records = []
        for played in self.played:
            attackers, defenders = (player, opponent) if played.side == SIDES[0] else (opponent, player)
            tags = {"round": str(played.number + 1), "opening": str(played.opening)}
            records.append(record_of(played.game, None, attackers=attackers, defenders=defenders, **tags))
        return records

    def to_json(self) -> dict[str, Any]:
        """Everything but the games, ready for `json.dumps`."""
        return {
            "player": self.player,
            "opponent": self.opponent,
            "game": self.rules.name,
            "layout": self.layout,
            "openings": self.openings,
            "score": self.score,
            "interval": list(self.interval),
            "intervals": {side: list(interval) for side, interval in self.intervals.items()},
            "games": self.games,
            "planned": self.planned,
            "unfinished": self.unfinished,
            "distinct": self.distinct,
            "results": {side: self.results(side) for side in SIDES},
            "ends": self.ends,
            "lengths": self.lengths,
            "seconds": self.seconds,
            "seed": self.seed,
            "max_plies": self.max_plies,
        }


def default_max_plies(rules: Rules) -> int:
    """Ply limit of matches: four plies for each square, several times the length of usual games."""
    return 4 * rules.cells


def play_match(
    player: Player,
    opponent: Player,
    rules: Rules,
    openings: Sequence[Opening],
    games: int,
    max_plies: int | None = None,
    seed: int = 0,
    progress: Callable[[Standing], None] | None = None,
) -> MatchResult:
    """Plays a match and returns what came of it; interrupted by Ctrl-C, what came of it so far.

    Args:
        player, opponent: who plays; scores are the first one's.
        rules: the game.
        openings: where games begin, taken in an order that `seed` decides; used again when there are more pairs.
        games: at least 1; an odd number is made even, since each opening is played from both sides.
        max_plies: plies (those of the opening included) after which a game is unfinished and scores a half; `None`:
            `default_max_plies`.
        seed: not negative.
        progress: told after every round how far the match has come.

    A player that answers with an illegal move forfeits the game.

    Raises:
        ValueError: an argument out of its range.
    """
    if games < 1:
        raise ValueError(f"a match of {games} games: play at least 1")
    if seed < 0:
        raise ValueError(f"seed {seed}: it cannot be negative")
    if not openings:
        raise ValueError("a match needs at least one opening; `Opening(layout, ())` is the start itself")
    max_plies = default_max_plies(rules) if max_plies is None else max_plies
    longest = max(len(opening.moves) for opening in openings)
    if max_plies <= longest:
        raise ValueError(f"a limit of {max_plies} plies: the openings alone have up to {longest}")

    pairs = ceil(games / 2)
    order = np.random.default_rng(seed).permutation(len(openings))
    chosen = [openings[order[pair % len(openings)]] for pair in range(pairs)]
    board = [opening.game(rules) for opening in chosen for _ in SIDES]
    going = list(range(len(board)))
    ended: dict[int, PlayedGame] = {}
    seconds = {"player": 0.0, "opponent": 0.0}
    try:
        while going:
            for role, mover in (("player", player), ("opponent", opponent)):
                # In games of even number the first player attacks.
                turn = [i for i in going if (board[i].to_play == SIDES[i % 2]) == (role == "player")]
                if not turn:
                    continue
                started = time.perf_counter()
                moves = mover.choose([board[i] for i in turn], [_seed(seed, i, board[i].ply) for i in turn])
                seconds[role] += time.perf_counter() - started
                for i, move in zip(turn, moves, strict=True):
                    try:
                        board[i].play(move)
                    except IllegalMove:
                        board[i].forfeit(board[i].to_play)
                    if board[i].outcome is not None or board[i].ply >= max_plies:
                        side = SIDES[i % 2]
                        ended[i] = PlayedGame(i, chosen[i // 2], side, board[i], _score(board[i], side))
                going = [i for i in going if i not in ended]
            if progress is not None:
                points = sum(game.score for game in ended.values())
                progress(Standing(len(ended), len(board), sum(game.ply for game in board), points))
    except KeyboardInterrupt:
        pass
    return MatchResult(
        player=player.name,
        opponent=opponent.name,
        rules=rules,
        layout=chosen[0].layout,
        openings=chosen[0].source,
        seed=seed,
        max_plies=max_plies,
        planned=len(board),
        played=tuple(ended[i] for i in sorted(ended)),
        seconds={role: round(spent, 3) for role, spent in seconds.items()},
    )


def _seed(seed: int, game: int, ply: int) -> int:
    return int(np.random.SeedSequence((seed, game, ply)).generate_state(1)[0])


def _score(game: Game, side: str) -> float:
    if game.outcome is None or game.outcome.winner is None:
        return 0.5
    return float(game.outcome.winner == side)


def _tag(name: str) -> str:
    return re.sub(r"[\[\]]", " ", name)


def _line(game: PlayedGame) -> tuple[str, ...]:
    return tuple(str(move) for move in game.game.moves)
