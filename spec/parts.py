"""What may stand in a flow: a unit by its id or in full, a flow, a list, a function by import path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import DefinitionError
from ..core.part import Part
from ..graphs.flow import keyed
from ..graphs.parallel import ParallelFlow
from ..graphs.sequential import SequentialFlow
from ..graphs.step import FunctionStep, step
from ..nodes.unit import WorkflowUnit
from .compound import MapOf
from .diagnostics import listed, nearest
from .kinds import BAD, INCLUDED, Reading, Schema, Schemas, Writing, wrong
from .policies import limited
from .record import REQUIRED, Record, Row
from .references import Import
from .simple import Text
from .tree import Node, Scalar, Series, Table, table
from .units import UNIT, read_unit

MOST_PARTS = 1_000
"""Parts that the flow of one file may have, so that looking at it takes no time."""


def _is_part(value: Any) -> bool:
    return isinstance(value, Part) or (callable(value) and not isinstance(value, type))


_IMPORT = Import("a unit, a flow or a function of the Snapshot", _is_part)
VARIANT = Record(
    "a variant of a unit",
    (
        Row("unit", Text("the id of a unit"), REQUIRED, "the unit that it is a variant of"),
        *(replace(row, default=None) for row in UNIT.rows),
    ),
    lambda **given: given,
    dict,
)


@dataclass(frozen=True)
class AnyPart:
    """One part. What cannot be read is replaced, so that the flow around it can still be judged."""

    what: str = "a unit, a flow, a list of parts or an import path"

    def fits(self, node: Node) -> bool:
        return True

    def holds(self, value: Any) -> bool:
        return isinstance(value, Part)

    def read(self, node: Node, at: Reading) -> Any:
        at.book.parts += 1
        if at.book.parts > MOST_PARTS:
            told = f"the flow has more than {MOST_PARTS:,} parts"
            return at.fault("too-large", told, node) if at.book.parts == MOST_PARTS + 1 else BAD
        part = self._read(node, at)
        if part is BAD:
            part = WorkflowUnit("unreadable")
            at.book.spoiled.add(id(part))
        return (
            at.keep(part, node)
            if not isinstance(node, Scalar) or ":" in str(node.value)
            else _kept(part, node, at)
        )

    def _read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Series):
            return _listed(node, at)
        if isinstance(node, Table):
            return _mapped(node, at)
        if not isinstance(node.value, str):
            return wrong(self, node, at)
        return _imported(node, at) if ":" in node.value else _referred(node, node.value, at)

    def write(self, value: Any, at: Writing) -> Any:
        if isinstance(value, WorkflowUnit):
            return _named(value, at)
        if _is_bare(value) and type(value) is (ParallelFlow if at.in_sequence else SequentialFlow):
            return (MEMBERS if at.in_sequence else STEPS).write(_below(value), at)
        if isinstance(value, FunctionStep) and value == step(value.function):
            return _IMPORT.write(value.function, at)
        kind = next((kind for kind in at.registry.flows.values() if kind.holds(value)), _IMPORT)
        return kind.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        def made() -> Schema:
            shapes = [
                UNIT.schema(to),
                VARIANT.schema(to),
                *(flow.schema(to) for flow in to.registry.flows.values()),
            ]
            part = {"$ref": "#/$defs/part"}
            return {"anyOf": [{"type": "string"}, {"type": "array", "items": part}, *shapes]}

        return to.named("part", made)


PART = AnyPart()


@dataclass(frozen=True)
class Parts:
    """A list of parts; in a sequence, where a list inside it is parallel."""

    in_sequence: bool = False
    what: str = "a list of parts"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Series)

    def holds(self, value: Any) -> bool:
        return isinstance(value, list | tuple)

    def read(self, node: Node, at: Reading) -> Any:
        if not isinstance(node, Series):
            return wrong(self, node, at)
        places = (
            replace(at.index(number), in_sequence=self.in_sequence) for number in range(len(node.items))
        )
        parts = (PART.read(item, place) for item, place in zip(node.items, places, strict=True))
        return tuple(part for part in parts if part is not BAD)

    def write(self, value: Any, at: Writing) -> Any:
        places = (replace(at.index(number), in_sequence=self.in_sequence) for number in range(len(value)))
        return [PART.write(item, place) for item, place in zip(value, places, strict=True)]

    def schema(self, to: Schemas) -> Schema:
        return {"anyOf": [{"type": "array", "items": PART.schema(to)}, INCLUDED]}


@dataclass(frozen=True)
class Members:
    """Parts by key: a mapping, or a list where each has the key that it would get by itself."""

    what: str = "a mapping from keys to parts, or a list of parts"

    def fits(self, node: Node) -> bool:
        return isinstance(node, Table | Series)

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping | tuple)

    def read(self, node: Node, at: Reading) -> Any:
        if isinstance(node, Table):
            return MapOf(PART).read(node, at)
        return Parts().read(node, at) if isinstance(node, Series) else wrong(self, node, at)

    def write(self, value: Any, at: Writing) -> Any:
        named = dict(value)
        if list(keyed(named.values())) == list(named):
            return Parts().write(tuple(named.values()), at)
        return {key: PART.write(part, at.key(key)) for key, part in named.items()}

    def schema(self, to: Schemas) -> Schema:
        part = PART.schema(to)
        return {"anyOf": [Parts().schema(to), {"type": "object", "additionalProperties": part}]}


STEPS, MEMBERS = Parts(in_sequence=True), Members()


def _kept(part: Any, node: Node, at: Reading) -> Any:
    """A part that a word stands for: a unit keeps the place of its definition."""
    return part if id(part) in at.book.places else at.keep(part, node)


def _listed(node: Series, at: Reading) -> Any:
    if at.in_sequence:
        return _built(ParallelFlow, Parts().read(node, at), node, at)
    return _built(SequentialFlow, STEPS.read(node, at), node, at)


def _built(cls: Any, parts: Any, node: Node, at: Reading) -> Any:
    try:
        return cls(*parts)
    except DefinitionError as error:
        return at.fault("definition", error.faults[0].message, node)


def _mapped(node: Table, at: Reading) -> Any:
    kind = node.get("type")
    if kind is None:
        if node.get("unit"):
            return _variant(node, at)
        return read_unit(node, at) if node.get("id") else _typeless(node, at)
    flows, given = at.book.registry.flows, kind.value
    if not isinstance(given, Scalar) or given.value not in flows:
        shown = given.value if isinstance(given, Scalar) else "this"
        told = f"{shown!r:.60} is no type of flow; there are: {listed(flows)}"
        return at.key("type").fault("bad-value", told, given, nearest(str(shown), flows))
    flow: Any = flows[given.value]
    found, is_whole = flow.read_rows(node, at)
    if is_whole:
        return flow.built(found, node, at)
    try:
        part = flow.build(**found)
    except (DefinitionError, TypeError, ValueError):
        return BAD
    at.book.spoiled.add(id(part))
    return part


def _typeless(node: Table, at: Reading) -> Any:
    types = listed(at.book.registry.flows)
    told = (
        "a part that is a mapping needs the key 'type' for a flow, 'id' for a unit, or 'unit' for a variant"
    )
    return at.fault("missing-key", f"{told}; the types are: {types}", node)


def _variant(node: Table, at: Reading) -> Any:
    given, is_whole = VARIANT.read_rows(node, at)
    base = node.get("unit")
    assert base is not None
    unit = _referred(base.value, given.pop("unit", None), at.key("unit"))
    if unit is BAD or not is_whole:
        return BAD
    if "limits" in given:
        given["limits"] = limited(given["limits"], at.book.unit_s)
    whole = table([entry for entry in node.entries if entry.key != "unit"], node.place)
    return replace(VARIANT, build=unit.with_).built(given, whole, at)


def _imported(node: Node, at: Reading) -> Any:
    found = _IMPORT.read(node, at)
    if isinstance(found, WorkflowUnit) and (limits := limited(found.limits, at.book.unit_s)) != found.limits:
        return found.with_(limits=limits)
    if found is BAD or isinstance(found, Part):
        return found
    try:
        return step(found)
    except DefinitionError as error:
        return at.fault("definition", error.faults[0].message, node)


def _referred(node: Node, name: Any, at: Reading) -> Any:
    """The unit of this name."""
    if not isinstance(name, str):
        return BAD
    at.book.used.add(name)
    if name in at.book.units:
        return at.book.units[name]
    known = listed(at.book.units) or "none"
    return at.fault(
        "unknown-name",
        f"there is no unit {name!r:.60}; the units are: {known}",
        node,
        nearest(name, at.book.units),
    )


def _named(unit: WorkflowUnit[Any], at: Writing) -> Any:
    first = at.units.setdefault(unit.id, unit)
    if first is not unit and first != unit:
        return at.fault(f"two different units have the id {unit.id!r}; rename one, as with unit.with_(id=…)")
    return Text().write(unit.id, at)


def _is_bare(value: Any) -> bool:
    """Whether a flow is as a bare list would make it."""
    if type(value) is SequentialFlow:
        return value == SequentialFlow(*value.steps)
    return type(value) is ParallelFlow and value == ParallelFlow(*dict(value.members).values())


def _below(value: Any) -> Any:
    return value.steps if isinstance(value, SequentialFlow) else value.members
