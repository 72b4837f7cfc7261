"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


def wrong_name(path: Path) -> str:
    """Return why no file can be called `path`, as that it is too long or holds a zero byte, or the empty text."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return ""


@contextlib.contextmanager
def memory_errors_of_rust() -> Iterator[None]:
    """Let a library written in Rust, such as safetensors, raise MemoryError where it panics for want of memory.

    Its PanicException is no Exception, so that nothing else would take it for an error that can be explained.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise MemoryError(str(error)) from None
        raise


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at any moment, power cuts included, `path` holds the old contents or all of `data`.

    Where `path` is a symbolic link, the file that it leads to is written.

    Raises:
        OSError: it cannot be written, or something is there that is no regular file, as a device or a folder, which is
            left alone. What had been written is removed.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "there is something of that name that is not a regular file", str(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    # The renaming itself is on disk only when the folder is; some systems cannot open folders, and lose at most that.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_drafts(folder: Path) -> None:
    """Delete what `write_whole` had to leave in a folder when its process was killed."""
    for draft in folder.glob(f".*.{'[0-9a-f]' * 8}.tmp"):
        with contextlib.suppress(OSError):
            draft.unlink()


def read_plain(path: Path, most: int) -> bytes:
    """Return what stands in a file that may come from a stranger.

    Raises:
        OSError: it cannot be read, is no regular file (a pipe would never end), or is longer than `most` bytes.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most:,} bytes", str(path))
    return data


def read_plain_text(path: Path, most: int) -> str:
    """Return what stands in a text file (UTF-8, with or without a byte order mark) that may come from a stranger.

    Raises:
        OSError: as of `read_plain`.
        ValueError: it is not UTF-8.
    """
    return read_plain(path, most).decode("utf-8-sig").replace("\r\n", "\n")


def linked_file(folder: Path) -> Path | None:
    """Return a link in a folder that leads to no folder, or `None`: what is written there would land elsewhere."""
    return next((path for path in sorted(folder.iterdir()) if path.is_symlink() and not path.is_dir()), None)


def open_lock(path: Path) -> int:
    """Open the file of a lock, made if need be.

    Raises:
        OSError: it cannot be opened, or something else is there: a link, a folder, a pipe.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
    return handle


def lock_file(handle: int) -> None:
    """Take the lock of an open file, which the operating system frees when this process ends, however it does.

    Raises:
        OSError: another process, or another handle of this one, holds it.
    """
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sign_lock(handle: int) -> None:
    """Write into a locked file which process holds it."""
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, f"{os.getpid()}\n".encode())


def lock_signature(handle: int) -> str:
    """Return what stands in a lock's file, read from its beginning: the process that signed it and has not left it."""
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, 32).decode(errors="replace").strip()


def leave_lock(handle: int) -> None:
    """Give a lock back, unsigned: a signature found later is of a process that could not do that."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
    os.close(handle)
