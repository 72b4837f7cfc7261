"""Measuring a run's network against a fixed opponent, and which network counts as the best.

Matches are played by `arena`, each opening from both sides. They never touch what training depends on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from arena import MatchResult, Opening, Standing, load_openings, parse_player, play_match
from arena.openings import openings_path
from env.rules import Rules
from training.config import MeasureConfig

ROUND_GAMES = 32  # games of a round of the last match, both sides together


@dataclass(frozen=True)
class Strength:
    """A score in [0, 1] against an opponent, from each side; draws and unfinished games are halves.

    Attributes:
        iteration: the network's.
        attackers, defenders: its score as that side.
        games: number of games, both sides together.
        opponent, simulations: whom it met, and with how many simulations a move; "" and 0 where that is not known, as
            in what older versions stored.
    """

    iteration: int
    attackers: float
    defenders: float
    games: int
    opponent: str = ""
    simulations: int = 0

    @property
    def overall(self) -> float:
        """The mean of both sides' scores."""
        return (self.attackers + self.defenders) / 2

    def error(self) -> float:
        """Return the standard error of `overall`, at most; draws make it smaller."""
        spread = sum(score * (1 - score) for score in (self.attackers, self.defenders))
        # A score of 0 or 1 is not certain either: half a game's worth of doubt stays.
        return math.sqrt(max(spread, 1 / self.games) / (2 * self.games))

    def displaces(self, best: Strength | None) -> bool:
        """Return whether this later network becomes the best.

        It does unless it is clearly weaker, by more than one standard error of the difference: learning goes upwards
        in general, and among many short measurements the highest is the luckiest, not the strongest. Where the best
        was measured in another way nothing can be compared, and the later network takes its place.
        """
        if best is None or not self.alike(best):
            return True
        return self.overall >= best.overall - math.hypot(self.error(), best.error())

    def alike(self, other: Strength | MeasureConfig) -> bool:
        """Return whether another score was, or will be, found against the same opponent and in the same way."""
        return (self.opponent, self.simulations) == (other.opponent, other.simulations)

    def told(self, wanted: int) -> str:
        """Return it in words, with what kept it from having `wanted` games, where it has fewer."""
        return str(self) + (f" (there was no time for all {wanted})" if self.games < wanted else "")

    def __str__(self) -> str:
        return f"{self.attackers:.0%} as attackers, {self.defenders:.0%} as defenders, {self.games} games"


def measure(
    checkpoint: Path,
    rules: Rules,
    config: MeasureConfig,
    iteration: int,
    device: str,
    threads: int,
    *,
    games: int,
    seconds: float = math.inf,
    check: Callable[[], None] = lambda: None,
    progress: Callable[[int, int], None] = lambda ended, games: None,
) -> tuple[Strength, MatchResult] | None:
    """Play a match of a checkpoint.

    Args:
        checkpoint: file of the network.
        rules: the game.
        config: opponent and simulations.
        iteration: the network's; it also seeds the match, so that different networks meet different openings.
        device, threads: where the network runs, and worker threads.
        games: games with each side.
        seconds: time for all; when it runs out, the rounds played whole are what counts.
        check: called after every move; what it raises ends the match.
        progress: told games ended and games in all.

    Returns:
        The strength and the match, or None where there was no time for a single round.
    """
    network = parse_player(f"{checkpoint}:simulations={config.simulations}", rules, device=device, threads=threads)
    opponent = parse_player(config.opponent, rules, device=device, threads=threads)
    openings = measuring_openings(rules)
    deadline = time.monotonic() + seconds
    total = 2 * games
    round_games = total if math.isinf(seconds) else min(total, ROUND_GAMES)
    merged: MatchResult | None = None

    while merged is None or merged.games < total:
        done = merged.games if merged else 0

        def watch(standing: Standing, done: int = done) -> None:
            check()
            if time.monotonic() > deadline:
                raise _TimeOver
            progress(done + standing.ended, total)

        try:
            part = play_match(
                network,
                opponent,
                rules,
                _slice(openings, done // 2 + iteration, round_games // 2),
                min(round_games, total - done),
                seed=iteration,
                progress=watch,
            )
        except _TimeOver:
            break
        merged = part if merged is None else _merge(merged, part)
    if merged is None:
        return None
    score = merged.score
    attackers, defenders = score["attackers"], score["defenders"]
    assert attackers is not None and defenders is not None
    return Strength(iteration, attackers, defenders, merged.games, config.opponent, config.simulations), merged


def check_opponent(config: MeasureConfig, rules: Rules) -> None:
    """See before a run begins that it can be measured.

    Raises:
        arena.PlayerError, arena.OpeningsError: where it cannot.
    """
    if config.minutes or config.final_games:
        parse_player(config.opponent, rules)
        measuring_openings(rules)


def measuring_openings(rules: Rules) -> list[Opening]:
    """Return the project's openings of a game; the start alone for a game that has none yet.

    Raises:
        arena.OpeningsError: where their file is damaged.
    """
    if openings_path(rules).exists():
        return load_openings(rules)
    return [Opening(rules.default_layout, ())]


class _TimeOver(Exception):
    pass


def _slice(openings: list[Opening], start: int, count: int) -> list[Opening]:
    return [openings[(start + i) % len(openings)] for i in range(min(count, len(openings)))]


def _merge(first: MatchResult, second: MatchResult) -> MatchResult:
    renumbered = (replace(game, number=game.number + first.games) for game in second.played)
    return replace(
        first,
        planned=first.planned + second.planned,
        played=(*first.played, *renumbered),
        seconds={role: first.seconds[role] + second.seconds[role] for role in first.seconds},
    )
