"""What stands behind a Workflow: what its threads live in is opened here, and their runs are driven."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from .adapters.encryption import cipher_of
from .adapters.live import live_source, over_store
from .adapters.source import Source
from .adapters.stores import check_key, saver_for, saver_source, store_source
from .core.errors import PlaitError
from .core.ports import InboxItem, Live, Plane, StopRequest
from .graphs.addressing import check_address
from .graphs.binding import Bound
from .graphs.brake import Brake
from .graphs.bus import MessageBus
from .graphs.compile import Graph
from .graphs.drive import Drive
from .graphs.result import RunResult
from .graphs.run import Run
from .graphs.stopping import stop_asked, stoppable, stopped
from .graphs.turns import UNSET, check_given, check_new_turn, continuation, turn_input


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
        encryption_key: Any = None,
    ) -> None:
        self._bound, self._graph, self._bus, self._plane = bound, graph, bus, plane
        self._savers: Source = saver_source(checkpointer, bound.importable)
        self._stores: Source = store_source(store)
        self._cipher = cipher_of(encryption_key)
        self._live: Source = live_source(checkpointer, store, self._cipher)
        self._kept_open = AsyncExitStack()

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
            served = saver_for(saver, thread, live.lock, self._cipher)
            graph = self._graph().copy({"checkpointer": served, "store": store})
            yield Drive(
                self._bound,
                graph,
                thread,
                is_new=named is None,
                context=context,
                config=config or {},
                plane=self._plane,
                publishers=(self._bus.publish,),
                live=self._with_store(live, store),
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
        queue: bool = False,
        brake: Brake | None = None,
    ) -> RunResult:
        """Run one turn; `run` is the handle that watches it, if there is one, else `brake` may stop it."""
        given = turn_input(task, state)
        check_given(self._bound, state)
        async with self.drive(thread_id, context, config) as drive, _held(drive, queue) as asked:
            drive.brake = brake or drive.brake
            return await self._driven(drive, run, given, abandon, asked)

    async def resume(
        self,
        thread_id: str,
        answers: Any,
        *,
        context: Any = None,
        config: RunnableConfig | None = None,
        queue: bool = False,
        brake: Brake | None = None,
        run: Run | None = None,
    ) -> RunResult:
        """Go on with a thread that stopped; `run` and `brake` as for `turn`."""
        async with self.drive(thread_id, context, config) as drive:
            meant = await drive.questions() if queue and answers is not UNSET else None
            async with _held(drive, queue) as asked:
                drive.brake = brake or drive.brake
                if run is not None:
                    drive.listeners.append(run.listen)
                    drive.brake = run.brake
                given = await continuation(drive, answers, meant)
                async with stoppable(drive.live.inbox, drive.thread_id, drive.brake, asked):
                    return await drive.run(given, resumed=True)

    async def stop(self, thread_id: str, how: Literal["cancel", "drain"], timeout_s: float) -> bool:
        """Have the run of a thread stopped, in whatever process; False when none is under way."""
        async with self._stores.use() as store, self._live.use() as live:
            held = self._with_store(live, store)
            assert held.inbox is not None
            assert held.lock is not None
            return await stopped(held.inbox, held.lock, thread_id, how, timeout_s)

    async def send(self, thread_id: str, item: InboxItem) -> InboxItem:
        """Put a message into a thread's inbox. Raises PlaitError when it can reach no unit."""
        check_address(self._bound.root, item.address)
        if not thread_id.strip():
            raise PlaitError("a thread_id must not be blank; a message belongs to one thread")
        async with self._savers.use() as saver, self._stores.use() as store, self._live.use() as live:
            await check_key(saver_for(saver, thread_id, None, self._cipher), thread_id)
            inbox = self._with_store(live, store).inbox
            assert inbox is not None
            await inbox.put(thread_id, item)
        return item

    async def _driven(
        self,
        drive: Drive,
        run: Run | None,
        given: Mapping[str, Any],
        abandon: bool,
        asked: StopRequest | None,
    ) -> RunResult:
        if run is not None:
            drive.listeners.append(run.listen)
            drive.brake = run.brake
        if not drive.is_new:
            await check_new_turn(drive, abandon=abandon)
        ear = None if drive.is_new and run is None else drive.live.inbox  # nobody knows a thread's name yet
        async with stoppable(ear, drive.thread_id, drive.brake, asked):
            return await drive.run(given)

    def _with_store(self, live: Live, store: Any) -> Live:
        """Inbox and events lie in the user's store if there is one, so that others who have it find them."""
        return live if store is None else over_store(live, store, self._cipher)


@asynccontextmanager
async def _held(drive: Drive, queue: bool) -> AsyncIterator[StopRequest | None]:
    """One run at a time on a thread, which is recorded; gives what a former run was asked last. Raises
    ThreadBusy, unless it may `queue`."""
    async with AsyncExitStack() as stack:
        if (lock := drive.live.lock) is not None:
            await stack.enter_async_context(lock.hold(drive.thread_id, wait=queue))
        asked = None if drive.is_new else await stop_asked(drive.live.inbox, drive.thread_id)
        if (events := drive.live.events) is not None:
            drive.recorder = await stack.enter_async_context(events.writer(drive.thread_id))
        yield asked
