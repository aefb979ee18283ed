"""A record: a table of rows that reads, writes and describes one value with named fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ..core.errors import DefinitionError
from .diagnostics import Place, listed, nearest
from .kinds import BAD, INCLUDE, Kind, Reading, Schema, Schemas, Writing, wrong
from .tree import Entry, Node, Scalar, Table, nodes

REQUIRED: Any = MISSING


@dataclass(frozen=True)
class Row:
    """One key of a record: its kind, its default (REQUIRED for none) and a line about it.

    `also` are other words that are read for the key; `attribute` is the value's, if named otherwise.
    """

    key: str
    kind: Kind
    default: Any
    doc: str
    also: tuple[str, ...] = ()
    attribute: str = ""

    def of(self, value: Any) -> Any:
        return getattr(value, self.attribute or self.key)

    def is_default(self, value: Any) -> bool:
        given, default = self.of(value), self.default
        return default is not REQUIRED and (
            given is default or (type(given) is type(default) and given == default)
        )


def rows_of(
    cls: type, *rows: tuple[str, Kind, str], also: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Row, ...]:
    """Rows for fields of a dataclass, with the defaults that it declares."""
    defaults = {f.name: _default(f) for f in fields(cls)}
    return tuple(Row(key, kind, defaults[key], doc, (also or {}).get(key, ())) for key, kind, doc in rows)


def _default(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


@dataclass(frozen=True)
class Record:
    """A mapping with the keys of `rows`, made into a value by `build`.

    `name` names it in errors ("a unit") and, without its article, in the JSON Schema. `cls` is the
    class of the values that it writes, exactly. `marks` are keys with one fixed word, as `type: loop`.
    """

    name: str
    rows: tuple[Row, ...]
    build: Callable[..., Any]
    cls: type
    marks: tuple[tuple[str, str], ...] = ()
    doc: str = ""

    @property
    def what(self) -> str:
        return self.name

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table)

    def holds(self, value: Any) -> bool:
        return type(value) is self.cls

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Table):
            return wrong(self, node, at)
        given, is_whole = self.read_rows(node, at)
        if not is_whole:
            return BAD
        return self.built(given, node, at)

    def read_rows(self, node: Table, at: Reading) -> tuple[dict[str, Any], bool]:
        """The values by key, and whether none is missing or BAD; BAD ones are left out."""
        found = self._entries(node, at)
        given: dict[str, Any] = {}
        is_whole = True
        for row in self.rows:
            entry = found.get(row.key)
            if entry is None:
                if row.default is REQUIRED:
                    at.fault("missing-key", f"{self.name} needs the key {row.key!r}: {row.doc}", node)
                    is_whole = False
                continue
            value = row.kind.read(entry.value, at.key(row.key))
            if value is BAD:
                is_whole = False
            else:
                given[row.key] = value
        return given, is_whole

    def built(self, given: Mapping[str, Any], node: Table, at: Reading) -> Any:
        try:
            return self.build(**given)
        except DefinitionError as error:
            for fault in error.faults:
                at.fault("definition", fault.message, named_place(fault.message, node))
        except (TypeError, ValueError) as error:
            at.fault("definition", f"{error!s:.300}", named_place(str(error), node))
        return BAD

    def write(self, value: Any, at: Writing) -> Any:
        written = dict(self.marks)
        for row in self.rows:
            if not row.is_default(value):
                written[row.key] = row.kind.write(row.of(value), at.key(row.key))
        return written

    def schema(self, to: Schemas) -> Schema:
        return to.named(self.name.split(" ", 1)[-1].replace(" ", "-"), lambda: self._schema(to))

    def _schema(self, to: Schemas) -> Schema:
        properties: Schema = {key: {"const": word} for key, word in self.marks}
        for row in self.rows:
            shape = {**row.kind.schema(to), "description": row.doc}
            properties.update(dict.fromkeys((row.key, *row.also), shape))
        properties["include"] = INCLUDE
        told = {"description": self.doc} if self.doc else {}
        return {
            "type": "object",
            **told,
            "properties": properties,
            **self._needed(),
            "additionalProperties": False,
        }

    def _needed(self) -> Schema:
        """The keys that must be there, by whichever of their words, unless a file is included."""
        needs: list[tuple[str, ...]] = [(key,) for key, _ in self.marks]
        needs += [(row.key, *row.also) for row in self.rows if row.default is REQUIRED]
        if not needs:
            return {}
        words = [{"anyOf": [{"required": [word]} for word in need]} for need in needs]
        return {"anyOf": [{"allOf": words}, {"required": ["include"]}]}

    def _entries(self, node: Table, at: Reading) -> dict[str, Entry]:
        """The entries by row; unknown and double keys are faults."""
        words = {word: row.key for row in self.rows for word in (row.key, *row.also)}
        marks = dict(self.marks)
        found: dict[str, Entry] = {}
        for entry in node.entries:
            if entry.key in marks:
                continue
            if entry.key not in words:
                near = nearest(entry.key, [*marks, *words])
                known = "" if near else f"; it has {listed([*marks, *(row.key for row in self.rows)])}"
                told = f"{self.name} has no key {entry.key!r:.60}{known}"
                at.key(entry.key[:60]).fault("unknown-key", told, entry.place, near)
            elif words[entry.key] in found:
                told = f"{entry.key!r} says again what {found[words[entry.key]].key!r} says; keep one"
                at.fault("duplicate-key", told, entry.place)
            else:
                found[words[entry.key]] = entry
        return found


def named_place(message: str, node: Node) -> Any:
    """The entry of `node` that a message is about, or names first; or the node."""
    if not isinstance(node, Table):
        return node
    if place := subject(message, node):
        return place
    words = re.findall(r"[A-Za-z_]+", message[:300])
    keys: Iterable[str] = (word for word in words if node.get(word))
    entry = node.get(next(iter(keys), ""))
    return entry.place if entry else node


def subject(message: str, node: Node) -> Place | None:
    """The entry of a node whose key a message begins with; in it, what the message quotes."""
    entries = node.entries if isinstance(node, Table) else ()
    about = (entry for entry in entries if message.startswith((f"{entry.key}=", f"{entry.key} ")))
    entry = next(about, None)
    return None if entry is None else _quoted(message, entry.value) or entry.place


def _quoted(message: str, node: Node) -> Place | None:
    """Where in a node a word stands that a message has in quotes."""
    for word in re.findall(r"'([^']+)'", message[:300]):
        for below in nodes(node):
            if isinstance(below, Scalar) and below.value == word:
                return below.place
            if isinstance(below, Table) and (entry := below.get(word)) is not None:
                return entry.place
    return None
