"""HTML that needs nothing from outside and is legible on light and dark grounds. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .svg import allowed
from .theme import STATUS_COLOURS

MOST_ROWS = 100

STYLE = """
.plait.plait{font-size:13px;line-height:1.45;max-width:100%;overflow-x:auto;text-align:left}
.plait.plait table{border-collapse:collapse;margin:6px 0;font-size:13px;border:none;table-layout:auto}
.plait.plait tr{background:none!important}
.plait.plait>div{margin:4px 0}
.plait.plait th,.plait.plait td{text-align:left;vertical-align:top;padding:3px 12px 3px 4px;max-width:46em;
border:none;border-bottom:1px solid rgba(128,128,128,.28);white-space:normal;overflow-wrap:break-word;
background:none}
.plait.plait th{font-weight:600;white-space:nowrap;opacity:.75;overflow-wrap:normal}
.plait.plait .n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.plait.plait .p{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px}
.plait.plait .t{white-space:pre-wrap}
.plait.plait .w{white-space:nowrap}
.plait.plait .f{max-width:none}
.plait.plait .d{background:rgba(214,158,46,.24)}
.plait.plait .b{display:inline-block;padding:0 8px;border-radius:9px;color:#fff;font-size:12px;
white-space:nowrap}
.plait.plait .m{opacity:.75}
.plait.plait .q{border-left:3px solid #b7600b;padding:2px 0 2px 10px;margin:8px 0}
.plait.plait img{max-width:100%;height:auto;background:#fff;border-radius:6px}
""".replace("\n", "")


class Html(str):
    """Text that is HTML already; every other text is escaped where it is put in."""

    __slots__ = ()


class Cell(Html):
    """A cell of a table with a class of its own instead of its column's."""

    __slots__ = ()


def tag(name: str, kind: str, *inside: str) -> Html:
    """An element with a class, or none when `kind` is blank."""
    opening = f'{name} class="{kind}"' if kind else name
    return Html(f"<{opening}>{joined(inside)}</{name}>")


def cell(kind: str, *inside: str) -> Cell:
    return Cell(tag("td", kind, *inside))


def joined(parts: Iterable[str], between: str = "") -> Html:
    return Html(between.join(part if isinstance(part, Html) else escape(allowed(part)) for part in parts))


def path_html(path: str) -> Html:
    """A path that may be broken between its segments."""
    return joined(path.split("/"), "/<wbr>")


def badge(status: str, text: str = "") -> Html:
    """A status as a coloured word."""
    ground = STATUS_COLOURS.get(status, STATUS_COLOURS["waiting"])[0]
    return Html(f'<span class="b" style="background:{ground}">{joined([text or status])}</span>')


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], noun: str = "rows") -> Html:
    """A table; each column is its title and the class of its cells. Too many rows are cut in the middle,
    and how many those are is said with the `noun`."""
    titles = tag("tr", "", *(tag("th", kind if kind == "n" else "", title) for title, kind in columns))
    head = [tag("thead", "", titles)] if any(title for title, _ in columns) else []
    shown = [*rows] if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS // 2], *rows[-MOST_ROWS // 2 :]]
    lines = [_line(columns, row) for row in shown]
    if len(rows) > len(shown):
        told = f"… {len(rows) - len(shown):,} of {len(rows):,} {noun} are not shown …"
        lines.insert(MOST_ROWS // 2, Html(f'<tr><td colspan="{len(columns)}" class="m">{told}</td></tr>'))
    return tag("table", "", *head, tag("tbody", "", *lines))


def _line(columns: Sequence[tuple[str, str]], row: Sequence[str]) -> Html:
    cells = zip(columns, row, strict=True)
    return tag("tr", "", *(one if isinstance(one, Cell) else cell(kind, one) for (_, kind), one in cells))


def block(*inside: str) -> Html:
    """A whole display, with the styles it needs."""
    return Html(f'<div class="plait"><style>{STYLE}</style>{joined(inside)}</div>')
