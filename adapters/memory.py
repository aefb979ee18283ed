"""An inbox and an event log that live as long as their process, as threads in memory do.

Nobody outside can read them, so they hold the messages and events themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

from ..core.events import Event
from ..core.ports import InboxItem, LoggedRun, Recorder, StopRequest
from .eventlog import KEPT_RUNS, merged


class MemoryInbox:
    """An inbox in memory."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, InboxItem]] = {}
        self._stops: dict[str, StopRequest] = {}

    async def put(self, thread_id: str, item: InboxItem) -> None:
        self._items[thread_id] = {**self._items.get(thread_id, {}), item.id: item}

    async def items(self, thread_id: str) -> Sequence[InboxItem]:
        held = self._items.get(thread_id)
        return tuple(held[key] for key in sorted(held)) if held else ()

    async def ask_to_stop(self, thread_id: str, request: StopRequest) -> None:
        self._stops[thread_id] = request

    async def stop_asked(self, thread_id: str) -> StopRequest | None:
        return self._stops.get(thread_id)


class MemoryEventLog:
    """The events of the latest runs of each thread."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, _Recorder]] = defaultdict(dict)
        self._numbers = count(1)
        self._readers: Counter[str] = Counter()

    @asynccontextmanager
    async def writer(self, thread_id: str) -> AsyncIterator[Recorder]:
        runs, name = self._runs[thread_id], str(next(self._numbers))
        recorder = runs[name] = _Recorder(self._readers, thread_id)
        try:
            yield recorder
        finally:
            if not recorder.settle():
                del runs[name]
            for run in [*runs][:-KEPT_RUNS]:
                del runs[run]

    async def latest(self, thread_id: str) -> LoggedRun | None:
        for run, recorder in reversed(self._runs.get(thread_id, {}).items()):
            if recorder.settle():
                return LoggedRun(f"{run}/0", recorder.has_ended)
        return None

    async def read(self, thread_id: str, place: str) -> tuple[Sequence[Event], str]:
        run, _, number = place.partition("/")
        recorder = self._runs.get(thread_id, {}).get(run)
        found = [] if recorder is None else recorder.settle()[int(number) :]
        return found, f"{run}/{int(number) + len(found)}"

    @asynccontextmanager
    async def watching(self, thread_id: str) -> AsyncIterator[None]:
        self._readers[thread_id] += 1
        try:
            yield
        finally:
            self._readers[thread_id] -= 1


class _Recorder:
    """The events of one run; those that nobody has read yet are put together when somebody does."""

    def __init__(self, readers: Mapping[str, int], thread_id: str) -> None:
        self._readers, self._thread = readers, thread_id
        self._kept: list[Event] = []
        self._fresh: list[Event] = []

    @property
    def is_watched(self) -> bool:
        return self._readers[self._thread] > 0

    @property
    def has_ended(self) -> bool:
        return bool(self._kept) and self._kept[-1].is_last

    def __call__(self, event: Event, /) -> None:
        self._fresh.append(replace(event, result=None) if event.is_last else event)

    def settle(self) -> list[Event]:
        """All events so far; a thread may add another one meanwhile."""
        events = self._fresh[:]
        del self._fresh[: len(events)]
        self._kept += merged(events)
        return self._kept
