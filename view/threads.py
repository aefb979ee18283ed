"""A thread as a notebook shows it: the points at which it stood, newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..graphs.background import run_in_background
from ..graphs.points import ThreadPoint
from .html import Html, badge, block, cell, table, tag
from .words import plain

COLUMNS = (("turn", "n"), ("", "w"), ("ran last", "p"), ("runs next", "p"), ("time", "w"), ("id", "p"))
KINDS = {"paused": "paused", "end": "done", "step": "running", "edit": "partial", "input": "waiting"}
MOST_POINTS = 200
LONGEST_S = 10.0
"""How long a notebook waits for a thread's history before it says that it cannot be read."""


def thread_bundle(thread: Any) -> dict[str, str]:
    """The thread's history, read now; what cannot be read is told instead."""
    try:
        points = run_in_background(asyncio.wait_for(thread.history(MOST_POINTS), LONGEST_S))
    except Exception as error:  # a saver of the caller's own may want the caller's loop, which waits here
        told = f"The history cannot be read from here ({type(error).__name__}: {error})"
        html = tag("div", "m", told, "; try await thread.history()")
    else:
        html = _table(thread.id, points)
    return {"text/html": block(html), "text/plain": plain(thread)}


def _table(thread_id: str, points: Sequence[ThreadPoint]) -> Html:
    if not points:
        return tag("div", "m", f"Nothing has run on thread {thread_id}.")
    rows = [_row(point) for point in points]
    head = tag("div", "m", f"thread {thread_id}: {len(points):,} points, newest first")
    return Html(head + table(COLUMNS, rows, "points"))


def _row(point: ThreadPoint) -> list[str]:
    forked = tag("div", "m", f"forked from {point.forked_from[0]}") if point.forked_from else Html()
    time = point.time.strftime("%Y-%m-%d %H:%M:%S") if point.time else ""
    return [
        str(point.turn),
        cell("w", badge(KINDS[point.kind], point.kind), forked),
        point.last,
        ", ".join(point.next),
        time,
        point.id,
    ]
