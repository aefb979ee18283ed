"""Journals of tool calls: in memory, in SQLite, in Postgres."""

from __future__ import annotations

import asyncio
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..core.ports import JournalEntry, JournalState
from .database import Database, database
from .guarded import patiently
from .postgres import passing, pool_on, set_up
from .sqlite import PASSING, SETUP_PASSING

PRESSED, PRESSED_BYTES = "+zlib", 256
"""How the kind of a compressed result ends, and from what size on results are compressed."""

_COLUMNS = """(
    thread_id TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL, digest TEXT NOT NULL,
    kind TEXT NOT NULL, result {binary} NOT NULL, PRIMARY KEY (thread_id, key)
)"""
_SQLITE_TABLE = f"CREATE TABLE IF NOT EXISTS plait_journal {_COLUMNS.format(binary='BLOB')} WITHOUT ROWID"
_POSTGRES_TABLE = f"CREATE TABLE IF NOT EXISTS plait_journal {_COLUMNS.format(binary='BYTEA')}"
_READ = "SELECT key, state, digest, kind, result FROM plait_journal WHERE thread_id = ?"
_SQLITE_WRITE = "INSERT OR REPLACE INTO plait_journal VALUES (?, ?, ?, ?, ?, ?)"
_POSTGRES_WRITE = (
    "INSERT INTO plait_journal VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (thread_id, key) DO UPDATE "
    "SET state = EXCLUDED.state, digest = EXCLUDED.digest, kind = EXCLUDED.kind, result = EXCLUDED.result"
)


class MemoryJournal:
    """A journal that lives as long as its process, as threads in memory do."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, JournalEntry]] = defaultdict(dict)

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        held = self._entries.get(thread_id, {})
        return {key: held[key] for key in keys if key in held}

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        self._entries[thread_id].update(entries)

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        return dict(self._entries.get(thread_id, {}))

    async def forget(self, thread_id: str) -> None:
        self._entries.pop(thread_id, None)


class TableJournal:
    """A journal in a table beside the checkpoints."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._serde = JsonPlusSerializer(allowed_msgpack_modules=None)

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        return {row[0]: self._entry(row) for row in await self._table.read(thread_id, keys)}

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        return {row[0]: self._entry(row) for row in await self._table.all(thread_id)}

    def _entry(self, row: Found) -> JournalEntry:
        _, state, digest, kind, result = row
        held = self._serde.loads_typed(_unpressed(kind, result))
        return JournalEntry(cast(JournalState, state), digest, held)

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        await self._table.write([self._row(thread_id, key, entry) for key, entry in entries.items()])

    def _row(self, thread_id: str, key: str, entry: JournalEntry) -> Row:
        return thread_id, key, entry.state, entry.digest, *_pressed(*self._serde.dumps_typed(entry.result))

    async def forget(self, thread_id: str) -> None:
        await self._table.forget(thread_id)


def _pressed(kind: str, held: bytes) -> tuple[str, bytes]:
    """A result as it is kept: compressed where that makes it smaller."""
    if len(held) < PRESSED_BYTES:
        return kind, held
    pressed = zlib.compress(held, 1)
    return (f"{kind}{PRESSED}", pressed) if len(pressed) < len(held) else (kind, held)


def _unpressed(kind: str, held: bytes) -> tuple[str, bytes]:
    return (kind.removesuffix(PRESSED), zlib.decompress(held)) if kind.endswith(PRESSED) else (kind, held)


Row = tuple[str, str, str, str, str, bytes]
Found = tuple[str, str, str, str, bytes]


class Table(Protocol):
    """The rows of a journal."""

    async def read(self, thread_id: str, keys: Sequence[str]) -> list[Found]: ...

    async def all(self, thread_id: str) -> list[Found]: ...

    async def write(self, rows: Sequence[Row]) -> None: ...

    async def forget(self, thread_id: str) -> None: ...


class SqliteTable:
    """Rows in a SQLite file."""

    def __init__(self, opened: Database) -> None:
        self._database = opened

    async def set_up(self) -> None:
        await self._database.run(lambda opened: opened.execute(_SQLITE_TABLE))

    async def read(self, thread_id: str, keys: Sequence[str]) -> list[Found]:
        return await self._select(f"{_READ} AND key IN ({', '.join('?' * len(keys))})", (thread_id, *keys))

    async def all(self, thread_id: str) -> list[Found]:
        return await self._select(_READ, (thread_id,))

    async def _select(self, query: str, values: tuple[str, ...]) -> list[Found]:
        async def select() -> list[Found]:
            return await self._database.run(lambda opened: opened.execute(query, values).fetchall())

        return await patiently(select, PASSING, "reading the journal")

    async def write(self, rows: Sequence[Row]) -> None:
        await self._change(_SQLITE_WRITE, rows, "writing the journal")

    async def forget(self, thread_id: str) -> None:
        query = "DELETE FROM plait_journal WHERE thread_id = ?"
        await self._change(query, [(thread_id,)], "clearing the journal")

    async def _change(self, sql: str, rows: Sequence[tuple[Any, ...]], what: str) -> None:
        await patiently(lambda: self._database.write((sql, rows)), PASSING, what)


class PostgresTable:
    """Rows in a Postgres database. Writes that come while one is under way are kept together after it, so
    that parallel calls share a commit."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._waiting: dict[tuple[str, str], Row] = {}
        self._writing: asyncio.Task[None] | None = None

    async def read(self, thread_id: str, keys: Sequence[str]) -> list[Found]:
        return await self._select(f"{_READ} AND key = ANY(?)", (thread_id, list(keys)))

    async def all(self, thread_id: str) -> list[Found]:
        return await self._select(_READ, (thread_id,))

    async def _select(self, query: str, values: tuple[Any, ...]) -> list[Found]:

        async def select() -> list[Found]:
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query.replace("?", "%s"), values)
                return [tuple(row.values()) for row in await cursor.fetchall()]

        return await patiently(select, passing(), "reading the journal")

    async def write(self, rows: Sequence[Row]) -> None:
        mine = {row[:2]: row for row in rows}
        self._waiting.update(mine)
        try:
            while mine.keys() & self._waiting.keys():
                if self._writing is None or self._writing.done():
                    self._writing = asyncio.ensure_future(self._flush())
                await asyncio.shield(self._writing)
            if self._writing is not None and not self._writing.done():
                await asyncio.shield(self._writing)
        except asyncio.CancelledError:
            for place in mine:
                self._waiting.pop(place, None)  # what has not been begun is not written late
            raise

    async def _flush(self) -> None:
        rows, self._waiting = list(self._waiting.values()), {}

        async def insert() -> None:
            async with self._pool.connection() as connection, connection.transaction():
                await connection.cursor().executemany(_POSTGRES_WRITE, rows)

        await patiently(insert, passing(), "writing the journal")

    async def forget(self, thread_id: str) -> None:
        async def delete() -> None:
            async with self._pool.connection() as connection:
                await connection.execute("DELETE FROM plait_journal WHERE thread_id = %s", (thread_id,))

        await patiently(delete, passing(), "clearing the journal")


@asynccontextmanager
async def sqlite_journal(path: str) -> AsyncIterator[TableJournal]:
    """The journal in the file at `path`."""
    async with database(path) as opened:
        table = SqliteTable(opened)
        await patiently(table.set_up, SETUP_PASSING, f"opening the journal in {path}")
        yield TableJournal(table)


@asynccontextmanager
async def postgres_journal(url: str) -> AsyncIterator[TableJournal]:
    """The journal in the database at `url`. Raises MissingExtra as `postgres_savers` does."""
    async with pool_on(url) as pool:
        made = _Statement(pool, _POSTGRES_TABLE)
        await patiently(lambda: set_up(pool, made), passing(), "opening the journal")
        yield TableJournal(PostgresTable(pool))


class _Statement:
    """One statement as something that is set up."""

    def __init__(self, pool: Any, statement: str) -> None:
        self._pool, self._statement = pool, statement

    async def setup(self) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(self._statement)
