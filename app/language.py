"""The languages of the page and the terminal: one file each in `app/languages/`, texts by key.

{"_name": "English", "_direction": "ltr", "side.attackers": "attackers", "move.taken": "{squares} taken", ...}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "languages"
DEFAULT = "en"


class LanguageError(ValueError):
    """A language that is not there, or whose file cannot be used."""


class Language:
    """Texts of one language; what it lacks is said in English, and what English lacks by its key.

    Attributes:
        code: name of its file, as "en".
        name: what the language calls itself.
        direction: "ltr" or "rtl".
    """

    def __init__(self, code: str, texts: Mapping[str, str], fallback: Mapping[str, str] | None = None) -> None:
        self.code = code
        self.name = texts.get("_name", code)
        self.direction = texts.get("_direction", "ltr")
        self._texts = {**(fallback or {}), **texts}

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key, `{names}` in it replaced."""
        text = self._texts.get(key, key)
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def __contains__(self, key: str) -> bool:
        return key in self._texts


def languages() -> list[Language]:
    """All there are, the default first."""
    codes = sorted(path.stem for path in FOLDER.glob("*.json"))
    codes.sort(key=lambda code: code != DEFAULT)
    found = []
    for code in codes:
        try:
            found.append(load_language(code))
        except LanguageError:
            continue
    return found


@lru_cache(maxsize=32)
def load_language(code: str) -> Language:
    """The language of a code.

    Raises:
        LanguageError: there is none, or its file is no flat object of texts.
    """
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    if code not in known:
        raise LanguageError(f"there is no language {code!r}; there are: {', '.join(known)}")
    texts = _read(code)
    return Language(code, texts, _read(DEFAULT) if code != DEFAULT and DEFAULT in known else None)


def usual_language(environment: Mapping[str, str] | None = None) -> Language:
    """The language that the environment asks for (`LC_ALL`, `LC_MESSAGES`, `LANG`), else the default."""
    environment = os.environ if environment is None else environment
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        code = environment.get(name, "").split(".")[0].split("_")[0].split("@")[0].lower()
        if code:
            try:
                return load_language(code)
            except LanguageError:
                break
    try:
        return load_language(DEFAULT)
    except LanguageError:
        return Language(DEFAULT, {})


def _read(code: str) -> dict[str, str]:
    path = FOLDER / f"{code}.json"
    try:
        texts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LanguageError(f"{path} cannot be read: {error}") from None
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise LanguageError(f"{path} has to be one flat object, a text for each key")
    return texts
