"""Compiled kernels must never outlive the sources they came from."""

from pathlib import Path

from env.jit import kernel_sources, store_name


def _project(folder: Path) -> Path:
    (folder / "env").mkdir()
    (folder / "env" / "rules.py").write_text("LIMIT = 3\n")
    (folder / "env" / "board.py").write_text("from env.rules import LIMIT\n")
    (folder / "env" / "picture.py").write_text("import zlib\n")
    (folder / "env" / "search.py").write_text("import numpy as np\nfrom env import board\n")
    return folder / "env"


def test_sources_are_the_imports_at_any_depth_and_nothing_else(tmp_path: Path) -> None:
    room = _project(tmp_path)
    assert [file.name for file in kernel_sources(room / "search.py", tmp_path)] == ["board.py", "rules.py", "search.py"]


def test_an_edit_below_gives_another_store(tmp_path: Path) -> None:
    room = _project(tmp_path)
    before = store_name(room / "search.py", tmp_path)
    assert store_name(room / "search.py", tmp_path) == before
    (room / "rules.py").write_text("LIMIT = 2\n")
    assert store_name(room / "search.py", tmp_path) != before


def test_an_edit_elsewhere_keeps_the_store(tmp_path: Path) -> None:
    room = _project(tmp_path)
    before = store_name(room / "search.py", tmp_path)
    (room / "picture.py").write_text("import zlib, os\n")
    assert store_name(room / "search.py", tmp_path) == before


def test_kernels_of_this_project_depend_on_its_rules() -> None:
    import search.tree

    names = {f"{file.parent.name}/{file.name}" for file in kernel_sources(Path(search.tree.__file__))}
    assert {"env/rules.py", "env/tables.py", "env/board.py", "search/config.py"} <= names
