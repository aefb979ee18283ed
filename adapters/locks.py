"""One writer per thread: whoever runs a thread holds its lock, which dies with its holder.

A lock has two halves. Inside a process, runs stand in line here, first come, first served. Between
processes an `Outer` decides: a file lock beside a SQLite file, an advisory lock in Postgres.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from typing import Protocol

from ..core.errors import RunError, ThreadBusy
from ..core.ports import Journal, JournalEntry, Live, ThreadLock
from .source import finished

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
"""Between two looks at a thread that another process holds."""


class Outer(Protocol):
    """The half of a lock that other processes respect."""

    async def take(self, thread_id: str) -> bool:
        """Hold the thread, if nobody does."""

    async def give(self, thread_id: str) -> None:
        """Let go of the thread, if `take` held it."""

    async def check(self, thread_id: str) -> None:
        """Raise RunError with reason `store` when a thread that `take` held is not held any more."""

    async def is_taken(self, thread_id: str) -> bool:
        """Whether anybody holds the thread."""


class LocalLock:
    """Lets one run at a time onto a thread, over all event loops of this process."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._lines: dict[str, deque[Future[None]]] = {}
        self._process = os.getpid()

    @asynccontextmanager
    async def hold(self, thread_id: str, *, wait: bool = False) -> AsyncIterator[None]:
        """Hold the thread. Raises ThreadBusy when another run does, unless it may `wait`."""
        await self._queued(thread_id, wait)
        try:
            yield
        finally:
            self._next(thread_id)

    async def check(self, thread_id: str) -> None:
        """A lock inside one process cannot be lost."""

    async def is_held(self, thread_id: str) -> bool:
        return thread_id in self._current()

    async def _queued(self, thread_id: str, wait: bool) -> None:
        with self._guard:
            lines = self._current()
            if thread_id not in lines:
                lines[thread_id] = deque()
                return
            if not wait:
                raise ThreadBusy(thread_id)
            turn: Future[None] = Future()
            lines[thread_id].append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # it was our turn already
                self._next(thread_id)
            raise

    def _next(self, thread_id: str) -> None:
        """Hand the thread to the next in line."""
        with self._guard:
            line = self._current().get(thread_id, deque())
            while line:
                if (turn := line.popleft()).set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._current().pop(thread_id, None)

    def _current(self) -> dict[str, deque[Future[None]]]:
        """The lines of this process; a forked child holds nothing of what its parent does."""
        if self._process != os.getpid():
            self._lines, self._process = {}, os.getpid()
        return self._lines


class SharedLock(LocalLock):
    """Lets one run at a time onto a thread, over all processes that share a store."""

    def __init__(self, outer: Outer) -> None:
        super().__init__()
        self._outer = outer

    @asynccontextmanager
    async def hold(self, thread_id: str, *, wait: bool = False) -> AsyncIterator[None]:
        """Hold the thread. Raises ThreadBusy when another run does, unless it may `wait`."""
        async with super().hold(thread_id, wait=wait):
            try:
                await self._taken(thread_id, wait)
                yield
            finally:
                await finished(self._outer.give(thread_id))

    async def check(self, thread_id: str) -> None:
        await self._outer.check(thread_id)

    async def is_held(self, thread_id: str) -> bool:
        return await super().is_held(thread_id) or await self._outer.is_taken(thread_id)

    async def _taken(self, thread_id: str, wait: bool) -> None:
        pause_s = FIRST_PAUSE_S
        while not await finished(self._outer.take(thread_id)):
            if not wait:
                raise ThreadBusy(thread_id)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


class CheckedJournal:
    """`inner`, written only while the thread's lock is held, so that who lost it starts no effect."""

    def __init__(self, inner: Journal, lock: ThreadLock) -> None:
        self._inner, self._lock = inner, lock

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        return await self._inner.read(thread_id, keys)

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        await self._lock.check(thread_id)
        await self._inner.write(thread_id, entries)

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        return await self._inner.entries(thread_id)

    async def forget(self, thread_id: str) -> None:
        await self._lock.check(thread_id)
        await self._inner.forget(thread_id)


def locked(live: Live, outer: Outer) -> Live:
    """The services with a lock that other processes respect, which the journal checks too."""
    lock = SharedLock(outer)
    journal = None if live.journal is None else CheckedJournal(live.journal, lock)
    return replace(live, lock=lock, journal=journal)


def key_of(thread_id: str, size: int) -> bytes:
    """What stands for a thread in names and numbers, `size` bytes long."""
    return blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def lost(thread_id: str) -> RunError:
    """What stops a run whose thread somebody else may have taken over."""
    told = f"the lock of thread {thread_id!r} was lost, so another run may have gone on with it"
    return RunError(f"{told}; nothing more is written; resume the thread if it has not", reason="store")
