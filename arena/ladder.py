"""The ladder: how a run's checkpoints climb, on the scale of the known players.

Every checkpoint plays known players (`arena.anchors`) near its own strength, chosen anew for each batch of games: a
player that wins 98 % of its games says little of how strong it is. The most is learnt where a game's result is most
open, so a batch goes to the known player that adds most to what is known (Fisher information, p (1 - p) a game) of the
two sides together, the side that is known less counting for more.
"""

from __future__ import annotations

import itertools
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arena.anchors import Known
from arena.ladder_games import Batch, GameStore, LadderError, batch_of, batch_problem, fingerprint
from arena.match import Standing, play_match
from arena.openings import Opening
from arena.player_text import SUFFIX, PlayerError, checkpoint_header
from arena.players import parse_player
from arena.rating import Anchors, Estimate, Rating, SideRating, expected, fit
from env import Rules
from env.rules import SIDES

BATCH = 16
"""Games of a batch: eight openings, each from both sides."""


@dataclass(frozen=True)
class Rung:
    """One checkpoint on the ladder.

    Attributes:
        name: what it is called in tables.
        path: its file.
        weights: see `arena.ladder_games.fingerprint`.
        game: that it plays.
        step: learner steps made.
        core_minutes: processor time of its training, all cores added up.
        positions, games: of self-play.
    """

    name: str
    path: Path
    weights: str
    game: str
    step: int
    core_minutes: float
    positions: int
    games: int


@dataclass(frozen=True)
class Ladder:
    """Ratings of a run's checkpoints.

    Attributes:
        source: the run or checkpoint.
        rules, layout, simulations: what was played, with how many simulations a move.
        known: the players that they are compared with.
        rungs: the checkpoints, in the order of their training.
        ratings: of those that have games, by name.
        batches: their games, by name.
        interrupted: whether Ctrl-C ended the playing.
    """

    source: Path
    rules: Rules
    layout: str
    simulations: int
    known: Known
    rungs: tuple[Rung, ...]
    ratings: dict[str, Rating]
    batches: dict[str, list[Batch]]
    interrupted: bool = False

    @property
    def games(self) -> int:
        """Games that the ratings come from."""
        return sum(len(batch.games) for batches in self.batches.values() for batch in batches)

    def to_json(self) -> dict[str, Any]:
        """Everything but the games, ready for `json.dumps`; ratings are [elo, low, high]."""

        def triple(estimate: Estimate | None) -> list[float] | None:
            return None if estimate is None else [round(x, 1) for x in (estimate.elo, estimate.low, estimate.high)]

        def part(rating: SideRating) -> dict[str, Any]:
            return {
                "elo": triple(rating.estimate),
                "games": rating.games,
                "points": rating.points,
                "open_end": rating.open_end,
            }

        players = []
        for rung in self.rungs:
            if (rating := self.ratings.get(rung.name)) is None:
                continue
            players.append(
                {
                    "name": rung.name,
                    "weights": rung.weights,
                    "simulations": self.simulations,
                    "step": rung.step,
                    "core_minutes": round(rung.core_minutes, 3),
                    "positions": rung.positions,
                    "overall": triple(rating.overall),
                    "open_end": rating.open_end,
                    **{side: part(rating.side(side)) for side in SIDES},
                    "opponents": opponents(self.batches[rung.name]),
                }
            )
        anchors = {
            name: {part: triple(estimate) for part, estimate in parts.items()}
            for name, parts in self.known.estimates.items()
        }
        return {
            "source": str(self.source),
            "game": self.rules.name,
            "layout": self.layout,
            "openings": self.known.openings,
            "ratings": self.known.name,
            "advantage": self.known.anchors.advantage,
            "games": self.games,
            "players": players,
            "anchors": anchors,
        }


def opponents(batches: Sequence[Batch]) -> dict[str, int]:
    """Number of games against each known player."""
    counts: dict[str, int] = {}
    for batch in batches:
        counts[batch.opponent] = counts.get(batch.opponent, 0) + len(batch.games)
    return counts


def whole_batches(games: int) -> int:
    """Games that a checkpoint gets when so many are asked for."""
    return math.ceil(games / BATCH) * BATCH


def find_rungs(source: Path, copies: Path, most: int | None = None, notes: list[str] | None = None) -> list[Rung]:
    """The checkpoints of a run, in the order of their training, or a single one.

    A run that is being trained writes new checkpoints over old ones and deletes some, so they are copied first.

    Args:
        source: a run's folder, or a checkpoint's file.
        copies: a folder for the copies, which the rungs refer to.
        most: how many at most; the first and the last are among them, the others evenly between. `None`: all.
        notes: sentences about checkpoints of a run that cannot be read, which are left out, are added to it.

    Raises:
        LadderError: there is none that can be read.
    """
    if not source.exists():
        hint = " (how many simulations: --simulations)" if ":simulations" in str(source) else ""
        raise LadderError(f"{source}: there is no such run or checkpoint{hint}")
    if source.is_dir():
        # The numbered ones first: of several files of the same step the first is taken.
        files = sorted((source / "checkpoints").glob(f"[0-9]*{SUFFIX}"))
        files += [source / f"{name}{SUFFIX}" for name in ("best", "latest")]
    else:
        files = [source]
    known: dict[int, Path] = {}
    problems: list[str] = []
    for path in files:
        copy = copies / f"{path.stem}{SUFFIX}"
        try:
            if path.exists() and not path.is_file():
                raise PlayerError(f"{path} is no checkpoint: it is not a regular file")
            shutil.copyfile(path, copy)
            known.setdefault(checkpoint_header(copy).provenance.step, copy)
        except FileNotFoundError:
            continue
        except PermissionError as error:
            problems.append(f"{path} cannot be read ({error.strerror})")
        except PlayerError as error:
            problems.append(str(error).replace(str(copy), str(path)).rstrip("."))
    if problems and not known:
        raise LadderError(problems[0])
    if notes is not None:
        notes += [f"{problem}; this checkpoint is left out." for problem in problems]
    if not known:
        raise LadderError(f"{source}: a run without checkpoints (none in checkpoints/, no latest{SUFFIX}); train it")
    chosen = [known[step] for step in sorted(known)]
    if most is not None and len(chosen) > most:
        picks = sorted({round(x) for x in np.linspace(0, len(chosen) - 1, most)}) if most > 1 else [len(chosen) - 1]
        chosen = [chosen[pick] for pick in picks]
    return [_rung(path) for path in chosen]


def _rung(path: Path) -> Rung:
    header = checkpoint_header(path)
    origin = header.provenance
    return Rung(
        name=path.stem,
        path=path,
        weights=fingerprint(path),
        game=header.game,
        step=origin.step,
        core_minutes=origin.core_seconds / 60,
        positions=origin.positions,
        games=origin.games,
    )


def play_ladder(
    source: Path,
    rungs: Sequence[Rung],
    rules: Rules,
    known: Known,
    openings: Sequence[Opening],
    store: GameStore,
    *,
    games: int,
    simulations: int,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    progress: Callable[[str, int, int, Standing], None] | None = None,
) -> Ladder:
    """Plays until every checkpoint has so many games, those played before included, and rates them.

    Args:
        source: the run or checkpoint that `rungs` are of.
        rungs: from `find_rungs`.
        rules, known, openings: the game, the players to compare with, and where games begin.
        store: where games are kept, open.
        games: of each checkpoint; rounded up to whole batches.
        simulations: of a checkpoint, a move.
        seed: order of openings, chance.
        device, threads: where networks run.
        progress: told the rung's name, games stored and games wanted of all rungs, and how its match stands.

    Raises:
        OSError: games cannot be kept.
    """
    if not known.anchors.strengths:
        raise LadderError(f"{known.name} knows no players")

    def problem(batch: Batch) -> str:
        if not _fitting([batch], rules, openings):
            return ""  # of another ladder, which is asked for another time
        if batch.opponent not in known.anchors.strengths:
            return f"it is against {batch.opponent[:40]!r}, which is not among the players of {known.name}"
        return batch_problem(batch, rules, openings)

    batches = {
        rung.name: _fitting(store.batches(rung.weights, simulations, problem), rules, openings) for rung in rungs
    }
    wanted = whole_batches(games)
    interrupted = False
    while not interrupted:
        played = {rung.name: sum(len(batch.games) for batch in batches[rung.name]) for rung in rungs}
        short = [rung for rung in rungs if played[rung.name] < wanted]
        if not short:
            break
        # A checkpoint that only lost, or only won, until it has met its like; then whoever has least, so that stopped
        # early every checkpoint has had its share.
        sought = {rung.name: seek_opponent(known.anchors, batches[rung.name]) for rung in short}
        rung = min(short, key=lambda each: (sought[each.name] is None, played[each.name]))
        # A batch may be missing between others: none is played twice.
        taken = {batch.seed for batch in batches[rung.name]}
        number = next(n for n in itertools.count() if _batch_seed(seed, n) not in taken)
        opponent = sought[rung.name] or choose_opponent(known.anchors, *_guess(rung, rungs, batches, known.anchors))
        names = (f"{rung.path}:simulations={simulations}", opponent)
        player, other = (parse_player(text, rules, device=device, threads=threads) for text in names)
        done, total = sum(played.values()), max(wanted, *played.values()) * len(rungs)
        result = play_match(
            player,
            other,
            rules,
            _next_openings(openings, number, seed),
            BATCH,
            seed=_batch_seed(seed, number),
            progress=partial(progress, rung.name, done, total) if progress else None,
        )
        if interrupted := result.interrupted:
            break  # the games that happened to be over are the short ones: counted, they would lean to one side
        batch = batch_of(result, rung.weights, simulations, time.strftime("%Y-%m-%dT%H:%M:%S"))
        store.add(batch)
        batches[rung.name].append(batch)
    rated = [game for rung in rungs for batch in batches[rung.name] for game in batch.rated(rung.name)]
    ratings = fit(rated, known.anchors).players if rated else {}
    layout = openings[0].layout
    return Ladder(source, rules, layout, simulations, known, tuple(rungs), ratings, batches, interrupted)


def _batch_seed(seed: int, number: int) -> int:
    return seed * 1_000_003 + number


def seek_opponent(anchors: Anchors, batches: Sequence[Batch]) -> str | None:
    """The known player to go on with while a checkpoint has only lost, or only won: halfway to that end of those left.

    Args:
        anchors: to choose from.
        batches: the checkpoint's games so far.

    Returns:
        `None` without games, where some were won and some lost, and where no weaker (stronger) one is left.
    """
    scores = {game.score for batch in batches for game in batch.games}
    if scores not in ({0.0}, {1.0}):
        return None
    by_strength = _by_strength(anchors)
    met = [by_strength.index(batch.opponent) for batch in batches if batch.opponent in by_strength]
    if not met:
        return None
    left = by_strength[: min(met)] if scores == {0.0} else by_strength[max(met) + 1 :]
    return left[len(left) // 2] if left else None


def _by_strength(anchors: Anchors) -> list[str]:
    return sorted(anchors.strengths, key=lambda name: sum(anchors.strengths[name].values()))


def choose_opponent(
    anchors: Anchors, strengths: dict[str, float] | None, information: dict[str, float] | None = None
) -> str:
    """The known player from whom most is learnt.

    Args:
        anchors: to choose from.
        strengths: what is thought of the player, Elo points by side; `None`: nothing, and the middle one is taken.
        information: Fisher information so far by side, in games that are entirely open (p = 1/2) times 1/4.
    """
    by_strength = _by_strength(anchors)
    if strengths is None:
        return by_strength[len(by_strength) // 2]

    def gain(name: str) -> float:
        total = 0.0
        for side in SIDES:
            so_far = 0.25 + (information or {}).get(side, 0.0)
            total += math.log1p(BATCH / 2 * _openness(anchors, side, strengths[side], name) / so_far)
        return total

    return max(by_strength, key=gain)


def _openness(anchors: Anchors, side: str, strength: float, opponent: str) -> float:
    """Return p (1 - p) of a game as `side` against a known player."""
    other = anchors.strengths[opponent][SIDES[1 - SIDES.index(side)]]
    pair = (strength, other) if side == SIDES[0] else (other, strength)
    share = expected(*pair, anchors.advantage)
    return share * (1 - share)


def _guess(
    rung: Rung, rungs: Sequence[Rung], batches: dict[str, list[Batch]], anchors: Anchors
) -> tuple[dict[str, float] | None, dict[str, float]]:
    """Return what is thought of a checkpoint's strengths, from its nearest relation with games, and what is known."""
    at = rungs.index(rung)
    near = sorted((other for other in rungs if batches[other.name]), key=lambda other: abs(rungs.index(other) - at))
    if not near:
        return None, {}
    found = fit((game for batch in batches[near[0].name] for game in batch.rated("it")), anchors).players["it"]
    strengths = {}
    for side in SIDES:
        estimate = found.side(side).estimate
        assert estimate is not None  # every batch has games of both sides
        strengths[side] = estimate.elo
    information = {
        side: sum(
            _openness(anchors, side, strengths[side], batch.opponent)
            for batch in batches[rung.name]
            for game in batch.games
            if game.side == side
        )
        for side in SIDES
    }
    return strengths, information


def _fitting(batches: Sequence[Batch], rules: Rules, openings: Sequence[Opening]) -> list[Batch]:
    """Return the batches that were played as this ladder is."""
    return [
        batch
        for batch in batches
        if (batch.game, batch.layout, batch.openings) == (rules.name, openings[0].layout, openings[0].source)
    ]


def _next_openings(openings: Sequence[Opening], number: int, seed: int) -> list[Opening]:
    """Return the openings of a checkpoint's batch: all are used once before one is used again."""
    order = np.random.default_rng(seed).permutation(len(openings))
    first = number * (BATCH // 2)
    return [openings[order[(first + i) % len(openings)]] for i in range(min(BATCH // 2, len(openings)))]
