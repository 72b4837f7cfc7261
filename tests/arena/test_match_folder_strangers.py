"""Folders of matches that come from strangers, or that two processes want at once."""

import os
import re
from pathlib import Path

import pytest

from arena import match_folder
from arena.match import play_match
from arena.match_folder import MatchFolder, MatchFolderError, read_settings
from arena.openings import Opening
from arena.players import RandomPlayer
from env import RULES

BRANDUBH = RULES["brandubh"]
OPENINGS = [Opening("standard", ("d1-c1",), "test", 1)]
SETTINGS = {"player": "random", "opponent": "random", "games": 12, "seed": 1, "sprt": None}


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither")
@pytest.mark.parametrize("name", ["lock", "match.json", "0001.otg"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_read_from_or_written_to_what_is_no_file_of_the_match(kind: str, name: str, tmp_path: Path) -> None:
    folder, victim = tmp_path / "m", tmp_path / "victim"
    with MatchFolder(folder, SETTINGS) as match:
        order = [OPENINGS[0]]
        play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS[:1], 2, seed=1, keep=match.keep)
    victim.write_bytes((folder / name).read_bytes() + b" ")
    before = victim.read_bytes()
    (folder / name).unlink()
    if kind == "link":
        (folder / name).symlink_to(victim)
    else:
        os.mkfifo(folder / name)
    with pytest.raises(MatchFolderError, match=rf"{re.escape(name)}.* is (a link|.*not a regular file)"):
        MatchFolder(folder, SETTINGS).finished(BRANDUBH, order, 4 * BRANDUBH.cells)
    assert victim.read_bytes() == before


def test_two_that_begin_at_once_do_not_write_over_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one begins after this one has looked and before it takes the lock."""
    MatchFolder(tmp_path / "m", {**SETTINGS, "seed": 2}).close()
    look, early = match_folder.is_begun, iter([False])
    monkeypatch.setattr(match_folder, "is_begun", lambda path: next(early, None) is None and look(path))
    with pytest.raises(MatchFolderError, match="holds a match with seed 2, not 1"):
        MatchFolder(tmp_path / "m", SETTINGS)
    assert read_settings(tmp_path / "m")["seed"] == 2
