"""A report's ratings in words: where a checkpoint stands among the known players, as far as its games tell."""

from __future__ import annotations

from arena.ladder import Ladder, Rung
from arena.rating import Estimate
from env.rules import SIDES


def last_rung(ladder: Ladder) -> Rung:
    """The checkpoint that a report is mainly about: the last one that is rated."""
    return next(rung for rung in reversed(ladder.rungs) if rung.name in ladder.ratings)


def place(ladder: Ladder, side: str, estimate: Estimate, open_end: str | None = None) -> str:
    """Where a rating as one side stands among the known players, in words, as far as its interval tells."""
    if open_end is not None:
        what = "lost" if open_end == "low" else "won"
        return f"{value(estimate, open_end)} Elo, having {what} every game"
    known = sorted(
        (parts[side].elo, name.replace(":depth=", " depth ")) for name, parts in ladder.known.estimates.items()
    )
    below = [name for strength, name in known if strength < estimate.low]
    near = [name for strength, name in known if estimate.low <= strength <= estimate.high]
    above = [name for strength, name in known if strength > estimate.high]
    if near:
        return f"about as strong as {near[0]}" + (f" to {near[-1]}" if len(near) > 1 else "")
    if not above:
        return f"above {below[-1]}, the strongest known player"
    return f"between {below[-1]} and {above[0]}" if below else f"below {above[0]}"


def headline(ladder: Ladder) -> str:
    """The sentence that says how strong the checkpoint is that a report is mainly about."""
    rung = last_rung(ladder)
    rating = ladder.ratings[rung.name]
    parts = []
    for side in SIDES:
        estimate = rating.side(side).estimate
        if estimate is not None:
            parts.append(f"as {side} it stands {place(ladder, side, estimate, rating.side(side).open_end)}")
    after = f" after {core_minutes(rung)} core-minutes" if rung.core_minutes >= 1 else ""
    return f"Checkpoint {rung.name}{after}: {'; '.join(parts)}."


def core_minutes(rung: Rung) -> str:
    """How long a checkpoint was trained, with a decimal where that says something."""
    return f"{rung.core_minutes:,.{0 if rung.core_minutes >= 10 else 1}f}"


def value(estimate: Estimate, open_end: str | None) -> str:
    """A rating with its reach, or the bound that is all that games tell."""
    if open_end is not None:
        return {"low": f"below {estimate.high:,.0f}", "high": f"above {estimate.low:,.0f}"}.get(open_end, "not known")
    return f"{estimate.elo:,.0f} ± {(estimate.high - estimate.low) / 2:.0f}"
