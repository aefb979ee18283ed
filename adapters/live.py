"""The live services of a workflow's threads: the journal of tool calls, beside the checkpoints.

They lie where the threads lie: in memory, in the same SQLite file, in the same Postgres database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ..core.ports import Live
from .journals import MemoryJournal, sqlite_journal
from .source import Source
from .stores import sqlite_path


def live_source(checkpointer: Any, store: Any) -> Source:
    """The live services beside a saver; opened and closed as it is."""
    path = sqlite_path(checkpointer) if isinstance(checkpointer, str) else None
    if path is not None:
        return Source(None, lambda: _sqlite_live(path))
    return Source(Live(journal=MemoryJournal()), None)


@asynccontextmanager
async def _sqlite_live(path: str) -> AsyncIterator[Live]:
    async with sqlite_journal(path) as journal:
        yield Live(journal=journal)
