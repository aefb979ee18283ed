"""A thread copied up to one of its points: another thread that goes on from there by itself.

Checkpoints keep their ids, so that tasks, namespaces and questions in the copy are those of the original.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from langchain_core.runnables import RunnableConfig

# LangGraph has no public names for the channels in which it keeps pauses and answers; a test pins them
from langgraph._internal._constants import INTERRUPT, NULL_TASK_ID, RESUME
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt

from ..core.errors import PlaitError
from ..core.state import SharedState, fold
from ..nodes.asking import read_question
from .binding import Bound
from .drive import Drive
from .points import FORKED, ThreadPoint
from .root import RootPlace

Write = tuple[str, str, Any]
"""A pending write as a saver gives it: the task's id, the channel, the value."""


@dataclass(frozen=True)
class Copy:
    """One checkpoint to be copied, with what its tasks had written, and what is different in the copy."""

    saved: CheckpointTuple
    writes: Sequence[Write]
    values: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.saved.checkpoint["id"])


async def fork(old: Drive, new: Drive, at: ThreadPoint, state: Mapping[str, Any] | None) -> None:
    """Make the thread of `new` stand where that of `old` stood `at` a point, with `state` edited.

    Raises PlaitError when the thread exists, or when a value cannot be kept.
    """
    edited = _edited(new.bound, at, state) if state else {}
    source, target = old.graph.checkpointer, new.graph.checkpointer
    assert not isinstance(source, bool | None)
    assert not isinstance(target, bool | None)
    if await target.aget_tuple(_config(new.thread_id, "")) is not None:
        raise PlaitError(f"there is a thread {new.thread_id!r} already; a fork needs a name of its own")
    saved = [item async for item in source.alist({"configurable": {"thread_id": old.thread_id}})]
    origin = {FORKED: f"{old.thread_id}/{at.id}"}
    async with AsyncExitStack() as held:
        if new.live.lock is not None:
            await held.enter_async_context(new.live.lock.hold(new.thread_id))
        for copy in sorted(_copies(saved, at, edited, origin), key=lambda copy: copy.id):
            await _write(target, new.thread_id, copy)
    journal = old.live.journal
    if journal is not None and new.live.journal is not None and at.id == await _newest(source, old.thread_id):
        await new.live.journal.write(new.thread_id, await journal.entries(old.thread_id))
    if old.live.inbox is not None and new.live.inbox is not None:
        for message in await old.live.inbox.items(old.thread_id):
            await new.live.inbox.put(new.thread_id, message)


async def _newest(saver: Any, thread_id: str) -> str | None:
    """The id of the point at which the thread stands: what its turn has kept in the journal belongs there."""
    found = await saver.aget_tuple(_config(thread_id, ""))
    return str(found.checkpoint["id"]) if found is not None else None


def _edited(bound: Bound, at: ThreadPoint, state: Mapping[str, Any]) -> dict[str, Any]:
    """The channel of the shared state with the edits in it, each validated as any write is."""
    values = RootPlace(bound.root, bound).values(at.snapshot.values)
    shared = SharedState(values, schema=bound.schema)
    for key, value in state.items():
        shared.set(key, value)
    return {"state": dict(fold(values, shared.writes, bound.schema)["workflow"])}


def _copies(
    saved: Sequence[CheckpointTuple], at: ThreadPoint, edited: Mapping[str, Any], origin: Mapping[str, Any]
) -> Iterator[Copy]:
    """What belongs to the point: its ancestors, itself, and what its own tasks had done by then."""
    root = {item.checkpoint["id"]: item for item in saved if not _namespace(item)}
    here, *before = _line(root, at.id)
    for item in before:
        yield Copy(item, item.pending_writes or ())
    tasks = {task.id for task in at.snapshot.tasks}
    below = [item for item in saved if _task_of(item) in tasks]
    if at.id == max(root):
        yield Copy(here, here.pending_writes or (), edited, origin)
        for item in below:
            yield Copy(item, item.pending_writes or ())
        return
    pause = Pause.of(here, below, tasks)
    yield Copy(here, pause.writes(here) if pause.open else (), edited, origin)
    if pause.open:
        yield from _below(below, pause)


@dataclass(frozen=True)
class Pause:
    """The last pause at a point that a thread has left since: the ids of the questions that were open, and
    when the first of them was answered, seconds since the epoch; None when none was."""

    open: frozenset[str]
    since: float | None

    @classmethod
    def of(cls, here: CheckpointTuple, below: Sequence[CheckpointTuple], tasks: Container[str]) -> Pause:
        """`tasks` are the root's, which tell what was open; those that they called keep old questions."""
        asked = [one for task, one in _asked(here) if task in tasks]
        paths = {read_question(one)[0].path for one in asked}
        begun = [
            record["started_at"]  # what asked began again when it was answered
            for item in (here, *below)
            for write in item.pending_writes or ()
            for record in _records(write)
            if record["path"] in paths and record.get("started_at")
        ]
        return cls(frozenset(one.id for one in asked), min(begun, default=None))

    def writes(self, item: CheckpointTuple) -> list[Write]:
        """What the tasks of a checkpoint had written by then: of one that asked, only its question."""
        asking = {task for task, one in _asked(item) if one.id in self.open}
        later = {write[0] for write in item.pending_writes or () if self._is_later(write)}
        return [
            write
            for write in item.pending_writes or ()
            if write[1] == INTERRUPT
            or (write[0] not in asking | later and (write[0], write[1]) != (NULL_TASK_ID, RESUME))
        ]

    def holds(self, item: CheckpointTuple) -> bool:
        """Whether a checkpoint was there by then."""
        return self.since is None or datetime.fromisoformat(item.checkpoint["ts"]).timestamp() < self.since

    def _is_later(self, write: Write) -> bool:
        since = self.since
        return since is not None and any(record.get("started_at", 0.0) >= since for record in _records(write))


def _asked(item: CheckpointTuple) -> list[tuple[str, Interrupt]]:
    """The tasks of a checkpoint that asked, each with its question."""
    asked = ((task, value) for task, channel, value in item.pending_writes or () if channel == INTERRUPT)
    return [(task, one) for task, value in asked for one in value]


def _below(items: Iterable[CheckpointTuple], pause: Pause) -> Iterator[Copy]:
    """The checkpoints of what was under way at a pause, as they were then."""
    held = sorted((item for item in items if pause.holds(item)), key=_place)
    for _, group in groupby(held, key=_namespace):
        *earlier, newest = group
        for item in earlier:
            yield Copy(item, item.pending_writes or ())
        yield Copy(newest, pause.writes(newest))


def _records(write: Write) -> list[Mapping[str, Any]]:
    """The plain step records in what a task wrote or returned."""
    value = write[2].get("steps") if isinstance(write[2], Mapping) else write[2]
    listed = value if isinstance(value, list) else []
    return [item for item in listed if isinstance(item, Mapping) and "path" in item and "status" in item]


def _line(root: Mapping[str, CheckpointTuple], point: str) -> Iterator[CheckpointTuple]:
    """A checkpoint and its ancestors, which hold what the growing channels are made of."""
    here: str | None = point
    while here is not None and here in root:
        yield root[here]
        parent = root[here].parent_config
        here = parent["configurable"]["checkpoint_id"] if parent else None


async def _write(saver: Any, thread_id: str, copy: Copy) -> None:
    saved, checkpoint = copy.saved, copy.saved.checkpoint
    versions, values = dict(checkpoint["channel_versions"]), dict(checkpoint["channel_values"])
    for channel, value in copy.values.items():
        newest = max(versions.values(), key=_version, default=None)
        versions[channel], values[channel] = saver.get_next_version(newest, None), value
    parent = saved.parent_config["configurable"]["checkpoint_id"] if saved.parent_config else None
    made = {**checkpoint, "channel_versions": versions, "channel_values": values}
    metadata = {**saved.metadata, **copy.metadata}
    namespace = _namespace(saved)
    await saver.aput(_config(thread_id, namespace, parent), made, metadata, versions)
    here = _config(thread_id, namespace, copy.id)
    by_task: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in copy.writes:
        by_task.setdefault(task, []).append((channel, value))
    for place, (task, writes) in enumerate(by_task.items()):
        # savers order writes by the path of their task, which they do not tell
        await saver.aput_writes(here, writes, task, f"{place:06}")


def _config(thread_id: str, namespace: str, checkpoint: str | None = None) -> RunnableConfig:
    named = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, **named}}


def _version(version: Any) -> tuple[int, str]:
    """Versions in order: numbers, or text that begins with one."""
    return int(str(version).split(".")[0]), str(version)


def _namespace(saved: CheckpointTuple) -> str:
    return str(saved.config["configurable"].get("checkpoint_ns") or "")


def _place(saved: CheckpointTuple) -> tuple[str, str]:
    return _namespace(saved), str(saved.checkpoint["id"])


def _task_of(saved: CheckpointTuple) -> str:
    """The id of the root's task below which a checkpoint was written."""
    return _namespace(saved).split("|")[0].rpartition(":")[2]
