"""SQLite savers and stores: the embedded default for threads that last."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from .guarded import GuardedSaver, GuardedStore, patiently, stopped

BUSY_S = 30.0
"""How long a connection waits for another process that writes the same file."""

PASSING = (sqlite3.OperationalError,)
"""Raised while another process holds the file, among others."""

SETUP_PASSING = (sqlite3.OperationalError, sqlite3.IntegrityError)
"""While the tables are made, another process may have made them first."""


@asynccontextmanager
async def sqlite_saver(path: str, serde: Any) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A saver on `path`, whose folder is made when it is missing."""
    from .database import database
    from .sqlite_saver import SqliteSaver

    async with database(path) as opened:
        saver = SqliteSaver(opened, serde)
        await patiently(saver.setup, SETUP_PASSING, f"opening {path}")
        try:
            yield GuardedSaver(saver, PASSING)
        finally:
            await saver.close()


@asynccontextmanager
async def sqlite_store(path: str) -> AsyncIterator[BaseStore]:
    """A store on `path`, whose folder is made when it is missing."""
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with connection(path, isolation_level=None) as opened:
        store = AsyncSqliteStore(opened)
        async with stopped(store):
            await patiently(store.setup, SETUP_PASSING, f"opening {path}")
            yield GuardedStore(store, PASSING)


@asynccontextmanager
async def sqlite_live_store(path: str) -> AsyncIterator[BaseStore]:
    """The store of the live services in the file at `path`, on the connection of its saver."""
    from .database import database
    from .sqlite_live import LiveStore, opened_store

    async with database(path) as opened:
        inner = await patiently(lambda: opened.run(opened_store), SETUP_PASSING, f"opening {path}")
        yield GuardedStore(LiveStore(opened, inner), PASSING)


@asynccontextmanager
async def connection(path: str, **options: Any) -> AsyncIterator[Any]:
    import aiosqlite

    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    async with aiosqlite.connect(path, timeout=BUSY_S, **options) as opened:
        yield opened
