"""Plain values: what JSON and a checkpoint can both hold, copied by a walk that cannot overflow the stack."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 64
MAX_INT = 2**63 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING: Any = object()
_Path = tuple[Any, ...]  # linked: (parent path, key), or () at the root


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain copy of a value: `faults` says what was left out and where, `repaired` that text was mended."""

    value: Any
    faults: tuple[str, ...] = ()
    repaired: bool = False


def clean_text(text: str) -> tuple[str, bool]:
    """Text without broken surrogates, and whether there were any.

    Two halves that form a pair are joined; a lone half becomes U+FFFD.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return str.__str__(text), False
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), True


def plain(value: Any) -> Plain:
    """A copy of only dicts with text keys, lists, text, finite floats, 64-bit integers, booleans and None.

    Tuples become lists. What does not fit is left out and listed as a fault; a root that does not fit: None.
    """
    walk = _Walk()
    root = walk.copy_of(value, (), 1)
    while walk.todo:
        walk.fill(*walk.todo.pop())
    return Plain(None if root is _MISSING else root, tuple(walk.faults), walk.repaired)


@dataclass(slots=True)
class _Walk:
    """One walk: the containers still to fill, and what was found on the way."""

    todo: list[tuple[Any, Any, _Path, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    repaired: bool = False

    def copy_of(self, value: Any, path: _Path, depth: int) -> Any:
        match value:
            case None | bool():
                return value
            case str():
                return self.text(value)
            case int():
                return int(value) if -MAX_INT - 1 <= value <= MAX_INT else self.fault(_BIG, path)
            case float():
                return float(value) if math.isfinite(value) else self.fault(_not_finite(value), path)
            case dict() | list() | tuple():
                return self.container(value, path, depth)
        return self.fault(f"a value of type {type(value).__name__} is not JSON", path)

    def container(self, value: Any, path: _Path, depth: int) -> Any:
        if depth > MAX_DEPTH:
            return self.fault(f"nested deeper than {MAX_DEPTH}", ())
        copy: Any = {} if isinstance(value, dict) else []
        self.todo.append((value, copy, path, depth))
        return copy

    def fill(self, source: Any, copy: Any, path: _Path, depth: int) -> None:
        pairs = source.items() if isinstance(source, dict) else enumerate(source)
        for key, child in pairs:
            if isinstance(source, dict) and not isinstance(key, str):
                self.fault(f"a key of type {type(key).__name__} is not JSON", path)
                continue
            shown = self.copy_of(child, (path, key), depth + 1)
            if shown is _MISSING:
                continue
            if isinstance(source, dict):
                copy[self.text(key)] = shown
            else:
                copy.append(shown)

    def text(self, text: Any) -> str:
        clean, repaired = clean_text(text)
        self.repaired |= repaired
        return clean

    def fault(self, what: str, path: _Path) -> Any:
        where = _rendered(path)
        self.faults.append(f"{what} at {where}" if where else what)
        return _MISSING


_BIG = "integer beyond 64 bits"


def _not_finite(value: float) -> str:
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"{name} is not JSON"


def _rendered(path: _Path) -> str:
    keys: list[Any] = []
    while path:
        path, key = path
        keys.append(key)
    parts = [f"[{key}]" if isinstance(key, int) else f".{clean_text(key)[0]}" for key in reversed(keys)]
    return "".join(parts).lstrip(".")
