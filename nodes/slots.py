"""Places for what runs at a time: taken by a leaf while it works, given back while it waits for others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager


class Lease:
    """The places one leaf takes, one of each kind, the innermost flow's first.

    `lent` gives them back for a while, so that what the leaf itself has started can run even when
    there is but one; what is lent several times at once comes back with the last.
    """

    def __init__(self, slots: tuple[asyncio.Semaphore, ...]) -> None:
        self._slots = slots
        self._taken = AsyncExitStack()
        self._lent = 0

    async def __aenter__(self) -> Lease:
        if not self._slots:
            return self
        async with AsyncExitStack() as taken:
            for slot in self._slots:
                await taken.enter_async_context(slot)
            self._taken = taken.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._slots:
            await self._taken.pop_all().aclose()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """The places are free inside. What is paused or cancelled there does not take them again."""
        self._lent += 1
        await self.__aexit__()
        try:
            yield
        finally:
            self._lent -= 1
        if self._lent == 0:
            await self.__aenter__()
            if self._lent:  # lent again while it waited
                await self.__aexit__()
