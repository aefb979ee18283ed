"""SQLite savers and stores: the embedded default for threads that last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

BUSY_S = 30.0
"""How long a connection waits for another process that writes the same file."""


@asynccontextmanager
async def sqlite_saver(path: str, serde: Any) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """An AsyncSqliteSaver on `path`, whose folder is made when it is missing."""
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    _make_folder(path)
    async with aiosqlite.connect(path, timeout=BUSY_S) as connection:
        saver = AsyncSqliteSaver(connection, serde=serde)
        await saver.setup()
        yield saver


@asynccontextmanager
async def sqlite_store(path: str) -> AsyncIterator[BaseStore]:
    """An AsyncSqliteStore on `path`, whose folder is made when it is missing."""
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    _make_folder(path)
    async with AsyncSqliteStore.from_conn_string(path) as store:
        await store.setup()
        yield store


def _make_folder(path: str) -> None:
    if path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
