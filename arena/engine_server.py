"""Our players as an engine of other programs: the engine's end of the protocol (`arena.protocol`).

Lines are read by a thread of their own, so that `goodbye`, and the end of the input, are heard while a move is thought
about. Nothing but the protocol is written to the standard output; what else there is to say goes to the standard error.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from arena import protocol
from arena.players import Player, Thought
from env import Game, Move, Rules
from env.notation import parse_move
from env.opentafl import RulesText, parse_rules_text
from env.rules import SIDES

SECONDS = 1.0
"""Time a move where no clock was told."""

MOST_LINES = 100
_A_MOMENT = 0.05
_LAST_SECONDS = 120.0

MakePlayer = Callable[[Rules], Player]


class EngineServer:
    """A conversation with a host.

    Args:
        say: sends a line to the host, at once.
        make_player: makes the player of a game.
        timed: whether the player gets its time for every move, from the clock, in its attribute `seconds`.
        rules: the game to play whatever the host calls it; None goes by the host's rules string.
        seed: decides what the player leaves to chance, together with the ply.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        make_player: MakePlayer,
        timed: bool = True,
        rules: Rules | None = None,
        seed: int = 0,
    ) -> None:
        self._say, self._make_player, self._timed, self._rules, self._seed = say, make_player, timed, rules, seed
        self._game: Game | None = None
        self._player: Player | None = None
        self._player_plays = ""
        self._side: str | None = None
        self._clock: protocol.Clock | None = None
        self._mine: Move | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "rules": self._set_rules,
            "position": self._set_position,
            "side": self._set_side,
            "clock": self._set_clock,
            "play": self._play,
            "move": self._accepted,
            "error": self._refused,
            "opponent-move": self._opponent_moved,
            "analyze": self._analyze,
        }

    def run(self, lines: Iterable[str]) -> None:
        """Answers line after line, until `goodbye` or `quit` or the last one; unknown lines are passed over."""
        self._say("simple-moves on")
        for line in lines:
            word, rest = protocol.command_of(line)
            if word in ("goodbye", "quit"):
                return
            try:
                self._commands.get(word, _ignore)(rest)
            except (ValueError, FloatingPointError, MemoryError) as error:
                self._say(f"status {word}: {_one_line(error)}")
                self._say(f"error {protocol.CRITICAL if word in ('rules', 'play') else protocol.NOT_CRITICAL} {word}")

    def _set_rules(self, text: str) -> None:
        self._game = None
        read: RulesText = parse_rules_text(text, self._rules)
        self._game = Game.from_position(read.rules, read.position, read.to_play)
        self._mine = None
        if read.differences:
            said = "; ".join(read.differences)
            self._say(
                f"status playing {read.rules.title} by its own rules, which OpenTafl's words fit only nearly: {said}"
            )
        if self._game.outcome is None:
            # Networks are loaded and kernels compiled now, while no clock runs.
            self._player_for(_A_MOMENT).choose([self._game])

    def _set_position(self, text: str) -> None:
        game = self._required()
        position = protocol.parse_protocol_position(game.rules, text)
        if position != game.position:
            self._game = Game.from_position(game.rules, position, game.to_play)
            self._mine = None

    def _set_side(self, text: str) -> None:
        if text not in SIDES:
            raise ValueError(f"{text[:20]!r} is no side; there are {', '.join(SIDES)}")
        self._side = text

    def _set_clock(self, text: str) -> None:
        self._clock = protocol.Clock.parse(text)

    def _play(self, text: str) -> None:
        game = self._required()
        side = text or game.to_play
        self._set_side(side)
        if side != game.to_play or (game.outcome is not None and game.outcome.reason == "repetition"):
            # The host knows better whose turn it is, and what a repetition is to it.
            game = self._game = Game.from_position(game.rules, game.position, side)
        if game.outcome is not None:
            raise ValueError(f"the game is over ({game.outcome.reason})")
        move = self._player_for(self._seconds()).choose([game], [self._seed + game.ply])[0]
        game.play(move)
        self._mine = move
        self._say(f"move {move}")

    def _accepted(self, text: str) -> None:
        self._agree(text)
        self._mine = None

    def _refused(self, text: str) -> None:
        """The host has not taken our last move."""
        if self._mine is not None and self._game is not None:
            self._game.undo()
            self._mine = None
        self._log(f"the host says: error {text}")

    def _opponent_moved(self, text: str) -> None:
        """The opponent's move, as a rule in our game; a host that knows of another game is believed."""
        game = self._required()
        words, _, position = text.partition(" ")
        moves = [parse_move(word, game.rules.size).move for word in words.split("|")]
        self._mine = None
        if position and position.strip() == protocol.position_text(game) and game.moves[-1:] == moves[-1:]:
            return  # told once more, as after an error
        try:
            for move in moves:
                game.play(move)
        except ValueError as error:
            if not position.strip():
                raise
            self._log(f"{words}: {_one_line(error)}")
        self._agree(position, self._side)

    def _agree(self, text: str, to_play: str | None = None) -> None:
        """Takes over the host's position where ours differs from it."""
        game = self._required()
        if game.outcome is not None or text.strip() in ("", protocol.position_text(game)):
            return  # what becomes of a king who is taken or has escaped is told differently
        position = protocol.parse_protocol_position(game.rules, text.strip())
        if position != game.position:
            self._log(f"the host's position is {position}, ours was {game.position}: its position is taken")
            self._game = Game.from_position(game.rules, position, to_play or game.to_play)

    def _analyze(self, text: str) -> None:
        game = self._required()
        words = text.split()
        try:
            lines = max(1, min(MOST_LINES, int(words[0]) if words else 1))
            seconds = max(_A_MOMENT, float(words[1]) if len(words) > 1 else SECONDS)
            if not seconds <= protocol.MOST_SECONDS:
                raise ValueError
        except ValueError:
            raise ValueError(f"analyze needs a number of moves and seconds, not {text[:40]!r}") from None
        if game.outcome is not None:
            raise ValueError(f"the game is over ({game.outcome.reason})")
        found = best_lines(game, lines, seconds, self._player_for, self._seed)
        told = " ".join(f"{'|'.join(map(str, line))} {value:.3f}" for line, value in found)
        self._say(f"analysis {len(found)} {told}")

    def _seconds(self) -> float:
        if self._clock is None:
            return SECONDS
        return self._clock.move_seconds(self._required().to_play) or SECONDS

    def _player_for(self, seconds: float) -> Player:
        """The game's player, its time for a move set."""
        rules = self._required().rules
        if self._player is None or self._player_plays != rules.name:
            self._player, self._player_plays = self._make_player(rules), rules.name
        if self._timed and hasattr(self._player, "seconds"):
            self._player.seconds = seconds  # pyright: ignore[reportAttributeAccessIssue]
        return self._player

    def _required(self) -> Game:
        if self._game is None:
            raise ValueError("no rules have been told that can be played here")
        return self._game

    def _log(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def best_lines(
    game: Game, lines: int, seconds: float, player_of: Callable[[float], Player], seed: int = 0
) -> list[tuple[tuple[Move, ...], float]]:
    """The likely lines of the best moves, the best first, each with its value.

    One line is what the player thinks of the position itself. For several, it thinks of the position after every legal
    move in an equal share of the time, which is the less for each.

    Args:
        game: not over.
        lines: how many, at least 1.
        seconds: for all together.
        player_of: the player for a time a move.
        seed: decides what is left to chance.

    Returns:
        Moves from the present position on, and a value in [-1, 1] from the attackers' view.
    """
    sign = 1.0 if game.to_play == SIDES[0] else -1.0
    legal = game.legal_moves()
    if lines == 1 or len(legal) == 1:
        thought = player_of(seconds).think(game, seed)
        return [(thought.line or (thought.move,), sign * _value(thought))]
    player, found = player_of(seconds / len(legal)), []
    for move in legal:
        after = game.copy()
        after.play(move)
        if after.outcome is None:
            thought = player.think(after, seed)
            found.append(((move, *(thought.line or (thought.move,))), -sign * _value(thought)))
        else:
            winner = after.outcome.winner
            found.append(((move,), 0.0 if winner is None else 1.0 if winner == SIDES[0] else -1.0))
    return sorted(found, key=lambda entry: -sign * entry[1])[:lines]


def serve(
    make_player: MakePlayer, timed: bool = True, rules: Rules | None = None, seed: int = 0, greeted: bool = False
) -> int:
    """Speaks with a host over this process's standard input and output until it says goodbye.

    The standard output of everything else in this process becomes the standard error, so that no library can speak in
    between. `greeted` where the host has heard `hello` already.
    """
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="ascii", errors="replace", newline="\n")
    os.dup2(2, 1)

    def say(line: str) -> None:
        try:
            out.write(f"{line}\n")
            out.flush()
        except (BrokenPipeError, ValueError):
            os._exit(0)  # nobody listens any more

    if not greeted:
        say("hello")
    EngineServer(say, make_player, timed, rules, seed).run(_heard())
    return 0


def _heard() -> Iterable[str]:
    """The lines of the standard input.

    What was asked before `goodbye` or the end is still answered; a process that is not done soon after leaves all the
    same, since nobody may be there any more.
    """
    queue: SimpleQueue[str | None] = SimpleQueue()

    def listen() -> None:
        for raw in sys.stdin.buffer:
            line = raw.decode("ascii", "replace")
            if protocol.command_of(line)[0] in ("goodbye", "quit"):
                break
            queue.put(line)
        queue.put(None)
        time.sleep(_LAST_SECONDS)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while (line := queue.get()) is not None:
        yield line


def _value(thought: Thought) -> float:
    return {"win": 1.0, "draw": 0.0, "loss": -1.0}.get(thought.proven or "", thought.expectation)


def _ignore(_: str) -> None:
    pass


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
