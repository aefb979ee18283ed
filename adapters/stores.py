"""Savers and stores by URL: `memory`, `sqlite:///FILE`, `postgresql://…`, or an instance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from ..core.errors import DefinitionError
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
        return Source(GuardedSaver(checkpointer.with_allowlist(listed)), None)
    if checkpointer.startswith(POSTGRES):
        return Source(None, lambda: postgres_savers(checkpointer, serde))
    return Source(None, lambda: sqlite_saver(sqlite_path(checkpointer) or "", serde))


def store_source(store: Any) -> Source:
    """The store of a workflow, opened as its saver is; None is no store."""
    if store == "memory":
        return Source(InMemoryStore(), None)
    if not isinstance(store, str):
        return Source(store, None)
    if store.startswith(POSTGRES):
        return Source(None, lambda: postgres_store(store))
    return Source(None, lambda: sqlite_store(sqlite_path(store) or ""))


def saver_for(saver: Any, thread_id: str) -> Any:
    """The saver that serves `thread_id`, where several share the work."""
    return saver.for_thread(thread_id) if isinstance(saver, Shards) else saver


def sqlite_path(url: str) -> str | None:
    """`sqlite:///runs.db` is relative, `sqlite:////data/runs.db` absolute, as in SQLAlchemy."""
    return url.removeprefix("sqlite:///") or None if url.startswith("sqlite:///") else None
