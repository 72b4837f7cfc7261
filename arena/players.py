"""Players: whatever can be asked for moves in many games at once. `arena.player_text` says how they are named."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import tanh
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arena.padded import Padded
from arena.player_text import ALPHABETA, ALPHABETA_V2, SUFFIX, PlayerError, checkpoint_header, read_player
from arena.workers import Workers, count_threads
from env import RULES, Game, Move, Rules
from env.rules import get_rules
from search.alphabeta import DECIDED, WIN, AlphaBeta, AlphaBetaResult
from search.alphabeta_v2 import AlphaBetaV2
from search.config import SearchConfig
from search.evaluation import UNIT
from search.mcts import Search, SearchResult

# Importing torch takes seconds, so `models` is imported where a network is in play.
if TYPE_CHECKING:
    from models.checkpoint import Header

ROOT = Path(__file__).resolve().parent.parent
SIMULATIONS = 64
"""Simulations a move of a checkpoint whose text names neither simulations nor seconds."""

BOARD_CACHE = 1 << 14
"""Evaluations that a network remembers which plays or analyses one game."""

VALUE_SCALE = 0.3
"""How strongly a network's search trusts values against the policy in matches: three times as strongly as in self-play,
which has to find things out (docs/LOG.md)."""

_GROUPS = 2
_TABLE_MEGABYTES = 16
_CLEAR_LEAD = 500  # alpha-beta's score, in hundredths of an attacker, that is shown as an expectation of tanh(1) = 0.76


@dataclass(frozen=True, slots=True)
class Thought:
    """What a player thinks of a position, for people.

    Attributes:
        move: what it would play.
        line: how it expects the game to go on, `move` first; empty when it does not look ahead.
        outlook: probabilities of a win, draw and loss for the side to move, undiscounted; `None` if it has none.
        proven: `"win"`, `"draw"` or `"loss"` of the side to move where that is certain.
        plies: plies to the proven end, if known.
        expectation: what the side to move may expect of the game, from -1 (a loss) to 1 (a win); undiscounted, or the
            player's own measure brought into that range.
        score: its own measure in words, from the view of the side to move.
        effort: how much it looked at, in words.
        value: what its search makes of the position, from -1 to 1, where a win counts for less the further off it is;
            steadier from ply to ply than `expectation`, one judgement at the end of `line`. `None` without one.
    """

    move: Move
    line: tuple[Move, ...] = ()
    outlook: tuple[float, float, float] | None = None
    proven: str | None = None
    plies: int | None = None
    expectation: float = 0.0
    score: str = ""
    effort: str = ""
    value: float | None = None


class Player(Protocol):
    """Chooses moves in games of one kind of rules. `name` is the text that makes such a player again."""

    @property
    def name(self) -> str: ...

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        """One legal move for each game, none of which is over or changed.

        `seeds`, one a game, decide whatever the player leaves to chance: the same position with the same seed gets
        the same move, whichever games it is asked together with. Without them every seed is 0.
        """
        ...

    def think(self, game: Game, seed: int = 0) -> Thought:
        """What the player thinks of one game that is not over."""
        ...


@dataclass(frozen=True, slots=True)
class RandomPlayer:
    """Plays any legal move, each as likely as the next."""

    name: str = "random"

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        return [random.Random(seed).choice(game.legal_moves()) for game, seed in zip(games, _seeds(games, seeds))]

    def think(self, game: Game, seed: int = 0) -> Thought:
        return Thought(self.choose([game], [seed])[0])


class AlphaBetaPlayer:
    """The frozen measuring stick `alphabeta-v1` to a depth in plies or for a time a move; equal moves fall by seed.

    Args:
        rules: the game.
        depth: plies, at least 1; or
        seconds: time for each move; exactly one of the two. The attribute of that name may be set between moves.
        threads: games that are searched at a time.
    """

    def __init__(
        self, rules: Rules, depth: int | None = None, seconds: float | None = None, threads: int | None = None
    ) -> None:
        if (depth is None) == (seconds is None):
            raise PlayerError(f"{ALPHABETA} needs depth or seconds, and not both")
        self.name = f"{ALPHABETA}:depth={depth}" if seconds is None else f"{ALPHABETA}:seconds={seconds:g}"
        self._depth, self.seconds = depth, seconds
        self._workers = Workers(threads, lambda: AlphaBeta(rules, table_megabytes=_TABLE_MEGABYTES))

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        return [found.move for found in self._workers.map(self._search, list(zip(games, _seeds(games, seeds))))]

    @property
    def spent(self) -> list[float]:
        """Seconds that each game of the last `choose` took."""
        return self._workers.spent

    def think(self, game: Game, seed: int = 0) -> Thought:
        return alphabeta_thought(self._workers.map(self._search, [(game, seed)])[0])

    def _search(self, engine: AlphaBeta, job: tuple[Game, int]) -> AlphaBetaResult:
        game, seed = job
        return engine.run(game, depth=self._depth, seconds=self.seconds, seed=seed)


class AlphaBetaV2Player:
    """`alphabeta-v2`, to a depth in plies, for a number of nodes or for a time a move; equal moves fall by seed.

    Args:
        rules: the game.
        depth, nodes, seconds: the limit of each move; exactly one of them. The attribute `seconds` may be set between
            moves.
        noise: greatest bonus that chance gives a move, in hundredths of an attacker.
        threads: games that are searched at a time.
    """

    def __init__(
        self,
        rules: Rules,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        noise: int = 0,
        threads: int | None = None,
    ) -> None:
        limits = {"depth": depth, "nodes": nodes, "seconds": seconds}
        given = {key: value for key, value in limits.items() if value is not None}
        if len(given) != 1:
            raise PlayerError(f"{ALPHABETA_V2} needs depth, nodes or seconds, and one alone")
        texts = [f"{key}={value:g}" if key == "seconds" else f"{key}={value}" for key, value in given.items()]
        self.name = f"{ALPHABETA_V2}:{','.join(texts + ([f'noise={noise}'] if noise else []))}"
        self._options: dict[str, Any] = {**given, "noise": noise}
        self.seconds = seconds
        self._workers = Workers(threads, lambda: AlphaBetaV2(rules, table_megabytes=_TABLE_MEGABYTES))

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        return [found.move for found in self._workers.map(self._search, list(zip(games, _seeds(games, seeds))))]

    def think(self, game: Game, seed: int = 0) -> Thought:
        return alphabeta_thought(self._workers.map(self._search, [(game, seed)])[0])

    def _search(self, engine: AlphaBetaV2, job: tuple[Game, int]) -> AlphaBetaResult:
        game, seed = job
        limits = {} if self.seconds is None else {"seconds": self.seconds}
        return engine.run(game, seed=seed, **{**self._options, **limits})

    @property
    def spent(self) -> list[float]:
        """Seconds that each game of the last `choose` took."""
        return self._workers.spent


class CheckpointPlayer:
    """A trained network with the tree search, at full strength: no noise at the root.

    Without a time limit all games are searched together, in two groups so that one searches while the other's leaves
    are evaluated. With one, each game gets the whole time, as many games at once as there are threads. `think` takes
    several leaves of its one game at once, and goes on with what it found out about the same game before.

    Args:
        path: checkpoint file.
        rules: the game it is to play; `None`: the checkpoint's own.
        simulations: a move; `None`: as many as `seconds` allow.
        seconds: a move; `None`: no limit.
        device: `"cpu"`, `"cuda"` or `"auto"`.
        threads: threads to use.

    Raises:
        PlayerError: the checkpoint cannot be read, or is of another game.
    """

    def __init__(
        self,
        path: Path,
        rules: Rules | None = None,
        simulations: int | None = SIMULATIONS,
        seconds: float | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        from models.checkpoint import CheckpointError, load
        from models.evaluator import Evaluator

        if simulations is None and seconds is None:
            raise PlayerError("a checkpoint needs simulations, seconds or both")
        device = resolve_device(device)
        try:
            checkpoint = load(path, rules, device)
        except CheckpointError as error:
            raise PlayerError(str(error)) from None
        self.header: Header = checkpoint.header
        self.rules = get_rules(checkpoint.header.game)
        limits = {"simulations": simulations, "seconds": None if seconds is None else f"{seconds:g}"}
        self.name = str(path) + "".join(f":{key}={value}" for key, value in limits.items() if value is not None)
        self._simulations, self.seconds = simulations, seconds
        # A match has to come out the same whichever games are asked for together, so each game goes its own way there.
        common: dict[str, Any] = {**self.header.search_settings, "value_scale": VALUE_SCALE}
        match = SearchConfig(**common, leaves=1 if seconds is None else 0)
        board = SearchConfig(**common, reuse=True, cache=BOARD_CACHE)

        def search(config: SearchConfig) -> Search:
            # float32: which dtype is faster is a matter of the moment, and a match has to come out the same again.
            evaluator = Evaluator.of(checkpoint, device, "float32")
            return Search(self.rules, evaluator if config is board else Padded(evaluator), config)

        # Two groups whatever the number of threads: what a network computes may depend on the batch in its last bits.
        self._groups = 1 if device != "cpu" else _GROUPS
        several = threads if seconds is not None else min(count_threads(threads), self._groups)
        self._workers = Workers(several, lambda: search(match))
        self._thinker = Workers(1, lambda: search(board))
        self.spent: list[float] = []  # seconds of each game of the last `choose`: its share of those searched together

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        jobs = list(zip(games, _seeds(games, seeds)))
        size = 1 if self.seconds is not None else -(-len(jobs) // self._groups)
        parts = [jobs[start : start + size] for start in range(0, len(jobs), size or 1)]
        moves = [result.move for part in self._workers.map(self._search, parts) for result in part]
        self.spent = [spent / len(part) for part, spent in zip(parts, self._workers.spent) for _ in part]
        return moves

    def think(self, game: Game, seed: int = 0) -> Thought:
        return network_thought(self._thinker.map(self._search, [[(game, seed)]])[0][0])

    def _search(self, search: Search, jobs: Sequence[tuple[Game, int]]) -> list[SearchResult]:
        games, seeds = [game for game, _ in jobs], [seed for _, seed in jobs]
        return search.run(games, simulations=self._simulations, seconds=self.seconds, seeds=seeds)


def alphabeta_thought(found: AlphaBetaResult) -> Thought:
    """What an alpha-beta search found, for people."""
    proven = None if abs(found.score) < DECIDED else "win" if found.score > 0 else "loss"
    return Thought(
        found.move,
        tuple(found.line),
        proven=proven,
        plies=WIN - abs(found.score) if proven else None,
        expectation=tanh(found.score / _CLEAR_LEAD),
        score=f"{found.score / UNIT:+.2f} (an attacker counts 1)",
        effort=f"depth {found.depth}, {found.nodes:,} nodes",
    )


def network_thought(result: SearchResult) -> Thought:
    """What a tree search found, for people."""
    return Thought(
        result.move,
        tuple(result.line),
        result.outlook,
        result.proven,
        result.proven_plies if result.proven else None,
        result.expectation,
        f"{result.value:+.2f}",
        f"{result.simulations:,} simulations" + (f", {result.kept:,} kept from before" if result.kept else ""),
        float(result.value),
    )


def _seeds(games: Sequence[Game], seeds: Sequence[int] | None) -> Sequence[int]:
    if seeds is None:
        return [0] * len(games)
    if len(seeds) != len(games):
        raise ValueError(f"{len(seeds)} seeds for {len(games)} games")
    return seeds


def resolve_device(device: str) -> str:
    """`"auto"` is the GPU where there is one.

    Raises:
        PlayerError: no such device here.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available()):
        raise PlayerError(
            f"device {device!r} is not there: allowed are auto, cpu and, on a machine with a GPU that PyTorch can use, "
            "cuda (--device cpu does without one)"
        )
    return device


def parse_player(
    text: str,
    rules: Rules | str | None = None,
    *,
    simulations: int | None = None,
    seconds: float | None = None,
    device: str = "cpu",
    threads: int | None = None,
    programs: bool = False,
) -> Player:
    """The player that a text names.

    Args:
        text: see `arena.player_text`.
        rules: the game to be played; `None`: the one that the checkpoint was trained for.
        simulations, seconds: for a checkpoint whose text has neither (without these too it gets `SIMULATIONS`);
            `seconds` also for alpha-beta without options, which otherwise looks 2 plies deep.
        device: for checkpoints, `"cpu"`, `"cuda"` or `"auto"`.
        threads: threads to use; `None`: one a core.
        programs: whether the text may name a program, which is then run.

    Raises:
        PlayerError: in one sentence that says what is wrong and what is allowed.
    """
    parts = read_player(text, programs)
    rules = None if rules is None else get_rules(rules)
    options: dict[str, Any] = dict(parts.options)
    if parts.path is not None:
        if not options:
            options = {"simulations": simulations or (None if seconds else SIMULATIONS), "seconds": seconds}
        return CheckpointPlayer(parts.path, rules, **{"simulations": None, **options}, device=device, threads=threads)
    if parts.command:
        from arena.engine_player import EnginePlayer

        limits = {"seconds": seconds, **options}
        return EnginePlayer(parts.command, **{k: v for k, v in limits.items() if v is not None}, threads=threads)
    if parts.name in (ALPHABETA, ALPHABETA_V2):
        if rules is None:
            raise PlayerError(f"{text!r} plays every game: say which (allowed are {', '.join(RULES)})")
        if not options.keys() - {"noise"}:
            options |= {"seconds": seconds} if seconds else {"depth": 2}
        kind = AlphaBetaPlayer if parts.name == ALPHABETA else AlphaBetaV2Player
        return kind(rules, **options, threads=threads)
    return RandomPlayer()


def default_player(rules: Rules | str | None = None, runs: Path | None = None) -> str:
    """The player meant when none is named: the newest run's best checkpoint, else the one that came with the project.

    A run that has not learnt anything yet does not count.

    Args:
        rules: the game it has to play; `None`: any.
        runs: folder of runs; `None`: `runs/` where the program was started, else the project's own.

    Raises:
        PlayerError: there is none; the message says how to train one.
    """
    wanted = None if rules is None else get_rules(rules).name
    folders = [runs] if runs is not None else [Path("runs"), ROOT / "runs"]
    found = {path.resolve(): path for folder in reversed(folders) for path in folder.glob(f"*/best{SUFFIX}")}
    by_age = sorted(found.values(), key=lambda path: path.stat().st_mtime, reverse=True)
    pretrained = [ROOT / "models" / "pretrained" / f"{name}{SUFFIX}" for name in RULES]
    for path in by_age + [path for path in pretrained if path.exists()]:
        try:
            header = checkpoint_header(path)
        except PlayerError:
            continue
        if wanted in (None, header.game) and not header.provenance.untrained:
            return str(path)
    config = f"configs/{wanted or next(iter(RULES))}.yaml"
    what = "" if wanted is None else f" that plays {wanted}"
    raise PlayerError(f"there is no checkpoint{what} yet: train one with `python train.py --config {config}`")
