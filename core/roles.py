"""How a role is executed: the contracts between a unit and whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, runtime_checkable

from .records import StepRecord
from .snapshot import Snapshot, Task

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Effect = Literal["read", "idempotent", "probe", "flow", "unsafe"]
"""What running something again would do (DESIGN: durability)."""


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """What a role gets: which thread, how deep, what it started from and what is done so far.

    `bundle_hash` is the content hash of the workflow's definition, `start` the turn's task,
    `steps` this turn's records, `snapshot` everything else that may be read.
    """

    thread_id: str
    depth: int
    bundle_hash: str
    start: Task
    steps: tuple[StepRecord, ...]
    snapshot: Snapshot


@runtime_checkable
class RoleFn(Protocol[T_co]):
    """Executes one role once. May show `.graph` (a compiled graph) and declare `.effect`."""

    async def __call__(self, context: ThreadContext, /) -> T_co: ...


@runtime_checkable
class AdapterFn(Protocol):
    """Decides how a role (a prompt and an output schema) is executed.

    An adapter that also has `for_unit(unit)` is given the whole unit instead: its tools,
    limits, memory and options.
    """

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]: ...


@dataclass(frozen=True, slots=True)
class AdapterBinding:
    """A default adapter, and others by unit id."""

    default: AdapterFn | None = None
    overrides: Mapping[str, AdapterFn] = field(default_factory=dict)
