"""What stands in a report, part by part: each function returns the HTML of one section.

The pictures that a section shows are put into `report.pictures` as PNG on the way.
"""

from __future__ import annotations

import io
import platform
import time
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from PIL import Image

from arena import report_boards as boards
from arena import report_figures as figures
from arena import report_page as html
from arena.ladder_command import standing
from arena.rating import Estimate, SideRating
from arena.report_host import machine, version
from arena.report_run import Openings
from arena.report_words import core_minutes, headline, last_rung, value
from env.records import format_record, record_of
from env.rules import SIDES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arena.report import Report, SuiteSummary

SETTINGS = (
    ("network", ("blocks", "channels")),
    ("search", ("rule", "simulations")),
    ("selfplay", ("simulations", "fast_simulations", "most_simulations", "full_share", "max_plies", "layouts")),
    ("replay", ("window", "uses")),
    ("learner", ("batch", "learning_rate", "ema_decay")),
    ("balance", ("mode", "by", "maximum", "target")),
    ("run", ("seed", "threads", "inference")),
)


def report_html(report: Report) -> str:
    """The page."""
    ladder = report.ladder
    name = report.run.name if report.run else ladder.source.name
    title = f"{ladder.rules.title}: how strong is {name}?"
    return html.page(
        title,
        [
            f"<header><h1>{escape(title)}</h1>",
            html.paragraph(headline(ladder), "lead"),
            html.paragraph(
                f"{time.strftime('%Y-%m-%d')} · {ladder.games:,} games against known players · "
                f"{ladder.simulations} simulations a move",
                "soft",
            ),
            "</header>",
            _tiles(report),
            _strength(report),
            _selfplay(report),
            _openings(report),
            _solved(report),
            _sample(report),
            _how(report),
        ],
    )


def _tiles(report: Report) -> str:
    ladder = report.ladder
    rung = last_rung(ladder)
    rating = ladder.ratings[rung.name]
    entries = []
    for side in SIDES:
        part = rating.side(side)
        if part.estimate is not None:
            entries.append((value(part.estimate, part.open_end), f"Elo as {side}", side))
    if rating.overall is not None:
        entries.append((value(rating.overall, rating.open_end), "Elo overall; random play is 0", ""))
    if rung.core_minutes:
        entries.append((core_minutes(rung), "core-minutes of training", ""))
    if rung.games:
        entries.append((f"{rung.games:,}", f"games with itself, {figures.short(rung.positions)} positions", ""))
    return html.tiles(entries)


def _figure(report: Report, figure: Figure, name: str, alternative: str) -> str:
    report.pictures[f"{name}.png"] = figures.png(figure)
    return figures.svg(figure, name, alternative)


def _picture(report: Report, images: list[Image.Image], name: str) -> None:
    buffer = io.BytesIO()
    boards.side_by_side(images).save(buffer, "PNG", optimize=True)
    report.pictures[f"{name}.png"] = buffer.getvalue()


def _strength(report: Report) -> str:
    ladder = report.ladder
    drawn = []
    if len(ladder.ratings) > 1:
        for by in ("core-minutes", "positions"):
            for side in SIDES:
                figure = figures.rating_figure(ladder, side, by)
                alternative = f"Rating as {side} against {by}, known players as dashed lines"
                title = f"As {side}, by {'training time' if by == 'core-minutes' else 'self-play'}"
                drawn.append((_figure(report, figure, f"rating-{side}-{by}", alternative), title, ""))
    rows: list[tuple[tuple[float, float], Sequence[str], str]] = []
    for rung in ladder.rungs:
        if (rating := ladder.ratings.get(rung.name)) is None or rating.overall is None:
            continue
        cells = [
            f"<b>{escape(rung.name)}</b>",
            f"{rung.core_minutes:,.1f}" if rung.core_minutes else "–",
            _estimate(rating.overall, rating.open_end),
            *(_side(rating.side(side)) for side in SIDES),
            str(rating.attackers.games + rating.defenders.games),
        ]
        rows.append((standing(rating), cells, ""))
    for name, parts in ladder.known.estimates.items():
        cells = [escape(name), "", *(f"{parts[part].elo:,.0f}" for part in ("overall", *SIDES)), ""]
        rows.append(((parts["overall"].elo, parts["overall"].high), cells, "known"))
    ordered = [(cells, kind) for _, cells, kind in sorted(rows, key=lambda row: row[0], reverse=True)]
    open_ends = any(rating.side(side).open_end for rating in ladder.ratings.values() for side in SIDES)
    return html.section(
        "Strength",
        html.paragraph(
            "Elo points above random play, rated for each side by itself: in this game the sides differ, and a network "
            "may be strong as one and weak as the other. 400 points are odds of ten to one. Bands and ± are 95 % "
            "intervals; dashed lines are the known players, random play and alphabeta-v1 of several depths, whose "
            "ratings are fixed."
        ),
        html.figures(drawn) if drawn else html.paragraph("A single checkpoint: there is no curve to draw.", "note"),
        html.table(["player", "core-min", "overall", *(f"as {side}" for side in SIDES), "games"], ordered),
        html.paragraph(
            "Above, below, and arrows in the curves: every game as that side was won (lost), so there is only a bound.",
            "note",
        )
        if open_ends
        else "",
    )


def _estimate(estimate: Estimate, open_end: str | None) -> str:
    if open_end is not None:
        return value(estimate, open_end)
    return f"{estimate.elo:,.0f} <small>±{(estimate.high - estimate.low) / 2:.0f}</small>"


def _side(part: SideRating) -> str:
    return "–" if part.estimate is None else _estimate(part.estimate, part.open_end)


def _selfplay(report: Report) -> str:
    run = report.run
    if run is None or len(run.column("selfplay/game_length")[0]) < 2:
        why = "This report is about a checkpoint alone; its run is not at hand." if run is None else (
            "The run has too few iterations for curves of its own games yet."
        )  # fmt: skip
        return html.section("Self-play", html.paragraph(why, "note"))
    last = run.rows[-1]
    budget = last.get("selfplay/attackers_budget", 1.0)
    text = "Who won the games that the network played with itself, and how long they were (running means)."
    warm = [(side, heat) for side in SIDES if (heat := last.get(f"selfplay/{side}_temperature"))]
    for side, temperature in warm:
        text += (
            f" The stronger side is held back in training so that both learn: at the end the {side} drew their "
            f"moves from what they had found at a temperature of {temperature:.3g}."
        )
    if not warm and any(row.get("selfplay/attackers_budget", 1.0) != 1.0 for row in run.rows):
        text += (
            f" The weaker side thinks longer in training so that both learn: at the end the attackers had {budget:.3g} "
            "times the defenders' simulations."
        )
    wins = _figure(report, figures.share_figure(run), "selfplay-wins", "Share of self-play games won by each side")
    lengths = _figure(report, figures.length_figure(run), "selfplay-length", "Length of self-play games")
    return html.section(
        "Self-play",
        html.paragraph(text),
        html.figures([(wins, "Win share by side", ""), (lengths, "Game length", "")]),
    )


def _openings(report: Report) -> str:
    found = report.run.openings if report.run else []
    if not found:
        return html.section(
            "Openings", html.paragraph("No self-play games are kept, so there is no heat map of openings.", "note")
        )
    rules, layout = report.ladder.rules, report.ladder.layout
    cells, images = [], []
    for openings in found:
        for side in SIDES:
            image = boards.heat_picture(rules, layout, openings.targets[side])
            images.append(image)
            cells.append(
                (html.board(boards.data_uri(image), f"Heat map of the {side}' moves"), *_heat_words(openings, side))
            )
    _picture(report, images, "openings")
    text = (
        "Where the pieces go in the first eight plies of self-play, in percent of each side's moves, over the start; "
        "turned and mirrored positions are taken together. The games are those that the run still keeps."
    )
    first = "; ".join(f"{_span(each)}: {_first_moves(each)}" for each in found)
    return html.section(
        "Openings",
        html.paragraph(text),
        html.figures(cells, "boards"),
        html.paragraph(f"Commonest first moves (one stands for all its mirrored forms): {first}.", "soft"),
    )


def _first_moves(openings: Openings) -> str:
    return ", ".join(f"{move} {share:.0%}" for move, share in openings.first if share >= 0.005)


def _heat_words(openings: Openings, side: str) -> tuple[str, str]:
    return f"{side.capitalize()}, {_span(openings)}", f"{openings.games} games"


def _span(openings: Openings) -> str:
    low, high = openings.iterations
    return f"iteration {low}" if low == high else f"iterations {low} to {high}"


def _solved(report: Report) -> str:
    suite = report.suite
    if suite is None:
        return html.section("Solved positions", html.paragraph(report.suite_note, "note"))
    rows = []
    for plies, by_side in suite.rows.items():
        cells = ["all" if plies is None else f"{plies} plies"]
        for side in (*SIDES, "both"):
            share = by_side[side]
            low, high = share.reach
            within = f" <small>({low:.0%}–{high:.0%}) of {share.positions}</small>"
            cells.append(f"{share.text}{within}" if share.positions else "–")
        rows.append((cells, ""))
    shown = [
        (
            html.board(boards.data_uri(image), f"Position {number} with the move {move}"),
            f"{number}: {side}, win in {plies}",
            text,
        )
        for number, side, plies, played, winning, one, two in suite.blunders
        for image, move, text in (
            (one, played, f"Played: {played}. The win is gone."),
            (two, winning[0], f"Wins: {', '.join(winning[:4])}."),
        )
    ]
    if suite.blunders:
        _picture(report, [image for each in suite.blunders for image in each[5:]], "blunders")
    return html.section(
        "Solved positions",
        html.paragraph(
            f"In every position of {suite.suite} the side to play wins by force; an exact solver has shown it. How "
            f"often does {suite.player} keep the win with its move? By the length of the shortest win, with 95 % "
            "intervals:"
        ),
        html.table(["win in", *(f"as {side}" for side in SIDES), "both"], rows),
        html.paragraph(_lost_words(suite)),
        html.figures(shown, "boards") if shown else "",
    )


def _lost_words(suite: SuiteSummary) -> str:
    """Return what became of the wins that were not kept."""
    gone, words = suite.given_away, ""
    if suite.unsettled:
        words = (
            f" Of {suite.unsettled} more the solver cannot tell within {suite.nodes:,} nodes (--suite takes "
            "more); shares are from what is shown to be kept to what may be."
        )
    answered = suite.rows[None]["both"].positions
    if answered < suite.asked:
        words += f" Interrupted: only the first {answered} of {suite.asked} positions were answered."
    if not gone:
        return f"No win is shown to be given away.{words}"
    lost = "One win was given away for certain" if gone == 1 else f"{gone} wins were given away for certain"
    shown = f"{'that' if gone == 1 else 'the shortest'} with the move played and the move that wins"
    return f"{lost}; below, {shown}.{words}"


def _sample(report: Report) -> str:
    sample = report.sample
    if sample is None:
        return html.section("A game", html.paragraph("The ladder has no decided game to show yet.", "note"))
    moments = [
        (
            html.board(boards.data_uri(boards.position_picture(moment.game)), f"Position after ply {moment.game.ply}"),
            str(number),
            moment.words,
        )
        for number, moment in enumerate(sample.moments, start=1)
    ]
    _picture(report, [boards.position_picture(moment.game) for moment in sample.moments], "game")
    drawing = _figure(report, figures.chances_figure(sample), "chances", "The attackers' chances over the game")
    rows = [
        f"<li>{ply + 1}. {escape(move)} <span class=soft>{chance:.0%}</span></li>"
        for ply, (move, chance) in enumerate(zip(sample.moves, sample.chances[1:]))
    ]
    attackers, defenders = _tag(sample.attackers), _tag(sample.defenders)
    record = format_record(record_of(sample.game, attackers=attackers, defenders=defenders, opening=sample.opening))
    moves = f'<ol class="moves">{"".join(rows)}</ol>{html.commands([record])}'
    given = f" The first {sample.given} plies, in grey, were given by the opening." if sample.given else ""
    return html.section(
        "A game",
        f'<p>Attackers: <b class="attackers">{escape(sample.attackers)}</b>. Defenders: '
        f'<b class="defenders">{escape(sample.defenders)}</b>. {sample.game.ply} plies; {escape(sample.result)}.</p>',
        html.paragraph(
            "The curve is the attackers' chances as the network's own search judges them at every ply; a win counts "
            "for less the further off it is."
            f"{given} Numbers mark the positions below."
        ),
        html.figures([(drawing, "", "")], "one"),
        html.figures(moments, "boards"),
        html.details("All moves, with the attackers' chances after each", moves),
    )


def _tag(text: str) -> str:
    return text.replace("[", " ").replace("]", " ")


def _how(report: Report) -> str:
    ladder, run = report.ladder, report.run
    rung = last_rung(ladder)
    entries = [("run", str(ladder.source)), ("checkpoint", f"{rung.name}, weights {rung.weights[:16]}")]
    if rung.core_minutes:
        entries.append(
            ("trained", f"{rung.core_minutes:,.1f} core-minutes, {rung.games:,} games, {rung.positions:,} positions, "
                        f"{rung.step:,} learner steps")
        )  # fmt: skip
    for part, names in SETTINGS:
        settings = run.config.get(part) if run else None
        if isinstance(settings, dict):
            said = [f"{name} {settings[name]}" for name in names if settings.get(name) is not None]
            if said:
                entries.append((part, ", ".join(said)))
    entries += [
        ("ratings", f"anchors {ladder.known.name}, openings {ladder.known.openings}, each from both sides; "
                    "Bradley-Terry with a strength for each side, see docs/strength.md"),
        ("report made on", machine()),
        ("software", f"Branan {version() or 'of unknown version'}, Python {platform.python_version()}"),
    ]  # fmt: skip
    seed = run.config.get("run", {}).get("seed") if run else None
    again = []
    if run and run.config:
        again.append(
            f"python train.py --config {ladder.source}/config.yaml" + ("" if seed is None else f"  # seed {seed}")
        )
    again += [
        report.command,
        f"{report.more}  # more games narrow the intervals",
    ]
    notes = [html.paragraph(note, "note") for note in report.notes]
    return html.section(
        "What was run",
        html.definitions(entries),
        html.paragraph("To make it again:", "soft"),
        html.commands(again),
        *notes,
    )
