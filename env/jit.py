"""The one way in which this project compiles kernels, and where the compiled code is kept.

Numba stores compiled kernels on disk, but a stored kernel is not renewed when a function that it *calls* changes in
another file. The store is therefore a folder whose name is a hash of every kernel source of the project: any edit
opens a fresh folder, and an old start can never meet new rules. The folder lies in the user's cache (the package's
own folder may be read-only), or below ``NUMBA_CACHE_DIR`` where that is set.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import platformdirs

PROJECT = Path(__file__).resolve().parent.parent
KERNEL_ROOMS = ("env", "search", "training", "benchmarks")
KEPT_CACHES = 4


def kernel_sources(project: Path = PROJECT) -> list[Path]:
    """Return every source file of the project that defines or tabulates kernels, sorted by path."""
    files = (file for room in KERNEL_ROOMS for file in (project / room).glob("*.py"))
    return sorted(file for file in files if b"jit" in file.read_bytes())


def cache_key(sources: Iterable[Path]) -> str:
    """Return a hash (16 hexadecimal digits) of the names and contents of `sources`."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _prune(base: Path, keep: str) -> None:
    """Drop all but the most recently used stores, so that edits do not fill the disk."""
    try:
        stores = sorted((p for p in base.iterdir() if p.is_dir() and p.name != keep), key=lambda p: p.stat().st_mtime)
        for store in stores[: max(0, len(stores) - KEPT_CACHES + 1)]:
            shutil.rmtree(store, ignore_errors=True)
    except OSError:
        pass


def _use_cache() -> Path:
    key = cache_key(kernel_sources())
    # A child process inherits the variable with the key already in it.
    given = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(given) if given else Path(platformdirs.user_cache_dir("branan")) / "kernels"
    if base.parent.name == "branan-kernels":
        base = base.parent
    elif given:
        base = base / "branan-kernels"
    folder = base / key
    if not _writable(folder):
        base = Path(tempfile.gettempdir()) / f"branan-kernels-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        folder = base / key
        if not _writable(folder):
            folder = Path(tempfile.mkdtemp(prefix="branan-kernels-"))
    try:
        os.utime(folder)
    except OSError:
        pass
    _prune(folder.parent, folder.name)
    return folder


CACHE = _use_cache()
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)

import numba  # noqa: E402  (the folder must be set before Numba loads)

numba.config.CACHE_DIR = str(CACHE)  # pyright: ignore[reportAttributeAccessIssue]  # ... and again, should somebody have loaded it before us


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of flat arrays; it is cached on disk and releases the interpreter lock while it runs.

    With ``NUMBA_DISABLE_JIT=1`` in the environment the function stays plain Python, for debugging.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
