"""The live services of a workflow's threads: journal, inbox, lock, events, beside the checkpoints.

They lie where the threads lie: in memory, in the same SQLite file, in the same Postgres database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from ..core.ports import Journal, Live
from ..nodes.inbox import StoreInbox
from .encrypted import EncryptedJournal, EncryptedStore
from .encryption import Cipher
from .eventlog import StoreEventLog
from .file_locks import FileLocks
from .guarded import GuardedStore
from .journals import MemoryJournal, postgres_journal, sqlite_journal
from .locks import LocalLock, Outer, locked
from .memory import MemoryEventLog, MemoryInbox
from .postgres import postgres_store
from .postgres_locks import PostgresLocks
from .source import Source
from .sqlite import sqlite_live_store
from .stores import sqlite_path

_beside: WeakKeyDictionary[BaseCheckpointSaver[Any], Live] = WeakKeyDictionary()
"""The services beside savers that were given as objects: all workflows that use one share them."""


def live_source(checkpointer: Any, store: Any, cipher: Cipher | None = None) -> Source:
    """The live services beside a saver; opened and closed as it is. With a store of its own a workflow has
    its inbox and its events there instead (`over_store`). What is not in memory goes through the cipher."""
    if checkpointer in (None, "memory", "sqlite:///:memory:"):
        return Source(_in_memory(), None)
    if not isinstance(checkpointer, str):
        if checkpointer not in _beside:
            _beside[checkpointer] = _in_memory()
        return Source(_beside[checkpointer], None)
    return Source(None, lambda: _opened(checkpointer, cipher, with_store=store is None))


def _in_memory() -> Live:
    return Live(MemoryInbox(), MemoryJournal(), LocalLock(), MemoryEventLog())


def over_store(live: Live, store: BaseStore, cipher: Cipher | None = None) -> Live:
    """The services with those that lie in a store; one in memory may be written by another thread while it
    is read."""
    kept = GuardedStore(store, (RuntimeError,)) if isinstance(store, InMemoryStore) else store
    if cipher is not None:
        kept = EncryptedStore(kept, cipher)
    return replace(live, inbox=StoreInbox(kept), events=StoreEventLog(kept))


@asynccontextmanager
async def _opened(url: str, cipher: Cipher | None, *, with_store: bool) -> AsyncIterator[Live]:
    async with AsyncExitStack() as stack:
        path = sqlite_path(url)
        journal: Journal = await stack.enter_async_context(
            postgres_journal(url) if path is None else sqlite_journal(path)
        )
        if cipher is not None:
            journal = EncryptedJournal(journal, cipher)
        live = locked(Live(journal=journal), _outer(url, path, stack))
        if with_store:
            opening = postgres_store(url) if path is None else sqlite_live_store(path)
            live = over_store(live, await stack.enter_async_context(opening), cipher)
        yield live


def _outer(url: str, path: str | None, stack: AsyncExitStack) -> Outer:
    if path is not None:
        return FileLocks(path)
    locks = PostgresLocks(url)
    stack.push_async_callback(locks.close)
    return locks
