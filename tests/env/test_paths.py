"""Paths as people write them."""

from pathlib import Path

import pytest

from env.paths import path_of


def test_a_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert path_of("~/x") == tmp_path / "x"
    assert path_of("~") == tmp_path


@pytest.mark.parametrize("text", ["~nosuchuser/x", "~no\0user/x", "x/~", "/x", ""])
def test_other_text_is_a_path_as_it_stands(text: str) -> None:
    assert path_of(text) == Path(text)
