"""The pieces of a report: one HTML page that needs nothing else, in light, in the dark and on paper."""

import base64
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from eigenwerk.figure_layout import ready
from eigenwerk.shown import for_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6670; --page: #ffffff; --card: #f4f6f8; --line: #d9dfe4;
  --good: #1a7f4b; --bad: #b3261e; --doubt: #8a5a00; --bar: #1b6ca8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8eb; --soft: #9aa6b0; --page: #15191c; --card: #1f2529; --line: #363f46;
    --good: #5fd39b; --bad: #ff8a80; --doubt: #f0c060; --bar: #5aa9e0; }
  img.lines { filter: invert(0.91) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.6rem; max-width: 66rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); } nav a { margin-right: 1rem; } a { color: var(--bar); }
.status { margin: 1rem 0; padding: .7rem 1rem; border-left: 6px solid; background: var(--card); font-weight: 600; }
.good { color: var(--good); border-color: var(--good); } .bad { color: var(--bad); border-color: var(--bad); }
.doubt { color: var(--doubt); border-color: var(--doubt); }
ul.remarks { margin: .4rem 0; padding-left: 1.2rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr)); gap: .7rem; margin: 1rem 0; }
.card { background: var(--card); padding: .6rem .8rem; border-radius: 6px; } .card b { display: block;
  font-size: 1.15rem; font-variant-numeric: tabular-nums; } .card span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; margin: .4rem 0; }
th { text-align: left; color: var(--soft); font-weight: 600; } th, td { padding: .16rem 1.1rem .16rem 0;
  vertical-align: top; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.bad td { color: var(--bad); } figure { margin: .6rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .88rem; } .two { display: flex; flex-wrap: wrap; gap: 1.6rem; }
.two > * { flex: 1 1 22rem; min-width: 0; } details { margin: .5rem 0; } summary { cursor: pointer; color: var(--bar); }
pre { background: var(--card); padding: .7rem; overflow-x: auto; font-size: .82rem; border-radius: 6px; }
.bar { display: inline-block; height: .65rem; background: var(--bar); vertical-align: middle; min-width: 1px; }
@media print { :root { --ink: #000; --page: #fff; --card: #fff; --soft: #444; --line: #bbb; --good: #000; --bad: #900;
    --doubt: #640; --bar: #135; } body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .scroll { overflow: visible; } table { font-size: 8.5pt; } th, td { padding-right: .7rem; }
  img.lines { filter: none; } h2 { break-after: avoid; } figure, .card, tr, .status { break-inside: avoid; }
  .cards { grid-template-columns: repeat(3, 1fr); } .card { border: 1px solid #bbb; } figure img { max-height: 11cm; } }
"""

Cell = str | float | int | None


def page(title: str, body: str) -> str:
    """The whole document."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{for_page(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def section(name: str, title: str, *parts: str) -> str:
    """A part with a heading; nothing if it is empty."""
    body = "\n".join(filter(None, parts))
    return f'<section id="{name}">\n<h2>{for_page(title)}</h2>\n{body}\n</section>' if body else ""


def text(words: str, kind: str = "") -> str:
    """A paragraph."""
    return f'<p class="{kind}">{for_page(words)}</p>' if words else ""


def remarks(words: Iterable[str], kind: str) -> str:
    """Sentences below each other."""
    rows = "".join(f"<li>{for_page(one)}</li>" for one in words)
    return f'<ul class="remarks {kind}">{rows}</ul>' if rows else ""


def cards(values: Iterable[tuple[str, str, str]]) -> str:
    """Numbers at a glance: (name, value, words below it)."""
    found = "".join(
        f'<div class="card"><span>{for_page(name)}</span><b>{for_page(value)}</b><span>{for_page(below)}</span></div>'
        for name, value, below in values
    )
    return f'<div class="cards">{found}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], marked: Sequence[bool] = ()) -> str:
    """Numbers, which come formatted or as they are, to the right; words to the left.  marked: rows in red."""
    found = [[_cell(entry) for entry in row] for row in rows]
    if not found:
        return ""
    right = [all(_is_number(row[place]) for row in found if row[place]) for place in range(len(found[0]))]
    kinds = [' class="n"' if one else "" for one in right]
    head = "".join(f"<th{kind}>{for_page(name)}</th>" for name, kind in zip(heads, kinds, strict=True))
    lines = []
    for number, row in enumerate(found):
        cells = "".join(f"<td{kind}>{for_page(entry)}</td>" for entry, kind in zip(row, kinds, strict=True))
        red = ' class="bad"' if number < len(marked) and marked[number] else ""
        lines.append(f"<tr{red}>{cells}</tr>")
    header = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f'<div class="scroll"><table>{header}<tbody>{"".join(lines)}</tbody></table></div>'


def _cell(entry: Cell) -> str:
    return "" if entry is None else f"{entry:g}" if isinstance(entry, float) else str(entry)


def _is_number(words: str) -> bool:
    try:
        float(words.replace("−", "-"))
    except ValueError:
        return False
    return True


def details(summary: str, *parts: str) -> str:
    """Something to unfold; nothing if it is empty."""
    body = "\n".join(filter(None, parts))
    return f"<details><summary>{for_page(summary)}</summary>\n{body}\n</details>" if body else ""


def verbatim(words: str) -> str:
    """Text of a file."""
    return f"<pre>{for_page(words)}</pre>"


def figure(drawn: "Figure", alternative: str, caption: str = "") -> str:
    """A picture of lines as SVG inside the page; on a dark page its colours are turned over."""
    from matplotlib import rc_context

    out = BytesIO()
    ready(drawn)
    # what is drawn does not change with the day or the process
    with rc_context({"svg.hashsalt": "eigenwerk", "svg.fonttype": "path"}):
        drawn.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    data = base64.b64encode(out.getvalue()).decode("ascii")
    below = f"<figcaption>{for_page(caption)}</figcaption>" if caption else ""
    source = f"data:image/svg+xml;base64,{data}"
    return f'<figure><img class="lines" alt="{for_page(alternative)}" src="{source}">{below}</figure>'
