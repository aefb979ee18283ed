"""What can be seen of a run from outside, as plain values that two runs can be compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ..graphs.result import RunResult

Seen = dict[str, Any]


def seen_of_result(result: RunResult) -> Seen:
    """A turn of a workflow, without times, ids and what it cost."""
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "message": result.message,
        "path": result.path,
        "accepted": result.accepted,
        "output": repr(result.stored.value) if result.outcome in ("done", "partial") else None,
        "state": {key: repr(value) for key, value in (result.state or {}).items()},
        "steps": [
            {"path": step.path, "status": step.status, "output": repr(step.stored.value)}
            for step in result.steps
        ],
        "messages": seen_of(result.messages),
    }


def seen_of(value: Any) -> Any:
    """Any value as JSON; messages without their ids, other objects as Python shows them."""
    if isinstance(value, BaseMessage):
        return _message(value)
    if isinstance(value, Mapping):
        return {str(key): seen_of(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [seen_of(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _message(message: BaseMessage) -> Seen:
    seen: Seen = {"type": message.type, "content": seen_of(message.content)}
    if isinstance(message, AIMessage) and message.tool_calls:
        seen["calls"] = [{"tool": call["name"], "args": seen_of(call["args"])} for call in message.tool_calls]
    return seen


def difference(expected: Any, found: Any, place: str = "") -> str | None:
    """Where two plain values differ first, and how; None when they are equal."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        keys = [*expected, *(key for key in found if key not in expected)]
        pairs = [(f"{place}.{key}".lstrip("."), key in expected, key in found, key) for key in keys]
        inner = (_inner(expected, found, *pair) for pair in pairs)
        return next((told for told in inner if told), None)
    if isinstance(expected, list) and isinstance(found, list):
        longer = range(max(len(expected), len(found)))
        pairs = [(f"{place}[{n}]", n < len(expected), n < len(found), n) for n in longer]
        inner = (_inner(expected, found, *pair) for pair in pairs)
        return next((told for told in inner if told), None)
    return None if expected == found else f"{place}: {found!r:.200} instead of {expected!r:.200}"


def _inner(expected: Any, found: Any, place: str, was: bool, now: bool, key: Any) -> str | None:
    if was and now:
        return difference(expected[key], found[key], place)
    return f"{place}: {expected[key]!r:.200} is missing" if was else f"{place}: {found[key]!r:.200} is new"
