"""The codec's own words: plain data, a class registry, and the two ways in which coding stops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
Registry: TypeAlias = Mapping[str, type]

TYPE, VALUE = "$type", "$value"
DEPTH = 200  # levels as written, where a typed value takes two; well below what stack and formats bear


class Stopped(Exception):
    """Coding stopped. On its way out each container adds where in it that was, innermost first."""

    def __init__(self, why: str, trail: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.trail = list(trail)

    def passed(self, holder: object, segment: str) -> None:
        self.trail.append((id(holder), segment))

    def where(self, key: str) -> str:
        """The address of the value below `key`; for a value that holds itself, up to its return."""
        steps = [segment for _, segment in self._outward()[0]]
        return key + "".join(steps if len(steps) <= 20 else [*steps[:10], "…", *steps[-5:]])

    def holds_itself(self) -> bool:
        return self._outward()[1]

    def _outward(self) -> tuple[list[tuple[int, str]], bool]:
        outward = self.trail[::-1]
        seen: set[int] = set()
        for index, (holder, _) in enumerate(outward):
            if holder in seen:
                return outward[:index], True
            seen.add(holder)
        return outward, False


class Refused(Stopped):
    """A value on its way in that would not survive."""

    def __init__(self, subject: type, why: str, trail: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(why, trail)
        self.subject = subject


class Changed(Stopped):
    """Data on its way out that no longer fits the class, or kind, it was written from."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


def each_item(items: list[Any], code: Callable[..., Any], *context: Any) -> list[Any]:
    """`code(item, *context)` for each; the very same list when nothing changes."""
    changed: list[Any] | None = None
    for index, old in enumerate(items):
        try:
            new = code(old, *context)
        except Stopped as fault:
            fault.passed(items, f"[{index}]")
            raise
        if new is not old:
            changed = list(items) if changed is None else changed
            changed[index] = new
    return items if changed is None else changed


def each_entry(
    entries: dict[str, Any], holder: object, code: Callable[..., Any], *context: Any
) -> dict[str, Any]:
    """`code(value, *context)` for each entry; the very same dict when nothing changes."""
    changed: dict[str, Any] | None = None
    for name, old in entries.items():
        try:
            new = code(old, *context)
        except Stopped as fault:
            fault.passed(holder, segment(name))
            raise
        if new is not old:
            changed = dict(entries) if changed is None else changed
            changed[name] = new
    return entries if changed is None else changed


def segment(key: object) -> str:
    """The path segment of a dict entry or attribute: `.price`, or `['unit price']`."""
    if isinstance(key, str) and re.fullmatch(r"\w+", key):
        return f".{key}"
    return f"[{key!r:.60}]"
