"""Where compiled kernels are kept: an edit of what they depend on must never meet an old store."""

from __future__ import annotations

from pathlib import Path

import pytest

from env import jit
from env.jit import PROJECT, kernel_sources, store_name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Three modules in a row, and one that nobody imports."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "kernels.py").write_text("from room.middle import step\n")
    (room / "middle.py").write_text("import room.constants\n")
    (room / "constants.py").write_text("SIZE = 7\n")
    (room / "stranger.py").write_text("import os\n")
    return tmp_path


def names(project: Path) -> dict[str, str]:
    jit._imported_names.cache_clear()
    return {file.stem: store_name(file, project) for file in sorted((project / "room").glob("*.py"))}


def test_sources_are_found_through_imports(project):
    room = project / "room"
    found = kernel_sources(room / "kernels.py", project)
    assert found == [room / "constants.py", room / "kernels.py", room / "middle.py"]
    assert kernel_sources(room / "stranger.py", project) == [room / "stranger.py"]


@pytest.mark.parametrize(
    ("edited", "renewed"),
    [
        ("constants", {"constants", "middle", "kernels"}),
        ("middle", {"middle", "kernels"}),
        ("kernels", {"kernels"}),
        ("stranger", {"stranger"}),
    ],
)
def test_an_edit_opens_fresh_stores_for_what_depends_on_it(project, edited, renewed):
    before = names(project)
    assert before == names(project)
    file = project / "room" / f"{edited}.py"
    file.write_text(file.read_text() + "LIMIT = 3\n")
    after = names(project)
    assert {name for name in after if after[name] != before[name]} == renewed


def test_the_games_kernels_depend_on_their_tables():
    assert {PROJECT / "env/moves.py", PROJECT / "env/tables.py"} <= set(kernel_sources(PROJECT / "env/perft.py"))
    assert (jit.store() / store_name(PROJECT / "env/board.py")).is_dir()
