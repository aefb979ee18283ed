"""One connection to a SQLite file, on which everything that Plait itself keeps there is read and written.

What is written while a commit is under way is committed together after it, in the order in which it came.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from .source import Source
from .sqlite import connection

T = TypeVar("T")
Statement = tuple[str, Sequence[tuple[Any, ...]]]
"""SQL, and the values that it is run with, once for each."""

_sources: WeakValueDictionary[str, Source] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class _Write:
    statements: Sequence[Statement]
    ended: asyncio.Future[None]

    def end(self, error: BaseException | None) -> None:
        """Tell the caller, unless it has gone."""
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        elif isinstance(error, asyncio.CancelledError):
            self.ended.cancel()
        else:
            self.ended.set_exception(error)


class Database:
    """A file that is open. Its calls belong to one event loop."""

    def __init__(self, opened: Any) -> None:
        self.opened = opened
        self._waiting: list[_Write] = []
        self._writing: asyncio.Task[None] | None = None

    async def run(self, call: Callable[[sqlite3.Connection], T]) -> T:
        """What `call` gives, called in the connection's thread; it leaves no transaction open."""
        # aiosqlite has no public way to do more than one thing in one visit to its thread; a test pins it
        given: T = await self.opened._execute(call, self.opened._conn)
        return given

    async def write(self, *statements: Statement) -> None:
        """Write all of them or none; returns once they, and all that came before, are on disk. What has not
        been begun when the caller is cancelled is not written late."""
        ended = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(statements, ended))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        await ended

    async def _write(self) -> None:
        batch: list[_Write] = []
        try:
            while batch := [write for write in self._waiting if not write.ended.done()]:
                self._waiting = []
                await self._commit(batch)
        except BaseException as error:
            self._give_up(batch, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._writing = None

    def _give_up(self, batch: Sequence[_Write], error: BaseException) -> None:
        """Fail the batch and all that waits, so that nothing is written before what came before it."""
        left, self._waiting = [*batch, *self._waiting], []
        for write in left:
            write.end(error)

    async def _commit(self, batch: Sequence[_Write]) -> None:
        asked = [write.statements for write in batch]
        errors = await self.run(lambda opened: _committed(opened, asked))
        if isinstance(errors[0], sqlite3.OperationalError):
            return self._give_up(batch, errors[0])
        for write, error in zip(batch, errors, strict=True):
            write.end(error)

    async def settle(self) -> None:
        """Wait until what was to be written is on disk, or has failed."""
        if self._writing is not None:
            await self.write()


def _committed(
    opened: sqlite3.Connection, batch: Sequence[Sequence[Statement]]
) -> Sequence[Exception | None]:
    """What each of the writes of one commit failed with. Where one cannot be written, each is committed
    alone, unless the file cannot be written at all."""
    try:
        for statements in batch:
            for sql, rows in statements:
                opened.executemany(sql, rows)
        opened.commit()
    except Exception as error:
        opened.rollback()
        if len(batch) == 1 or isinstance(error, sqlite3.OperationalError):
            return [error] * len(batch)
        return [outcome for statements in batch for outcome in _committed(opened, [statements])]
    return [None] * len(batch)


@asynccontextmanager
async def database(path: str) -> AsyncIterator[Database]:
    """The file at `path`; those who have it open at one time on one event loop share a connection."""
    if path == ":memory:":
        async with _opened(path) as alone:
            yield alone
        return
    source = _source(path)
    async with source.use() as shared:
        yield shared


def _source(path: str) -> Source:
    name = os.path.abspath(path)
    return _sources.setdefault(name, Source(None, lambda: _opened(name)))


@asynccontextmanager
async def _opened(path: str) -> AsyncIterator[Database]:
    async with connection(path) as opened:
        made = Database(opened)
        try:
            yield made
        finally:
            await made.settle()
