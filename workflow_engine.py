"""What stands behind a Workflow: what its threads live in is opened here, and their runs are driven."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from .adapters.live import live_source
from .adapters.source import Source
from .adapters.stores import saver_for, saver_source, store_source
from .core.errors import PlaitError, ThreadBusy
from .core.ports import Plane
from .graphs.binding import Bound
from .graphs.bus import MessageBus
from .graphs.compile import Graph
from .graphs.drive import Drive
from .graphs.result import RunResult
from .graphs.run import Run
from .graphs.turns import check_given, check_new_turn, continuation, turn_input


class Engine:
    """Opens the saver, the store and the live services of one workflow, and drives its threads."""

    def __init__(
        self,
        bound: Bound,
        graph: Callable[[], Graph],
        bus: MessageBus,
        plane: Plane,
        checkpointer: Any,
        store: Any,
    ) -> None:
        self._bound, self._graph, self._bus, self._plane = bound, graph, bus, plane
        self._savers: Source = saver_source(checkpointer, bound.importable)
        self._stores: Source = store_source(store)
        self._live: Source = live_source(checkpointer, store)
        self._kept_open = AsyncExitStack()
        self._busy: set[str] = set()

    async def open(self) -> None:
        """Keep what runs need open until `close`."""
        for source in (self._savers, self._stores, self._live):
            await self._kept_open.enter_async_context(source.use())

    async def close(self) -> None:
        stack, self._kept_open = self._kept_open, AsyncExitStack()
        await stack.aclose()

    @asynccontextmanager
    async def drive(
        self, thread_id: str | None, context: Any = None, config: RunnableConfig | None = None
    ) -> AsyncIterator[Drive]:
        """One thread, opened; a new one when neither `thread_id` nor `config` names it."""
        async with self._savers.use() as saver, self._stores.use() as store, self._live.use() as live:
            if thread_id is not None and not thread_id.strip():
                raise PlaitError("a thread_id must not be blank; leave it out for a new thread")
            named = thread_id or (config or {}).get("configurable", {}).get("thread_id")
            thread = str(named or uuid4())
            graph = self._graph().copy({"checkpointer": saver_for(saver, thread), "store": store})
            yield Drive(
                self._bound,
                graph,
                thread,
                is_new=named is None,
                context=context,
                config=config or {},
                plane=self._plane,
                publishers=(self._bus.publish,),
                live=live,
            )

    async def turn(
        self,
        run: Run | None,
        task: Any,
        *,
        thread_id: str | None = None,
        context: Any = None,
        config: RunnableConfig | None = None,
        state: Mapping[str, Any] | None = None,
        abandon: bool = False,
    ) -> RunResult:
        """Run one turn; `run` is the handle that watches it, if there is one."""
        given = turn_input(task, state)
        check_given(self._bound, state)
        async with self.drive(thread_id, context, config) as drive:
            with self._held(drive.thread_id):
                return await self._driven(drive, run, given, abandon)

    async def resume(
        self, thread_id: str, answers: Any, *, context: Any = None, config: RunnableConfig | None = None
    ) -> RunResult:
        """Go on with a thread that stopped."""
        async with self.drive(thread_id, context, config) as drive:
            with self._held(drive.thread_id):
                given = await continuation(drive, answers)
                return await drive.run(given, resumed=True)

    async def _driven(
        self, drive: Drive, run: Run | None, given: Mapping[str, Any], abandon: bool
    ) -> RunResult:
        if run is not None:
            drive.listeners.append(run.listen)
        if not drive.is_new:
            await check_new_turn(drive, abandon=abandon)
        try:
            return await drive.run(given)
        except asyncio.CancelledError:
            if run is None or not run.is_cancelling:
                raise
            return await drive.cancelled()

    @contextmanager
    def _held(self, thread_id: str) -> Iterator[None]:
        """One run at a time on a thread. Raises ThreadBusy."""
        if thread_id in self._busy:
            raise ThreadBusy(thread_id)
        self._busy.add(thread_id)
        try:
            yield
        finally:
            self._busy.discard(thread_id)
