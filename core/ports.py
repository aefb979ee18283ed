"""Ports: what the engine asks of things that live outside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .bus import BusMessage
from .delta import Delta
from .events import Event
from .snapshot import Snapshot

Emit = Callable[[Event], None]
Publish = Callable[[BusMessage], None]


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One steer or follow-up: a time-ordered unique id, whom it is for, and the text."""

    id: str
    address: str
    text: str
    kind: Literal["steer", "follow_up"] = "steer"


class Inbox(Protocol):
    """Messages for running units, readable and writable from any process."""

    async def put(self, thread_id: str, item: InboxItem) -> None: ...

    async def items(self, thread_id: str, path: str, delivered: Sequence[str]) -> list[InboxItem]: ...


JournalState = Literal["started", "done", "paused", "cancelled"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What is known of one tool call: `digest` ties it to its tool and arguments."""

    state: JournalState
    digest: str
    result: Any = None


class Journal(Protocol):
    """Remembers tool calls so that a completed effect never runs twice.

    A key is thread, checkpoint namespace of the executing node, and call ordinal.
    """

    async def read(self, key: str) -> JournalEntry | None: ...

    async def write(self, key: str, entry: JournalEntry) -> None: ...


class ThreadLock(Protocol):
    """One writer per thread; the lock dies with its holder."""

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]: ...

    async def check(self, thread_id: str) -> None: ...


StageName = Literal[
    "policy.pre_check",
    "security.pre_hooks",
    "context.assemble",
    "adapter",
    "security.post_hooks",
    "output_adapter",
    "shared_state",
    "context.record",
    "checkpoint",
    "observability.emit",
    "bus.publish",
]

SnapshotStage = Callable[[Snapshot], Awaitable[Snapshot]]
"""A stage before execution: may narrow what the unit sees, or raise to refuse."""

DeltaStage = Callable[[Snapshot, Delta], Awaitable[Delta]]
"""A stage after execution: may change or note what the unit did, or raise to refuse."""


@dataclass(frozen=True, slots=True)
class Plane:
    """The stages around a unit's execution; None is an empty stage and costs nothing."""

    pre_check: SnapshotStage | None = None
    pre_hooks: SnapshotStage | None = None
    assemble: SnapshotStage | None = None
    post_hooks: DeltaStage | None = None
    record: DeltaStage | None = None
    emit: DeltaStage | None = None
    trace: Callable[[StageName], None] | None = None


EMPTY_PLANE = Plane()


class ModelResolver(Protocol):
    """Turns `"provider:model"` into a chat model, which thinks at `level` if one is given."""

    def __call__(self, model: Any, level: str | None = None, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a paused thread asks: answer it by `id`."""

    id: str
    path: str
    question: Any
