"""What a kind is: one frozen value that reads a node, writes a value, and says its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..core.errors import Fault
from .diagnostics import Code, Diagnostic, Place, diagnostic
from .imports import Importer, Namer
from .tree import Node, Scalar, Series, Table

Schema = dict[str, Any]


class Bad:
    """Stands for a value that could not be read; why is among the diagnostics."""

    def __repr__(self) -> str:
        return "BAD"


BAD: Any = Bad()


MOST_FAULTS = 200
"""Faults that are told of one file; more would help nobody."""


class Kind(Protocol):
    """One kind of value in a file."""

    @property
    def what(self) -> str:
        """What is wanted, as an error names it: "a text"."""

    def fits(self, node: Node) -> bool:
        """Whether a node has the shape of this kind, so that its own faults are worth telling."""

    def holds(self, value: Any) -> bool:
        """Whether a value is of this kind, so that this kind writes it."""

    def read(self, node: Node, at: Reading) -> Any:
        """The value of a node, or BAD with its faults noted."""

    def write(self, value: Any, at: Writing) -> Any:
        """Plain data that reads as `value`, or BAD with its faults noted."""

    def schema(self, to: Schemas) -> Schema:
        """The JSON Schema of the nodes it reads."""


@dataclass(frozen=True)
class Registry:
    """What the tables find by name: the forms of adapters, tools and flows, and model providers.

    `url_fault` says why a checkpointer or store is none.
    """

    flows: Mapping[str, Kind]
    adapters: Mapping[str, Kind]
    tools: Mapping[str, Kind]
    providers: Collection[str]
    mock: Kind
    url_fault: Callable[[Any, str], str | None]


@dataclass
class Book:
    """What one reading of a file gathers: its faults, its units, and where each part stands.

    `used` are the units that the flow names, `spoiled` the parts that could not be read in full. `model` is
    the workflow's, `unit_s` the seconds that its policy gives units; `play` gives the model for a name.
    """

    registry: Registry
    importer: Importer
    faults: list[Diagnostic] = field(default_factory=list)
    units: dict[str, Any] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    places: dict[int, tuple[Any, Node, str]] = field(default_factory=dict)
    spoiled: set[int] = field(default_factory=set)
    model: Any = None
    unit_s: float | None = None
    parts: int = 0
    play: Callable[[str], Any] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A place in the document that is being read. `in_sequence`: a list here is parallel."""

    book: Book
    path: str = ""
    in_sequence: bool = False

    def key(self, key: str) -> Reading:
        return replace(self, path=f"{self.path}.{key}" if self.path else key, in_sequence=False)

    def index(self, number: int) -> Reading:
        return replace(self, path=f"{self.path}[{number}]", in_sequence=False)

    def fault(self, code: Code, message: str, where: Node | Place, hint: str = "") -> Any:
        """Note a fault; returns BAD."""
        if len(self.book.faults) >= MOST_FAULTS:
            return BAD
        place = where if isinstance(where, Place) else where.place
        self.book.faults.append(diagnostic(code, message, place, self.path, hint))
        return BAD

    def keep(self, part: Any, node: Node) -> Any:
        """Remember where a part stands; returns the part."""
        self.book.places[id(part)] = (part, node, self.path)
        return part


@dataclass(frozen=True, slots=True)
class Writing:
    """A place in the document that is being written; what cannot be written is noted in `faults`.

    `names` are the names of the models that stand for others, by the models' ids.
    """

    registry: Registry
    faults: list[Fault]
    units: dict[str, Any]
    model: Any = None
    names: Mapping[int, str] = field(default_factory=dict)
    namer: Namer = field(default_factory=Namer)
    path: str = ""
    in_sequence: bool = False

    def key(self, key: str) -> Writing:
        return replace(self, path=f"{self.path}.{key}" if self.path else key, in_sequence=False)

    def index(self, number: int) -> Writing:
        return replace(self, path=f"{self.path}[{number}]", in_sequence=False)

    def fault(self, message: str) -> Any:
        """Note what cannot be written; returns BAD."""
        self.faults.append(Fault(self.path, message))
        return BAD


@dataclass
class Schemas:
    """The named schemas that have been asked for; those of records refer to each other by name."""

    registry: Registry
    defs: dict[str, Schema] = field(default_factory=dict)

    def named(self, name: str, make: Callable[[], Schema]) -> Schema:
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = make()
        return {"$ref": f"#/$defs/{name}"}


VARIABLE: Schema = {"type": "string", "pattern": r"\$\{"}
"""The schema of a text that an environment variable fills in."""

INCLUDE: Schema = {"type": "string", "description": "a file whose content stands here"}
INCLUDED: Schema = {
    "type": "object",
    "properties": {"include": INCLUDE},
    "required": ["include"],
    "additionalProperties": False,
}


def wrong(kind: Kind, node: Node, at: Reading) -> Any:
    """Note that a node is of another kind than wanted; returns BAD."""
    return at.fault("wrong-type", f"{kind.what} is due here, not {told(node)}", node)


def told(node: Node) -> str:
    """A node as an error shows it."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Series):
        return "a list"
    words = {bool: "the truth value", int: "the number", float: "the number", str: "the text"}
    shown = (
        {True: "true", False: "false"}.get(node.value, repr(node.value))
        if node.value in (True, False)
        else ""
    )
    if isinstance(node.value, bool):
        return f"{words[bool]} {shown}"
    return "nothing" if node.value is None else f"{words[type(node.value)]} {node.value!r:.60}"


def is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str)
