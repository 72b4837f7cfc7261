"""The house keeps its order: rooms import only rooms below, doors are imported by nobody, games are data."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from env import RULES

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("env", "models", "search", "arena", "training", "app")
DOORS = ("train", "evaluate", "play")
# A search knows an evaluator only as a callable.
FORBIDDEN = {"search": {"models"}}
FILES = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
names = [str(file.relative_to(ROOT)) for file in FILES]


def imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the top-level package and the line of every import, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield (node.module or "").split(".")[0], node.lineno


@pytest.mark.parametrize("file", FILES, ids=names)
def test_room_imports_only_rooms_below(file: Path) -> None:
    room = file.relative_to(ROOT).parts[0]
    above = set(ROOMS[ROOMS.index(room) + 1 :]) | set(DOORS) | FORBIDDEN.get(room, set())
    found = [f"line {line}: {name}" for name, line in imported(ast.parse(file.read_bytes())) if name in above]
    assert not found


@pytest.mark.parametrize("file", FILES, ids=names)
def test_only_the_table_of_games_names_a_game(file: Path) -> None:
    if file == ROOT / "env" / "rules.py":
        return
    tree = ast.parse(file.read_bytes())
    defaults = {id(node) for where in ast.walk(tree) if isinstance(where, ast.arguments) for node in where.defaults}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found = [f"line {node.lineno}" for node in texts if node.value in RULES and id(node) not in defaults]
    assert not found
