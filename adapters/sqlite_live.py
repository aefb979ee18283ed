"""The store in which live services keep their items in a SQLite file: LangGraph's tables, one visit to the
connection's thread for each call."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import BaseStore, SearchOp
from langgraph.store.sqlite import SqliteStore

from .database import Database

_MIGRATIONS = "CREATE TABLE IF NOT EXISTS store_migrations ( v INTEGER PRIMARY KEY )"
_ANY = "SELECT 1 FROM store WHERE prefix >= ? AND prefix < ? LIMIT 1"
_VERSION = "SELECT v FROM store_migrations ORDER BY v DESC LIMIT 1"


class LiveStore(BaseStore):
    """LangGraph's store on the connection of a Database."""

    def __init__(self, opened: Database, inner: SqliteStore) -> None:
        self._database, self._inner = opened, inner

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        raise RuntimeError("this store has async methods only")

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        return await self._database.run(lambda opened: _done(opened, self._inner, listed))


def _done(opened: sqlite3.Connection, inner: SqliteStore, ops: list[Any]) -> list[Any]:
    if all(isinstance(op, SearchOp) and _is_empty(opened, op) for op in ops):
        return [[] for _ in ops]  # as the inbox of almost every round
    try:
        return inner.batch(ops)
    finally:
        if opened.in_transaction:
            opened.rollback()


def _is_empty(opened: sqlite3.Connection, op: SearchOp) -> bool:
    first = ".".join(op.namespace_prefix)
    return opened.execute(_ANY, (first, f"{first}\U0010ffff")).fetchone() is None


def opened_store(opened: sqlite3.Connection) -> SqliteStore:
    """The store, whose tables are made as its own `setup` makes them, but in one transaction."""
    inner = SqliteStore(opened)
    if _version(opened) < len(inner.MIGRATIONS) - 1:
        opened.execute("BEGIN IMMEDIATE")
        with opened:
            opened.execute(_MIGRATIONS)
            for number in range(_version(opened) + 1, len(inner.MIGRATIONS)):
                opened.execute(inner.MIGRATIONS[number])
                opened.execute("INSERT INTO store_migrations (v) VALUES (?)", (number,))
    inner.is_setup = True
    return inner


def _version(opened: sqlite3.Connection) -> int:
    try:
        found = opened.execute(_VERSION).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return -1
        raise
    return -1 if found is None else int(found[0])
