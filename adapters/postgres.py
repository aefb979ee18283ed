"""Postgres savers and stores over one connection pool each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from ..core.errors import MissingExtra

SHARDS = 16
"""Savers over one pool. A saver serves one thread at a time, since it holds one lock."""


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
    async with _pool(url) as pool:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        savers = tuple(AsyncPostgresSaver(pool, serde=serde) for _ in range(SHARDS))
        await savers[0].setup()
        yield Shards(savers)


@asynccontextmanager
async def postgres_store(url: str) -> AsyncIterator[BaseStore]:
    """A store on the database at `url`. Raises MissingExtra as `postgres_savers` does."""
    async with _pool(url) as pool:
        from langgraph.store.postgres.aio import AsyncPostgresStore

        store = AsyncPostgresStore(pool)
        await store.setup()
        yield store


@asynccontextmanager
async def _pool(url: str) -> AsyncIterator[Any]:
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
        kwargs=settings,
        open=False,
        check=AsyncConnectionPool.check_connection,
    )
    async with pool:
        yield pool
