"""The table of the whole file: metadata, what a Workflow takes, its units, its flow, its mock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ..core.ports import EMPTY_PLANE
from .compound import Wrapped
from .kinds import BAD, INCLUDED, Reading, Schema, Schemas, Writing, wrong
from .options import OPTIONS, POLICY_ROW, with_policy
from .parts import PART
from .record import REQUIRED, Record, Row
from .simple import Choice, Text
from .tree import Node, Series, Table
from .units import UNIT, read_unit

API_VERSION, KIND = "plait/v1", "Workflow"


@dataclass(frozen=True)
class Document:
    """What a file says: a flow, the options of its Workflow that are given, and what describes it."""

    flow: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = "workflow"
    description: str = ""
    mock: Any = None


@dataclass(frozen=True)
class _Mock:
    """The scripted replies, as the registry reads them."""

    what: str = "scripted replies"

    def fits(self, node: Node) -> bool:
        return True

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        return at.book.registry.mock.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        return at.registry.mock.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return to.registry.mock.schema(to)


MOCK = _Mock()


@dataclass(frozen=True)
class _Units:
    """The units that the flow refers to by id."""

    what: str = "a list of units"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Series)

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Series):
            return wrong(self, node, at)
        for number, item in enumerate(node.items):
            self._add(item, at.index(number))
        return at.book.units

    def _add(self, node: Node, at: Reading) -> None:
        unit = read_unit(node, at)
        if unit is BAD:
            return
        if unit.id in at.book.units:
            entry = node.get("id") if isinstance(node, Table) else None
            at.fault(
                "duplicate-id",
                f"two units have the id {unit.id!r:.60}; rename one",
                entry.value if entry else node,
            )
            return
        at.book.units[unit.id] = unit

    def write(self, value: Any, at: Writing) -> Any:
        return [UNIT.write(unit, at.index(number)) for number, unit in enumerate(value.values())]

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "array", "items": UNIT.schema(to)}, INCLUDED]}


SPEC = Record(
    "a spec",
    (
        *OPTIONS,
        POLICY_ROW,
        Row("units", _Units(), {}, "the units that the flow refers to by id"),
        Row("flow", PART, REQUIRED, "what runs"),
        Row("mock", MOCK, None, "scripted replies for when there is no model"),
    ),
    lambda **given: given,
    dict,
)


class _Spec(Wrapped):
    """The spec as far as it can be read, so that what is right of it can still be judged."""

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Table):
            return wrong(self, node, at)
        given, _ = SPEC.read_rows(node, at)
        _unused(node, at)
        return given


METADATA = Record(
    "metadata",
    (
        Row("id", Text("a name"), "workflow", "the name of the workflow"),
        Row("description", Text(), "", "what it is for"),
    ),
    lambda **given: given,
    dict,
)


FILE = Record(
    "a workflow file",
    (
        Row("apiVersion", Choice((API_VERSION,)), REQUIRED, "the version of this form: plait/v1"),
        Row("kind", Choice((KIND,)), REQUIRED, "what the file holds: Workflow"),
        Row("metadata", METADATA, {}, "name and description"),
        Row("spec", _Spec(SPEC), REQUIRED, "the workflow itself"),
    ),
    lambda **given: given,
    dict,
)


def read_document(node: Node, at: Reading) -> Document | None:
    """What a file says, None when there is not even a flow; faults are in the book, which may be so many
    that the document is only good for being judged."""
    if not isinstance(node, Table):
        wrong(FILE, node, at)
        return None
    whole, _ = FILE.read_rows(node, at)
    given = whole.get("spec", {})
    if "flow" not in given:
        return None
    named = whole.get("metadata", {})
    options = with_policy({row.key: given[row.key] for row in OPTIONS if row.key in given}, given)
    return Document(
        given["flow"], options, named.get("id", "workflow"), named.get("description", ""), given.get("mock")
    )


def _unused(spec: Table, at: Reading) -> None:
    """Units of the file itself that nothing refers to, unless what is wrong in the flow may mean them."""
    if any(fault.path.startswith(f"{at.path}.flow") for fault in at.book.faults):
        return
    units = spec.get("units")
    for name, unit in at.book.units.items():
        _, node, path = at.book.places.get(id(unit), (None, None, ""))
        if name not in at.book.used and node is not None and units and node.place.file == spec.place.file:
            told = f"the unit {name!r:.60} stands in no flow; use it, or take it out"
            Reading(at.book, path).fault("unused-unit", told, node)


def written_document(document: Document, at: Writing) -> dict[str, Any]:
    """A document as plain data, keys in the order of the tables."""
    spec = at.key("spec")
    if document.options.get("plane", EMPTY_PLANE) is not EMPTY_PLANE:
        spec.key("plane").fault("a plane cannot be written")
    flow = PART.write(document.flow, spec.key("flow"))
    given = SimpleNamespace(**{row.key: document.options.get(row.key, row.default) for row in OPTIONS})
    written = {
        row.key: row.kind.write(row.of(given), spec.key(row.key))
        for row in OPTIONS
        if not row.is_default(given)
    }
    units = {"units": _Units().write(at.units, spec.key("units"))} if at.units else {}
    mock = {} if document.mock is None else {"mock": MOCK.write(document.mock, spec.key("mock"))}
    named = {"id": document.name, "description": document.description}
    metadata = {key: Text().write(value, at.key(f"metadata.{key}")) for key, value in named.items() if value}
    head = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata}
    return {**head, "spec": {**written, **units, "flow": flow, **mock}}


def document_schema(to: Schemas) -> Schema:
    """The JSON Schema of whole files."""
    root = FILE.schema(to)
    told = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A Plait workflow"}
    return {**told, **root, "$defs": dict(sorted(to.defs.items()))}
