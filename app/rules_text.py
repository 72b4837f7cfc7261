"""The rules of a game in sentences, made from the fields of `Rules` in any of the languages of `app.language`."""

from __future__ import annotations

from collections.abc import Iterable

from app.language import Language
from env.rules import Rules


def goal_sentence(rules: Rules, say: Language) -> str:
    """What both sides want, in one line."""
    places = place_words(rules, rules.goal, say)
    return f"{say('rules.goal.attackers')} {say('rules.goal.defenders', places=places)}"


def rules_chapters(rules: Rules, say: Language) -> list[tuple[str, list[str]]]:
    """The whole rules: titles of chapters, each with its sentences."""
    kind = _throne_kind(rules)

    def about(squares: Iterable[str], key: str) -> list[str]:
        return [say(key, places=place_words(rules, squares, say))] if squares else []

    hostile = [place_words(rules, rules.hostile, say)] if rules.hostile else []
    if rules.hostile_while_empty:
        hostile.append(place_words(rules, rules.hostile_while_empty, say, ".empty"))
    no_draws = not rules.agreement and rules.no_moves == rules.repetition == "loss"
    limit = ordinal_word(rules.repetition_limit, say)
    chapters = {
        "rules.goal": [goal_sentence(rules, say)],
        "rules.moving": [
            say(f"rules.first.{rules.first}"),
            say("rules.move"),
            *about(rules.closed, "rules.closed"),
            *about(rules.king_only, "rules.king_only"),
            *([say(f"rules.cross.{kind}")] if rules.throne in rules.closed | rules.king_only else []),
        ],
        "rules.capturing": [
            say("rules.capture"),
            say("rules.capture.mover"),
            say("rules.capture.between"),
            say("rules.king_armed" if rules.king_armed else "rules.king_unarmed"),
            *([say("rules.hostile", places=join_words(hostile, say))] if hostile else []),
            say("rules.edge_hostile" if rules.edge_hostile else "rules.edge_safe"),
        ],
        "rules.king": [
            say("rules.king.two"),
            *about(rules.hostile_to_king, "rules.king.hostile"),
            *about(rules.king_surrounded, "rules.king.surrounded"),
            *about(rules.king_walls, "rules.king.walls"),
        ],
        "rules.end": [
            say(f"rules.no_moves.{rules.no_moves}"),
            say(f"rules.repetition.{rules.repetition}", ordinal=limit),
            say("rules.repetition.same"),
            *([say("rules.agreement")] if rules.agreement else []),
            *([say("rules.no_draws")] if no_draws else []),
            say("rules.resign"),
        ],
    }
    return [(say(title), sentences) for title, sentences in chapters.items()]


def rules_sentences(rules: Rules, say: Language) -> list[str]:
    """The whole rules, a sentence or two a line."""
    return [sentence for _, sentences in rules_chapters(rules, say) for sentence in sentences]


def place_words(rules: Rules, squares: Iterable[str], say: Language, state: str = "") -> str:
    """Squares in words, as far as there are words for them; `state` is ".empty" for a throne while it is empty."""
    kind = _throne_kind(rules)
    rest, words, last = set(squares), [], chr(ord("a") + rules.size - 1)
    corners = {"a1", f"{last}1", f"a{rules.size}", f"{last}{rules.size}"}
    files = [chr(ord("a") + file) for file in range(rules.size)]
    edge = {f"{file}{rank}" for file in files for rank in (1, rules.size)}
    edge |= {f"{file}{rank}" for file in ("a", last) for rank in range(1, rules.size + 1)}
    file, rank = ord(rules.throne[0]), int(rules.throne[1:])
    beside = {f"{chr(file + dx)}{rank + dy}" for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0))}
    for group, text in (
        (edge, say("place.edge")),
        (corners, say("place.corners")),
        ({rules.throne}, say(f"place.{kind}{state}", square=rules.throne)),
        (beside, say(f"place.beside.{kind}")),
    ):
        if group <= rest:
            words.append(text)
            rest -= group
    return join_words([*words, *sorted(rest)], say)


def join_words(words: list[str], say: Language) -> str:
    """A list in words."""
    if len(words) < 2:
        return "".join(words)
    return say("list.separator").join(words[:-1]) + say("list.last") + words[-1]


def ordinal_word(number: int, say: Language) -> str:
    """A number as it counts times."""
    key = f"ordinal.{number}"
    return say(key) if key in say else say("ordinal.n", number=number)


def _throne_kind(rules: Rules) -> str:
    """ "castle" where nobody may stop on it."""
    return "castle" if rules.throne in rules.closed else "throne"
