"""A ledger in one SQLite table. Amounts are exact: Decimals, kept as text and added as Decimals."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

Category = Literal["food", "transport", "housing", "health", "fun", "shopping", "other"]
Money = Annotated[Decimal, Field(gt=0, lt=10**12, decimal_places=4)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code")]
Item = Annotated[str, Field(min_length=1, max_length=200)]

_SCHEMA = """CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    date TEXT NOT NULL,
    item TEXT NOT NULL,
    amount TEXT NOT NULL,
    currency TEXT NOT NULL,
    category TEXT NOT NULL,
    text TEXT NOT NULL
)"""
_INSERT = "INSERT INTO entries (date, item, amount, currency, category, text) VALUES (?, ?, ?, ?, ?, ?)"
_SELECT = "SELECT id, text, item, amount, currency, category, date FROM entries ORDER BY id"


class Entry(BaseModel):
    """One expense, as the `record` unit resolves it and the ledger keeps it."""

    item: Item
    amount: Money
    currency: Currency = "CNY"
    category: Category
    date: dt.date


class Ledger:
    """The ledger in one file. Safe for threads and processes: every call has its own connection.

    Raises `sqlite3.Error` when the file cannot be opened or is no ledger.
    """

    def __init__(self, path: str | Path) -> None:
        if str(path) == ":memory:":
            raise ValueError("a ledger lives in a file, so that every tool call can open it")
        self.path = Path(path)
        with self._connect() as connection:
            connection.execute(_SCHEMA)
            connection.execute(_SELECT)

    def save(self, entry: Entry, *, text: str) -> int:
        """Keep `entry` with the message it came from, and return its number."""
        row = (str(entry.date), entry.item, f"{entry.amount:f}", entry.currency, entry.category, text)
        with self._connect() as connection:
            cursor = connection.execute(_INSERT, row)
            return int(cursor.lastrowid or 0)

    def entries(self) -> list[tuple[int, Entry, str]]:
        """Everything kept, in order: number, entry, original message."""
        with self._connect() as connection:
            rows = connection.execute(_SELECT).fetchall()
        names = ("item", "amount", "currency", "category", "date")
        return [
            (number, Entry.model_validate(dict(zip(names, rest, strict=True))), text)
            for number, text, *rest in rows
        ]

    def totals(self) -> dict[tuple[str, str], Decimal]:
        """The exact sum for each (currency, category), sorted by both."""
        sums: dict[tuple[str, str], Decimal] = {}
        for _, entry, _ in self.entries():
            key = (entry.currency, entry.category)
            sums[key] = sums.get(key, Decimal(0)) + entry.amount
        return dict(sorted(sums.items()))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            yield connection
