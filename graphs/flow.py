"""What flows are made of beside their parts: how they end, their edges, their keys. Nothing here runs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from ..core.flow import Flow as Flow
from ..core.flow import Visit as Visit
from ..core.outcome import Reason, Status
from ..core.paths import join
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..core.stored import NOTHING, Stored

START, END = "__start__", "__end__"


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """How a flow ended. `ends`: it was ended by Finish, which outer flows up to a loop heed."""

    status: Status = "done"
    reason: Reason | None = None
    message: str = ""
    path: str = ""
    stored: Stored = NOTHING
    text: str = ""
    ends: bool = False
    accepted: bool | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A way control can go between two parts, for drawing; `label` says when."""

    source: str
    target: str
    label: str = ""


@runtime_checkable
class ControlFlow(Protocol):
    """What a flow must offer to be compiled. All of it is pure.

    The Snapshot that `next`, `is_complete` and `end` get is seen from the flow's own path; what
    has run is read from its records, so a flow keeps no state of its own.
    """

    type: ClassVar[str]

    @property
    def parts(self) -> Mapping[str, Any]:
        """The parts by key, in declaration order."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The ways control can go, START and END included."""

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        """What runs now; empty when nothing is left to do."""

    def is_complete(self, snapshot: Snapshot) -> bool:
        """Whether the flow has ended."""

    def end(self, snapshot: Snapshot) -> FlowEnd:
        """What the flow came to, once it is complete."""


def key_of(part: Any) -> str:
    """The segment of a part without a key of its own: its id, else what kind of flow it is."""
    named = (getattr(part, name, None) for name in ("id", "segment", "type"))
    return str(next(name for name in named if name))


def free_key(part: Any, taken: Container[str]) -> str:
    """The key of a part beside others: its segment, with `~2`, `~3` and so on when that is taken."""
    base = key = key_of(part)
    count = 1
    while key in taken:
        count += 1
        key = f"{base}~{count}"
    return key


def keyed(parts: Iterable[Any]) -> dict[str, Any]:
    """Parts by key; a part that stands twice gets `~2`, `~3` and so on."""
    named: dict[str, Any] = {}
    for part in parts:
        named[free_key(part, named)] = part
    return named


def path_of(snapshot: Snapshot, key: str) -> str:
    return join(snapshot.path, key)


def as_input(record: StepRecord) -> Input:
    """A finished part as its successor sees it."""
    return Input(record.path, record.output)


def end_of(record: StepRecord) -> FlowEnd:
    """A flow's end that is just the end of one of its parts."""
    return FlowEnd(
        record.status,
        record.reason,
        record.message,
        record.metadata.get("failed_at", record.path),
        record.stored,
        record.text,
        record.ends,
        record.metadata.get("accepted"),
    )


def walk(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of a flow with its path, the flow itself first."""
    yield path, part
    if isinstance(part, Flow):
        for key, child in part.parts.items():
            yield from walk(child, part.place_of(key, path))
