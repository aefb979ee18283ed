"""Values compared down to the last field: `==` takes 1 for True, and `field("a") == field("b")` for true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def essence(value: Any) -> Any:
    """A value as nested tuples that are equal only when it is the same in every field."""
    if isinstance(value, type) or value is None:
        return repr(value)
    if is_dataclass(value):
        inside = tuple((f.name, essence(getattr(value, f.name))) for f in fields(value))
        return (type(value).__qualname__, inside)
    if isinstance(value, Mapping):
        return ("mapping", tuple((key, essence(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return (type(value).__qualname__, tuple(essence(item) for item in value))
    if isinstance(value, str | int | float | bool):
        return (type(value).__qualname__, repr(value))
    return repr(value) if hasattr(value, "__args__") else id(value)
