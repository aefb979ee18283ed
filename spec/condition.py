"""Conditions: `score >= 8`, the same as a mapping, or a function by import path."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

from ..core.conditions import Comparison, Operator
from .kinds import BAD, Reading, Schema, Schemas, Writing, wrong
from .references import Import
from .scalars import scalar_value
from .simple import Choice, Data, Text
from .tree import Node, Scalar, Table, plain

_SHORT = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*", re.S)
_OPERATORS: tuple[str, ...] = get_args(Operator)
_KEYS = ("field", "op", "value")
_FUNCTION = Import("a function of the Snapshot")


@dataclass(frozen=True)
class Condition:
    """What `when`, `until`, `accept` and `replan_when` hold: data, or a function by import path."""

    what: str = "a condition such as `score >= 8`, or a function by import path"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table) or (isinstance(node, Scalar) and isinstance(node.value, str))

    def holds(self, value: Any) -> bool:
        return isinstance(value, Comparison) or callable(value)

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table):
            return self._whole(node, at)
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        short = _SHORT.fullmatch(node.value[:1000])
        if short is None:
            if ":" in node.value:
                return _FUNCTION.read(node, at)
            told = f"{node.value!r:.60} is no condition; write it as `score >= 8`, or name a function"
            return at.fault("bad-value", told, node)
        value = _value(short[3])
        if value is BAD:
            told = f"{short[3]!r:.60} is no single value: a condition compares one field with one value"
            return at.fault("bad-value", f"{told}; quote a text, or name a function for more", node)
        return Comparison(short[1], short[2], value)  # type: ignore[arg-type]

    def write(self, value: Any, at: Writing) -> Any:
        if not isinstance(value, Comparison):
            return _FUNCTION.write(value, at)
        short = f"{value.name} {value.operator} {_shown(value.value)}"
        if isinstance(value.value, str | int | bool | None) and _is_same(short, value):
            return Text().write(short, at)
        whole = {"field": value.name, "op": value.operator, "value": value.value}
        return {key: Data().write(part, at.key(key)) for key, part in whole.items()}

    def schema(self, to: Schemas) -> Schema:
        properties = {"field": {"type": "string"}, "op": {"enum": list(_OPERATORS)}, "value": {}}
        closed = {"required": list(_KEYS), "additionalProperties": False}
        whole = {"type": "object", "properties": properties, **closed}
        return to.named("condition", lambda: {"anyOf": [{"type": "string"}, whole]})

    def _whole(self, node: Table, at: Reading) -> Any:
        for entry in node.entries:
            if entry.key not in _KEYS:
                return at.fault(
                    "unknown-key",
                    f"a condition has no key {entry.key!r:.60}; it has field, op, value",
                    entry.place,
                )
        missing = [key for key in _KEYS if node.get(key) is None]
        if missing:
            return at.fault("missing-key", f"a condition needs the key {missing[0]!r}", node)
        parts = {entry.key: entry.value for entry in node.entries}
        name = Text("the name of a field").read(parts["field"], at.key("field"))
        operator = Choice(_OPERATORS).read(parts["op"], at.key("op"))
        return BAD if BAD in (name, operator) else Comparison(name, operator, plain(parts["value"]))


_LEFTOVER = re.compile(r'\b(?:and|or|AND|OR)\b|&&|\|\||[=!<>]=|[<>#;"]')


def _value(text: str) -> Any:
    """The value behind the operator, or BAD when there is more than one value, or none."""
    if text[:1] == '"':
        try:
            return json.loads(text)
        except ValueError:
            return BAD
    if text[:1] == "'":
        inner = text[1:-1].replace("''", "")
        is_one = len(text) > 1 and text[-1] == "'" and "'" not in inner
        return text[1:-1].replace("''", "'") if is_one else BAD
    return scalar_value(text) if text and not _LEFTOVER.search(text) else BAD


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | None) else repr(value)


def _is_same(short: str, value: Comparison) -> bool:
    """Whether the short form reads as the very same comparison."""
    found = _SHORT.fullmatch(short) if len(short) <= 1000 else None
    if found is None or (found[1], found[2]) != (value.name, value.operator):
        return False
    read = _value(found[3])
    return type(read) is type(value.value) and bool(read == value.value)
