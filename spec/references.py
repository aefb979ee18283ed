"""Kinds that name code: functions and classes by import path, and names that may also be functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.conditions import field
from .diagnostics import Code
from .imports import PATH, Unimportable, is_path
from .kinds import BAD, Reading, Schema, Schemas, Writing, is_text, wrong
from .simple import Text
from .tree import Node, Scalar, Table

WHERE = "an import path `package.module:name`"


@dataclass(frozen=True)
class Import:
    """What an import path names. `accepts` tells whether it is what is `wanted`."""

    wanted: str
    accepts: Callable[[Any], bool] = callable

    @property
    def what(self) -> str:
        return f"{self.wanted}, by {WHERE}"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and isinstance(node.value, str) and ":" in node.value

    def holds(self, value: Any) -> bool:
        return self.accepts(value)

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        if not is_path(node.value):
            return at.fault("bad-path", f"{node.value!r:.80} is not {WHERE}", node)
        try:
            found = at.book.importer(node.value)
        except Unimportable as error:
            return at.fault("import-failed", str(error), node, error.nearest)
        if not self.accepts(found):
            code: Code = "wrong-type"
            return at.fault(code, f"{node.value!r:.80} is {_shown(found)}, not {self.wanted}", node)
        return found

    def write(self, value: Any, at: Writing) -> Any:
        path = at.namer.path_of(value)
        if path is None:
            told = f"{_shown(value)} has no import path; define it by name at the top level of a module"
            return at.fault(told)
        return path

    def schema(self, to: Schemas) -> Schema:
        return {"type": "string", "pattern": f"^{PATH}$"}


@dataclass(frozen=True)
class NameOr:
    """A bare name, or a function by import path; `{key: name}` says that it is a name in any case."""

    wanted: str
    key: str = "key"

    @property
    def what(self) -> str:
        return f"{self.wanted}, or a function by {WHERE}"

    def fits(self, node: Node) -> bool:
        return is_text(node) or (isinstance(node, Table) and node.get(self.key) is not None)

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) or callable(value)

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table) and len(node.entries) == 1 and node.entries[0].key == self.key:
            return Text(self.wanted).read(node.entries[0].value, at.key(self.key))
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        return Import("a function").read(node, at) if ":" in node.value else node.value

    def write(self, value: Any, at: Writing) -> Any:
        if not isinstance(value, str):
            return Import("a function").write(value, at)
        written = Text().write(value, at)
        return {self.key: written} if ":" in value else written

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "string"}, _one(self.key)]}


@dataclass(frozen=True)
class FieldOr:
    """A field of an output, `{field: name}`, or what another kind reads; a bare name too when `bare`."""

    other: Any
    bare: bool = False
    what: str = "a field of the output, or a function by import path"

    def fits(self, node: Node) -> bool:
        return is_text(node) or isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return isinstance(value, field) or bool(self.other.holds(value))

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table) and len(node.entries) == 1 and node.entries[0].key == "field":
            name = Text("the name of a field").read(node.entries[0].value, at.key("field"))
            return BAD if name is BAD else field(name)
        if self.bare and isinstance(node, Scalar) and isinstance(node.value, str) and ":" not in node.value:
            return field(node.value)
        return self.other.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if not isinstance(value, field):
            return self.other.write(value, at)
        written = Text().write(value.name, at)
        return written if self.bare and ":" not in value.name else {"field": written}

    def schema(self, to: Schemas) -> Schema:
        bare = [{"type": "string"}] if self.bare else []
        return {"anyOf": [*bare, _one("field"), self.other.schema(to)]}


def _one(key: str) -> Schema:
    text = {"type": "string"}
    return {"type": "object", "properties": {key: text}, "required": [key], "additionalProperties": False}


def _shown(value: Any) -> str:
    """A value by what it is, as an error names it."""
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    if getattr(value, "__name__", "") == "<lambda>":
        return "a lambda"
    if isinstance(value, type):
        return f"the class {name}"
    return f"the function {name}" if hasattr(value, "__qualname__") else f"an object of class {name}"
