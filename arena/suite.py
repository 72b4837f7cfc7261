"""Solved positions as ground truth: how often does a player keep a win that is there?

A suite is a file of positions in which the side to play wins by force. A player makes one move in each; the position
counts as kept if the win can still be forced afterwards. The exact solver (`search.proof`) has judged every legal move
when the suite was made; docs/solved.md tells how.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.interval import wilson
from arena.players import Player
from env import RULES, Game, Move, Rules
from env.files import read_plain_text
from env.rules import SIDES, get_rules
from search.proof import Prover

FOLDER = Path(__file__).resolve().parent.parent / "seeds" / "solved"
MOST_BYTES = 50_000_000  # of a suite
TOGETHER = 32
"""Positions that a player is asked about at a time."""

OPEN_NODES = 1_000_000
"""Nodes that the solver may spend on each of two questions about a move that the suite leaves open: does it still win,
and does the other side win?"""

ALL = "*"

_PARTS = ("position", "side", "plies", "keeping moves", "open moves", "origin")


class SuiteError(ValueError):
    """A suite is missing or damaged; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One solved position.

    Attributes:
        position: ranks from the top (see `env.notation`).
        side: the side to play, which wins by force.
        plies: of its shortest win, its own first move included.
        keeps: the moves that keep the win, each with the plies in which it is proven to be won.
        unsettled: moves of which it could not be settled, or only `ALL`: whatever does not keep the win is open. Every
            other legal move gives the win away.
        origin: the game that it is from.
        number: place in the suite, from 1.
    """

    position: str
    side: str
    plies: int
    keeps: dict[str, int] = field(hash=False)
    unsettled: tuple[str, ...] = ()
    origin: str = ""
    number: int = 0

    def game(self, rules: Rules | str) -> Game:
        """A new game that begins with the position."""
        return Game.from_position(rules, self.position, self.side)

    def is_open(self, move: str) -> bool:
        """Whether the suite does not say of a legal move if it keeps the win."""
        return move not in self.keeps and (move in self.unsettled or ALL in self.unsettled)


@dataclass(frozen=True, slots=True)
class Suite:
    """The solved positions of one game; `name` is the file's without its ending, as brandubh-v1."""

    name: str
    rules: Rules
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a player did in one position: its move, and whether the win is kept (None: open even to the solver)."""

    entry: Entry
    move: str
    verdict: bool | None

    @property
    def kept(self) -> bool:
        """Whether the win is shown to be kept."""
        return self.verdict is True


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some positions were kept, with the 95 % interval of the share; of `open` ones nobody can tell."""

    kept: int
    positions: int
    open: int = 0

    @property
    def text(self) -> str:
        """The share, as bounds where positions are open: at least those kept, at most the open ones too."""
        if not self.positions:
            return "-"
        least, most = self.kept / self.positions, (self.kept + self.open) / self.positions
        return f"{least:.1%}" if least == most else f"{least:.1%} to {most:.1%}"

    @property
    def reach(self) -> tuple[float, float]:
        """From the lower end of the interval of those kept to the upper end of that with the open ones."""
        return self.interval[0], Share(self.kept + self.open, self.positions).interval[1]

    @property
    def share(self) -> float | None:
        return self.kept / self.positions if self.positions else None

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.kept / self.positions if self.positions else 0.0, self.positions)

    def to_json(self) -> dict[str, Any]:
        return {"kept": self.share, "positions": self.positions, "interval": list(self.reach)}


@dataclass(frozen=True)
class SuiteResult:
    """How a player did in a suite.

    Attributes:
        player: its name.
        suite: the suite.
        answers: one for each position it was asked about, in the suite's order.
        seconds: that it thought, all positions together.
        seed: decides what the player leaves to chance.
        interrupted: whether it was stopped before the last position.
    """

    player: str
    suite: Suite
    answers: tuple[Answer, ...]
    seconds: float
    seed: int = 0
    interrupted: bool = False
    blunders: tuple[Answer, ...] = field(init=False)
    """The answers that gave the win away; `answer.entry.keeps` holds what would have kept it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "blunders", tuple(answer for answer in self.answers if answer.verdict is False))

    def share(self, side: str | None = None, plies: int | None = None) -> Share:
        """The share kept by one side, of one length, or of all."""
        chosen = [
            answer.verdict
            for answer in self.answers
            if side in (None, answer.entry.side) and plies in (None, answer.entry.plies)
        ]
        return Share(chosen.count(True), len(chosen), chosen.count(None))

    @property
    def kept(self) -> float:
        """The share of all positions in which the win is shown to be kept, in [0, 1]."""
        return self.share().share or 0.0

    @property
    def lengths(self) -> list[int]:
        """The plies of the shortest wins that occur, ascending."""
        return sorted({answer.entry.plies for answer in self.answers})

    @property
    def unsettled(self) -> int:
        """Answers of which the solver could not tell whether they keep the win; they do not count as kept."""
        return sum(answer.verdict is None for answer in self.answers)

    @property
    def seconds_per_move(self) -> float:
        return self.seconds / len(self.answers) if self.answers else 0.0

    def to_json(self) -> dict[str, Any]:
        """The result as plain data; shares in [0, 1], `None` where there is no position."""
        return {
            "kept": self.kept,
            "interval": list(self.share().reach),
            "player": self.player,
            "game": self.suite.rules.name,
            "suite": self.suite.name,
            "seed": self.seed,
            "positions": len(self.answers),
            "unsettled": self.unsettled,
            "interrupted": self.interrupted,
            "by_side": {side: self.share(side).to_json() for side in SIDES},
            "by_length": {str(plies): self.share(plies=plies).to_json() for plies in self.lengths},
            "by_side_and_length": {
                side: {str(plies): self.share(side, plies).to_json() for plies in self.lengths} for side in SIDES
            },
            "seconds": self.seconds,
            "seconds_per_move": self.seconds_per_move,
            "blunders": [
                {
                    "number": answer.entry.number,
                    "position": answer.entry.position,
                    "side": answer.entry.side,
                    "plies": answer.entry.plies,
                    "played": answer.move,
                    "keeping": list(answer.entry.keeps),
                }
                for answer in self.blunders
            ],
        }


def run_suite(
    player: Player,
    suite: Suite,
    seed: int = 0,
    progress: Callable[[int, int, int], None] | None = None,
    nodes: int = OPEN_NODES,
) -> SuiteResult:
    """Let a player make one move in each position of a suite.

    Args:
        player: of the suite's game.
        suite: see `load_suite`.
        seed: decides what the player leaves to chance.
        progress: told now and then how many positions are answered, how many there are, and how many are kept.
        nodes: see `verdict`.

    Returns:
        The result; after Ctrl-C that of the positions answered so far.
    """
    answers: list[Answer] = []
    prover: Prover | None = None
    seconds = 0.0
    interrupted = False
    try:
        for first in range(0, len(suite.entries), TOGETHER):
            entries = suite.entries[first : first + TOGETHER]
            games = [entry.game(suite.rules) for entry in entries]
            start = time.perf_counter()
            moves = player.choose(games, [seed + entry.number for entry in entries])
            seconds += time.perf_counter() - start
            for entry, game, move in zip(entries, games, moves):
                if entry.is_open(str(move)) and prover is None:
                    prover = Prover(suite.rules)
                answers.append(Answer(entry, str(move), verdict(entry, game, move, prover, nodes)))
            if progress is not None:
                progress(len(answers), len(suite.entries), sum(answer.kept for answer in answers))
    except KeyboardInterrupt:
        if not answers:
            raise
        interrupted = True
    return SuiteResult(player.name, suite, tuple(answers), seconds, seed, interrupted)


def verdict(entry: Entry, game: Game, move: Move, prover: Prover | None, nodes: int = OPEN_NODES) -> bool | None:
    """Whether a move keeps the win: by the suite, or by the solver where the suite leaves it open.

    Args:
        entry: the position.
        game: a game that begins with it.
        move: a legal move.
        prover: of the same game; needed for unsettled moves.
        nodes: that the solver may spend on each of its two questions.
    """
    if not entry.is_open(str(move)):
        return str(move) in entry.keeps
    if prover is None:
        return None
    after = game.copy()
    after.play(move)
    if after.outcome is not None:
        return after.outcome.winner == entry.side
    after = Game.from_position(game.rules, after.position, after.to_play)
    prover.forget()  # so that the answer does not depend on earlier questions
    proof = prover.prove(after, entry.side, nodes)
    if proof.proven or proof.disproven:
        return proof.proven
    return False if prover.prove(after, after.to_play, nodes).proven else None


# Files


def entry_line(entry: Entry) -> str:
    """The line of a suite that tells of an entry."""
    keeps = " ".join(f"{move}:{plies}" for move, plies in entry.keeps.items())
    parts = (entry.position, entry.side, str(entry.plies), keeps, " ".join(entry.unsettled) or "-", entry.origin)
    return " | ".join(parts)


def suite_versions(rules: Rules | str) -> list[Path]:
    """The suites of a game that come with the project, oldest version first."""
    pattern = re.compile(re.escape(get_rules(rules).name) + r"-v(\d+)\.txt")
    found = [(int(match[1]), path) for path in FOLDER.glob("*.txt") if (match := pattern.fullmatch(path.name))]
    return [path for _, path in sorted(found)]


def load_suite(rules: Rules | str) -> Suite:
    """The newest suite of a game.

    Raises:
        SuiteError: there is none, or it is damaged.
    """
    paths = suite_versions(rules)
    if not paths:
        raise SuiteError(f"there is no suite of solved positions for {get_rules(rules).name} in {FOLDER}")
    return read_suite(paths[-1], rules)


def read_suite(path: Path, rules: Rules | str | None = None) -> Suite:
    """Read a suite, and see that its positions and moves can be.

    The file is text: `# key: value` lines describe it (`game` is needed), every other line is an entry as `entry_line`
    writes it. Empty lines are skipped.

    Args:
        path: the file.
        rules: the game that it has to be of; `None`: whatever its head says.

    Raises:
        SuiteError: in one sentence that names the file, the line and what is wrong.
    """
    try:
        text = read_plain_text(path, MOST_BYTES)
    except FileNotFoundError:
        raise SuiteError(f"there is no suite {path}") from None
    except UnicodeDecodeError as error:
        raise SuiteError(f"{path}: this is no text in UTF-8 ({error.reason} at byte {error.start})") from None
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: cannot be read ({error})") from None
    wanted = None if rules is None else get_rules(rules)
    game: Rules | None = None
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}, line {number}"
        line = line.strip()
        if line.startswith("#"):
            key, colon, value = (part.strip() for part in line[1:].partition(":"))
            if colon and key == "game":
                if value not in RULES:
                    raise SuiteError(f"{where}: no game is called {value!r}; there are: {', '.join(RULES)}")
                if game not in (None, RULES[value]):
                    raise SuiteError(f"{where}: the suite is for {value}, and a line above says {game.name}")
                game = RULES[value]
                if wanted is not None and game != wanted:
                    raise SuiteError(f"{where}: the suite is for {game.name}, not for {wanted.name}")
        elif line:
            if game is None:
                raise SuiteError(f"{where}: a line '# game: NAME' has to come first")
            entries.append(_read_entry(line, game, len(entries) + 1, where))
    if not entries or game is None:
        raise SuiteError(f"{path}: holds no solved position")
    return Suite(path.stem, game, tuple(entries))


def _read_entry(line: str, rules: Rules, number: int, where: str) -> Entry:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != len(_PARTS):
        raise SuiteError(
            f"{where}: {len(parts)} columns between bars, but {len(_PARTS)} are needed: {', '.join(_PARTS)}"
        )
    position, side, plies, keeps, unsettled, origin = parts
    try:
        game = Game.from_position(rules, position, side)
    except ValueError as error:
        raise SuiteError(f"{where}: {' '.join(str(error).split())}") from None
    if game.outcome is not None:
        raise SuiteError(f"{where}: the game is over in this position ({game.outcome.reason})")
    legal = {str(move) for move in game.legal_moves()}
    kept: dict[str, int] = {}
    for text in keeps.split():
        move, colon, count = text.partition(":")
        if not colon or not _is_length(count):
            raise SuiteError(f"{where}: {text!r} is no keeping move with its plies, as d1-c1:5")
        kept[_legal(move, legal, where)] = int(count)
    if not kept:
        raise SuiteError(f"{where}: no move keeps the win")
    if not _is_length(plies) or min(kept.values()) != int(plies):
        raise SuiteError(f"{where}: {plies!r} plies, but the shortest of the keeping moves takes {min(kept.values())}")
    left_open = tuple(_legal(move, legal, where) for move in unsettled.split() if move not in ("-", ALL))
    if both := set(left_open) & set(kept):
        raise SuiteError(f"{where}: {min(both)} cannot both keep the win and be open")
    return Entry(position, side, int(plies), kept, (ALL,) if unsettled == ALL else left_open, origin, number)


def _is_length(text: str) -> bool:
    """Whether a text is a number of plies after which the side that began has moved last."""
    return text.isascii() and text.isdigit() and len(text) < 4 and int(text) % 2 == 1


def _legal(move: str, legal: set[str], where: str) -> str:
    if move not in legal:
        raise SuiteError(f"{where}: {move!r} is no legal move in this position")
    return move
