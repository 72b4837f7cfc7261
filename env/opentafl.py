"""The rules strings of OpenTafl: which of our games one means, and in what it differs.

A rules string is `key:value` settings with spaces between; those left out have the values in `DEFAULTS`. Neither of our
games can be said exactly in them, so a string that names one of our games is taken for that game, and what it says
otherwise is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from env.notation import NotationError, format_position, parse_position
from env.records import rules_text
from env.rules import RULES, SIDES, Rules

_SETTING = re.compile(r"([a-z]+):(\S*)")


def _settings(text: str) -> dict[str, str]:
    return {found[1]: found[2] for found in _SETTING.finditer(text)}


DEFAULTS = _settings(
    "esc:c surf:y atkf:y tfr:d ka:y ks:s kj:n nj:c cj:j corh:all cenh:tcnkm cenhe:all corp:K cenp:all cors:K cens:K "
    "corre:all cenre:all sw:n swf:y efe:n linc:n ber:n spd:-1"
)
_START = ("start", "starti", "dim", "name", "atkf")


class RulesError(ValueError):
    """A rules string that none of our games fits."""


@dataclass(frozen=True, slots=True)
class RulesText:
    """What a rules string means here.

    Attributes:
        rules: the game.
        position: where it starts, the last rank first.
        to_play: the side that moves first.
        differences: settings in which the string says something else than the game's own does, in words.
    """

    rules: Rules
    position: str
    to_play: str
    differences: tuple[str, ...]


def parse_rules_text(text: str, rules: Rules | None = None) -> RulesText:
    """Read a rules string. Its `start:` has rank 1 first and its `starti:` the last rank; what is returned is ours.

    Args:
        text: the string.
        rules: the game to be played whatever the string calls it; None goes by its name, or where that is unknown, by
            its settings.

    Raises:
        RulesError: it is of a game that is not ours, or of another size.
        NotationError: the start cannot be read.
    """
    settings = _settings(text)
    name, size = settings.get("name", ""), settings.get("dim", "")
    if rules is None:
        named = [r for r in RULES.values() if _plain(name) in (_plain(r.name), _plain(r.title))]
        alike = [r for r in RULES.values() if str(r.size) == size and not _differences(r, settings)]
        if not named and not alike:
            known = ", ".join(f"{each.title} ({each.size}x{each.size})" for each in RULES.values())
            raise RulesError(f"no game here is called {name or 'nothing'!r} or has these rules; there are {known}")
        rules = (named or alike)[0]
    if size not in ("", str(rules.size)):
        raise RulesError(f"dim:{size}, but {rules.title} has {rules.size} squares on a side")
    position = rules.layouts[rules.default_layout]
    for key, rank_one_first in (("start", True), ("starti", False)):
        if key in settings:
            try:
                board = parse_position(rules, settings[key], rank_one_first=rank_one_first)
            except NotationError as error:
                at = text.index(f"{key}:{settings[key]}") + len(key) + 1
                raise NotationError(error.problem, text, at + error.column - 1) from None
            position = format_position(rules.size, board)
    first = settings.get("atkf", "y" if rules.first == SIDES[0] else "n")
    if first not in ("y", "n"):
        raise RulesError(f"atkf:{first}; allowed are y (the attackers move first) and n")
    return RulesText(rules, position, SIDES[0] if first == "y" else SIDES[1], tuple(_differences(rules, settings)))


def _differences(rules: Rules, settings: dict[str, str]) -> list[str]:
    own = _filled(_settings(rules_text(rules, rules.layouts[rules.default_layout], rules.first)))
    given = _filled(settings)
    keys = [key for key in {**own, **given} if key not in _START and own.get(key) != given.get(key)]
    return [f"{key}:{given.get(key, '(default)')}, not {key}:{own.get(key, '(default)')}" for key in keys]


def _filled(settings: dict[str, str]) -> dict[str, str]:
    return {**DEFAULTS, **settings}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()
