"""A run as plain lines, for pipes and logs: one for each thing that began or ended. Pure."""

from __future__ import annotations

from ..core.events import Event
from ..view.live import LiveTree
from ..view.words import count, seconds

RESOLVE = "resolve"


def line_of(event: Event, tree: LiveTree) -> str | None:
    """What a log says of an event; None for most. `tree` is the run once it has happened."""
    if not event.path:
        return None
    if event.type == "agent_start":
        return f"{event.path}: {'goes on' if event.resumed else 'begins'}"
    if event.type == "tool_execution_start" and event.tool != RESOLVE:
        return f"{event.path}: runs {event.tool}"
    if event.type == "tool_execution_end" and event.is_error and event.tool != RESOLVE:
        return f"{event.path}: {event.tool} failed: {' '.join(str(event.content or '').split())[:200]}"
    if event.type == "agent_end":
        return _ended(event, tree)
    return None


def _ended(event: Event, tree: LiveTree) -> str:
    node = tree.nodes[event.path]
    spent = [count(node.model_calls, "model call")] if node.model_calls else []
    spent += [count(node.tokens, "token")] if node.tokens else []
    told = f"{event.path}: {event.outcome} ({', '.join([*spent, seconds(node.elapsed_s(event.time))])})"
    return f"{told}: {event.error or event.reason}" if event.outcome == "failed" else told
