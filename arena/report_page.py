"""The page of a report: one HTML file that needs nothing else, from the network or from disk."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CSS = """
:root{color-scheme:light dark;--paper:#fbfaf7;--ink:#1b1e23;--soft:#5b616b;--line:#dcd8cf;--card:#fff;
--attackers:#b0452f;--defenders:#2a6da8}
@media (prefers-color-scheme:dark){:root{--paper:#15171b;--ink:#e9e6df;--soft:#a3a9b3;--line:#353a42;--card:#1d2026;
--attackers:#e58a72;--defenders:#7fb6e6}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans",sans-serif}
main{max-width:1060px;margin:0 auto;padding:28px 20px 60px}
h1{font:600 2rem/1.2 Georgia,"Noto Serif",serif;margin:.2em 0 .1em}
h2{font:600 1.35rem/1.25 Georgia,"Noto Serif",serif;margin:1.9em 0 .4em;padding-top:.9em;
border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .35em}
p{margin:.5em 0;max-width:72ch}
.lead{font-size:1.08rem}
.soft,figcaption,.note{color:var(--soft);font-size:.9rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin:1.4em 0}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.tile b{display:block;font:600 1.6rem/1.15 Georgia,"Noto Serif",serif}
.tile span{color:var(--soft);font-size:.88rem}
.attackers{color:var(--attackers)}.defenders{color:var(--defenders)}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:14px;margin:1em 0}
.boards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,210px),1fr));gap:14px;margin:1em 0}
figure{margin:0}
.card svg,.card img{display:block;width:100%;height:auto}
.board img{border-radius:6px;max-width:420px;margin:0 auto}
figcaption{margin-top:.5em}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%;margin:.8em 0;font-size:.93rem}
th,td{padding:.34em .6em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}
th{color:var(--soft);font-weight:600}
tr.known td{color:var(--soft)}
td small{color:var(--soft)}
ol.moments{padding:0;margin:1em 0;list-style:none}
code,pre{font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;white-space:pre-wrap;
overflow-wrap:anywhere}
code{overflow-wrap:anywhere}
.moves{columns:9em;font-variant-numeric:tabular-nums;font-size:.9rem;margin:.8em 0;padding:0;list-style:none}
summary{cursor:pointer;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25em 1.1em;margin:.8em 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
@media (max-width:520px){dl{grid-template-columns:1fr}dt{margin-top:.5em}main{padding:16px 14px 40px}
h1{font-size:1.6rem}
th,td{padding:.34em .3em;white-space:normal}table{font-size:.84rem}td small{display:block}
td:first-child{overflow-wrap:anywhere;min-width:6.5em}
tr>:nth-child(2):nth-last-child(5),tr>:nth-child(6):last-child{display:none}}  /* core-minutes and games */
@media print{.card,.tile{break-inside:avoid}}
"""

# No scripts, nothing from elsewhere, whatever opens it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(title: str, parts: Sequence[str]) -> str:
    """The whole file."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A heading and what stands below it."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Plain text as a paragraph."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def tiles(entries: Sequence[tuple[str, str, str]]) -> str:
    """Numbers to be seen first: (number, what it is, class)."""
    cells = (
        f'<div class="tile"><b{_class(kind)}>{escape(n)}</b><span>{escape(what)}</span></div>'
        for n, what, kind in entries
    )
    return '<div class="tiles">' + "".join(cells) + "</div>"


def figures(entries: Sequence[tuple[str, str, str]], kind: str = "two") -> str:
    """Drawings side by side: (SVG or img, title, caption)."""
    cells = (
        f'<figure class="card">{f"<h3>{escape(title)}</h3>" if title else ""}{drawing}'
        + (f"<figcaption>{escape(caption)}</figcaption>" if caption else "")
        + "</figure>"
        for drawing, title, caption in entries
    )
    return f'<div class="{kind}">' + "".join(cells) + "</div>"


def board(uri: str, alternative: str) -> str:
    """A picture of a board."""
    return f'<div class="board"><img src="{uri}" alt="{escape(alternative, quote=True)}"></div>'


def table(heads: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> str:
    """A table: rows of cells (HTML) with the class of the row."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(
        f"<tr{_class(kind)}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells, kind in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def definitions(entries: Sequence[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(what)}</dd>" for name, what in entries) + "</dl>"


def commands(lines: Sequence[str]) -> str:
    """Commands to be copied."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def details(summary: str, content: str) -> str:
    """Something to be opened."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
