"""A person at the page: a real Chromium that clicks, drags and types, and a server of its own to visit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, ConsoleMessage, Locator, expect

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60_000  # milliseconds; the machine of the tests may have a lot to do


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PageServer:
    """`play.py` as a person starts it, in a process of its own, that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[str] | None = None
        (folder / "runs").mkdir(exist_ok=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        command = [sys.executable, "play.py", "--no-browser", "--port", str(self.port), "--threads", "2"]
        command += ["--runs", str(self.folder / "runs"), "--data", str(self.folder / "games")]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.split()[-1:] == [self.address]:
                return
        raise RuntimeError("the server ended before it said where it is")

    def kill(self) -> None:
        """As a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


class Visitor:
    """One tab.

    Attributes:
        page: the tab, for what has no method here.
        problems: errors that the page has put on the console, none in a good page.
    """

    def __init__(self, browser: Browser, address: str, width: int = 1280, height: int = 900, **options: Any) -> None:
        self.address = address
        options.setdefault("locale", "en")
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def close(self) -> None:
        self.context.close()

    # Going about

    def open(self, fragment: str = "", **values: str) -> None:
        """Go to a view by its address."""
        query = urlencode({fragment: values.pop(fragment), **values}) if fragment in values else fragment
        self.page.goto("about:blank")  # another fragment alone would not load the page anew
        self.page.goto(self.address + (f"#{query}" if query else ""))
        self.page.wait_for_selector("main .view", timeout=PATIENCE)

    def position(self, game: str, position: str, to_play: str) -> None:
        """Open a link that carries a position."""
        self.open("position", position=position, rules=game, to_play=to_play)
        self.page.wait_for_selector(".grid")

    def begin(self, layout: str = "brandubh/standard", side: str = "attackers", level: str = "beginner") -> None:
        """Begin a game from the start of the page."""
        self.open()
        self.page.check(f'input[name="layout"][value="{layout}"]')
        self.page.check(f'input[name="side"][value="{side}"]')
        if side != "both":
            self.page.check(f'input[name="level"][value="{level}"]')
        self.page.click("#play")
        self.page.wait_for_selector(".grid")

    def seat(self, side: str, kind: str = "person") -> None:
        """Put another player at the board."""
        self.page.click('[data-action="players"]')
        selects = self.page.locator("dialog .picker > select")
        selects.nth(["attackers", "defenders"].index(side)).select_option(kind)
        self.page.click("dialog .primary")
        self.page.wait_for_selector("dialog", state="detached")

    # The board

    def square(self, name: str) -> Locator:
        return self.page.locator(f'.cell[data-square="{name}"]')

    def mine(self) -> list[str]:
        """Squares whose piece can be picked up now."""
        return self.page.eval_on_selector_all(".cell[data-mine]", "cells => cells.map(cell => cell.dataset.square)")

    def targets(self) -> list[str]:
        """Squares shown as those where the picked piece may go."""
        return self.page.eval_on_selector_all(".cell[data-target]", "cells => cells.map(cell => cell.dataset.square)")

    def move(self, move: str) -> None:
        """Click a piece, then a square."""
        origin, target = move.split("-")
        self.square(origin).click()
        self.square(target).click()

    def drag(self, move: str, beyond: tuple[float, float] | None = None) -> None:
        """Drag a piece to a square, or by `beyond` pixels from where it is."""
        origin, target = move.split("-")
        x, y = self._middle(origin)
        to = self._middle(target) if beyond is None else (x + beyond[0], y + beyond[1])
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move((x + to[0]) / 2, (y + to[1]) / 2, steps=4)
        mouse.move(*to, steps=4)
        mouse.up()

    def _middle(self, name: str) -> tuple[float, float]:
        box = self.square(name).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def pieces(self) -> int:
        return self.page.locator("g.pieces > g.piece").count()

    def moves(self) -> list[str]:
        """The list of moves as it stands."""
        return self.page.eval_on_selector_all("button.move", "moves => moves.map(move => move.firstChild.data)")

    def expect_moves(self, count: int) -> None:
        expect(self.page.locator("button.move")).to_have_count(count, timeout=PATIENCE)

    def said(self) -> str:
        """What screen readers were told last."""
        return self.page.inner_text("#said")

    @property
    def banner(self) -> Locator:
        return self.page.locator(".banner")

    def wait_for_turn(self) -> bool:
        """Wait until a person may move (True) or the game is over (False)."""
        self.page.wait_for_selector(".cell[data-mine], .banner", timeout=PATIENCE)
        return self.banner.count() == 0

    def play_on(self, seed: int, most: int = 400) -> None:
        """Click any legal moves until the game is over."""
        dice = Random(seed)
        for _ in range(most):
            if not self.wait_for_turn():
                return
            before = self.page.locator("button.move").count()
            self.square(dice.choice(self.mine())).click()
            targets = self.targets()
            assert targets, "a piece that may be picked up has somewhere to go"
            self.square(dice.choice(targets)).click()
            self.page.wait_for_function(
                "n => document.querySelectorAll('button.move').length > n || document.querySelector('dialog')",
                arg=before,
            )
            warning = self.page.locator("dialog.question .primary")
            if warning.count():
                warning.click()
                self.page.wait_for_function("n => document.querySelectorAll('button.move').length > n", arg=before)
        raise AssertionError(f"the game did not end within {most} moves of the person")

    # Looking

    def overflow(self) -> list[str]:
        """Elements that stick out of the window sideways."""
        return self.page.evaluate(
            """() => {
              const root = document.documentElement;
              if (root.scrollWidth <= root.clientWidth) return [];
              return [...document.querySelectorAll("body *")]
                .map((node) => [node, node.getBoundingClientRect()])
                .filter(([, box]) => box.right > innerWidth + 1 || box.left < -1)
                .map(([node]) => `${node.tagName}.${node.getAttribute("class")}`);
            }"""
        )

    def cut_off(self) -> list[str]:
        """Buttons and headings whose text does not fit."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("button, h1, h2, h3, .card b, .tab, th, figcaption")]
                .filter((node) => node.offsetParent && !node.matches(".off-screen"))
                .filter((node) => node.scrollWidth > node.clientWidth + 1)
                .map((node) => node.textContent)"""
        )
