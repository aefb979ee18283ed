"""Run: a handle on a run under way in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, Generic

from ..core.display import named
from ..core.errors import RunError
from ..core.events import Event
from ..core.part import Out
from ..core.ports import InboxItem
from ..nodes.inbox import new_item
from .brake import Brake
from .eventbuffer import KEPT_EVENTS, EventBuffer
from .result import RunResult

Send = Callable[[str, InboxItem], Awaitable[InboxItem]]
"""Puts a message into a thread's inbox. Raises PlaitError when it can reach no unit."""


class Run(Generic[Out]):
    """A run: `events` for any number of readers, `steer`, `follow_up`, `result`, `cancel`, `drain`.

    The newest `keep_events` events are kept for as long as the handle lives, so a reader that lost its
    connection goes on after the last sequence number it saw. Where there are more, the oldest
    `message_update`s go first, then the oldest others: a reader that comes late, or has fallen that
    far behind, sees a gap in the sequence numbers, and the run never waits for it. `flow` is what runs,
    for those who draw it, and `viewers` are they.
    """

    def __init__(self, thread_id: str, send: Send, keep_events: int = KEPT_EVENTS, flow: Any = None) -> None:
        self.thread_id = thread_id
        self.flow = flow
        self.viewers: set[asyncio.Task[None]] = set()
        self._send = send
        self._events = EventBuffer(keep_events)
        self._news = asyncio.Event()
        self._task: asyncio.Task[RunResult[Out]] | None = None
        self.brake = Brake()

    def begin(self, work: Coroutine[Any, Any, RunResult[Out]]) -> Run[Out]:
        """Start `work` on the running loop. For the framework."""
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(lambda _: self._wake())
        return self

    def listen(self, event: Event) -> None:
        """Take in one event. For the framework."""
        self._events.append(event)
        self._wake()

    @property
    def is_done(self) -> bool:
        return self._task is not None and self._task.done()

    async def events(
        self, *, path: str | None = None, types: Collection[str] | None = None, after: int = 0
    ) -> AsyncIterator[Event]:
        """The run's events with a sequence number above `after`, to the last one.

        Only those of one path or of some types, if given. The last event, the run's `agent_end`,
        is always among them: its `outcome` says how the run ended, its `result` is the RunResult.
        What ended the run without being a failed run (such as ThreadPaused) is raised at the end.
        """
        seen = after
        while True:
            news = self._news
            found = self._events.after(seen)
            for event in found:
                seen = event.sequence
                if event.is_wanted(path, types):
                    yield event
            if not found:
                if self.is_done:
                    break
                await news.wait()
        if (last := self._events.last) is not None and last.is_last:
            with suppress(RunError):
                await self.result()
        else:
            await self.result()

    async def steer(self, address: str, text: str) -> InboxItem:
        """`Workflow.steer` for this run's thread."""
        return await self._send(self.thread_id, new_item(address, text))

    async def follow_up(self, address: str, text: str) -> InboxItem:
        """`Workflow.follow_up` for this run's thread."""
        return await self._send(self.thread_id, new_item(address, text, "follow_up"))

    async def result(self) -> RunResult[Out]:
        """The result, once the run has ended. Raises what `Workflow.run` raises."""
        if self._task is None:
            raise RuntimeError("the run has not begun")
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not (self._task.cancelled() and self.brake.is_cancelling):
                raise
        last = self._events.last
        ended = None if last is None else last.result  # cancelled while it was being closed
        if ended is not None and ended.outcome == "failed":
            raise ended.error()
        return ended or RunResult(self.thread_id, "cancelled", "interrupted")

    async def cancel(self) -> None:
        """Stop the run now and wait until it has stopped; the thread can be resumed.

        `result` then gives what had been done, with outcome `cancelled`.
        """
        if self._task is not None and not self._task.done():
            self._cancel()
            await self._stopped()

    def cancel_soon(self) -> None:
        """`cancel` without waiting, from any thread and from signal handlers."""
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and not self.brake.is_cancelling:
            self.brake.is_cancelling = True
            self._task.cancel()

    async def drain(self) -> None:
        """Stop the run at the next point where nothing is half done, and wait until it has stopped.

        A unit's round that is under way is finished, nothing new is begun. `result` then gives what
        had been done, with outcome `paused` and reason `interrupted`; `resume` goes on, without
        answers. A run that ends meanwhile, or asks, ends as it would have.
        """
        self.brake.drain()
        if self._task is not None:
            await self._stopped()

    async def _stopped(self) -> None:
        """Wait for the end of the run, however it ends."""
        assert self._task is not None
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # `result` raises it, for whoever asks

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _ipython_display_(self) -> None:
        """Show the run while it goes on; `await plait.view.watch(run)` also waits for its result."""
        named("view.watch").show(self)

    def __repr__(self) -> str:
        return f"Run({self.thread_id!r}, {'ended' if self.is_done else 'running'})"
