"""The table of `mock`: scripted replies by unit id, or an import path of a function that gives a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..graphs.flow import walk
from ..nodes.unit import WorkflowUnit
from .diagnostics import listed, nearest
from .kinds import BAD, INCLUDED, Reading, Schema, Schemas, Writing, wrong
from .mock import Mock, MockFault, data_of, mock_of
from .references import Import
from .simple import Data
from .tree import Node, Scalar, Table, found, plain

_FUNCTION = Import("a function that gives a scripted model")
_TEXT: Schema = {"type": "string"}


@dataclass(frozen=True)
class ScriptedReplies:
    """What plays when there is no model."""

    what: str = "scripted replies by unit id, or an import path of a function that gives a scripted model"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table) or _FUNCTION.fits(node)

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mock) or callable(value)

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return _FUNCTION.read(node, at)
        if not isinstance(node, Table):
            return wrong(self, node, at)
        try:
            mock = mock_of(plain(node))
        except MockFault as error:
            return at.fault("bad-value", str(error), found(node, error.path), error.nearest)
        return BAD if _strangers(node, at) else mock

    def write(self, value: Any, at: Writing) -> Any:
        if isinstance(value, Mock):
            return Data().write(data_of(value), at)
        return _FUNCTION.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        units = {"type": "object", "additionalProperties": {"type": "array", "items": _item()}}
        return to.named("mock", lambda: {"anyOf": [_FUNCTION.schema(to), INCLUDED, units]})


def _strangers(node: Table, at: Reading) -> bool:
    """Whether there are replies for units that do not exist; says so."""
    if not at.book.places or at.book.spoiled:
        return False
    parts = [part for part, _, _ in at.book.places.values()]
    units = {one.id for part in parts for _, one in walk(part) if isinstance(one, WorkflowUnit)}
    strange = [entry for entry in node.entries if entry.key not in units]
    for entry in strange:
        told = f"there is no unit {entry.key!r:.60}; the units are: {listed(sorted(units))}"
        at.key(entry.key[:60]).fault("unknown-name", told, entry.place, nearest(entry.key, units))
    return bool(strange)


def _item() -> Schema:
    """A rule or a reply."""
    call = {"type": "object", "additionalProperties": {"type": ["object", "null"]}, "minProperties": 1}
    reply: Schema = {
        "text": {**_TEXT, "description": "what the model says; {name} is filled in"},
        "call": {
            "anyOf": [call, {"type": "array", "items": call}],
            "description": "the tools it calls with their arguments; a list for several calls of one tool",
        },
        "fail": {**_TEXT, "description": "the model fails with an error that says this"},
    }
    conditions = {
        "contains": {**_TEXT, "description": "stands in the user's last message"},
        "matches": {
            **_TEXT,
            "description": "a regular expression for that message; its named groups fill {name} in the reply",
        },
        "after": {**_TEXT, "description": "the tool whose result came last"},
        "result": {**_TEXT, "description": "a regular expression for that result"},
        "round": {"type": "integer", "minimum": 1, "description": "the reply's number since that message"},
    }
    when = {
        "type": "object",
        "properties": conditions,
        "minProperties": 1,
        "additionalProperties": False,
        "description": "all of it has to hold",
    }
    otherwise = {
        "type": "object",
        "properties": reply,
        "additionalProperties": False,
        "description": "the reply in any other case",
    }
    properties = {"when": when, "otherwise": otherwise, **reply}
    return {"type": "object", "properties": properties, "additionalProperties": False}
