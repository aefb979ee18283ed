"""Run: a handle on a run under way in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import suppress
from typing import Any

from ..core.errors import RunError
from ..core.events import Event
from .result import RunResult


class Run:
    """Watches one run: `events` from any number of readers, `result`, `cancel`.

    Events are kept for as long as the handle lives, so a reader that lost its connection goes on
    after the last sequence number it saw.
    """

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self._events: list[Event] = []
        self._news = asyncio.Event()
        self._task: asyncio.Task[RunResult] | None = None
        self.is_cancelling = False

    def begin(self, work: Coroutine[Any, Any, RunResult]) -> Run:
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
        place = 0
        while True:
            for event in self._events[place:]:
                place += 1
                if event.sequence > after and (_is_end(event) or _is_wanted(event, path, types)):
                    yield event
            if self.is_done and place == len(self._events):
                break
            news = self._news
            if place == len(self._events):
                await news.wait()
        if self._events and _is_end(self._events[-1]):
            with suppress(RunError):
                await self.result()
        else:
            await self.result()

    async def result(self) -> RunResult:
        """The result, once the run has ended. Raises what `Workflow.run` raises."""
        if self._task is None:
            raise RuntimeError("the run has not begun")
        return await asyncio.shield(self._task)

    async def cancel(self) -> None:
        """Stop the run now and wait until it has stopped; the thread can be resumed.

        `result` then gives what had been done, with outcome `cancelled`.
        """
        if self._task is not None and not self._task.done():
            self.is_cancelling = True
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Run({self.thread_id!r}, {'ended' if self.is_done else 'running'})"


def _is_end(event: Event) -> bool:
    return event.type == "agent_end" and event.path == ""


def _is_wanted(event: Event, path: str | None, types: Collection[str] | None) -> bool:
    return (path is None or event.path == path) and (types is None or event.type in types)
