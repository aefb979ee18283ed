"""A live run on a terminal: a line for each unit, step and flow, and under what runs now, what it does.

Pure: a tree and the time give what Rich prints. Columns go when the terminal is narrow, and lines that say
least go when it is low.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..view.live import LiveTree
from ..view.livenode import LiveNode, LiveRow, LiveStatus
from ..view.words import count, seconds

MARKS: dict[LiveStatus, tuple[str, str]] = {
    "waiting": ("·", "dim"),
    "running": ("▸", "bold blue"),
    "done": ("✓", "green"),
    "partial": ("~", "yellow"),
    "failed": ("✗", "bold red"),
    "paused": ("‖", "bold yellow"),
    "skipped": ("-", "dim"),
    "cancelled": ("■", "magenta"),
}
"""The sign and style of each status; every sign is one column wide."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINS_PER_S = 8
WIDE = 80
"""From this width on, numbers are written with their words."""
NARROWEST_NAME = 16


def screen(tree: LiveTree, now: float, width: int, height: int | None = None, head: str = "") -> Group:
    """How a run stands at `now`, in at most `height` lines."""
    rows = _fitting(tree.rows, None if height is None else max(3, height - 3))
    left_out = len(tree.rows) - len(rows)
    more = [Text(f"  … and {count(left_out, 'more line')}", "dim", no_wrap=True)] if left_out else []
    return Group(_head(tree, now, width, head), *([_lines(rows, now, width)] if rows else []), *more)


def _head(tree: LiveTree, now: float, width: int, head: str) -> Text:
    run = tree.run
    status = "running" if run.status == "waiting" else run.status
    sign, style = _mark(status, now)
    totals = " · ".join(_totals(tree, now, width))
    room = width - cell_len(totals) - 4
    name = shortened(head or status, max(room, NARROWEST_NAME))
    text = Text(no_wrap=True, overflow="ellipsis").append(f"{sign} ", style).append(name, "bold")
    return text.append(" " * max(room - cell_len(name), 0)).append(f"  {totals}", "dim")


def _totals(tree: LiveTree, now: float, width: int) -> list[str]:
    told = [seconds(tree.run.elapsed_s(now))]
    if tree.tokens:
        told = [count(tree.tokens, "token") if width >= WIDE else f"{short(tree.tokens)} tok", *told]
    calls = tree.model_calls
    return [count(calls, "model call") if width >= WIDE else f"{calls} calls", *told]


def _fitting(rows: Sequence[LiveRow], most: int | None) -> Sequence[LiveRow]:
    """The rows that fit: what has ended, waits or was skipped gives way to what runs or failed."""
    if most is None or sum(map(_height, rows)) <= most:
        return rows
    ranked = sorted(range(len(rows)), key=lambda index: (_rank(rows[index].node), -index))
    kept: set[int] = set()
    room = most - 1
    for index in ranked:
        if (tall := _height(rows[index])) <= room:
            kept.add(index)
            room -= tall
    return [row for index, row in enumerate(rows) if index in kept]


def _rank(node: LiveNode) -> int:
    ranks = {"running": 0, "failed": 1, "paused": 1, "cancelled": 2, "partial": 2, "done": 3}
    return ranks.get(node.status, 4)


def _height(row: LiveRow) -> int:
    return 2 if _doing(row.node) else 1


def _lines(rows: Sequence[LiveRow], now: float, width: int) -> RenderableType:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis", min_width=NARROWEST_NAME)
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True, style="dim")
    for row in rows:
        table.add_row(_name(row, now), *_numbers(row.node, now, width))
        if doing := _doing(row.node):
            table.add_row(_under(row, doing, _room(rows, row, now, width)))
    return table


def _room(rows: Sequence[LiveRow], row: LiveRow, now: float, width: int) -> int:
    """Columns that the line under a row may take beside the numbers."""
    numbers = [_numbers(each.node, now, width) for each in rows]
    taken = sum(max(cell_len(each[column]) + 2 for each in numbers) for column in range(3))
    return max(width - taken - _indent(row) - 3, NARROWEST_NAME)


def _indent(row: LiveRow) -> int:
    return 2 * row.depth + 4


def _name(row: LiveRow, now: float) -> Text:
    node = row.node
    sign, style = _mark(node.status, now)
    text = Text(no_wrap=True, overflow="ellipsis").append("  " * (row.depth + 1)).append(f"{sign} ", style)
    text.append(node.name or node.unit, _name_style(node))
    if node.kind == "unit" and node.unit and node.unit not in node.name:
        text.append(f" {node.unit}", "dim")
    return text


def _name_style(node: LiveNode) -> str:
    if node.status in ("waiting", "skipped"):
        return "dim"
    return "italic" if node.kind == "flow" else "bold" if node.status == "running" else ""


def _numbers(node: LiveNode, now: float, width: int) -> tuple[str, str, str]:
    if node.status in ("waiting", "skipped"):
        return "", "", ""
    calls = "" if not node.model_calls else count(node.model_calls, "call")
    tokens = "" if not node.tokens else f"{short(node.tokens)} {'tokens' if width >= WIDE else 'tok'}"
    return calls, tokens, seconds(node.elapsed_s(now)) if node.started_s else ""


def _doing(node: LiveNode) -> tuple[str, str] | None:
    """What stands under a row, and its style: the tool that runs, the text being written, the error."""
    if node.kind == "flow":
        return None
    if node.status == "running":
        text = " ".join(node.text.split())
        return (f"runs {node.tool}", "cyan") if node.tool else (text or "thinks", "dim")
    if node.status == "failed" and node.error:
        return " ".join(node.error.split()), "red"
    return None


def _under(row: LiveRow, doing: tuple[str, str], room: int) -> Text:
    text, style = doing
    is_tail = row.node.status == "running" and not row.node.tool
    shown = tail(text, room) if is_tail else shortened(text, room)
    return Text(" " * _indent(row), no_wrap=True).append(shown, style)


def _mark(status: LiveStatus, now: float) -> tuple[str, str]:
    sign, style = MARKS[status]
    return (SPINNER[int(now * SPINS_PER_S) % len(SPINNER)], style) if status == "running" else (sign, style)


def short(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.2M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            shown = number / size
            return f"{shown:.1f}{unit}" if shown < 10 else f"{shown:.0f}{unit}"
    return str(number)


def shortened(text: str, room: int) -> str:
    """The beginning of a text in so many columns; wide signs, such as Chinese ones, take two."""
    return text if cell_len(text) <= room else f"{chop_cells(text, max(room - 1, 1))[0]}…"


def tail(text: str, room: int) -> str:
    """The end of a text in so many columns."""
    if cell_len(text) <= room:
        return text
    return f"…{chop_cells(text[::-1], max(room - 1, 1))[0][::-1]}"
