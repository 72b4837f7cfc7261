"""The page's texts: every language says everything, and the diagrams of the rules are true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import app
from env import RULES, Game
from env.board import REASONS
from env.rules import SIDES

HOME = Path(app.__file__).parent
LANGUAGES = sorted((HOME / "languages").glob("*.json"))
SCRIPTS = sorted((HOME / "static" / "js").glob("*.js"))
DIAGRAMS = json.loads((HOME / "static" / "diagrams.json").read_text(encoding="utf-8"))


def texts(path: Path) -> dict[str, str]:
    pairs = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs), "a key stands twice"
    return dict(pairs)


ENGLISH = texts(HOME / "languages" / "en.json")


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_language_says_everything_that_english_says(path: Path) -> None:
    own = texts(path)
    assert list(own) == list(ENGLISH), "the same keys in the same order"
    assert own["_direction"] in ("ltr", "rtl")
    for key, text in own.items():
        assert text.strip(), f"{key} is empty"
        assert placeholders(text) == placeholders(ENGLISH[key]), key
        assert text.count("{") == text.count("}") == len(placeholders(text)), key


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_language_is_not_english_under_another_name(path: Path) -> None:
    if path.stem == "en":
        return
    same = [key for key, text in texts(path).items() if text == ENGLISH[key] and len(text.split()) > 2]
    assert not same


def test_every_text_that_the_page_asks_for_is_there() -> None:
    asked = {key for script in SCRIPTS for key in re.findall(r'\bt\(\s*"([^"$]+)"', script.read_text(encoding="utf-8"))}
    assert len(asked) > 100
    assert not sorted(asked - set(ENGLISH))
    families = {
        prefix
        for script in SCRIPTS
        for prefix in re.findall(r"\bt\(`([\w.]+\.)\$\{", script.read_text(encoding="utf-8"))
    }
    assert not [family for family in families if not any(key.startswith(family) for key in ENGLISH)]


def test_every_game_has_its_words() -> None:
    wanted = [f"layout.{rules.name}.{layout}" for rules in RULES.values() for layout in rules.layouts]
    wanted += [f"reason.{reason}" for reason in REASONS[1:]]
    wanted += [f"side.{side}" for side in SIDES]
    for rules in RULES.values():
        wanted += [
            f"rules.repetition.{rules.repetition}",
            f"game.repeated.{rules.repetition}",
            f"rules.no_moves.{rules.no_moves}",
        ]
    assert not [key for key in wanted if key not in ENGLISH]


ALL = [(game, drawn) for game, chapters in DIAGRAMS.items() for chapter in chapters.values() for drawn in chapter]


@pytest.mark.parametrize(("name", "drawn"), ALL, ids=[f"{game}-{drawn['caption']}" for game, drawn in ALL])
def test_a_diagram_shows_what_the_rules_do(name: str, drawn: dict[str, Any]) -> None:
    game = Game.from_position(name, drawn["position"], drawn["to_play"])
    caption = drawn["caption"]
    assert f"diagram.{caption}" in ENGLISH
    if "moves" in drawn:
        origin = drawn["moves"][0].split("-")[0]
        assert sorted(drawn["moves"]) == sorted(str(move) for move in game.legal_moves() if move.origin == origin)
    if "move" in drawn:
        assert game.play(drawn["move"]) == drawn["captured"]
        reason = None if game.outcome is None else game.outcome.reason
        expected = {"king": "king_captured", "escape": "king_escaped"}.get(caption.split("_")[0])
        assert reason == (None if caption == "king_armed" else expected)


def test_every_game_has_diagrams() -> None:
    assert set(DIAGRAMS) == set(RULES)
