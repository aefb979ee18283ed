"""Tools of a unit: by import path, declared anew, in the forms handed in (`http`), or as raw definitions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any, get_args

from langchain_core.tools import BaseTool

from ..nodes.declared import APPROVAL, EFFECT, PROBE, Effect
from ..nodes.declared import tool as declare
from ..nodes.toolforms import ToolDefinition
from .compound import Either, Forms, ListOf
from .imports import is_path
from .kinds import Kind, Reading, Schema, Schemas, Writing, wrong
from .record import REQUIRED, Record, Row
from .references import Import
from .simple import Choice, Data, Flag, Maybe, Text
from .tree import Node, Scalar, Series, Table, plain


def _is_tool(value: Any) -> bool:
    return isinstance(value, BaseTool | ToolDefinition) or (callable(value) and not isinstance(value, type))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


_TOOL = Import("a tool", _is_tool)
_FUNCTION = Import("a function")


@dataclass(frozen=True)
class _Declared:
    """A tool and what it declares, as a file says it."""

    tool: Any
    effect: str | None
    probe: Any
    approval: Any


def _made(tool: Any, options: tuple[tuple[str, Any], ...]) -> BaseTool:
    """The declared tool; of a function always the same one for the same options, so that units are equal."""
    make = _cached if isinstance(tool, FunctionType) else _declare
    made: BaseTool = make(tool, options)
    return made


def _declare(tool: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    return declare(tool, **dict(options))


_cached = lru_cache(maxsize=512)(_declare)


@dataclass(frozen=True)
class _Reason(Text):
    """Why to ask: a text that is no import path."""

    def fits(self, node: Node) -> bool:
        return super().fits(node) and not (isinstance(node, Scalar) and is_path(str(node.value)))

    def holds(self, value: Any) -> bool:
        return super().holds(value) and not is_path(value)


DECLARED = Record(
    "a declared tool",
    (
        Row("tool", _TOOL, REQUIRED, "the function or tool, by import path"),
        Row("effect", Maybe(Choice(get_args(Effect))), None, "what running it twice does"),
        Row("probe", Maybe(_FUNCTION), None, "a function that tells whether a call happened"),
        Row(
            "approval",
            Either((Flag(), _Reason(), _FUNCTION), "true, why to ask, or a function by import path"),
            False,
            "whether a person has to approve each call",
        ),
    ),
    lambda tool, **options: _made(tool, tuple(sorted(options.items()))),
    _Declared,
)


@dataclass(frozen=True)
class _Definition:
    """A tool by name, description and JSON Schema, run by the unit's `tool_handler`."""

    what: str = "a tool definition with a name and parameters"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return isinstance(value, ToolDefinition | Mapping)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Table):
            return wrong(self, node, at)
        given = plain(node)
        function = given.get("function", given)
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return at.fault("missing-key", "a tool definition needs a name", node)
        if not isinstance(function.get("parameters", {}), dict):
            return at.fault("wrong-type", "the parameters of a tool are a JSON Schema, a mapping", node)
        return given

    def write(self, value: Any, at: Writing) -> Any:
        if isinstance(value, Mapping):
            return Data().write(value, at)
        if "handled.<locals>" not in getattr(value.execute, "__qualname__", ""):
            return at.fault(f"tool {value.name!r} has no import path; bind it to a name in a module")
        keys = ("name", "description", "parameters")
        return {key: Data().write(given, at) for key in keys if (given := getattr(value, key))}

    def schema(self, to: Schemas) -> Schema:
        return {"type": "object"}


@dataclass(frozen=True)
class Tool:
    """One tool."""

    what: str = "a tool: an import path, or a mapping with tool, http or definition"

    def fits(self, node: Node) -> bool:
        return True

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table):
            return (DECLARED if node.get("tool") else _FORMS).read(node, at)
        return _TOOL.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if path := at.namer.path_of(value):
            return path
        if isinstance(value, BaseTool) and (declared := _declared(value, at)) is not None:
            return DECLARED.write(declared, at)
        if any(kind.holds(value) for kind in _forms(at.registry).values()):
            return _FORMS.write(value, at)
        return _TOOL.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        shapes = [kind.schema(to) for kind in (_TOOL, DECLARED, _FORMS)]
        return to.named("tool", lambda: {"anyOf": shapes})


def _forms(registry: Any) -> Mapping[str, Kind]:
    return {**registry.tools, "definition": _Definition()}


_FORMS = Forms(_forms, "a form of tools", bare=False)


def _declared(tool: BaseTool, at: Writing) -> _Declared | None:
    """What a tool declares, if it was made of a function that can be imported."""
    function: Any = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    path = at.namer.path_of(inspect.unwrap(function)) if function is not None else None
    metadata = tool.metadata or {}
    if path is None or set(metadata) - {EFFECT, PROBE, APPROVAL}:
        return None
    original = inspect.unwrap(function)
    effect, probe = metadata.get(EFFECT), metadata.get(PROBE)
    found = _Declared(original, effect, probe, metadata.get(APPROVAL) or False)
    is_plain = tool.name == original.__name__ and tool.description == (inspect.getdoc(original) or tool.name)
    return found if is_plain else None


TOOL = Tool()


@dataclass(frozen=True)
class Tools:
    """A list of tools; or an import path of a list, a registry, or a function of the Snapshot."""

    what: str = "a list of tools, or an import path of one"

    def fits(self, node: Node) -> bool:
        return True

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Series):
            return ListOf(TOOL).read(node, at)
        made = Import("a list of tools, or a function of the Snapshot", _gives_tools).read(node, at)
        return tuple(made) if _is_sequence(made) else made

    def write(self, value: Any, at: Writing) -> Any:
        return _FUNCTION.write(value, at) if callable(value) else ListOf(TOOL).write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [ListOf(TOOL).schema(to), _FUNCTION.schema(to)]}


def _gives_tools(value: Any) -> bool:
    return _is_sequence(value) or (callable(value) and not isinstance(value, type | BaseTool))
