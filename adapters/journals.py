"""Journals of tool calls: in memory, in SQLite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..core.ports import JournalEntry
from .guarded import patiently
from .sqlite import PASSING, SETUP_PASSING, connection

_TABLE = """
CREATE TABLE IF NOT EXISTS plait_journal (
    thread_id TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL, digest TEXT NOT NULL,
    kind TEXT NOT NULL, result BLOB NOT NULL, PRIMARY KEY (thread_id, key)
) WITHOUT ROWID
"""
_READ = "SELECT key, state, digest, kind, result FROM plait_journal WHERE thread_id = ? AND key IN"
_WRITE = "INSERT OR REPLACE INTO plait_journal VALUES (?, ?, ?, ?, ?, ?)"


class MemoryJournal:
    """A journal that lives as long as its process, as threads in memory do."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, JournalEntry]] = defaultdict(dict)

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        held = self._entries.get(thread_id, {})
        return {key: held[key] for key in keys if key in held}

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        self._entries[thread_id].update(entries)

    async def forget(self, thread_id: str) -> None:
        self._entries.pop(thread_id, None)


class SqliteJournal:
    """A journal in the file of the checkpoints."""

    def __init__(self, opened: Any, serde: Any = None) -> None:
        self._connection = opened
        self._serde = serde or JsonPlusSerializer()

    async def set_up(self) -> None:
        await self._connection.execute(_TABLE)
        await self._connection.commit()

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        return await patiently(lambda: self._read(thread_id, keys), PASSING, "reading the journal")

    async def _read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        places = ", ".join("?" * len(keys))
        query = f"{_READ} ({places})"
        async with self._connection.execute(query, (thread_id, *keys)) as rows:
            return {
                key: JournalEntry(state, digest, self._serde.loads_typed((kind, result)))
                async for key, state, digest, kind, result in rows
            }

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        rows = [
            (thread_id, key, entry.state, entry.digest, *self._serde.dumps_typed(entry.result))
            for key, entry in entries.items()
        ]
        await patiently(lambda: self._write(rows), PASSING, "writing the journal")

    async def _write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        await self._connection.executemany(_WRITE, rows)
        await self._connection.commit()

    async def forget(self, thread_id: str) -> None:
        async def drop() -> None:
            await self._connection.execute("DELETE FROM plait_journal WHERE thread_id = ?", (thread_id,))
            await self._connection.commit()

        await patiently(drop, PASSING, "clearing the journal")


@asynccontextmanager
async def sqlite_journal(path: str) -> AsyncIterator[SqliteJournal]:
    """The journal in the file at `path`."""
    async with connection(path) as opened:
        journal = SqliteJournal(opened)
        await patiently(journal.set_up, SETUP_PASSING, f"opening the journal in {path}")
        yield journal
