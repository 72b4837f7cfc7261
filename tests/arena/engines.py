"""Small programs that speak, or fail to speak, the engine protocol; `command(NAME)` starts one.

They know nothing of tafl but the words of the protocol, so that they start at once: a move is any that their own look
at the board allows, tried until one is (the first rook move of a piece of theirs that is not onto a special square).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

HERE = Path(__file__).resolve()


def command(name: str, *options: str) -> str:
    """How to start one of them."""
    return shlex.join([sys.executable, str(HERE), name, *options])


def player(name: str, seconds: float = 0.5, *options: str) -> str:
    """The player's text of one of them."""
    return f"engine:seconds={seconds:g}:{command(name, *options)}"


class Board:
    """A position of the protocol, rank 1 first, as a grid."""

    def __init__(self, text: str) -> None:
        self.rows = [self._row(part) for part in text.strip("/").split("/")]

    @staticmethod
    def _row(text: str) -> list[str]:
        squares: list[str] = []
        number = ""
        for sign in f"{text} ":
            if sign.isdigit():
                number += sign
                continue
            squares += [" "] * int(number or 0)
            number = ""
            squares += [] if sign == " " else [sign]
        return squares

    def moves(self, side: str) -> list[str]:
        """Rook moves that stop on no corner and not in the middle, ordered by their text."""
        size, own, found = len(self.rows), "t" if side == "attackers" else "TK", []
        special = {(0, 0), (0, size - 1), (size - 1, 0), (size - 1, size - 1), (size // 2, size // 2)}
        for rank in range(size):
            for file in range(size):
                if self.rows[rank][file] not in own or self.rows[rank][file] == " ":
                    continue
                for step_rank, step_file in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    at = rank + step_rank, file + step_file
                    while 0 <= at[0] < size and 0 <= at[1] < size and self.rows[at[0]][at[1]] == " ":
                        if at not in special:
                            found.append(f"{name(rank, file)}-{name(*at)}")
                        at = at[0] + step_rank, at[1] + step_file
        return sorted(found)


def name(rank: int, file: int) -> str:
    return f"{chr(ord('a') + file)}{rank + 1}"


def say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def main(kind: str, options: list[str]) -> None:
    """Behaves as `kind` says."""
    import os
    import time

    def sleep_for_ever() -> None:
        while True:
            time.sleep(60)

    if kind == "dead":
        sys.stderr.write("cannot find my weights\n")
        sys.exit(3)
    if kind == "mute":
        sleep_for_ever()
    if kind == "stubborn":  # hears no signal that it can refuse, and has a child that does not either
        import signal
        import subprocess

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time, signal; signal.signal(15, 1); time.sleep(600)"])
        say("hello")
        sleep_for_ever()
    if kind == "deaf":  # never reads; what is sent to it has to pile up
        say("hello")
        sleep_for_ever()
    if kind == "flood":
        say("hello")
        while True:
            sys.stdout.write("status I am thinking very hard indeed\n" * 1000)
    if kind == "endless":
        say("hello")
        while True:
            sys.stdout.write("x" * 100_000)
    if kind == "banner":
        say("OpenTafl engine")
        say("version 0 of nothing")
    if kind in ("orphans", "runaway"):  # leaves a child that holds its output open; one of them out of reach
        import subprocess

        code = "import time; time.sleep(600)" if kind == "orphans" else "import time; time.sleep(8)"
        subprocess.Popen([sys.executable, "-c", code, "engines.py"], start_new_session=kind == "runaway")
        say("hello")
        sys.stderr.write("gone\n")
        sys.exit(0 if sys.stdin.readline() and options else 5)
    say("hello", "\r\n" if kind == "crlf" else "\n")
    log = open(options[0], "a") if options else open(os.devnull, "w")
    if kind == "long":
        say("simple-moves off")
    board, count = "", 0
    for line in sys.stdin:
        log.write(line)
        log.flush()
        word, _, rest = line.strip().partition(" ")
        if word == "goodbye":
            sys.exit(0)
        if word in ("position", "move"):
            board = rest
        if word == "opponent-move":
            board = rest.split(" ")[1]
        if word != "play":
            continue
        count += 1
        legal = Board(board).moves(rest)
        move = legal[count % len(legal)]
        if kind == "crash" and count > 2:
            sys.stderr.write("line 1\nout of cheese\n\n")
            sys.exit(7)
        if kind == "slow" and count > 2:
            time.sleep(10)
        if kind == "illegal" and count > 2:
            move = "a1-a1"
        if kind == "foreign" and count > 2:
            move = Board(board).moves("attackers" if rest == "defenders" else "defenders")[0]
        if kind == "nonsense" and count > 2:
            move = "castles"
        if kind == "resigns" and count > 2:
            move = "---"
        if kind == "gives-up" and count > 2:
            say("status I do not like this")
            say("error -1 out of ideas")
            continue
        if kind == "asks":
            say("rules")
            say("position")
            say("side")
            say("clock")
            say("error 0 never mind")
            say("something new in version 9")
        if kind == "eager":
            say(f"move {move}\nmove {move}")  # twice: the second one nobody has asked for
            continue
        if kind == "half":
            say("mo", "")
            time.sleep(0.02)
            say(f"ve {move[:2]}", "")
            time.sleep(0.02)
            say(move[2:])
            continue
        if kind == "crlf":
            say(f"MOVE  {move} ", "\r\n")
            continue
        if kind == "long":
            say(f"move {move}xa1/a2+")
            continue
        say(f"move {move}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
