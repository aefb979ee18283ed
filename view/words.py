"""Values, counts and times in a few words. Whatever a value does when it is shown, this gives a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from ..core.records import ToolCallRecord

RESOLVE = "resolve"
PLAIN_TEXT = 10_000
"""The most characters of a `repr` that a notebook keeps beside a table."""


def said_value(value: Any, longest: int = 300, show: Callable[[Any], str] = repr) -> str:
    """A value as text of about that length: texts, decimals and dates as they are, all else as `repr`."""
    if isinstance(value, str | Decimal | date):
        return cut(str(value), longest)
    try:
        return cut(str(show(value)), longest)
    except Exception as error:  # its class is somebody else's
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def cut(text: str, longest: int) -> str:
    """`text` without what is too much: the end of a short text, the middle of a long one."""
    if len(text) <= longest:
        return text
    if longest < 1_000:
        return f"{text[: longest - 1]}…"
    tail = longest // 4
    return f"{text[: longest - tail]} … {len(text) - longest:,} characters left out … {text[-tail:]}"


def plain(value: Any) -> str:
    """What stands beside a picture for those who read text."""
    return said_value(value, PLAIN_TEXT)


def count(number: int, noun: str) -> str:
    """`1 tool call`, `1,250 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seconds(value: float) -> str:
    """`41 ms`, `3.2 s`, `2 min 5 s`."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60:,} min {int(value) % 60} s"


def tools_called(calls: Iterable[ToolCallRecord]) -> str:
    """`read_file ×3, search (1 failed)`: the tools in the order of their first call, `resolve` left out."""
    found: dict[str, list[bool]] = {}
    for call in calls:
        if call.name != RESOLVE:
            found.setdefault(call.name, []).append(call.ok)
    return ", ".join(_called(name, went_well) for name, went_well in found.items())


def _called(name: str, went_well: list[bool]) -> str:
    times = f" ×{len(went_well)}" if len(went_well) > 1 else ""
    failed = went_well.count(False)
    return f"{name}{times}{f' ({failed} failed)' if failed else ''}"
