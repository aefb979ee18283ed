"""A saver, a journal and a store over others, to which they hand nothing but encrypted values."""

from __future__ import annotations

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import unquote

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import BaseStore, Item, PutOp, SearchItem, SearchOp

from ..core.errors import EncryptionMismatch
from ..core.ports import Journal, JournalEntry
from .encryption import DOES_NOT_FIT, ENCRYPTED, NOT_ENCRYPTED, SEALED, Cipher

SEAL = "plait.seal"
"""The channel that holds the seal over a checkpoint; a checkpoint without one is not encrypted."""

COVERED = ("v", "id", "ts", "channel_versions", "versions_seen", "updated_channels")
"""The parts of a checkpoint that the seal covers; its values are encrypted each by itself."""

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError)
"""What reading a changed row raises before any of it is decrypted."""


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one namespace of a thread.

    Savers treat values by their kind (some keep text and numbers in the checkpoint itself, other values
    beside it, and know the snapshots of a growing list), so what is encrypted keeps the kind it had.
    """

    cipher: Cipher
    serde: Any
    thread_id: str
    namespace: str

    def seal(self, value: Any, *place: Any) -> Any:
        if isinstance(value, _DeltaSnapshot):
            return _DeltaSnapshot(self._sealed(value.value, place))
        sealed = self._sealed(value, place)
        is_small = value is None or isinstance(value, str | int | float | bool)
        return b64encode(sealed).decode("ascii") if is_small else sealed

    def open(self, value: Any, *place: Any) -> Any:
        if isinstance(value, _DeltaSnapshot):
            return _DeltaSnapshot(self.open(value.value, *place))
        if isinstance(value, str):
            with unreadable(self.thread_id):
                value = b64decode(value, validate=True)
        if not isinstance(value, bytes):
            raise EncryptionMismatch(self.thread_id, NOT_ENCRYPTED)
        opened = self.cipher.open(value, self.thread_id, self.namespace, *place)
        kind, _, data = opened.partition(b"\0")
        return self.serde.loads_typed((kind.decode(), data))

    def _sealed(self, value: Any, place: tuple[Any, ...]) -> bytes:
        kind, data = self.serde.dumps_typed(value)
        return self.cipher.seal(kind.encode() + b"\0" + data, self.thread_id, self.namespace, *place)

    def seal_over(self, checkpoint: Mapping[str, Any], parent: str | None) -> str:
        """The seal over what is in a checkpoint beside its values, and over where it hangs."""
        told = json.dumps(parent).encode()
        sealed = self.cipher.seal(told, self.thread_id, self.namespace, SEAL, _covered(checkpoint))
        return b64encode(sealed).decode("ascii")

    def check_seal(self, seal: Any, checkpoint: Mapping[str, Any], parent: str | None) -> None:
        """`parent` None tells nothing: some savers keep no parents."""
        if not isinstance(seal, str):
            raise EncryptionMismatch(self.thread_id, NOT_ENCRYPTED)
        with unreadable(self.thread_id):
            sealed = b64decode(seal, validate=True)
        told = self.cipher.open(sealed, self.thread_id, self.namespace, SEAL, _covered(checkpoint))
        if parent is not None and json.loads(told) != parent:
            raise EncryptionMismatch(self.thread_id, DOES_NOT_FIT)


class EncryptedSaver(BaseCheckpointSaver[Any]):
    """`inner`, which gets encrypted values; the thread is the one that each call is for.

    Raises EncryptionMismatch at what is not encrypted for the thread it is read from.
    """

    def __init__(self, inner: BaseCheckpointSaver[Any], cipher: Cipher) -> None:
        super().__init__(serde=inner.serde)
        self.inner = inner
        self._cipher = cipher

    def _values(self, config: Any) -> _Values:
        named = config["configurable"]
        return _Values(self._cipher, self.serde, str(named["thread_id"]), named.get("checkpoint_ns", ""))

    @property
    def config_specs(self) -> list[Any]:
        return self.inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.inner.get_next_version(current, channel)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        with unreadable(config["configurable"]["thread_id"]):
            found = await self.inner.aget_tuple(config)
            return None if found is None else self._opened(found)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        with unreadable((config or {}).get("configurable", {}).get("thread_id", "(any)")):
            async for found in self.inner.alist(config, **options):
                yield self._opened(found)

    def _opened(self, found: CheckpointTuple) -> CheckpointTuple:
        values, checkpoint = self._values(found.config), cast(dict[str, Any], {**found.checkpoint})
        kept, versions = dict(checkpoint["channel_values"]), dict(checkpoint["channel_versions"])
        seal = kept.pop(SEAL, None)
        checkpoint["channel_versions"] = versions
        if versions.pop(SEAL, None) != checkpoint["id"]:
            seal = None
        parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        values.check_seal(seal, checkpoint, parent)
        checkpoint["channel_values"] = {name: values.open(kept[name], "value", name) for name in kept}
        writes = [_opened_write(values, write) for write in found.pending_writes or ()]
        return found._replace(checkpoint=cast(Any, checkpoint), pending_writes=writes)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        values, version = self._values(config), {SEAL: checkpoint["id"]}
        given = checkpoint["channel_values"]
        kept = {name: values.seal(given[name], "value", name) for name in given}
        seal = values.seal_over(checkpoint, config["configurable"].get("checkpoint_id"))
        sealed = {
            **checkpoint,
            "channel_values": {**kept, SEAL: seal},
            "channel_versions": {**checkpoint["channel_versions"], **version},
        }
        return await self.inner.aput(config, cast(Any, sealed), metadata, {**new_versions, **version})

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        values = self._values(config)
        sealed = [(name, values.seal(value, "write", task_id, name)) for name, value in writes]
        await self.inner.aput_writes(config, sealed, task_id, task_path)

    async def aget_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        values = self._values(config)
        with unreadable(values.thread_id):
            found = await self.inner.aget_delta_channel_history(config=config, channels=channels)
        return {name: _opened_history(values, name, history) for name, history in found.items()}

    async def adelete_thread(self, thread_id: str) -> None:
        await self.inner.adelete_thread(thread_id)

    def with_allowlist(self, extra_allowlist: Any) -> EncryptedSaver:
        """Itself: which classes come back was settled when `inner` was opened."""
        return self


def _covered(checkpoint: Mapping[str, Any]) -> list[Any]:
    return [checkpoint.get(part) for part in COVERED]


def _opened_write(values: _Values, write: Any) -> tuple[str, str, Any]:
    task_id, name, value = write
    return task_id, name, values.open(value, "write", task_id, name)


def _opened_history(values: _Values, name: str, history: Any) -> dict[str, Any]:
    opened: dict[str, Any] = {"writes": [_opened_write(values, write) for write in history["writes"]]}
    if "seed" in history:
        opened["seed"] = values.open(history["seed"], "value", name)
    return opened


def readable(found: Any) -> Any:
    """A checkpoint as it was read. Raises EncryptionMismatch when it is encrypted still."""
    if found is not None and SEAL in found.checkpoint["channel_values"]:
        raise EncryptionMismatch(found.config["configurable"]["thread_id"], ENCRYPTED)
    return found


@contextmanager
def unreadable(thread_id: str) -> Iterator[None]:
    """What is raised inside at a row that makes no sense tells so."""
    try:
        yield
    except UNREADABLE as error:
        raise EncryptionMismatch(thread_id, DOES_NOT_FIT) from error


class EncryptedJournal:
    """`inner`, which gets encrypted results and no digests; an entry is bound to its call and its state."""

    def __init__(self, inner: Journal, cipher: Cipher) -> None:
        self._inner, self._cipher = inner, cipher
        self._serde = JsonPlusSerializer(allowed_msgpack_modules=None)

    async def read(self, thread_id: str, keys: Sequence[str]) -> Mapping[str, JournalEntry]:
        found = await self._inner.read(thread_id, keys)
        return {key: self._opened(thread_id, entry, key) for key, entry in found.items()}

    async def write(self, thread_id: str, entries: Mapping[str, JournalEntry]) -> None:
        sealed = {key: self._sealed(thread_id, entry, key) for key, entry in entries.items()}
        await self._inner.write(thread_id, sealed)

    async def entries(self, thread_id: str) -> Mapping[str, JournalEntry]:
        found = await self._inner.entries(thread_id)
        return {key: self._opened(thread_id, entry) for key, entry in found.items()}

    async def forget(self, thread_id: str) -> None:
        await self._inner.forget(thread_id)

    def _sealed(self, thread_id: str, entry: JournalEntry, key: str) -> JournalEntry:
        kind, data = self._serde.dumps_typed([key, entry.digest, entry.result])
        assert kind == "msgpack"
        return replace(entry, digest="", result=self._cipher.seal(data, thread_id, "journal", entry.state))

    def _opened(self, thread_id: str, entry: JournalEntry, wanted: str | None = None) -> JournalEntry:
        if not isinstance(entry.result, bytes) or entry.digest:
            raise EncryptionMismatch(thread_id, NOT_ENCRYPTED)
        data = self._cipher.open(entry.result, thread_id, "journal", entry.state)
        key, digest, result = self._serde.loads_typed(("msgpack", data))
        if wanted not in (None, key):
            raise EncryptionMismatch(thread_id, DOES_NOT_FIT)
        return replace(entry, digest=digest, result=result)


class EncryptedStore(BaseStore):
    """`inner`, which gets encrypted values, each bound to its namespace and key; for Plait's own namespaces,
    whose third part is the thread. An item that does not fit is refused when it is asked for, and passed
    over in a search, so that a message that somebody else put into an inbox does not stop a thread.
    """

    def __init__(self, inner: BaseStore, cipher: Cipher) -> None:
        self._inner, self._cipher = inner, cipher
        self._passed_over: set[str] = set()
        self.supports_ttl, self.ttl_config = inner.supports_ttl, inner.ttl_config

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        return self._opened_all(listed, self._inner.batch([self._sealed(op) for op in listed]))

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        return self._opened_all(listed, await self._inner.abatch([self._sealed(op) for op in listed]))

    def _sealed(self, op: Any) -> Any:
        if not isinstance(op, PutOp) or op.value is None:
            return op
        thread_id, data = _thread_of(op.namespace), json.dumps(op.value).encode()
        sealed = self._cipher.seal(data, thread_id, "store", op.namespace, op.key)
        return op._replace(value={SEALED: b64encode(sealed).decode("ascii")})

    def _opened_all(self, ops: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        return [
            self._fitting(result)
            if isinstance(op, SearchOp)
            else self._opened(result)
            if isinstance(result, Item)
            else result
            for op, result in zip(ops, results, strict=True)
        ]

    def _fitting(self, items: Iterable[SearchItem]) -> list[SearchItem]:
        fitting = []
        for item in items:
            try:
                fitting.append(self._opened(item))
            except EncryptionMismatch as error:
                if item.key not in self._passed_over:
                    logging.getLogger("plait").warning("item %s is passed over: %s", item.key, error)
                self._passed_over.add(item.key)
        return fitting

    def _opened(self, item: Any) -> Any:
        thread_id, sealed = _thread_of(item.namespace), item.value.get(SEALED)
        if not isinstance(sealed, str):
            raise EncryptionMismatch(thread_id, NOT_ENCRYPTED)
        with unreadable(thread_id):
            data = b64decode(sealed, validate=True)
        opened = copy(item)
        opened.value = json.loads(self._cipher.open(data, thread_id, "store", list(item.namespace), item.key))
        return opened


def _thread_of(namespace: Sequence[str]) -> str:
    return unquote(namespace[2])
