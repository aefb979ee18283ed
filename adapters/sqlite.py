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
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with connection(path) as opened:
        saver = AsyncSqliteSaver(opened, serde=serde)
        await patiently(saver.setup, SETUP_PASSING, f"opening {path}")
        yield GuardedSaver(saver, PASSING)


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
async def connection(path: str, **options: Any) -> AsyncIterator[Any]:
    import aiosqlite

    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    async with aiosqlite.connect(path, timeout=BUSY_S, **options) as opened:
        yield opened
