"""Another program as a player: the host's end of the protocol, one process for each game."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from arena import protocol
from arena.engine_process import Closed, EngineProcess
from arena.fault import CRASHED, ERROR, FLOOD, ILLEGAL, TIME, Fault
from arena.player_text import ENGINE, PlayerError
from arena.players import Thought
from env import Game, IllegalMove, Move, NotationError
from env.notation import format_move, parse_move
from env.records import RESIGNS, play_written

SECONDS = 2.0
"""Time a move of an engine whose text names none."""

FIRST_MOVE_SECONDS = 30.0
"""What is granted beyond that for the first move of a process, since programs load what they know then; a program that
has let one such time pass gets no more of it."""

MOST_LINES = 20_000
"""Lines that a program may say before a move."""


class _Failed(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.fault = Fault(kind, text)


class EngineError(ValueError):
    """An engine has not moved; the message says why."""


class EnginePlayer:
    """A program that speaks the protocol of OpenTafl (`arena.protocol`).

    Every game has a process of its own, from its first move to its end. The program is told the game's position at its
    first move as the start, then every move of its opponent; it is asked for a move only when its clock runs. A program
    that crashes, is silent or slow, floods its host with lines or plays an illegal move is ended, and the game is lost
    by that; whatever it leaves to chance is its own, no seed decides it.

    Args:
        command: how to start it; split like in a shell, without one being asked.
        seconds: time a move. It is told to the program; a tenth of it and half a second more are granted.
        threads: games in which it may think at the same time.

    Raises:
        PlayerError: there is no such program.
    """

    def __init__(self, command: str, seconds: float = SECONDS, threads: int | None = None) -> None:
        self.name = f"{ENGINE}:seconds={seconds:g}:{command}"
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise PlayerError(f"{self.name}: this command cannot be read ({error})") from None
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            program = self._arguments[0] if self._arguments else ""
            raise PlayerError(f"{self.name}: there is no program {program!r} that can be run")
        self._seconds = seconds
        self._threads = max(1, threads or os.cpu_count() or 1)
        self._patience = FIRST_MOVE_SECONDS
        self._seats: dict[int, _Seat] = {}
        self._leaving: list[threading.Thread] = []
        self.spent: list[float] = []

    def attempt(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move | Fault]:
        """One legal move for each game, or why there is none; Ctrl-C ends all processes."""
        del seeds
        if not games:
            return []
        seats = [self._seats.setdefault(id(game), _Seat(game, self._seconds)) for game in games]
        with ThreadPoolExecutor(min(self._threads, len(games))) as pool:
            try:
                answers = list(pool.map(lambda seat: seat.move(self._arguments, self._patience), seats))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for seat in self._seats.values():
                    seat.kill()
                raise
        self.spent = [seat.spent for seat in seats]
        if any(isinstance(answer, Fault) and answer.kind == TIME for answer in answers):
            self._patience = 0.0
        return answers

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        """One legal move for each game, as every player's.

        Raises:
            EngineError: in a game there is none.
        """
        moves = []
        for answer in self.attempt(games, seeds):
            if isinstance(answer, Fault):
                raise EngineError(f"{self.name}: {answer}")
            moves.append(answer)
        return moves

    def think(self, game: Game, seed: int = 0) -> Thought:
        """What it would play; nothing more is asked."""
        return Thought(self.choose([game], [seed])[0])

    def release(self, game: Game) -> None:
        """Tells the program of a game that it is over, and lets its process leave."""
        seat = self._seats.pop(id(game), None)
        if seat is None or seat.process is None:
            return
        self._leaving = [thread for thread in self._leaving if thread.is_alive()]
        self._leaving.append(threading.Thread(target=seat.leave))
        self._leaving[-1].start()

    def close(self) -> None:
        """Ends all processes; none is left when this returns."""
        for seat in list(self._seats.values()):
            self.release(seat.game)
        for thread in self._leaving:
            thread.join()


class _Seat:
    """The program's place in one game.

    Attributes:
        game: as the host sees it.
        process: the program, None before its first move and where it could not be started.
        spent: seconds that the last move took.
    """

    def __init__(self, game: Game, seconds: float) -> None:
        self.game, self._seconds = game, seconds
        self.process: EngineProcess | None = None
        self.spent = 0.0
        self._simple = True
        self._failed = False
        self._said = 0
        self._status = ""

    def move(self, arguments: Sequence[str], patience: float) -> Move | Fault:
        """A legal move in the game, or why there is none; `patience` is granted beyond its time for the first one."""
        self.spent, self._said = 0.0, 0
        try:
            if self.process is None:
                self._begin(arguments)
                return self._play(None, patience)
            return self._play(self._opponent_move(), 0.0)
        except _Failed as failure:
            self._failed = True
            return failure.fault

    def leave(self) -> None:
        """Lets the process go: with a farewell, or at once where it has failed."""
        assert self.process is not None
        if self._failed:
            self.process.kill()
            self.process.end()
        else:
            self.process.end(f"finish {protocol.finish_code(self.game)}", "goodbye")

    def kill(self) -> None:
        """Ends the process at once."""
        self._failed = True
        if self.process is not None:
            self.process.kill()

    def _begin(self, arguments: Sequence[str]) -> None:
        try:
            self.process = EngineProcess(arguments)
        except (OSError, ValueError) as error:
            raise _Failed(CRASHED, f"it cannot be started ({error})") from None
        if self._failed:  # everything was ended while this one was being started
            self.process.kill()
        deadline = self.process.started + protocol.HELLO_SECONDS
        while self._command(deadline, f"no hello within {protocol.HELLO_SECONDS:g} s")[0] != "hello":
            pass
        self.process.send(*protocol.start_lines(self.game, self.game.to_play))

    def _opponent_move(self) -> str:
        """The line that tells the opponent's last move."""
        before, move = self.game.copy(), self.game.moves[-1]
        before.undo()
        text = str(move) if self._simple else format_move(play_written(before, move))
        return f"opponent-move {text} {protocol.position_text(self.game)}"

    def _play(self, opponent_move: str | None, extra: float) -> Move:
        assert self.process is not None
        self._pass_over()
        side = self.game.to_play
        clock = str(protocol.Clock.a_move(self._seconds))
        self.process.send(*(line for line in (clock, opponent_move, f"play {side}") if line))
        begun = time.monotonic()
        limit = 1.1 * self._seconds + 0.5 + extra
        try:
            while True:
                word, rest = self._command(begun + limit, f"no move within {limit:.1f} s")
                if word == "move":
                    return self._accept(rest)
        finally:
            self.spent = time.monotonic() - begun

    def _accept(self, text: str) -> Move:
        """The move that the program has made, if it is legal; the program is told either way."""
        assert self.process is not None
        if text == RESIGNS:
            raise _Failed(ERROR, "it resigns")
        game = self.game.copy()
        try:
            move = parse_move(text.split(" ")[0], game.rules.size).move
            game.play(move)
        except (NotationError, IllegalMove) as error:
            problem = error.problem
            code = protocol.WRONG_SIDE if problem.startswith("not your piece") else protocol.ILLEGAL_MOVE
            self.process.send(f"error {code} {problem}")
            raise _Failed(ILLEGAL, f"{text[:40] or 'nothing'}, {problem}") from None
        self.process.send(f"move {protocol.position_text(game)}")
        return move

    def _pass_over(self) -> None:
        """Hears what was said since the last move; a move among it was not asked for."""
        assert self.process is not None
        while (line := self._line(time.monotonic())) is not None:
            self._hear(line)

    def _command(self, deadline: float, late: str) -> tuple[str, str]:
        """The next command that is not dealt with at once."""
        while True:
            line = self._line(deadline)
            if line is None:
                raise _Failed(TIME, late + (f"; its status: {self._status}" if self._status else ""))
            if (command := self._hear(line)) is not None:
                return command

    def _line(self, deadline: float) -> str | None:
        assert self.process is not None
        try:
            line = self.process.line(deadline)
        except Closed:
            raise _Failed(CRASHED, self.process.last_words()) from None
        self._said += 1
        if self._said > MOST_LINES:
            raise _Failed(FLOOD, f"more than {MOST_LINES:,} lines and no move")
        return line

    def _hear(self, line: str) -> tuple[str, str] | None:
        """Does what a line asks for; returns those that answer a question."""
        assert self.process is not None
        word, rest = protocol.command_of(line)
        if word in ("hello", "move"):
            return word, rest
        if word == "simple-moves":
            self._simple = rest.lower() != "off"
        elif word == "status":
            self._status = rest[:200]
        elif word == "error":
            code, _, text = rest.partition(" ")
            if code == str(protocol.CRITICAL):
                raise _Failed(ERROR, text.strip()[:200] or "a critical error without a word")
            self._status = text.strip()[:200]
        elif word in ("rules", "position", "side"):
            lines = protocol.start_lines(self.game, self.game.to_play)
            self.process.send(next(answer for answer in lines if answer.startswith(word)))
        elif word == "clock":
            self.process.send(str(protocol.Clock.a_move(self._seconds)))
        return None
