"""Savers and stores by URL, opened for the running event loop and closed with its last run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from ..core.errors import DefinitionError

BUSY_S = 30.0
"""How long a connection waits for another process that writes the same SQLite file."""

Allowed = Iterable[tuple[str, ...]]


def check_url(url: Any, what: str) -> None:
    """Raise DefinitionError unless `url` names a saver or store that can be opened, or is one."""
    if url is None or not isinstance(url, str):
        kind = BaseCheckpointSaver if what == "checkpointer" else BaseStore
        if url is not None and not isinstance(url, kind):
            raise DefinitionError(f"{what}={url!r}: give 'memory', 'sqlite:///FILE' or a {kind.__name__}")
        return
    if url != "memory" and not _sqlite_path(url):
        raise DefinitionError(
            f"{what}={url!r}: give 'memory' or 'sqlite:///FILE', such as 'sqlite:///runs.db'"
        )


def _sqlite_path(url: str) -> str | None:
    """`sqlite:///runs.db` is relative, `sqlite:////data/runs.db` absolute, as in SQLAlchemy."""
    return url.removeprefix("sqlite:///") or None if url.startswith("sqlite:///") else None


def serializer(allowed: Allowed) -> JsonPlusSerializer:
    """Strict msgpack: only LangGraph's own types and those listed come back as objects."""
    return JsonPlusSerializer(allowed_msgpack_modules=list(allowed) or None)


@asynccontextmanager
async def sqlite_saver(path: str, allowed: Allowed) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """An AsyncSqliteSaver on `path`, whose folder is made when it is missing."""
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    async with aiosqlite.connect(path, timeout=BUSY_S) as connection:
        saver = AsyncSqliteSaver(connection, serde=serializer(allowed))
        await saver.setup()
        yield saver


@asynccontextmanager
async def sqlite_store(path: str) -> AsyncIterator[BaseStore]:
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with AsyncSqliteStore.from_conn_string(path) as store:
        await store.setup()
        yield store


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
    _by_loop: dict[asyncio.AbstractEventLoop, _Opened] = field(default_factory=dict)
    _opening: dict[asyncio.AbstractEventLoop, asyncio.Lock] = field(default_factory=dict)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Any]:
        """The opened thing, kept open at least until the block ends."""
        if self.opener is None:
            yield self.given
            return
        loop = asyncio.get_running_loop()
        opened = await self._acquire(loop)
        try:
            yield opened.value
        finally:
            await asyncio.shield(self._release(loop, opened))

    async def _acquire(self, loop: asyncio.AbstractEventLoop) -> _Opened:
        async with self._opening.setdefault(loop, asyncio.Lock()):
            opened = self._by_loop.get(loop)
            if opened is None:
                stack = AsyncExitStack()
                manager: AbstractAsyncContextManager[Any] = self.opener()
                opened = self._by_loop[loop] = _Opened(await stack.enter_async_context(manager), stack)
            opened.users += 1
            return opened

    async def _release(self, loop: asyncio.AbstractEventLoop, opened: _Opened) -> None:
        async with self._opening.setdefault(loop, asyncio.Lock()):
            opened.users -= 1
            if opened.users == 0:
                del self._by_loop[loop]
                await opened.stack.aclose()
        if loop not in self._by_loop:
            self._opening.pop(loop, None)


def saver_source(checkpointer: Any, allowed: Allowed) -> Source:
    """The saver of a workflow: a URL is opened when needed, an instance is used as it is."""
    listed = list(allowed)
    if checkpointer in (None, "memory"):
        return Source(InMemorySaver(serde=serializer(listed)), None)
    if isinstance(checkpointer, str):
        path = _sqlite_path(checkpointer) or ""
        return Source(None, lambda: sqlite_saver(path, listed))
    return Source(checkpointer.with_allowlist(listed), None)


def store_source(store: Any) -> Source:
    if store is None:
        return Source(None, None)
    if store == "memory":
        return Source(InMemoryStore(), None)
    if isinstance(store, str):
        path = _sqlite_path(store) or ""
        return Source(None, lambda: sqlite_store(path))
    return Source(store, None)
