"""Typed values as HTML: a text as text, a model as its fields, a list of models as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

from pydantic import BaseModel

from .html import Html, table, tag
from .words import count, said_value

TEXT, FIELD = 4_000, 1_200
MOST = 20
"""How many fields stand on a line, and columns in a table."""


def value_html(value: Any, depth: int = 0) -> Html:
    """A value as people read it; `depth` is how far inside another one it stands."""
    if depth < 2 and (rows := _records(value)):
        return _items_table(rows, depth)
    if depth < 2 and (named := fields_of(value)):
        pairs = [[name, value_html(item, depth + 1)] for name, item in named.items()]
        return table((("", "m w"), ("", "f")), pairs, "fields")
    text = "\n".join(value) if _is_texts(value) else value
    return tag("div", "t", said_value(text, FIELD if depth else TEXT))


def _items_table(rows: Sequence[Mapping[str, Any]], depth: int) -> Html:
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown, left = names[:MOST], len(names) - MOST
    columns = [(name, "") for name in shown]
    shown_rows = [[value_html(row.get(name, ""), depth + 1) for name in shown] for row in rows]
    if left <= 0:
        return table(columns, shown_rows, "items")
    told = f"… {left:,} more columns"
    return table([*columns, (told, "m")], [[*row, "…"] for row in shown_rows], "items")


def short_value(value: Any, longest: int = 160, depth: int = 0) -> str:
    """A value on a line or two: a model as `field: value` pairs, a list of models as their number."""
    if _is_texts(value):
        return said_value(", ".join(value), longest)
    if _records(value):
        return count(len(value), "item")
    named = fields_of(value) if depth < 2 else None
    if not named:
        return said_value(value, longest)
    each = max(60, longest // len(named))
    told = (f"{name}: {short_value(item, each, depth + 1)}" for name, item in islice(named.items(), MOST))
    return said_value(", ".join(told), longest)


def fields_of(value: Any) -> Mapping[str, Any] | None:
    """The named parts of a model, a dataclass or a mapping; None for all else."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name, None) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name, None) for one in fields(value) if one.repr}
    if isinstance(value, Mapping):
        return {said_value(key, 80): item for key, item in value.items()}
    return None


def _records(value: Any) -> Sequence[Mapping[str, Any]]:
    """The fields of each item of a list of models; empty for any other value."""
    if not isinstance(value, list | tuple) or not value:
        return ()
    found = [fields_of(item) for item in value]
    return [one for one in found if one] if all(found) else ()


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, str) for item in value)
