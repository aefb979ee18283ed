"""Ports: what the engine asks of things that live outside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Somebody wants a thread's run to stop: now (`cancel`), or where nothing is half done (`drain`)."""

    id: str
    how: Literal["cancel", "drain"] = "cancel"


class Inbox(Protocol):
    """Messages for running units and their runs, readable and writable from any process."""

    async def put(self, thread_id: str, item: InboxItem) -> None: ...

    async def items(self, thread_id: str) -> Sequence[InboxItem]:
        """All that was ever put, oldest first; who has been given what is in the thread's own state."""

    async def ask_to_stop(self, thread_id: str, request: StopRequest) -> None:
        """Leave a request for the thread's run; it takes the place of the one before."""

    async def stop_asked(self, thread_id: str) -> StopRequest | None:
        """The latest request that was left, heeded or not."""


JournalState = Literal["started", "done", "paused", "cancelled"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What is known of one tool call: `digest` ties it to its tool and arguments.

    `result` is the plain form of what a call that is done came to; before that, what the call is.
    """

    state: JournalState
    digest: str
    result: Any = None


class Journal(Protocol):
    """Remembers tool calls so that a completed effect never runs twice.

    A key is the checkpoint namespace of the executing node and the call's ordinal, unique in its thread.
    """

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        """The entries of `keys` that there are."""

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        """Keep all of them at once; returns when they are on disk."""

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        """All that the thread's turn has left so far, by key."""

    async def forget(self, thread_id: str) -> None:
        """Drop what the thread's ended turns left."""


class ThreadLock(Protocol):
    """One writer per thread, over all processes; the lock dies with its holder."""

    def hold(self, thread_id: str, *, wait: bool = False) -> AbstractAsyncContextManager[None]:
        """Hold the thread. Raises ThreadBusy when another holds it, unless it may `wait`."""

    async def check(self, thread_id: str) -> None:
        """Raise RunError with reason `store` when the lock was lost."""

    async def is_held(self, thread_id: str) -> bool:
        """Whether anybody holds the thread now."""


class Recorder(Protocol):
    """Takes in the events of one run."""

    @property
    def is_watched(self) -> bool:
        """Whether somebody reads along, and so wants to see replies while they are written."""

    def __call__(self, event: Event, /) -> None: ...


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run in an event log: the place where its events begin, and whether all of them are written."""

    start: str
    has_ended: bool


class EventLog(Protocol):
    """The events of runs, readable from any process while a run is under way and after it."""

    def writer(self, thread_id: str) -> AbstractAsyncContextManager[Recorder]:
        """Take in the events of one run; they are written in batches, all of them by the end."""

    async def latest(self, thread_id: str) -> LoggedRun | None:
        """The thread's newest run."""

    async def read(self, thread_id: str, place: str) -> tuple[Sequence[Event], str]:
        """The events of one run that are written from `place` on, and the place to read on from."""

    def watching(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Let the writers of the thread's runs know that somebody reads along."""


@dataclass(frozen=True, slots=True)
class Live:
    """What a run shares with other processes; None is a service that there is not."""

    inbox: Inbox | None = None
    journal: Journal | None = None
    lock: ThreadLock | None = None
    events: EventLog | None = None


NO_LIVE = Live()


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


QuestionKind = Literal["question", "approval", "in-doubt"]
"""What may be answered: anything, a decision on a tool call, or what became of a call in a crash."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a paused thread asks: answer it by `id`. `path` is the part that asks.

    An `approval` is in Agent Inbox's form: `action_request`, `config`, `description`.
    """

    id: str
    path: str
    question: Any
    kind: QuestionKind = "question"
