"""The rules of a game in sentences, made from the fields of `Rules`."""

from __future__ import annotations

from collections.abc import Iterable

from app.phrases import ordinal
from env.rules import Rules


def goal_sentence(rules: Rules) -> str:
    """What both sides want, in one line."""
    where = _places(rules, rules.goal).replace("the corners", "a corner")
    return f"The attackers want to take the king; the defenders want him to reach {where}."


def rules_sentences(rules: Rules) -> list[str]:
    """The whole rules in short, what everybody wants first."""
    lines = [
        goal_sentence(rules),
        f"The {rules.first} move first.",
        "Every piece moves straight, as far as it likes; none jumps, nobody may pass.",
    ]
    crossed = "anybody may cross it, empty" if {rules.throne} & (rules.closed | rules.king_only) else ""
    for squares, who in ((rules.closed, "Nobody may stop on"), (rules.king_only, "Only the king may stop on")):
        if squares:
            on_throne = f" ({crossed})" if crossed and rules.throne in squares else ""
            lines.append(f"{who} {_places(rules, squares)}{on_throne}.")
    lines.append(
        "A soldier is taken when an enemy move shuts it in between two of them; going between two of them is safe."
    )
    enemies = [_places(rules, rules.hostile)] if rules.hostile else []
    if rules.hostile_while_empty:
        enemies.append(f"{_places(rules, rules.hostile_while_empty)} while empty")
    if rules.edge_hostile:
        enemies.append("the edge of the board")
    if enemies:
        lines.append(f"Also counting as an enemy of soldiers: {_join(enemies, 'and')}.")
    lines.append("The king helps to take." if rules.king_armed else "The king takes nothing.")
    also = f" (also counting as one: {_places(rules, rules.hostile_to_king)})" if rules.hostile_to_king else ""
    lines.append(f"The king is taken between two attackers{also}.")
    if rules.king_surrounded:
        also = f" (also counting as one: {_places(rules, rules.king_walls)})" if rules.king_walls else ""
        lines.append(f"But on {_places(rules, rules.king_surrounded)} he is taken only by attackers all round{also}.")
    stuck = {"loss": "it loses", "draw": "the game is a draw"}[rules.no_moves]
    lines.append(f"When a side has no move, {stuck}.")
    fate = {"loss": "loses for the side that brings it about", "draw": "is a draw"}[rules.repetition]
    lines.append(f"A position that comes about for the {ordinal(rules.repetition_limit)} time {fate}.")
    if rules.agreement:
        lines.append("The players may agree a draw.")
    return lines


def _places(rules: Rules, squares: Iterable[str]) -> str:
    """Squares in words, as far as there are words for them."""
    rest, names, last = set(squares), [], chr(ord("a") + rules.size - 1)
    corners = {"a1", f"{last}1", f"a{rules.size}", f"{last}{rules.size}"}
    files = [chr(ord("a") + file) for file in range(rules.size)]
    edge = {f"{file}{rank}" for file in files for rank in (1, rules.size)}
    edge |= {f"{file}{rank}" for file in ("a", last) for rank in range(1, rules.size + 1)}
    for name, group in (("the edge", edge), ("the corners", corners), (f"the throne {rules.throne}", {rules.throne})):
        if group <= rest:
            names.append(name)
            rest -= group
    return _join(names + sorted(rest), "and")


def _join(words: list[str], last: str) -> str:
    return " ".join(filter(None, [", ".join(words[:-1]), last * (len(words) > 1), *words[-1:]]))
