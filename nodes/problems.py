"""What is wrong with arguments, in words that a model can act on."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails

from ..core.errors import PlaitError
from .places import Path, Place

Problem = tuple[str, str]
"""Field path and reason."""

SHOWN = 80
"""Characters of a refused value that a message shows."""

LISTED = 20
"""Problems that a message lists; `problems` holds all."""

MAX_DEPTH = 128
_MAX_BITS = 12_000  # what Python turns into digits without complaint
_SURROGATE = re.compile("[\ud800-\udfff]")
_SILENT = ("missing", "union_tag_invalid", "union_tag_not_found", "no_such_attribute", "failed_validator")
_PREFIXES = ("Value error, ", "Assertion failed, ")


class InvalidOutput(PlaitError, ValueError):
    """Arguments that are no valid output. `problems` pairs each field path with a reason."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [f"{path}: {reason}" for path, reason in self.problems[:LISTED]]
        more = len(self.problems) - len(lines)
        super().__init__("\n".join([*lines, f"and {more} more"] if more else lines))


def plain_object(arguments: Any) -> dict[str, Any]:
    """`arguments` as a dict of plain JSON values. Raises InvalidOutput where they are not JSON."""
    if not isinstance(arguments, Mapping):
        raise InvalidOutput([("arguments", f"should be an object (got {shown(arguments)})")])
    data = dict(arguments)
    if faults := json_faults(data):
        raise InvalidOutput((dotted(path), reason) for path, reason in faults)
    return data


def json_faults(value: Any) -> list[tuple[Path, str]]:
    """Every place that is not JSON; the first that is nested too deep ends the search."""
    faults: list[tuple[Path, str]] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if len(path) > MAX_DEPTH:
            return [(path[:3], f"is nested deeper than {MAX_DEPTH} levels")]
        faults.extend((path, reason) for reason in _own_faults(item))
        waiting.extend(reversed([((*path, key), part) for key, part in _parts(item)]))
    return faults


def _own_faults(item: Any) -> Iterator[str]:
    if isinstance(item, str) and not _is_unicode(item):
        yield "holds half a surrogate pair, which is no text"
    elif isinstance(item, float) and not math.isfinite(item):
        yield "NaN and infinity are not JSON"
    elif isinstance(item, int) and item.bit_length() > _MAX_BITS:
        yield "is too long a number"
    elif isinstance(item, dict):
        yield from ("has a key that is no text" for key in item if not _is_unicode(key))
    elif not isinstance(item, str | float | int | list | tuple | None):
        yield f"a value of type {type(item).__name__} is not JSON"


def _parts(item: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(item, dict):
        return [(key, part) for key, part in item.items() if _is_unicode(key)]
    return enumerate(item) if isinstance(item, list | tuple) else ()


def _is_unicode(text: Any) -> bool:
    return isinstance(text, str) and (text.isascii() or _SURROGATE.search(text) is None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One of pydantic's errors and the place in the arguments that it means."""

    error: ErrorDetails
    place: Place


def described(refused: Iterable[Refusal]) -> list[Problem]:
    """Refusals as problems, in order and each once."""
    return list(dict.fromkeys(_problem(refusal.error, refusal.place) for refusal in refused))


def _problem(error: ErrorDetails, place: Place) -> Problem:
    reason = error["msg"]
    for prefix in _PREFIXES:
        reason = reason.removeprefix(prefix)
    if error["type"] == "union_tag_not_found":
        reason += _expected(place)
    notes = [f"as {place.branch}"] if place.branch else []
    if error["type"] not in _SILENT:
        notes.append(f"got {shown(error['input'])}")
    return dotted(place.path), f"{reason} ({', '.join(notes)})" if notes else reason


def _expected(place: Place) -> str:
    tags = [tag for node in place.nodes for tag in node.get("discriminator", {}).get("mapping", {})]
    return f"; expected one of {', '.join(repr(tag) for tag in tags)}" if tags else ""


def shown(value: Any) -> str:
    """`value` as JSON, or as Python shows it, cut to `SHOWN` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    clean = text if _is_unicode(text) else text.encode("utf-8", "replace").decode()
    return clean if len(clean) <= SHOWN else clean[: SHOWN - 1] + "…"


def dotted(path: Sequence[str | int]) -> str:
    """`items[0].sku`; the arguments as a whole are `arguments`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "arguments"
