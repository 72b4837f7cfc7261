"""A file is written whole or not at all, and only where a file belongs."""

import os
from pathlib import Path

import pytest

from env.files import memory_errors_of_rust, remove_drafts, write_whole


def test_a_file_is_replaced_through_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


@pytest.mark.parametrize("kind", ["folder", "fifo", "link to fifo"])
def test_what_is_no_regular_file_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = path.lstat()
    if kind == "link to fifo":
        path = tmp_path / "link"
        path.symlink_to(tmp_path / "there")
    with pytest.raises(OSError, match="not a regular file"):
        write_whole(path, b"new")
    assert (tmp_path / "there").lstat().st_ino == before.st_ino
    assert not list(tmp_path.glob("*.tmp"))


def test_drafts_of_the_dead_are_removed(tmp_path: Path) -> None:
    for name in (".latest.safetensors.0123abcd.tmp", ".other.tmp", "kept.0123abcd.tmp"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".other.tmp", "kept.0123abcd.tmp"]


def test_a_panic_for_want_of_memory_is_a_memory_error() -> None:
    panic = type("PanicException", (BaseException,), {})  # as that of pyo3, which cannot be imported
    with pytest.raises(MemoryError, match="null"), memory_errors_of_rust():
        raise panic("pointer is null")
    with pytest.raises(KeyboardInterrupt), memory_errors_of_rust():
        raise KeyboardInterrupt
