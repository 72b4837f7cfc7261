"""What the full-screen terminal says: lines of text made from the view of a game and from what an analysis found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.board_text import Signs
from app.language import Language
from app.problems import Problem
from app.rules_text import join_words, ordinal_word
from env import RULES, Rules
from env.rules import SIDES

Json = dict[str, Any]
BAR = 20


def game_title(view: Json, say: Language) -> str:
    """Game and layout."""
    rules = RULES[view["game"]]
    key = f"layout.name.{view['layout']}"
    return f"{rules.title} · {say(key)}" if key in say else rules.title


def player_name(seat: Json, say: Language) -> str:
    """A player in words."""
    if seat["kind"] == "person":
        return say("player.person")
    if seat["kind"] == "level":
        return say(f"level.{seat['level']}.name")
    if seat["kind"] == "random":
        return say("engine.random")
    if seat["kind"] == "checkpoint":
        return f"{seat['checkpoint']}"
    if seat.get("nodes"):
        return f"alphabeta-v2 ({seat['nodes']:,})"
    version = f" ({seat['version']})" if seat.get("version") else ""
    if seat.get("seconds") and not seat.get("depth"):
        return say("engine.alphabeta.seconds", seconds=f"{seat['seconds']:g}") + version
    return say("engine.alphabeta.depth", depth=seat.get("depth") or 2) + version


def status_lines(view: Json, say: Language) -> list[tuple[str, str]]:
    """What is going on, each line with its style: "good", "bad", "warn" or ""."""
    return list(_status(view, say))


def _status(view: Json, say: Language) -> Iterator[tuple[str, str]]:
    rules = RULES[view["game"]]
    notice, to_play = view["notice"], view["to_play"]
    if view["outcome"]:
        yield from _end(view, rules, say)
    elif view["thinking"]:
        yield say(f"game.thinking.{view['thinking']}"), ""
    elif view["can"]["run"] and not view["running"]:
        yield say("game.paused"), "warn"
    else:
        persons = [side for side in SIDES if view["players"][side]["kind"] == "person"]
        yield say(f"game.{'your_' if persons == [to_play] else ''}turn.{to_play}"), "good" if persons else ""
    if notice:
        key = f"notice.{notice['code']}"
        yield say(key) if key in say else notice["message"], "warn"
    if view["draw_offered"]:
        yield say(f"game.offered.{view['draw_offered']}"), "warn"
    if view["occurrences"] > 1 and not view["outcome"]:
        limit = ordinal_word(rules.repetition_limit, say)
        yield say(f"game.repeated.{rules.repetition}", count=view["occurrences"], ordinal=limit), "warn"


def _end(view: Json, rules: Rules, say: Language) -> Iterator[tuple[str, str]]:
    outcome = view["outcome"]
    persons = [side for side in SIDES if view["players"][side]["kind"] == "person"]
    winner, loser = outcome["winner"], outcome["loser"]
    if winner is None:
        yield say("end.draw"), "warn"
    elif len(persons) == 1:
        yield say("end.you_win" if winner in persons else "end.you_lose"), "good" if winner in persons else "bad"
    else:
        yield say(f"end.{winner}_win"), "good"
    key = f"reason.{outcome['reason']}.{loser}"
    key = key if key in say else f"reason.{outcome['reason']}"
    yield say(key, ordinal=ordinal_word(rules.repetition_limit, say)), ""


def analysis_lines(found: Json | None, signs: Signs, say: Language, width: int) -> list[str]:
    """What an analysis has found, at most `width` columns a line where it can be cut."""
    if found is None:
        return [say("app.loading")]
    lines, search, network = [], found["search"], found["network"]
    chances = search["chances"] or (network or {}).get("chances")
    if chances:
        lines.append(_bar(chances, signs))
    values = [
        f"{say(f'analysis.{name}')} {part['value']:+.2f}"
        for name, part in (("network", network), ("search", search))
        if part
    ]
    lines.append("  ".join(values))
    if search["proven"]:
        text = say(f"analysis.proven.{search['proven']}")
        if search["proven_plies"]:
            text += " " + say("analysis.proven.within", plies=search["proven_plies"])
        lines.append(text)
    line = " ".join(found["line"])
    lines.append(_cut(f"{say('analysis.line')}: {line}", 2 * width))
    for row in found["moves"][:4]:
        value = "" if row["value"] is None else f"{row['value']:+.2f}"
        mark = f" {say('analysis.proven')}" if row["proven"] else ""
        lines.append(f"{row['move']:<9}{row['policy']:>5.0%}{value:>7}{row['visits']:>6}{mark}")
    if found.get("depth"):
        if found["score"]:
            lines.append(say("analysis.score", score=found["score"], depth=found["depth"]))
    else:
        lines.append(say("analysis.effort", simulations=f"{found['simulations']:,}"))
    return lines


def _bar(chances: Json, signs: Signs) -> str:
    filled = round(BAR * chances["attackers"])
    draw = round(BAR * chances["draw"])
    bar = "█" * filled + "▒" * draw + "░" * max(0, BAR - filled - draw)
    return f"{signs.attacker} {chances['attackers']:.0%} {bar} {chances['defenders']:.0%} {signs.defender}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rsplit(" ", 1)[0] + " …"


def move_line(row: Json, signs: Signs, say: Language) -> str:
    """A row of the move list."""
    sign = signs.attacker if row["side"] == SIDES[0] else signs.defender
    taken = f" {signs.taken}{','.join(row['captured'])}" if row["captured"] else ""
    again = f" ({row['occurrences']})" if row["occurrences"] > 1 else ""
    return f"{row['ply']:>3} {sign} {row['move']}{taken}{again}"


def problem_text(problem: Problem, say: Language) -> str:
    """A refusal for people: its own sentence in English, the language's general one elsewhere."""
    key = f"error.{problem.code}"
    return str(problem) if say.code == "en" or key not in say else say(key)


def repetition_question(row: Json, rules: Rules, say: Language) -> str:
    """What is asked before a move that ends the game by repetition to one's own loss, or as a draw."""
    return say(f"game.warn.{rules.repetition}", move=row["move"], ordinal=ordinal_word(rules.repetition_limit, say))


def captured_text(squares: list[str], say: Language) -> str:
    """What the last move took."""
    return say("game.said.captured", squares=join_words(squares, say)) if squares else ""
