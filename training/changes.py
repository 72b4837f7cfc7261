"""What the command line changes in a run that goes on, and what it may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from training.config import RunConfig
from training.config_file import ConfigError
from training.hints import door
from training.loop import LATEST

# What a resumed run cannot change: its game, its network, and the shape of what is in flight.
FIXED = (
    "game", "run.seed", "search.discount",
    "selfplay.groups", "selfplay.games_per_group", "selfplay.max_plies", "selfplay.layouts",
)  # fmt: skip


def refuse_changes(before: RunConfig, after: RunConfig, path: Path) -> None:
    """See that the settings of a run, in the folder `path`, may change so.

    Raises:
        ConfigError: they may not; the message says how to begin a new run with them.
    """
    old, new = _flat(before), _flat(after)
    fixed = [key for key in new if new[key] != old[key] and (key in FIXED or key.startswith("network."))]
    if fixed:
        # Not what the weights decide.
        kept = [key for key in fixed if key != "game" and not key.startswith("network.")]
        asked = [word for key in kept for word in (f"--{key}", str(new[key]))]
        raise ConfigError(
            "\n".join(f"--{key} cannot change in a run that goes on (it is {old[key]})" for key in fixed)
            + "\nTo begin a new run with this one's weights: "
            + door("train.py", "--config", path / "config.yaml", "--init", path / LATEST, *asked)
        )


def changes(before: RunConfig, after: RunConfig) -> Iterator[str]:
    """Say what changes, its limits excepted, a sentence each."""
    old, new = _flat(before), _flat(after)
    for key in new:
        if new[key] != old[key] and key not in ("run.minutes", "run.iterations"):
            yield f"Changed: {key} from {old[key]} to {new[key]}"


def meanings(config: RunConfig, overrides: Mapping[str, str]) -> Iterator[str]:
    """Say which settings mean something else by what the command line asks for."""
    if overrides.get("balance.by") == "temperature":
        levels = f"balance.initial ({config.balance.initial:g}) and balance.maximum ({config.balance.maximum:g})"
        yield f"With --balance.by temperature, {levels} are temperatures, and so is the level that a run has reached"


def _flat(config: RunConfig) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in config.model_dump().items():
        flat |= {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat
