"""Reading along with a thread's latest run from any process; the stream always ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from ..core.errors import PlaitError
from ..core.events import Event
from ..core.ports import EventLog, Live, ThreadLock

PAUSE_S = 0.1
"""Between two looks for new events."""

LOOKS = 5
"""Looks in vain before a reader asks whether the run is still under way."""


async def follow(live: Live, thread_id: str) -> AsyncGenerator[Event, None]:
    """The events of the thread's latest run from its first one to its last, live.

    When the process that ran it is gone, the last one says so: `agent_end` with outcome
    `cancelled`. Raises PlaitError when nothing has run on the thread.
    """
    if live.events is None or live.lock is None:
        raise PlaitError(f"thread {thread_id!r}: its workflow keeps no events that could be read here")
    reader = _Reader(live.events, live.lock, thread_id)
    async with live.events.watching(thread_id):
        async for event in reader.events():
            yield event


@dataclass
class _Reader:
    log: EventLog
    lock: ThreadLock
    thread_id: str

    async def events(self) -> AsyncIterator[Event]:
        start = place = await self._start()
        last, in_vain = Event("agent_start"), 0
        while True:
            is_over = in_vain >= LOOKS and await self._is_over(start)
            events, place = await self.log.read(self.thread_id, place)
            for last in events:
                yield last
            if last.is_last:
                return
            if is_over and not events:
                yield self._gone(last)
                return
            in_vain = 0 if events else in_vain % LOOKS + 1
            if not events:
                await asyncio.sleep(PAUSE_S)

    async def _start(self) -> str:
        """Where the run begins that is under way, else the last one."""
        while True:
            is_held = await self.lock.is_held(self.thread_id)
            latest = await self.log.latest(self.thread_id)
            if latest is not None and not (is_held and latest.has_ended):
                return latest.start
            if not is_held:
                raise PlaitError(f"thread {self.thread_id!r} has no events: nothing has run on it")
            await asyncio.sleep(PAUSE_S)  # a run has begun, but nothing of it is written yet

    async def _is_over(self, start: str) -> bool:
        if not await self.lock.is_held(self.thread_id):
            return True
        latest = await self.log.latest(self.thread_id)
        return latest is not None and latest.start != start

    def _gone(self, last: Event) -> Event:
        told = f"the process that ran thread {self.thread_id!r} is gone; resume the thread to go on"
        return Event(
            "agent_end",
            last.run_id,
            sequence=last.sequence + 1,
            time=time.time(),
            outcome="cancelled",
            reason="interrupted",
            error=told,
        )
