"""Savers and stores by URL: `memory`, `sqlite:///FILE`, `postgresql://…`, or an instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from ..core.errors import DefinitionError
from ..core.ports import ThreadLock
from .encryption import Cipher
from .guarded import GuardedSaver
from .postgres import Shards, postgres_savers, postgres_store
from .source import Source
from .sqlite import sqlite_saver, sqlite_store

SYNC_ONLY = ("SqliteSaver", "PostgresSaver", "ShallowPostgresSaver")
"""LangGraph's savers whose async methods only raise."""

Allowed = Iterable[tuple[str, ...]]
POSTGRES = ("postgresql://", "postgres://")


def check_url(given: Any, what: str) -> None:
    """Raise DefinitionError unless `given` names a saver or store that can be opened, or is one."""
    kind = BaseCheckpointSaver if what == "checkpointer" else BaseStore
    known = given is None or isinstance(given, kind)
    if isinstance(given, str):
        known = given == "memory" or given.startswith(POSTGRES) or bool(sqlite_path(given))
    if type(given).__name__ in SYNC_ONLY:
        told = "has no async methods; give its async form (such as AsyncSqliteSaver) or a URL"
        raise DefinitionError(f"{what}: {type(given).__name__} {told}")
    if not known:
        raise DefinitionError(
            f"{what}={given!r}: give 'memory', 'sqlite:///FILE' (such as 'sqlite:///runs.db'), "
            f"'postgresql://…', or a {kind.__name__}"
        )


def saver_source(checkpointer: Any, allowed: Allowed) -> Source:
    """The saver of a workflow: a URL is opened when needed, an instance is used as it is.

    Only LangGraph's own types and those of `allowed` come back from it as objects.
    """
    listed = list(allowed)
    serde = JsonPlusSerializer(allowed_msgpack_modules=listed or None)
    if checkpointer in (None, "memory"):
        return Source(InMemorySaver(serde=serde), None)
    if not isinstance(checkpointer, str):
        given = copy(checkpointer)
        given.serde = strictly(checkpointer.serde, listed)
        return Source(GuardedSaver(given), None)
    if checkpointer.startswith(POSTGRES):
        return Source(None, lambda: postgres_savers(checkpointer, serde))
    return Source(None, lambda: sqlite_saver(sqlite_path(checkpointer) or "", serde))


def strictly(serde: Any, listed: Sequence[tuple[str, ...]]) -> Any:
    """`serde`, such that no classes come back but LangGraph's own, those `listed` and those that it lists
    itself, whatever the environment says, and nothing by pickle. Raises DefinitionError for a serializer
    of which that cannot be said."""
    if isinstance(serde, JsonPlusSerializer):
        own = serde._allowed_msgpack_modules
        known = [*listed, *(own if isinstance(own, set) else ())]
        made = copy(serde)
        vars(made).update(vars(JsonPlusSerializer(allowed_msgpack_modules=known or None)))
        return made
    if hasattr(serde, "serde"):
        made = copy(serde)
        made.serde = strictly(serde.serde, listed)
        return made
    raise DefinitionError(
        f"checkpointer: its serializer {type(serde).__name__} cannot be limited to known classes; give the "
        f"saver a JsonPlusSerializer or an EncryptedSerializer, or leave its serializer out"
    )


def store_source(store: Any) -> Source:
    """The store of a workflow, opened as its saver is; None is no store."""
    if store == "memory":
        return Source(InMemoryStore(), None)
    if not isinstance(store, str):
        return Source(store, None)
    if store.startswith(POSTGRES):
        return Source(None, lambda: postgres_store(store))
    return Source(None, lambda: sqlite_store(sqlite_path(store) or ""))


def saver_for(
    saver: Any, thread_id: str, lock: ThreadLock | None = None, cipher: Cipher | None = None
) -> Any:
    """The saver that serves `thread_id`, where several share the work; it writes under the lock, and
    through the cipher what does not live in memory alone."""
    served = saver.for_thread(thread_id) if isinstance(saver, Shards) else saver
    if not isinstance(served, GuardedSaver):
        return served
    if cipher is not None:
        served = served.encrypted(cipher)
    return served if lock is None else served.checked(partial(lock.check, thread_id))


async def check_key(saver: Any, thread_id: str) -> None:
    """Raise EncryptionMismatch when a thread that is there cannot be read with the saver's key."""
    if isinstance(saver, GuardedSaver):
        await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})


def sqlite_path(url: str) -> str | None:
    """`sqlite:///runs.db` is relative, `sqlite:////data/runs.db` absolute, as in SQLAlchemy."""
    return url.removeprefix("sqlite:///") or None if url.startswith("sqlite:///") else None
