"""Measures the known players of a game, to which every later rating is tied: random play and `alphabeta-v1`.

    python tools/make_ratings.py brandubh
    python tools/make_ratings.py tawlbwrdd --games 200 200 200 200 100 40 20 --deepest 6

Everybody plays itself and the next two, every opening from both sides; `arena.rating.fit` rates all together. The same
arguments give the same file. A ratings file is never changed: better ones get the next version.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from arena.anchors import FOLDER, VERSION, KnownMatch, KnownPlayer, KnownRatings, Triple, known_match  # noqa: E402
from arena.files import write_text  # noqa: E402
from arena.match import play_match  # noqa: E402
from arena.openings import load_openings  # noqa: E402
from arena.player_text import ALPHABETA  # noqa: E402
from arena.players import parse_player  # noqa: E402
from arena.rating import REFERENCE, Estimate, SideRating, fit  # noqa: E402
from env import RULES  # noqa: E402
from env.rules import get_rules  # noqa: E402

GAMES = (400, 200, 200, 200, 200, 200, 100)


def rounded(estimate: Estimate | None) -> Triple:
    """Return a rating in tenths of points; one that is missing is a defect of the plan of matches."""
    assert estimate is not None
    return round(estimate.elo, 1), round(estimate.low, 1), round(estimate.high, 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Plays, rates, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=list(RULES))
    parser.add_argument("--layout", help="start of the game (default: its first)")
    parser.add_argument("--deepest", type=int, default=len(GAMES) - 1, help="deepest alpha-beta, in plies")
    parser.add_argument(
        "--games",
        type=int,
        nargs="+",
        default=GAMES,
        metavar="N",
        help="games a match whose weaker player is random, depth 1, depth 2 ...; the last holds for all deeper",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--version", default=VERSION, help="version in the file's name")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder")
    options = parser.parse_args(argv)

    rules = get_rules(options.game)
    layout = options.layout or rules.default_layout
    openings = load_openings(rules, layout)
    name = "-".join([rules.name] + [layout] * (layout != rules.default_layout) + [options.version])
    path = options.out / f"{name}.json"
    if path.exists():
        parser.error(f"{path} exists; ratings are never changed, make the next version")
    path.parent.mkdir(parents=True, exist_ok=True)

    texts = [REFERENCE] + [f"{ALPHABETA}:depth={depth}" for depth in range(1, options.deepest + 1)]
    players = [parse_player(text, rules, threads=options.threads) for text in texts]
    matches: list[KnownMatch] = []
    for weaker in range(len(players)):
        games = options.games[min(weaker, len(options.games) - 1)]
        for stronger in range(weaker, min(weaker + 3, len(players))):
            began = time.process_time()
            # Each match begins elsewhere among the openings, and has chances of its own.
            seed = options.seed * 1000 + len(matches)
            result = play_match(players[stronger], players[weaker], rules, openings, games, seed=seed)
            if result.interrupted:
                return 130
            matches.append(known_match(result))
            scores = " / ".join(f"{score:.1%}" for score in result.score.values() if score is not None)
            print(
                f"{result.player} against {result.opponent}: {scores} of {result.games} games, {result.distinct} "
                f"different, {result.unfinished} unfinished, {time.process_time() - began:.0f} s",
                flush=True,
            )

    drafts = [game for match in matches for game in match.games(openings[0].source)]
    found = fit(drafts)
    side = SideRating(Estimate(0, 0, 0), 0, 0)
    rated = {texts[0]: (side, side, side.estimate)}
    rated |= {text: (r.attackers, r.defenders, r.overall) for text in texts[1:] for r in [found.players[text]]}
    known = KnownRatings(
        ratings=name,
        game=rules.name,
        layout=layout,
        openings=openings[0].source,
        command=" ".join(["python", "tools/make_ratings.py", *(sys.argv[1:] if argv is None else argv)]),
        date=time.strftime("%Y-%m-%d"),
        advantage=rounded(found.advantage),
        players={
            text: KnownPlayer(
                attackers=rounded(attackers.estimate),
                defenders=rounded(defenders.estimate),
                overall=rounded(overall),
                games=sum(text in (game.attackers, game.defenders) for game in drafts),
            )
            for text, (attackers, defenders, overall) in rated.items()
        },
        matches=matches,
    )
    write_text(path, known.text())
    for text, each in known.players.items():
        print(f"{text:20} {each.attackers} {each.defenders} {each.overall}")
    print(path)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.exit(main())
