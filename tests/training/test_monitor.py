"""What is shown of a run: plain words on the display, and pictures that say where in a game they are."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from env import Game
from env.rules import get_rules
from training.config import RunConfig
from training.metrics import handicap_metrics
from training.monitor import CAPTION_HEIGHT, PICTURE_SIDE, Monitor, game_picture


@pytest.mark.parametrize(
    ("by", "ratio", "words"),
    [
        ("simulations", 8, "attackers search 4.0 times as much"),
        ("simulations", -4, "defenders search 2.0 times as much"),
        ("simulations", 0, "both sides search alike"),
        ("temperature", 6, "defenders draw their moves at temperature 1.50"),
        ("temperature", -1, "attackers draw their moves at temperature 0.25"),
        ("temperature", 0, "both sides search alike"),
    ],
)
def test_the_display_says_who_is_helped_and_fits_80_columns(by: str, ratio: int, words: str) -> None:
    shares = dict.fromkeys(("attackers_win_share", "defenders_win_share", "draws", "truncated"), 1.0)
    row = {"step": 3, "seconds": 75.0, "games": 1234} | handicap_metrics(by, ratio)
    row |= {f"selfplay/{name}": share for name, share in shares.items()}
    monitor = Monitor(Path("run"), RunConfig(game="brandubh"), row, 0.0, on_gone=lambda: None)
    # What is known of the run is shown from the first moment on.
    console = Console(file=io.StringIO(), width=80)
    console.print(monitor._render())
    lines = console.file.getvalue().splitlines()  # pyright: ignore[reportAttributeAccessIssue]
    assert any(words in line for line in lines)
    assert any("1,234" in line for line in lines)
    assert any("attackers 100%" in line and "truncated 100%" in line for line in lines)


def test_a_picture_of_a_game_has_eight_boards_with_captions() -> None:
    rules = get_rules("brandubh")
    game = Game(rules)
    for _ in range(9):
        game.play_action(int(game.legal_actions()[0]))
    picture = game_picture(Game(rules), np.array(game.actions))
    height = picture.shape[0] // 2
    captions = picture[height - CAPTION_HEIGHT : height]
    width = picture.shape[1] // 4
    assert height >= PICTURE_SIDE - 10
    for column in range(4):
        assert captions[:, column * width : (column + 1) * width].min() < 128
