"""Savers and stores that outlive a lost connection, and say plainly when they cannot.

What a saver or store does here may be done twice with the same effect, so a call that lost its
connection is tried again. When that does not help in time, the run fails with reason `store`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp
from langgraph.store.base import BaseStore

from ..core.errors import PlaitError, RunError
from .encrypted import EncryptedSaver, readable
from .encryption import Cipher

PATIENCE_S = 15.0
"""How long a store may be out of reach before the run gives up on it."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0

NOT_THE_STORE = (PlaitError, GraphBubbleUp, TypeError, ValueError, OverflowError)

T = TypeVar("T")
Check = Callable[[], Awaitable[None]]
Passing = tuple[type[Exception], ...]
"""What a client raises for troubles that may pass, such as a closed connection."""


async def patiently(call: Callable[[], Awaitable[T]], passing: Passing, what: str) -> T:
    """What `call` gives, called again while it raises one of `passing`, for PATIENCE_S at most.

    Raises RunError with reason `store` for that and for whatever else the client raises. What
    cannot be written at all (TypeError, ValueError, OverflowError) is no trouble of the store's.
    """
    deadline, pause_s = time.monotonic() + PATIENCE_S, FIRST_PAUSE_S
    while True:
        try:
            return await call()
        except NOT_THE_STORE:
            raise
        except Exception as error:
            if not isinstance(error, passing) or time.monotonic() + pause_s > deadline:
                raise failed(what, error) from error
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def failed(what: str, error: Exception) -> RunError:
    """The error of a run whose saver or store gave up."""
    told = f"{what} failed: {type(error).__name__}: {error}; resume the thread when the store is back"
    return RunError(told, reason="store")


class GuardedSaver(BaseCheckpointSaver[Any]):
    """`inner`, called patiently. It stands where LangGraph expects a saver.

    `check` is awaited before each write and raises where the writer has lost its thread.
    """

    def __init__(
        self, inner: BaseCheckpointSaver[Any], passing: Passing = (), check: Check | None = None
    ) -> None:
        super().__init__(serde=inner.serde)
        self.inner = inner
        self._passing = passing
        self._check = check

    def checked(self, check: Check) -> GuardedSaver:
        """The same saver for one writer."""
        return GuardedSaver(self.inner, self._passing, check)

    def encrypted(self, cipher: Cipher) -> GuardedSaver:
        """The same saver for threads that are encrypted."""
        return GuardedSaver(EncryptedSaver(self.inner, cipher), self._passing, self._check)

    @property
    def config_specs(self) -> list[Any]:
        return self.inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.inner.get_next_version(current, channel)

    async def aget_tuple(self, config: Any) -> Any:
        return readable(await self._reading(lambda: self.inner.aget_tuple(config)))

    async def aget_delta_channel_history(self, **which: Any) -> Any:
        return await self._reading(lambda: self.inner.aget_delta_channel_history(**which))

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        try:
            async for item in self.inner.alist(config, **options):
                yield readable(item)
        except NOT_THE_STORE:
            raise
        except Exception as error:
            raise failed("reading the checkpoints", error) from error

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return await self._writing(lambda: self.inner.aput(config, checkpoint, metadata, new_versions))

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await self._writing(lambda: self.inner.aput_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._writing(lambda: self.inner.adelete_thread(thread_id))

    async def _reading(self, call: Callable[[], Awaitable[T]]) -> T:
        return await patiently(call, self._passing, "reading the checkpoint")

    async def _writing(self, call: Callable[[], Awaitable[T]]) -> T:
        async def checked() -> T:
            if self._check is not None:
                await self._check()
            return await call()

        return await patiently(checked, self._passing, "writing the checkpoint")


@asynccontextmanager
async def stopped(store: Any) -> AsyncIterator[None]:
    """At the end, stop the task with which LangGraph's stores gather operations; they leave it running."""
    try:
        yield
    finally:
        task: asyncio.Task[None] | None = getattr(store, "_task", None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class GuardedStore(BaseStore):
    """`inner`, called patiently. Every operation of a store passes through `abatch`."""

    def __init__(self, inner: BaseStore, passing: Passing = ()) -> None:
        self.inner = inner
        self._passing = passing
        self.supports_ttl = inner.supports_ttl
        self.ttl_config = inner.ttl_config

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        return await patiently(lambda: self.inner.abatch(listed), self._passing, "using the store")
