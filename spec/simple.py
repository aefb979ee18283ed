"""Kinds of single values: text, numbers, truth values, choices, and plain data of any form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .diagnostics import listed, nearest
from .environment import escaped
from .include import names_file
from .kinds import VARIABLE, Reading, Schema, Schemas, Writing, is_text, wrong
from .tree import Node, Scalar, plain


@dataclass(frozen=True)
class Text:
    """Any text; `wanted` says which."""

    wanted: str = ""

    @property
    def what(self) -> str:
        return self.wanted or "a text"

    def fits(self, node: Node) -> bool:
        return is_text(node)

    def holds(self, value: Any) -> bool:
        return isinstance(value, str)

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        if isinstance(node, Scalar) and node.value is not None:
            return at.fault("wrong-type", f"{self.what} is due here; put {node.value!r:.60} in quotes", node)
        return wrong(self, node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if not isinstance(value, str):
            return at.fault(f"{value!r:.80} is no text")
        try:
            value.encode()
        except UnicodeEncodeError:
            return at.fault("the text holds half a surrogate pair, which no file can")
        return escaped(str.__str__(value))

    def schema(self, to: Schemas) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True)
class Number:
    """A number from `least` up; `whole` takes no fractions."""

    least: float | None = None
    whole: bool = False

    @property
    def what(self) -> str:
        return "a whole number" if self.whole else "a number"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and self.holds(node.value)

    def holds(self, value: Any) -> bool:
        return isinstance(value, int if self.whole else int | float) and not isinstance(value, bool)

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and self.holds(node.value)):
            return wrong(self, node, at)
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            return at.fault("bad-value", f"a finite number is due here, not {value}", node)
        if isinstance(value, int) and abs(value) >= 2**63:
            return at.fault("bad-value", "the number is too large", node)
        if self.least is not None and value < self.least:
            return at.fault("bad-value", f"{self.what} from {self.least} up is due here, not {value}", node)
        return value

    def write(self, value: Any, at: Writing) -> Any:
        return value if self.holds(value) else at.fault(f"{value!r:.80} is not {self.what}")

    def schema(self, to: Schemas) -> Schema:
        least = {} if self.least is None else {"minimum": self.least}
        return {"anyOf": [{"type": "integer" if self.whole else "number", **least}, VARIABLE]}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    what: str = "true or false"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and isinstance(node.value, bool)

    def holds(self, value: Any) -> bool:
        return isinstance(value, bool)

    def read(self, node: Node, at: Reading) -> Any:
        return node.value if isinstance(node, Scalar) and self.fits(node) else wrong(self, node, at)

    def write(self, value: Any, at: Writing) -> Any:
        return value if self.holds(value) else at.fault(f"{value!r:.80} is not {self.what}")

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "boolean"}, VARIABLE]}


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"one of {listed(self.words)}"

    def fits(self, node: Node) -> bool:
        return is_text(node)

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        if node.value in self.words:
            return node.value
        told = f"{node.value!r:.60} is none of: {listed(self.words)}"
        return at.fault("bad-value", told, node, nearest(node.value, self.words))

    def write(self, value: Any, at: Writing) -> Any:
        return value if self.holds(value) else at.fault(f"{value!r:.80} is not {self.what}")

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"enum": list(self.words)}, VARIABLE]}


@dataclass(frozen=True)
class Maybe:
    """Nothing, or what another kind reads."""

    kind: Any

    @property
    def what(self) -> str:
        return f"{self.kind.what} or null"

    def fits(self, node: Node) -> bool:
        return _is_null(node) or bool(self.kind.fits(node))

    def holds(self, value: Any) -> bool:
        return value is None or bool(self.kind.holds(value))

    def read(self, node: Node, at: Reading) -> Any:
        return None if _is_null(node) else self.kind.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        return None if value is None else self.kind.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [self.kind.schema(to), {"type": "null"}]}


@dataclass(frozen=True)
class Data:
    """Plain data of any form, taken as it stands."""

    wanted: type | tuple[type, ...] = object
    what: str = "plain data"

    def fits(self, node: Node) -> bool:
        return isinstance(plain(node), self.wanted)

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.wanted)

    def read(self, node: Node, at: Reading) -> Any:
        return plain(node) if self.fits(node) else wrong(self, node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if value is None or type(value) in (bool, int):
            return value
        if isinstance(value, str) and type(value) is str:
            return Text().write(value, at)
        if type(value) is float:
            return value
        if type(value) in (list, tuple):
            return [self.write(item, at.index(number)) for number, item in enumerate(value)]
        if isinstance(value, Mapping):
            return self._mapping(value, at)
        return at.fault(f"a value of type {type(value).__qualname__} is no plain data")

    def _mapping(self, value: Mapping[Any, Any], at: Writing) -> Any:
        if odd := next((key for key in value if not isinstance(key, str)), None):
            return at.fault(f"the key {odd!r:.80} is no text")
        if names_file(value.get("include")):
            return at.fault(f"'include' would stand for the file {value['include']!r:.80}; use another key")
        return {key: self.write(item, at.key(key)) for key, item in value.items()}

    def schema(self, to: Schemas) -> Schema:
        return {"type": "object"} if self.wanted is dict else {}


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None
