"""The rules in sentences follow the fields of the rules."""

from dataclasses import replace

import pytest

from app.language import languages, load_language
from app.rules_text import rules_sentences
from env import RULES

ENGLISH = load_language("en")


@pytest.mark.parametrize("code", [language.code for language in languages()])
def test_every_difference_between_rules_is_told_in_every_language(code: str) -> None:
    say = load_language(code)
    brandubh = RULES["brandubh"]
    changes = {
        "first": "defenders",
        "goal": frozenset({"a1"}),
        "closed": frozenset({"d4"}),
        "king_only": frozenset({"d4"}),
        "hostile": frozenset(),
        "hostile_while_empty": frozenset(),
        "hostile_to_king": frozenset(),
        "edge_hostile": True,
        "king_armed": False,
        "king_surrounded": frozenset({"d4", "d5"}),
        "king_walls": frozenset({"d4"}),
        "no_moves": "draw",
        "repetition_limit": 2,
        "repetition": "draw",
        "agreement": True,
    }
    told = {" ".join(rules_sentences(replace(brandubh, **{field: value}), say)) for field, value in changes.items()}
    assert len(told | {" ".join(rules_sentences(brandubh, say))}) == len(changes) + 1


def test_squares_are_named_where_they_have_names() -> None:
    brandubh, tawlbwrdd = (rules_sentences(RULES[name], ENGLISH) for name in ("brandubh", "tawlbwrdd"))
    assert "Only the king may stop here: the corners and the throne d4." in brandubh
    assert any("the edge squares" in sentence for sentence in tawlbwrdd)
