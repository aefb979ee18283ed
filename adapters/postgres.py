"""Postgres savers and stores over one connection pool each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from ..core.errors import MissingExtra
from . import guarded
from .guarded import GuardedSaver, GuardedStore, Passing, patiently, stopped

SHARDS = 16
"""Savers over one pool. A saver serves one thread at a time, since it holds one lock."""

SETUP_LOCK = 0x706C616974
"""The advisory lock under which tables are made; it spells `plait`."""


@dataclass(frozen=True)
class Shards:
    """Savers that share a pool; a thread always gets the same one, so that its writes keep order."""

    savers: tuple[BaseCheckpointSaver[Any], ...]

    def for_thread(self, thread_id: str) -> BaseCheckpointSaver[Any]:
        return self.savers[crc32(thread_id.encode("utf-8", "replace")) % len(self.savers)]


@asynccontextmanager
async def postgres_savers(url: str, serde: Any) -> AsyncIterator[Shards]:
    """Savers on the database at `url`, its tables made when they are missing.

    Raises MissingExtra when the `postgres` extra is not installed.
    """
    async with pool_on(url) as pool:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        savers = [AsyncPostgresSaver(pool, serde=serde) for _ in range(SHARDS)]
        await patiently(lambda: set_up(pool, savers[0]), passing(), "opening the checkpoints")
        yield Shards(tuple(GuardedSaver(saver, passing()) for saver in savers))


@asynccontextmanager
async def postgres_store(url: str) -> AsyncIterator[BaseStore]:
    """A store on the database at `url`. Raises MissingExtra as `postgres_savers` does."""
    async with pool_on(url) as pool:
        from langgraph.store.postgres.aio import AsyncPostgresStore

        store = AsyncPostgresStore(pool)
        async with stopped(store):
            await patiently(lambda: set_up(pool, store), passing(), "opening the store")
            yield GuardedStore(store, passing())


@asynccontextmanager
async def pool_on(url: str) -> AsyncIterator[Any]:
    """Connections to the database at `url`. Raises MissingExtra without the `postgres` extra."""
    try:
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "psycopg", "postgres") from error
    settings: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: Any = AsyncConnectionPool(
        url,
        min_size=1,
        max_size=SHARDS,
        timeout=guarded.PATIENCE_S,
        kwargs=settings,
        open=False,
        check=AsyncConnectionPool.check_connection,
    )
    async with pool:
        yield pool


async def set_up(pool: Any, opened: Any) -> None:
    """Make the tables, one process at a time.

    The lock is tried for rather than waited for: an index that is built concurrently waits for
    every statement under way, and so would wait for whoever waits for the lock.
    """
    async with pool.connection() as connection:
        while True:
            cursor = await connection.execute("SELECT pg_try_advisory_lock(%s) AS held", (SETUP_LOCK,))
            if (await cursor.fetchone())["held"]:
                break
            await asyncio.sleep(0.05)
        try:
            await opened.setup()
        finally:
            await connection.execute("SELECT pg_advisory_unlock(%s)", (SETUP_LOCK,))


def passing() -> Passing:
    from psycopg import InterfaceError, OperationalError

    return (OperationalError, InterfaceError)
