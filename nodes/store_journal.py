"""A journal over a LangGraph store, as under a server, whose store is all that outlives a run."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore, PutOp

from ..core.ports import JournalEntry

_serde = JsonPlusSerializer(allowed_msgpack_modules=None)
_PAGE = 1000


class StoreJournal:
    """Entries are items under the thread's namespace; what they hold is typed, so it is written as text."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        names = [_name(key) for key in keys]
        items = await asyncio.gather(*(self._store.aget(_namespace(thread_id), name) for name in names))
        found = zip(keys, items, strict=True)
        return {key: _entry(item.value) for key, item in found if item is not None}

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        namespace = _namespace(thread_id)
        await self._store.abatch(
            [PutOp(namespace, _name(key), {"key": key, **_plain(entry)}) for key, entry in entries.items()]
        )

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        found: dict[str, JournalEntry] = {}
        while items := await self._store.asearch(_namespace(thread_id), limit=_PAGE, offset=len(found)):
            found |= {item.value["key"]: _entry(item.value) for item in items}
        return found

    async def forget(self, thread_id: str) -> None:
        namespace = _namespace(thread_id)
        while items := await self._store.asearch(namespace, limit=_PAGE):
            await self._store.abatch([PutOp(namespace, item.key, None) for item in items])


def _namespace(thread_id: str) -> tuple[str, ...]:
    return ("plait", "journal", quote(thread_id, safe="").replace(".", "%2E"))


def _name(key: str) -> str:
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def _plain(entry: JournalEntry) -> dict[str, Any]:
    kind, held = _serde.dumps_typed(entry.result)
    return {
        "state": entry.state,
        "digest": entry.digest,
        "kind": kind,
        "result": b64encode(held).decode("ascii"),
    }


def _entry(value: Mapping[str, Any]) -> JournalEntry:
    held = _serde.loads_typed((value["kind"], b64decode(value["result"])))
    return JournalEntry(value["state"], value["digest"], held)
