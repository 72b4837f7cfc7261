"""Make a trained checkpoint one that ships with the project, with what made it and what it scored in its header.

python evaluate.py RUN/latest.safetensors:simulations=128 --depth 4 --games 400 --json depth4.json
python tools/release_network.py RUN/latest.safetensors depth4.json --origin "configs/brandubh.yaml at commit 1a2b3c4"

The checkpoint goes to models/pretrained/GAME.safetensors. Results are files that `evaluate.py --json` wrote about this
very checkpoint; each side's score is kept under the opponent, the simulations, the openings and the number of games.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from models import CheckpointError, Header, PolicyValueNet, Provenance, load, save

PRETRAINED = Path(__file__).resolve().parent.parent / "models" / "pretrained"
MOST_BYTES = 4_000_000  # what may ship


def scores(path: Path, checkpoint: Path) -> dict[str, float]:
    """Return the scores of a result's file by what they were measured against.

    Raises:
        ValueError: it is no result of this checkpoint.
    """
    try:
        result = json.loads(path.read_text())
        player, _, options = str(result["player"]).partition(".safetensors")
        measured = {side: float(score) for side, score in result["score"].items() if score is not None}
        opponent, openings, games = (result[name] for name in ("opponent", "openings", "games"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{path} is no result that evaluate.py --json wrote, or a damaged one") from None
    if Path(player + ".safetensors").resolve() != checkpoint.resolve():
        raise ValueError(f"{path} is about {result['player']}, not about {checkpoint}")
    simulations = re.search(r"simulations=(\d+)", options)
    effort = f"{simulations[1]} simulations" if simulations else options.lstrip(":")
    where = f"{effort}, openings {openings}, {games} games"
    return {f"{opponent} as {side} ({where})": round(score, 4) for side, score in measured.items()}


def ship(network: PolicyValueNet, header: Header, out: Path) -> int:
    """Write a checkpoint and return its bytes. What was at `out` stays there unless all went well.

    Raises:
        ValueError: it is too large.
        CheckpointError: it cannot be written or read back.
    """
    draft = out.with_name(f".{out.stem}-{os.getpid()}{out.suffix}")
    try:
        save(draft, network, header)
        load(draft)
        if (size := draft.stat().st_size) > MOST_BYTES:
            raise ValueError(f"{size:,} bytes are too many to ship; at most {MOST_BYTES:,}")
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    return size


def main(argv: Sequence[str] | None = None) -> int:
    """Releases the checkpoint that the command line names; 2 for bad input."""
    parser = argparse.ArgumentParser(prog="release_network.py", description="Make a checkpoint one that ships.")
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT", help="written by evaluate.py --json")
    parser.add_argument("--origin", required=True, metavar="TEXT", help="the config and the commit that made it")
    options = parser.parse_args(argv)
    try:
        found = load(options.checkpoint)
        measured: dict[str, float] = {}
        for path in options.results:
            measured |= scores(path, options.checkpoint)
        told = found.header.provenance.model_dump() | {"run": options.origin, "scores": measured}
        header = found.header.model_copy(update={"provenance": Provenance.model_validate(told)})
        out = PRETRAINED / f"{found.header.game}.safetensors"
        size = ship(found.network, header, out)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])).replace("run", "--origin")
        print(f"release_network.py: {where}: {first['msg']}", file=sys.stderr)
        return 2
    except (CheckpointError, OSError, ValueError) as error:
        print(f"release_network.py: {error}", file=sys.stderr)
        return 2
    print(f"{out}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
