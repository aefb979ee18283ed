"""Advisory locks in Postgres, held by a connection of their own: the server drops them with it.

A connection may break while its process lives on. A row for each thread that is held names the last
holder; so one that had to connect anew goes on where nobody has held the thread meanwhile, and stops
where somebody has.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from .guarded import patiently
from .locks import key_of, lost
from .postgres import passing

TRUSTED_S = 1.0
"""How long a connection on which nothing arrives counts as alive without being asked."""

_SET_UP = """
SET synchronous_commit TO off;
CREATE TABLE IF NOT EXISTS plait_locks (thread TEXT PRIMARY KEY, holder TEXT NOT NULL)
"""
_TAKE = """
WITH lock AS (SELECT pg_try_advisory_lock(%(number)s) AS held)
INSERT INTO plait_locks SELECT %(thread)s, %(holder)s FROM lock WHERE held
ON CONFLICT (thread) DO UPDATE SET holder = EXCLUDED.holder RETURNING holder
"""
_TAKE_AGAIN = """
SELECT pg_try_advisory_lock(%(number)s), (SELECT holder FROM plait_locks WHERE thread = %(thread)s)
"""
_GIVE = """
WITH gone AS (DELETE FROM plait_locks WHERE thread = %(thread)s AND holder = %(holder)s)
SELECT pg_advisory_unlock(%(number)s)
"""
_IS_TAKEN = """
SELECT EXISTS (
    SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND granted AND datname = current_database() AND objsubid = 1
    AND (classid::bigint << 32 | objid::bigint) = %(number)s
)
"""


class _HeldElsewhere(Exception):
    """The connection that held the lock is broken, but the server has not noticed yet."""


@dataclass
class _Held:
    values: dict[str, Any]
    connection: Any


class PostgresLocks:
    """The locks of the threads in the database at `url`, over one connection that is opened when needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: Any = None
        self._opening = asyncio.Lock()
        self._held: dict[str, _Held] = {}
        self._answered = 0.0

    async def take(self, thread_id: str) -> bool:
        """Hold the thread, if nobody does."""
        values = _values(thread_id)
        if await self._patiently(_TAKE, values, f"locking thread {thread_id!r}") is None:
            return False
        self._held[thread_id] = _Held(values, self._opened)
        return True

    async def give(self, thread_id: str) -> None:
        held = self._held.pop(thread_id, None)
        if held is None or held.connection is not self._opened or self._opened.closed:
            return
        try:
            await self._ask(_GIVE, held.values)
        except passing():
            await self.close()  # the lock ends with the connection

    async def check(self, thread_id: str) -> None:
        """Raise RunError with reason `store` when another has held the thread meanwhile."""
        held = self._held.get(thread_id)
        if held is not None and not (held.connection is self._opened and self._is_quiet()):
            troubles = (*passing(), _HeldElsewhere)
            told = f"checking the lock of thread {thread_id!r}"
            await patiently(lambda: self._confirm(thread_id, held), troubles, told)

    async def is_taken(self, thread_id: str) -> bool:
        told = f"looking who holds thread {thread_id!r}"
        return bool((await self._patiently(_IS_TAKEN, _values(thread_id), told))[0])

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def _confirm(self, thread_id: str, held: _Held) -> None:
        opened = await self._connection()
        if held.connection is opened:
            await self._ask("SELECT", {})
            return
        taken, holder = await self._ask(_TAKE_AGAIN, held.values)
        if holder != held.values["holder"]:
            if taken:
                await self._ask(_GIVE, held.values)
            raise lost(thread_id)
        if not taken:
            raise _HeldElsewhere(f"another connection holds thread {thread_id!r}")
        held.connection = opened

    def _is_quiet(self) -> bool:
        """Whether the connection lives, as far as can be told without asking."""
        opened = self._opened
        is_stale = time.monotonic() - self._answered > TRUSTED_S
        if is_stale or opened is None or opened.closed or opened.lock.locked():
            return False
        with selectors.DefaultSelector() as selector:  # what the server says unasked is a farewell
            selector.register(opened.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    async def _patiently(self, query: str, values: dict[str, Any], what: str) -> Any:
        return await patiently(lambda: self._ask(query, values), passing(), what)

    async def _ask(self, query: str, values: dict[str, Any]) -> Any:
        cursor = await (await self._connection()).execute(query, values)
        self._answered = time.monotonic()
        return await cursor.fetchone()

    async def _connection(self) -> Any:
        async with self._opening:
            if self._opened is None or self._opened.closed:
                self._opened = await _connected(self._url)
            return self._opened


async def _connected(url: str) -> Any:
    import psycopg

    opened = await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=None)
    try:  # another connection may make the table at the same moment
        await patiently(lambda: opened.execute(_SET_UP), (psycopg.errors.UniqueViolation,), "opening locks")
    except BaseException:
        await opened.close()
        raise
    return opened


def _values(thread_id: str) -> dict[str, Any]:
    return {
        "number": int.from_bytes(key_of(thread_id, 8), "big", signed=True),
        "thread": key_of(thread_id, 16).hex(),
        "holder": uuid4().hex,
    }
