"""Mending arguments where the schema itself says how.

Two slips are mended, both only where validation has failed: an object or array that arrives as JSON text, and
a missing field that may be null. Whatever comes out is validated again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .jsonschema import Schema
from .places import Path, kinds_due
from .problems import Refusal, json_faults

ABSENT = object()
"""What stands where there is no value."""


def mended(data: dict[str, Any], refused: Iterable[Refusal], schema: Schema) -> dict[str, Any] | None:
    """A copy of `data` with what can be mended; None when nothing can."""
    changed = data
    for refusal in refused:
        is_missing = refusal.error["type"] == "missing"
        value = _null(data, refusal, schema) if is_missing else _parsed(data, refusal, schema)
        if value is not ABSENT:
            changed = _with(changed, refusal.place.path, value)
    return None if changed is data or json_faults(changed) else changed


def value_at(data: Any, path: Path) -> Any:
    """The value at `path`, or `ABSENT`."""
    for part in path:
        keys: Any = data if isinstance(data, dict) else range(len(data) if isinstance(data, list) else 0)
        if part not in keys:
            return ABSENT
        data = data[part]
    return data


def _parsed(data: dict[str, Any], refusal: Refusal, schema: Schema) -> Any:
    text, place = refusal.error["input"], refusal.place
    if not isinstance(text, str) or not refusal.error["type"].endswith("_type"):
        return ABSENT
    if value_at(data, place.path) != text:
        return ABSENT
    try:
        value = json.loads(text, strict=False, parse_constant=_refused)
    except (ValueError, RecursionError):
        return ABSENT
    return value if _kind(value) in kinds_due(place.nodes, schema) else ABSENT


def _kind(value: Any) -> str:
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _null(data: dict[str, Any], refusal: Refusal, schema: Schema) -> Any:
    """Null for a field that may be null, unless it belongs to one of several possible branches."""
    place = refusal.place
    if not place.path or place.branch or value_at(data, place.path) is not ABSENT:
        return ABSENT
    inside = value_at(data, place.path[:-1]) == refusal.error["input"]
    return None if inside and "null" in kinds_due(place.due, schema) else ABSENT


def _with(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = _with(copy[path[0]] if path[1:] else None, path[1:], value)
    return copy
