"""Kinds made of others: lists, mappings by name, one of several kinds, and one form by its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .diagnostics import listed, nearest
from .kinds import BAD, INCLUDED, Kind, Reading, Schema, Schemas, Writing, wrong
from .tree import Node, Scalar, Series, Table


@dataclass(frozen=True)
class Wrapped:
    """Another kind as it is; a class of this one changes a part of it."""

    kind: Kind

    @property
    def what(self) -> str:
        return self.kind.what

    def fits(self, node: Node) -> bool:
        return self.kind.fits(node)

    def holds(self, value: Any) -> bool:
        return self.kind.holds(value)

    def read(self, node: Node, at: Reading) -> Any:
        return self.kind.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        return self.kind.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return self.kind.schema(to)


@dataclass(frozen=True)
class ListOf:
    """A list of one kind, as a tuple; with `single` one item may stand without the list."""

    item: Kind
    single: bool = False

    @property
    def what(self) -> str:
        return "a list"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Series) or (self.single and self.item.fits(node))

    def holds(self, value: Any) -> bool:
        return isinstance(value, list | tuple)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Series):
            if not self.fits(node):
                return wrong(self, node, at)
            made = self.item.read(node, at)
            return BAD if made is BAD else (made,)
        items = [self.item.read(item, at.index(number)) for number, item in enumerate(node.items)]
        return BAD if any(item is BAD for item in items) else tuple(items)

    def write(self, value: Any, at: Writing) -> Any:
        if not self.holds(value):
            return at.fault(f"{value!r:.80} is no list")
        return [self.item.write(item, at.index(number)) for number, item in enumerate(value)]

    def schema(self, to: Schemas) -> Schema:
        item = self.item.schema(to)
        many = {"type": "array", "items": item}
        return {"anyOf": [many, INCLUDED, *([item] if self.single else [])]}


@dataclass(frozen=True)
class MapOf:
    """A mapping from names to one kind."""

    item: Kind

    @property
    def what(self) -> str:
        return "a mapping"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Table):
            return wrong(self, node, at)
        made = {entry.key: self.item.read(entry.value, at.key(entry.key)) for entry in node.entries}
        return BAD if any(item is BAD for item in made.values()) else made

    def write(self, value: Any, at: Writing) -> Any:
        if odd := [key for key in value if not isinstance(key, str)]:
            return at.fault(f"the key {odd[0]!r:.80} is no text")
        return {key: self.item.write(item, at.key(key)) for key, item in value.items()}

    def schema(self, to: Schemas) -> Schema:
        return {"type": "object", "additionalProperties": self.item.schema(to)}


@dataclass(frozen=True)
class Either:
    """The first of several kinds that fits the node, or holds the value."""

    kinds: tuple[Kind, ...]
    wanted: str = ""

    @property
    def what(self) -> str:
        return self.wanted or " or ".join(kind.what for kind in self.kinds)

    def fits(self, node: Node) -> bool:
        return any(kind.fits(node) for kind in self.kinds)

    def holds(self, value: Any) -> bool:
        return any(kind.holds(value) for kind in self.kinds)

    def read(self, node: Node, at: Reading) -> Any:
        kind = next((kind for kind in self.kinds if kind.fits(node)), None)
        return wrong(self, node, at) if kind is None else kind.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        kind = next((kind for kind in self.kinds if kind.holds(value)), None)
        return at.fault(f"{value!r:.80} is not {self.what}") if kind is None else kind.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [kind.schema(to) for kind in self.kinds]}


@dataclass(frozen=True)
class Forms:
    """A mapping with one key, which says the form; or the bare word where a form needs nothing more.

    `names` gives the forms when they are asked for, since some are handed in.
    """

    names: Callable[[Any], Mapping[str, Kind]]
    wanted: str
    bare: bool = True

    @property
    def what(self) -> str:
        return self.wanted

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table) or (
            self.bare and isinstance(node, Scalar) and isinstance(node.value, str)
        )

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        forms = self.names(at.book.registry)
        if self.bare and isinstance(node, Scalar) and isinstance(node.value, str):
            return self._bare(node, forms, at)
        if not isinstance(node, Table) or len(node.entries) != 1:
            return at.fault("wrong-type", f"{self.what} is due here: one of {listed(forms)}", node)
        entry = node.entries[0]
        if entry.key not in forms:
            told = f"{entry.key!r:.60} is not {self.what}; there are: {listed(forms)}"
            return at.fault("unknown-key", told, entry.place, nearest(entry.key, forms))
        return forms[entry.key].read(entry.value, at.key(entry.key))

    def write(self, value: Any, at: Writing) -> Any:
        for name, kind in self.names(at.registry).items():
            if kind.holds(value):
                made = kind.write(value, at.key(name))
                return name if self.bare and made in ({}, None) else {name: made}
        return at.fault(f"{value!r:.80} is not {self.what} that can be written")

    def schema(self, to: Schemas) -> Schema:
        forms = {name: kind.schema(to) for name, kind in self.names(to.registry).items()}
        shapes = [
            {"type": "object", "properties": {name: shape}, "required": [name], "additionalProperties": False}
            for name, shape in forms.items()
        ]
        words = [{"enum": list(forms)}] if self.bare else []
        return {"anyOf": [*words, *shapes]}

    def _bare(self, node: Scalar, forms: Mapping[str, Kind], at: Reading) -> Any:
        if node.value not in forms:
            told = f"{node.value!r:.60} is not {self.what}; there are: {listed(forms)}"
            return at.fault("bad-value", told, node, nearest(node.value, forms))
        empty = Table((), node.place)
        return forms[node.value].read(empty, at)
