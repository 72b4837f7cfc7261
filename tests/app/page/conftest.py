"""Real browsers for the tests of the page; without Chromium these tests are skipped, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from visitor import PageServer, Visitor

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


# For a module and not for the session: Playwright keeps an event loop going in the main thread until it is closed, in
# which the tests of the full screen could not begin theirs.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The installed Chromium, without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium fonts-noto-core")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server that the tests of a module share."""
    from visitor import PageServer

    running = PageServer(tmp_path_factory.mktemp("page"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def own_server(browser: Browser, tmp_path: Path) -> Iterator[PageServer]:
    """A server of one's own, to be killed."""
    from visitor import PageServer

    running = PageServer(tmp_path)
    running.start()
    yield running
    running.stop()


Visit = Callable[..., "Visitor"]


@pytest.fixture
def visit(browser: Browser, server: PageServer) -> Iterator[Visit]:
    """Opens tabs; after the test none of them may have had an error on its console."""
    from visitor import Visitor

    tabs: list[Visitor] = []

    def open_tab(address: str | None = None, **options: Any) -> Visitor:
        tabs.append(Visitor(browser, address or server.address, **options))
        return tabs[-1]

    yield open_tab
    problems = [problem for tab in tabs for problem in tab.problems]
    for tab in tabs:
        tab.close()
    assert not problems


@pytest.fixture
def visitor(visit: Visit) -> Visitor:
    """One tab of usual size."""
    return visit()
