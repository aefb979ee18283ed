"""Something opened once per event loop, shared by the runs on it, and closed with the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

Loop = asyncio.AbstractEventLoop


@dataclass
class _Opened:
    value: Any
    stack: AsyncExitStack
    users: int = 0


@dataclass
class Source:
    """Something opened once per event loop and shared by the runs on it."""

    given: Any
    opener: Any
    _by_loop: MutableMapping[Loop, _Opened] = field(default_factory=WeakKeyDictionary)
    _opening: MutableMapping[Loop, asyncio.Lock] = field(default_factory=WeakKeyDictionary)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Any]:
        """The opened thing, kept open at least until the block ends."""
        if self.opener is None:
            yield self.given
            return
        loop = asyncio.get_running_loop()
        opening = asyncio.ensure_future(self._acquire(loop))
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            await finished(self._given_back(loop, opening))
            raise
        try:
            yield opened.value
        finally:
            await finished(self._release(loop, opened))

    async def _given_back(self, loop: Loop, opening: asyncio.Task[_Opened]) -> None:
        """Close what was being opened for a caller that was cancelled meanwhile."""
        await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            await self._release(loop, opening.result())

    async def _acquire(self, loop: Loop) -> _Opened:
        async with self._opening.setdefault(loop, asyncio.Lock()):
            opened = self._by_loop.get(loop)
            if opened is None:
                stack = AsyncExitStack()
                manager: AbstractAsyncContextManager[Any] = self.opener()
                opened = self._by_loop[loop] = _Opened(await stack.enter_async_context(manager), stack)
            opened.users += 1
            return opened

    async def _release(self, loop: Loop, opened: _Opened) -> None:
        async with self._opening.setdefault(loop, asyncio.Lock()):
            opened.users -= 1
            if opened.users == 0:
                del self._by_loop[loop]
                await opened.stack.aclose()


async def finished(work: Any) -> Any:
    """Await `work` to its end, also when the caller is cancelled meanwhile: what is left open
    keeps the interpreter from exiting. Gives what it gives."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
