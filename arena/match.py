"""A match between two players: many games at once, each opening played twice with the sides swapped.

Games advance in lock-step: in every round each player is asked once, for its moves in all games where it is to move.
They begin in the order of their numbers, as many at a time as are wanted, so that whole pairs come early. What a player
leaves to chance is decided by seeds made of the match's seed, the game's number and the ply, so a game between players
without a clock is played the same again, whichever games are played beside it; hence a match that was stopped, and goes
on with the games that are left, comes out as if it had not been.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType

import numpy as np

from arena.fault import ILLEGAL, Fault
from arena.match_result import ROLES, UNFINISHED, MatchResult, MoveTimes, PlayedGame, Standing, game_score
from arena.openings import Opening
from arena.players import Player
from arena.sprt import Sprt, SprtResult, SprtRun
from env import Game, IllegalMove, Move, Rules
from env.rules import SIDES

__all__ = ["UNFINISHED", "MatchResult", "PlayedGame", "Standing", "default_max_plies", "pair_openings", "play_match"]

AT_ONCE = 512
"""Games that go at a time where nothing else is said: enough to fill a network's batches."""


@dataclass(slots=True)
class _Going:
    """A game that is being played."""

    opening: Opening
    game: Game
    fault: Fault | None = None
    times: dict[str, MoveTimes] = field(default_factory=lambda: dict.fromkeys(ROLES, MoveTimes()))


def default_max_plies(rules: Rules) -> int:
    """Ply limit of matches: four plies for each square, several times the length of usual games."""
    return 4 * rules.cells


def pair_openings(openings: Sequence[Opening], pairs: int, seed: int) -> list[Opening]:
    """The opening of each pair, in an order that `seed` decides; used again when there are more pairs."""
    order = np.random.default_rng(seed).permutation(len(openings))
    return [openings[order[pair % len(openings)]] for pair in range(pairs)]


def play_match(
    player: Player,
    opponent: Player,
    rules: Rules,
    openings: Sequence[Opening],
    games: int,
    max_plies: int | None = None,
    seed: int = 0,
    progress: Callable[[Standing], None] | None = None,
    *,
    at_once: int = AT_ONCE,
    finished: Mapping[int, PlayedGame] = MappingProxyType({}),
    keep: Callable[[PlayedGame], None] | None = None,
    sprt: Sprt | None = None,
) -> MatchResult:
    """Plays a match and returns what came of it; interrupted by Ctrl-C, what came of it so far.

    Args:
        player, opponent: who plays; scores are the first one's.
        rules: the game.
        openings: where games begin (see `pair_openings`).
        games: at least 1; an odd number is made even, since each opening is played from both sides.
        max_plies: plies (those of the opening included) after which a game is unfinished and scores a half; `None`:
            `default_max_plies`.
        seed: not negative.
        progress: told after every round how far the match has come.
        at_once: how many games go at a time, at least 1.
        finished: games of this very match that are over already, by number; they are not played again.
        keep: told of every game as soon as it is over.
        sprt: a sequential test of the pairs in their order, whichever is over first; the match ends when it decides,
            and what goes beyond the deciding pair is not in the result.

    A player that answers with an illegal move, or reports a fault of its own, forfeits the game.

    Raises:
        ValueError: an argument out of its range.
    """
    if games < 1:
        raise ValueError(f"a match of {games} games: play at least 1")
    if at_once < 1:
        raise ValueError(f"{at_once} games at a time: at least 1")
    if seed < 0:
        raise ValueError(f"seed {seed}: it cannot be negative")
    if not openings:
        raise ValueError("a match needs at least one opening; `Opening(layout, ())` is the start itself")
    max_plies = default_max_plies(rules) if max_plies is None else max_plies
    longest = max(len(opening.moves) for opening in openings)
    if max_plies <= longest:
        raise ValueError(f"a limit of {max_plies} plies: the openings alone have up to {longest}")

    planned = 2 * ceil(games / 2)
    chosen = pair_openings(openings, planned // 2, seed)
    ended = {number: game for number, game in finished.items() if number < planned}
    waiting = [number for number in reversed(range(planned)) if number not in ended]
    going: dict[int, _Going] = {}
    seconds = dict.fromkeys(ROLES, 0.0)
    test = _Test(sprt, ended)
    plies, points = sum(game.game.ply for game in ended.values()), sum(game.score for game in ended.values())
    try:
        while (going or waiting) and not test.decided:
            while waiting and len(going) < at_once:
                number = waiting.pop()
                going[number] = _Going(chosen[number // 2], chosen[number // 2].game(rules))
            for role, mover in zip(ROLES, (player, opponent)):
                # In games of even number the first player attacks.
                turn = [n for n in going if (going[n].game.to_play == SIDES[n % 2]) == (role == ROLES[0])]
                if turn:
                    started = time.perf_counter()
                    _move(mover, role, {n: going[n] for n in turn}, seed)
                    seconds[role] += time.perf_counter() - started
                for number in turn:
                    played = _over(number, going[number], max_plies)
                    if played is not None:
                        ended[number] = played
                        plies, points = plies + played.game.ply, points + played.score
                        _release(going.pop(number).game, player, opponent)
                        if keep is not None:
                            keep(played)
                test.look(ended)
            if progress is not None:
                so_far = plies + sum(each.game.ply for each in going.values())
                progress(Standing(len(ended), planned, so_far, points, test.note))
    except KeyboardInterrupt:
        pass
    finally:
        for each in going.values():
            _release(each.game, player, opponent)
    counted = [n for n in sorted(ended) if not test.decided or n < 2 * test.pairs]
    return MatchResult(
        player=player.name,
        opponent=opponent.name,
        rules=rules,
        layout=chosen[0].layout,
        openings=chosen[0].source,
        seed=seed,
        max_plies=max_plies,
        planned=planned,
        played=tuple(ended[n] for n in counted),
        seconds={role: round(spent, 3) for role, spent in seconds.items()},
        sprt=test.result,
    )


def _move(mover: Player, role: str, turn: Mapping[int, _Going], seed: int) -> None:
    """Has a player move in all the games where it is to move."""
    games = [each.game for each in turn.values()]
    seeds = [_seed(seed, number, each.game.ply) for number, each in turn.items()]
    started = time.perf_counter()
    attempt: Callable[[Sequence[Game], Sequence[int]], Sequence[Move | Fault]] = getattr(mover, "attempt", mover.choose)
    answers = attempt(games, seeds)
    share = (time.perf_counter() - started) / len(games)
    spent: Sequence[float] = getattr(mover, "spent", ())
    if len(spent) != len(games):
        spent = [share] * len(games)
    for each, answer, took in zip(turn.values(), answers, spent, strict=True):
        each.times[role] = each.times[role].add(took)
        if isinstance(answer, Fault):
            each.fault = answer
        else:
            try:
                each.game.play(answer)
            except IllegalMove as error:
                each.fault = Fault(ILLEGAL, f"{error.move}, {error.problem}")
        if each.fault is not None:
            each.game.forfeit(each.game.to_play)


def _over(number: int, each: _Going, max_plies: int) -> PlayedGame | None:
    if each.game.outcome is None and each.game.ply < max_plies:
        return None
    side = SIDES[number % 2]
    return PlayedGame(number, each.opening, side, each.game, game_score(each.game, side), each.fault, each.times)


def _release(game: Game, *players: Player) -> None:
    """Tells players that hold something for each game, as a process, that this one is over."""
    for player in players:
        if (release := getattr(player, "release", None)) is not None:
            release(game)


class _Test:
    """A sequential test that sees the whole pairs in their order, as far as there is no gap."""

    def __init__(self, sprt: Sprt | None, ended: Mapping[int, PlayedGame]) -> None:
        self._run = None if sprt is None else SprtRun(sprt)
        self._lines: set[tuple[tuple[int, ...], ...]] = set()
        self.look(ended)

    @property
    def result(self) -> SprtResult | None:
        return None if self._run is None else self._run.result

    @property
    def decided(self) -> bool:
        return self._run is not None and self._run.result.decided

    @property
    def pairs(self) -> int:
        """Pairs taken so far."""
        return 0 if self._run is None else self._run.result.taken

    @property
    def note(self) -> str:
        return "" if self._run is None else f"LLR {self._run.result.llr:+.2f}"

    def look(self, ended: Mapping[int, PlayedGame]) -> None:
        """Takes the pairs that are whole now."""
        while self._run is not None and not self.decided:
            pair = ended.get(2 * self.pairs), ended.get(2 * self.pairs + 1)
            if pair[0] is None or pair[1] is None:
                break
            line = pair[0].line, pair[1].line
            # A pair that was played move for move like an earlier one tells nothing new.
            self._run.take(None if line in self._lines else (pair[0].score + pair[1].score) / 2)
            self._lines.add(line)


def _seed(seed: int, game: int, ply: int) -> int:
    return int(np.random.SeedSequence((seed, game, ply)).generate_state(1)[0])
