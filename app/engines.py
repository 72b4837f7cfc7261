"""Engines at the board: each serves one game, can be stopped in mid-search, and tells people what it thinks."""

from __future__ import annotations

import random
import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from app.catalogue import Catalogue
from app.levels import DEFAULT_LEVEL, LEVELS, Strength
from app.problems import Problem
from app.schemas import AlphaBetaSeat, CheckpointSeat, LevelSeat, PersonSeat, RandomSeat
from arena.player_text import PlayerError
from arena.players import BOARD_CACHE, Thought, alphabeta_thought, network_thought, resolve_device
from env import Game, Rules
from env.encoding import position_input
from env.tables import tables
from search.alphabeta import AlphaBeta, AlphaBetaResult
from search.alphabeta_v2 import AlphaBetaV2
from search.config import SearchConfig
from search.mcts import Search, SearchResult

if TYPE_CHECKING:
    from models.checkpoint import Checkpoint

USUAL_SIMULATIONS = 256
STUDY_SECONDS = 2.0
"""Of alpha-beta where it analyses because there is no network."""

_TABLE_MEGABYTES = 16
_CHECKPOINTS_KEPT = 6

AnySeat = PersonSeat | RandomSeat | LevelSeat | AlphaBetaSeat | CheckpointSeat


class Engine(Protocol):
    """Plays one game at a time, from one thread at a time; only `stop` may be called from others."""

    def think(self, game: Game, seed: int) -> Thought:
        """What to play in a game that is not over, and why; `seed` decides what is left to chance."""
        ...

    def stop(self) -> None:
        """Let a search that is going on end soon; one that is only beginning may not notice."""
        ...


class RandomEngine:
    """Any legal move."""

    def think(self, game: Game, seed: int) -> Thought:
        return Thought(random.Random(seed).choice(game.legal_moves()))

    def stop(self) -> None:
        pass


class AlphaBetaEngine:
    """`alphabeta-v1`, or `alphabeta-v2` where `second`, with mistakes where its strength asks for them."""

    def __init__(self, rules: Rules, strength: Strength, second: bool = False) -> None:
        self.strength = strength
        kind = AlphaBetaV2 if second else AlphaBeta
        self._search = kind(rules, table_megabytes=_TABLE_MEGABYTES)

    def think(self, game: Game, seed: int) -> Thought:
        slip = mistake(game, seed, self.strength.mistakes)
        if slip is not None:
            return slip
        return alphabeta_thought(self.study(game, seed))

    def study(self, game: Game, seed: int = 0) -> AlphaBetaResult:
        """Search a position, without mistakes."""
        limits = self.strength
        if isinstance(self._search, AlphaBeta):
            return self._search.run(game, depth=limits.depth, seconds=limits.seconds, seed=seed)
        return self._search.run(game, limits.depth, limits.nodes, limits.seconds, seed, int(limits.noise))

    def stop(self) -> None:
        self._search.stop()


class NetworkEngine:
    """A checkpoint with the tree search."""

    def __init__(self, checkpoint: Checkpoint, strength: Strength, device: str = "cpu") -> None:
        from models.evaluator import Evaluator

        self.strength = strength
        self.rules = checkpoint.rules
        self._evaluator = Evaluator.of(checkpoint, device, "float32")
        known: dict[str, Any] = checkpoint.header.search_settings
        config = SearchConfig(**known, reuse=True, cache=BOARD_CACHE)
        self._search = Search(self.rules, self._evaluator, config)

    def think(self, game: Game, seed: int) -> Thought:
        slip = mistake(game, seed, self.strength.mistakes)
        return network_thought(self.study([game], seed)[0]) if slip is None else slip

    def study(self, games: list[Game], seed: int = 0, simulations: int | None = None) -> list[SearchResult]:
        """Search positions, with as many `simulations` each where given, else as its strength says."""
        _one_torch_thread()
        limits = self.strength if simulations is None else Strength(simulations=simulations)
        return self._search.run(
            games,
            simulations=limits.simulations,
            seconds=limits.seconds,
            gumbel_scale=limits.noise,
            seeds=[seed] * len(games),
        )

    def outlooks(self, games: list[Game]) -> np.ndarray:
        """The network's own chances of win, draw and loss for the sides to play, float32 (games, 3), not searched."""
        _one_torch_thread()
        known = tables(self.rules)
        rows = [position_input(known, game.arrays, game.history)[0] for game in games]
        return self._evaluator.outlook(np.stack(rows))

    def stop(self) -> None:
        self._search.stop()


def mistake(game: Game, seed: int, share: float) -> Thought | None:
    """Any legal move, for a `share` of all seeds, else None."""
    chance = random.Random(seed)
    return Thought(chance.choice(game.legal_moves())) if chance.random() < share else None


def _one_torch_thread() -> None:
    """Several searches at a time use the cores better, and threads of OpenMP that wait take them from everybody."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@dataclass(frozen=True)
class Making:
    """How to make an engine: a checkpoint's path, or alpha-beta (`second`: version 2), or random; and how strong."""

    kind: str
    strength: Strength
    path: Path | None = None
    checkpoint: str | None = None
    second: bool = False


class EngineMaker:
    """Makes the engines that seats ask for. Any thread may ask.

    Args:
        catalogue: which checkpoints there are.
        device: where networks compute: "auto", "cpu" or "cuda".
    """

    def __init__(self, catalogue: Catalogue, device: str = "auto") -> None:
        self.catalogue = catalogue
        self._device = device
        self._loaded: OrderedDict[tuple[Path, int, int], Checkpoint] = OrderedDict()
        self._lock = threading.Lock()

    def plan(self, seat: AnySeat, rules: Rules) -> Making:
        """What a seat asks for, without loading it.

        Raises:
            Problem: there is no such checkpoint, or it plays another game.
        """
        if isinstance(seat, RandomSeat):
            return Making("random", Strength())
        if isinstance(seat, AlphaBetaSeat):
            if seat.version is None and (seat.nodes or seat.noise):
                raise Problem("not_possible", "Only alphabeta-v2 takes nodes and noise.")
            depth = 2 if seat.depth is None and seat.seconds is None and seat.nodes is None else seat.depth
            strength = Strength(depth=depth, nodes=seat.nodes, seconds=seat.seconds, noise=seat.noise or 0)
            return Making("alphabeta", strength, second=seat.version is not None)
        if isinstance(seat, CheckpointSeat):
            entry = self.catalogue.find(seat.checkpoint)
            if entry.game != rules.name:
                raise Problem("not_possible", f"The checkpoint {seat.checkpoint} plays {entry.game}, not {rules.name}.")
            simulations = USUAL_SIMULATIONS if seat.simulations is None and seat.seconds is None else seat.simulations
            return Making("network", Strength(simulations, seconds=seat.seconds), entry.path, entry.checkpoint)
        if isinstance(seat, LevelSeat):
            return self.plan_level(seat.level, rules)
        raise Problem("not_possible", "A person thinks without an engine.")

    def plan_level(self, level: str, rules: Rules) -> Making:
        """What a level is for a game at this moment."""
        known, entry = LEVELS[level], self.catalogue.strongest(rules.name)
        if entry is None:
            return Making("alphabeta", known.alphabeta)
        return Making("network", known.network, entry.path, entry.checkpoint)

    def make(self, making: Making, rules: Rules) -> Engine:
        """The engine. Takes a while where a network has to be loaded.

        Raises:
            Problem: the checkpoint cannot be used; the message says why.
        """
        if making.kind == "random":
            return RandomEngine()
        if making.kind == "alphabeta":
            return AlphaBetaEngine(rules, making.strength, making.second)
        assert making.path is not None
        return NetworkEngine(self._load(making.path, rules), making.strength, self.device)

    def for_study(self, seat: AnySeat | None, rules: Rules) -> Making:
        """What analyses positions: what the seat names, at full strength, else the game's strongest network."""
        making = self.plan(LevelSeat(kind="level") if seat is None else seat, rules)
        if seat is None and making.kind == "alphabeta":
            return replace(making, strength=Strength(seconds=STUDY_SECONDS))
        return replace(making, strength=replace(making.strength, noise=0.0, mistakes=0.0))

    def warm_up(self, rules: Rules) -> None:
        """Load and compile what the first move of a game needs, so that nobody waits for it then."""
        for making in (self.plan_level(DEFAULT_LEVEL, rules), Making("alphabeta", Strength(depth=1))):
            self.make(making, rules).think(Game(rules), 0)

    @property
    def device(self) -> str:
        """Where networks compute.

        Raises:
            Problem: no such device here.
        """
        try:
            return resolve_device(self._device)
        except PlayerError as error:
            raise Problem("not_possible", str(error)) from None

    def _load(self, path: Path, rules: Rules) -> Checkpoint:
        from models.checkpoint import CheckpointError, load

        try:
            found = path.stat()
            key = (path, found.st_mtime_ns, found.st_size)
            with self._lock:
                if key in self._loaded:
                    self._loaded.move_to_end(key)
                    return self._loaded[key]
            checkpoint = load(path, rules, self.device)
        except OSError as error:
            raise Problem("not_found", f"{path.name} cannot be read: {error.strerror or error}.") from None
        except CheckpointError as error:
            raise Problem("not_possible", str(error)) from None
        with self._lock:
            self._loaded[key] = checkpoint
            while len(self._loaded) > _CHECKPOINTS_KEPT:
                self._loaded.popitem(last=False)
        return checkpoint


def seat_name(seat: AnySeat) -> str:
    """What a player is called in records and lists."""
    if isinstance(seat, LevelSeat):
        return seat.level
    if isinstance(seat, CheckpointSeat):
        return seat.checkpoint
    if isinstance(seat, AlphaBetaSeat):
        limit = f"depth={seat.depth or 2}"
        if seat.depth is None and (seat.seconds or seat.nodes):
            limit = f"seconds={seat.seconds:g}" if seat.seconds else f"nodes={seat.nodes}"
        return f"alphabeta-{seat.version or 'v1'}:{limit}" + (f",noise={seat.noise}" if seat.noise else "")
    return seat.kind


def seat_view(seat: AnySeat) -> dict[str, Any]:
    """A seat as JSON, with its name."""
    return {**seat.model_dump(exclude_none=True), "name": seat_name(seat)}
