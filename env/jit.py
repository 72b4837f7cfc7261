"""The one way in which this project compiles kernels, and where the compiled code is kept.

Numba stores compiled kernels on disk, but a stored kernel is not renewed when a function that it *calls*, or a constant
that it reads, changes in another file. Each module's kernels are therefore stored in a folder whose name is a hash of
the module and of all modules of the project that it imports, directly or not: an edit opens fresh folders for what may
depend on it, and for nothing else. The folders lie in the user's cache (the package's own may be read-only), or below
``NUMBA_CACHE_DIR`` where that is set.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import inspect
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs

PROJECT = Path(__file__).resolve().parent.parent
KEPT_STORES = 3  # of each module


@cache
def _imported_names(text: bytes) -> frozenset[str]:
    """Return the dotted names that a source file imports; of `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def _imports(source: Path, project: Path) -> set[Path]:
    files = (project.joinpath(*name.split(".")).with_suffix(".py") for name in _imported_names(source.read_bytes()))
    return {file for file in files if file.is_file()}


def kernel_sources(module: Path, project: Path = PROJECT) -> list[Path]:
    """Return `module` and every file of the project that it imports, directly or not, sorted."""
    found, fresh = {module}, {module}
    while fresh:
        fresh = {file for source in fresh for file in _imports(source, project)} - found
        found |= fresh
    return sorted(found)


def store_name(module: Path, project: Path = PROJECT) -> str:
    """Return the name of the folder for a module's kernels: its name and a hash of all that they may depend on."""
    digest = hashlib.sha256()
    for source in kernel_sources(module, project):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return f"{module.parent.name}.{module.stem}-{digest.hexdigest()[:16]}"


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def store() -> Path:
    """Return the folder that holds all stores; a temporary one where the user's cache cannot be written."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(given) / "branan" if given else Path(platformdirs.user_cache_dir("branan")) / "kernels"
    if _writable(base):
        return base
    warnings.warn(f"kernels are compiled anew at every start, since {base} cannot be written", stacklevel=2)
    folder = Path(tempfile.mkdtemp(prefix="branan-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _store_of(module: Path) -> str:
    folder = store() / store_name(module)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        os.utime(folder)
        others = [other for other in store().glob(f"{folder.name.rpartition('-')[0]}-*") if other != folder]
        for old in sorted(others, key=lambda other: other.stat().st_mtime)[: max(0, len(others) - KEPT_STORES + 1)]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # another process tidies up, too
    return str(folder)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of flat arrays; it is cached on disk and releases the interpreter lock while it runs.

    With ``NUMBA_DISABLE_JIT=1`` in the environment the function stays plain Python, for debugging.
    """
    # Numba looks at this setting when the function is decorated.
    numba.config.CACHE_DIR = _store_of(Path(inspect.getfile(function)).resolve())  # pyright: ignore[reportAttributeAccessIssue]
    # Kernels own no arrays: without Numba's counting of references, two fifths of the search's time, they are faster.
    # What would allocate one, as a slice that is assigned to, does not compile.
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    return numba.njit(**options)(function)
