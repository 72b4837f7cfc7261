"""The games of a run's ladder: kept in the run, added to and never changed.

    RUN/ladder/lock                                 held by the process that plays
               <weights>-<simulations>/000001.json  a batch of games of one network against one known player

A batch is written whole or not at all, under a number of its own, so a process may be killed at any moment, and no game
counts twice. Networks go by what they are (a checksum of the weights), not by the name of their file.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.match import UNFINISHED, MatchResult
from arena.match_result import game_score
from arena.openings import Opening
from arena.rating import RatedGame
from env import Game, Rules
from env.files import lock_file, open_lock, remove_drafts, write_whole
from env.rules import SIDES

FOLDER = "ladder"
FORMAT = 1


class GamesNotKept(OSError):
    """Games that were played cannot be written; those of the batches before are kept."""


class LadderError(ValueError):
    """A ladder that cannot be made; one sentence says why and what to do."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class LadderGame(_Model):
    """One game.

    Attributes:
        opening: number of its opening, from 1.
        side: the network's.
        score: the network's, 1, 1/2 or 0.
        reason: why it ended, `"unfinished"` at the ply limit.
        moves: all of them, those of the opening included, with spaces between.
    """

    opening: Annotated[int, Field(ge=1, le=1_000_000)]
    side: Literal["attackers", "defenders"]
    score: Annotated[float, Field(ge=0, le=1, multiple_of=0.5)]
    reason: str
    moves: str


class Batch(_Model):
    """Some games of one network against one known player, each opening from both sides.

    Attributes:
        format: version of this form.
        weights: fingerprint of the network, see `fingerprint`.
        simulations: of the network, a move.
        opponent: the known player's name.
        game, layout, openings: what was played, from which collection of openings.
        seed, max_plies: of the match.
        date: when it was played, ISO 8601.
        games: in the order of the match.
    """

    format: Literal[1] = FORMAT
    weights: str
    simulations: Annotated[int, Field(ge=1)]
    opponent: str
    game: str
    layout: str
    openings: str
    seed: int
    max_plies: int
    date: str
    games: list[LadderGame]

    def rated(self, name: str) -> Iterator[RatedGame]:
        """The games for `arena.rating.fit`, the network being called `name`."""
        for game in self.games:
            opening = f"{self.openings}#{game.opening}"
            if game.side == "attackers":
                yield RatedGame(name, self.opponent, game.score, opening)
            else:
                yield RatedGame(self.opponent, name, 1 - game.score, opening)


def batch_of(result: MatchResult, weights: str, simulations: int, date: str) -> Batch:
    """A complete match of a network, as it is kept."""
    return Batch(
        weights=weights,
        simulations=simulations,
        opponent=result.opponent,
        game=result.rules.name,
        layout=result.layout,
        openings=result.openings,
        seed=result.seed,
        max_plies=result.max_plies,
        date=date,
        games=[
            LadderGame(
                opening=played.opening.number,
                side="attackers" if played.side == "attackers" else "defenders",
                score=played.score,
                reason=played.reason,
                moves=" ".join(str(move) for move in played.game.moves),
            )
            for played in result.played
        ],
    )


def batch_problem(batch: Batch, rules: Rules, openings: Sequence[Opening]) -> str:
    """What shows that a batch is not what was played, or `""`; every game is played again, move by move.

    Args:
        batch: of this game, from these openings.
        rules: the game.
        openings: of the collection that the batch names.
    """
    if not batch.games:
        return "it holds no games"
    by_number = {opening.number: opening for opening in openings}
    for count, game in enumerate(batch.games, start=1):
        if (opening := by_number.get(game.opening)) is None:
            return f"game {count} begins with opening {game.opening}, which {batch.openings} does not have"
        if problem := _game_problem(game, opening, rules, batch.max_plies):
            return f"game {count}: {problem}"
    played = Counter((game.opening, game.side) for game in batch.games)
    if any(played[number, SIDES[0]] != played[number, SIDES[1]] for number, _ in played):
        return "its openings are not all played from both sides"
    # Openings are used again only where there are fewer than a batch has pairs.
    if max(played.values()) > ceil(len(batch.games) / (2 * len(openings))):
        return "it holds some games several times"
    return ""


def _game_problem(stored: LadderGame, opening: Opening, rules: Rules, max_plies: int) -> str:
    moves = stored.moves.split()
    if tuple(moves[: len(opening.moves)]) != opening.moves:
        return f"its moves do not begin with opening {opening.number}"
    game = Game(rules, opening.layout)
    for move in moves:
        try:
            game.play(move)
        except ValueError:
            return f"its move {game.ply + 1} ({move[:12]!r}) cannot be played"
    if game.outcome is None and stored.reason == "forfeit":
        game.forfeit(game.to_play)
    reason = UNFINISHED if game.outcome is None else game.outcome.reason
    if reason != stored.reason or game.ply > max_plies or (game.outcome is None and game.ply < max_plies):
        return "its moves do not lead to the end that it tells of"
    if game_score(game, stored.side) != stored.score:
        return "its points are not those of its moves"
    return ""


def fingerprint(path: Path) -> str:
    """SHA-256, in hexadecimal, of what makes a checkpoint play as it does: game, discount, its share, and weights.

    Raises:
        models.CheckpointError: it cannot be read.
    """
    import torch

    from models.checkpoint import load

    checkpoint = load(path)
    header = checkpoint.header
    digest = hashlib.sha256(f"{header.game} {header.discount!r}".encode())
    if header.discounted_share != 1:  # left out otherwise, so that games played before there was this still count
        digest.update(f" {header.discounted_share!r}".encode())
    for name, tensor in sorted(checkpoint.network.state_dict().items()):
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


class GameStore:
    """The games of one run's ladder; without a folder they are kept in memory alone.

    Attributes:
        notes: sentences about batches that could not be read and are left out.
    """

    def __init__(self, run: Path | None) -> None:
        self._folder = None if run is None else run / FOLDER
        self._memory: dict[tuple[str, int], list[Batch]] = {}
        self._lock: int | None = None
        self.notes: list[str] = []

    def __enter__(self) -> GameStore:
        """Hold the lock.

        Raises:
            LadderError: another process plays for this ladder, or the run cannot be written to.
        """
        if self._folder is None:
            return self
        try:
            self._folder.mkdir(exist_ok=True)
            handle = open_lock(self._folder / "lock")
        except OSError as error:
            raise LadderError(f"the games cannot be kept in {self._folder} ({error.strerror})") from None
        try:
            lock_file(handle)
        except OSError:
            os.close(handle)
            raise LadderError(f"another process plays games for {self._folder} at this moment") from None
        self._lock = handle
        for folder in self._folder.iterdir():
            if folder.is_dir():
                remove_drafts(folder)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def batches(
        self, weights: str, simulations: int, problem: Callable[[Batch], str] = lambda batch: ""
    ) -> list[Batch]:
        """All batches of a network, in the order in which they were played.

        Args:
            weights, simulations: of the network.
            problem: tells what is wrong with a batch that was read, or `""`; the batch is then left out.
        """
        if self._folder is None:
            return list(self._memory.get((weights, simulations), []))
        found = []
        for path in self._paths(weights, simulations):
            try:
                batch = Batch.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                self._note(f"{path} is damaged, or of another version; its games are left out.")
                continue
            if (batch.weights, batch.simulations) != (weights, simulations):
                self._note(f"{path} holds games of another network; they are left out.")
                continue
            if said := problem(batch):
                self._note(f"{path} is damaged: {said}; its games are left out.")
                continue
            found.append(batch)
        return found

    def add(self, batch: Batch) -> None:
        """Keep a batch.

        Raises:
            GamesNotKept: it cannot be written; nothing has changed.
        """
        if self._folder is None:
            self._memory.setdefault((batch.weights, batch.simulations), []).append(batch)
            return
        folder = self._player_folder(batch.weights, batch.simulations)
        # The first number that is free from there on, for something else may be called by a later one.
        first = len(self._paths(batch.weights, batch.simulations)) + 1
        names = (folder / f"{number:06d}.json" for number in itertools.count(first))
        try:
            folder.mkdir(exist_ok=True)
            write_whole(
                next(name for name in names if not os.path.lexists(name)), batch.model_dump_json(indent=1).encode()
            )
        except OSError as error:
            raise GamesNotKept(*error.args[:2], error.filename or str(folder)) from None

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _player_folder(self, weights: str, simulations: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{weights[:16]}-{simulations}"

    def _paths(self, weights: str, simulations: int) -> list[Path]:
        folder = self._player_folder(weights, simulations)
        with contextlib.suppress(OSError):
            return sorted(path for path in folder.iterdir() if re.fullmatch(r"\d{6}\.json", path.name))
        return []
