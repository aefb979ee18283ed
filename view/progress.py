"""A run under way as a notebook shows it: the flow's picture in colours, and a line for each running unit."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from .drawing import Drawing
from .html import Html, badge, block, cell, table, tag
from .live import LiveTree
from .livenode import LiveNode
from .words import RESOLVE, count, seconds

COLUMNS = (("unit", "p"), ("now", "t"), ("model calls", "n"), ("tokens", "n"), ("time", "n"))
TAIL = 100


def progress_bundle(tree: LiveTree, drawing: Drawing | None, now: float) -> dict[str, str]:
    """How a run stands at `now`, in seconds since the epoch."""
    picture = [_picture(drawing.svg_at(tree))] if drawing is not None else []
    shown = [*tree.running, *(node for node in tree.leaves if node.status in ("failed", "paused"))]
    lines = [table(COLUMNS, [_line(node, now) for node in shown], "units")] if shown else []
    return {"text/html": block(_head(tree, now), *picture, *lines), "text/plain": progress_text(tree, now)}


def progress_text(tree: LiveTree, now: float) -> str:
    """The same as a line for the run and one for each part, indented."""
    return "\n".join([f"{tree.run.status}: {' · '.join(_totals(tree, now))}", *_indented(tree)])


def _indented(tree: LiveTree) -> Iterator[str]:
    for row in tree.rows:
        node = row.node
        told = f" ({node.tool})" if node.tool else ""
        yield f"{'  ' * (row.depth + 1)}{node.name}: {node.status}{told}"


def _head(tree: LiveTree, now: float) -> Html:
    told = tag("span", "m", " ", " · ".join(_totals(tree, now)))
    error = [tag("div", "t", tree.run.error)] if tree.run.error else []
    return tag("div", "", badge(tree.run.status), told, *error)


def _totals(tree: LiveTree, now: float) -> list[str]:
    ended = sum(node.status not in ("running", "paused") for node in tree.leaves)
    return [
        f"{count(ended, 'unit')} ended",
        count(tree.model_calls, "model call"),
        count(tree.tokens, "token"),
        seconds(tree.run.elapsed_s(now)),
    ]


def _picture(svg: str) -> Html:
    """The SVG as an image, which untrusted notebooks show too."""
    data = b64encode(svg.encode()).decode()
    return tag("div", "", Html(f'<img alt="the flow" src="data:image/svg+xml;base64,{data}">'))


def _line(node: LiveNode, now: float) -> list[str]:
    return [
        node.path,
        cell("t", *_doing(node)),
        f"{node.model_calls:,}",
        f"{node.tokens:,}",
        seconds(node.elapsed_s(now)),
    ]


def _doing(node: LiveNode) -> list[str]:
    if node.status != "running":
        return [badge(node.status, node.reason or ""), " ", node.error or ""]
    if node.tool:
        return ["runs ", tag("span", "p", node.tool)]
    text = node.text.strip()
    if text:
        return [f"writes: {text if len(text) <= TAIL else f'…{text[-TAIL:]}'}"]
    if node.writing:
        return ["writes its answer" if node.writing == RESOLVE else f"calls {node.writing}"]
    return ["thinks"]
