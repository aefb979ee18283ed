"""The events of runs in a LangGraph store, so that any process which shares the store can read them.

Under ("plait", "events", thread) lies an item that lists the latest runs, and one that readers renew;
under the namespace of each run lie its events, a batch an item, numbered from 1: JSON, compressed,
as a text that every store keeps as it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from langgraph.checkpoint.base.id import uuid6
from langgraph.store.base import BaseStore, GetOp, Op, PutOp

from ..core.errors import EncryptionMismatch
from ..core.events import Event
from ..core.ports import LoggedRun, Recorder
from .encryption import ENCRYPTED, SEALED
from .source import finished

BATCH_S, ALONE_S = 0.2, 1.0
"""How long an event may wait for others to be written with: with a reader, and with none."""

KEPT_RUNS = 3
"""Runs of a thread whose events are kept."""

RENEWED_S, WATCHED_S = 2.0, 10.0
"""How often a reader says that it still reads, and how long a writer believes it."""

READ_AHEAD = 16
RUNS, WATCHED = "runs", "watched"
Namespace = tuple[str, ...]


class StoreEventLog:
    """An event log over any LangGraph store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    @asynccontextmanager
    async def writer(self, thread_id: str) -> AsyncIterator[Recorder]:
        recorder = _Recorder(self._store, namespace_of(thread_id))
        try:
            yield recorder
        finally:
            await finished(recorder.close())

    async def latest(self, thread_id: str) -> LoggedRun | None:
        item = await _item(self._store, namespace_of(thread_id), RUNS)
        if item is None:
            return None
        if SEALED in item.value:
            raise EncryptionMismatch(thread_id, ENCRYPTED)
        return LoggedRun(f"{item.value['runs'][-1]}/1", item.value["has_ended"])

    async def read(self, thread_id: str, place: str) -> tuple[Sequence[Event], str]:
        run, _, number = place.partition("/")
        found: list[Event] = []
        for item in await _batches(self._store, (*namespace_of(thread_id), run), int(number)):
            found += map(Event.from_plain, _unpacked(item.value["events"]))
            number = str(int(item.key) + 1)
        return found, f"{run}/{number}"

    @asynccontextmanager
    async def watching(self, thread_id: str) -> AsyncIterator[None]:
        namespace = namespace_of(thread_id)

        async def renew() -> None:
            while True:
                await self._store.aput(namespace, WATCHED, {"reader": uuid4().hex}, index=False)
                await asyncio.sleep(RENEWED_S)

        renewing = asyncio.ensure_future(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            with suppress(Exception):  # the writers find out by themselves
                await self._store.adelete(namespace, WATCHED)


class _Recorder:
    """Gathers the events of one run, and writes what has gathered some time after the first of it."""

    def __init__(self, store: BaseStore, namespace: Namespace) -> None:
        self._store, self._namespace, self._run = store, namespace, str(uuid6())
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._waiting: list[Event] = []
        self._batches = 0
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._is_armed = self._is_broken = self._is_closing = False
        self._reader, self._heard = "", 0.0

    @property
    def is_watched(self) -> bool:
        return bool(self._reader) and time.monotonic() - self._heard < WATCHED_S

    def __call__(self, event: Event, /) -> None:
        if self._is_broken:
            return
        self._waiting.append(event)
        if not self._is_armed:
            self._is_armed = True
            if threading.get_ident() == self._thread:
                self._arm()
            else:
                self._loop.call_soon_threadsafe(self._arm)

    async def close(self) -> None:
        """Write what is left."""
        self._is_closing = self._is_armed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing
        if self._waiting:
            await self._write()

    def _arm(self) -> None:
        self._timer = self._loop.call_later(BATCH_S if self.is_watched else ALONE_S, self._begin)

    def _begin(self) -> None:
        self._writing = self._loop.create_task(self._write())

    async def _write(self) -> None:
        events, self._waiting = self._waiting, []
        try:
            await self._flush(merged(events))
        except Exception:  # a run is worth more than the record of it
            self._is_broken = True
            logging.getLogger("plait").exception("the events of a run could not be written to the store")
        self._is_armed = self._is_closing or bool(self._waiting)
        if self._waiting and not self._is_closing:
            self._arm()

    async def _flush(self, events: Sequence[Event]) -> None:
        has_ended = events[-1].is_last
        ops: list[Op] = await self._listed(has_ended) if has_ended or not self._batches else []
        self._batches += 1
        told = _packed([event.to_plain() for event in events])
        key = f"{self._batches:08d}"
        ops.append(PutOp((*self._namespace, self._run), key, {"events": told}, index=False))
        await self._store.abatch(ops)
        if not has_ended:
            self._hear(await _item(self._store, self._namespace, WATCHED))

    async def _listed(self, has_ended: bool) -> list[Op]:
        """Puts this run into the list of the latest, unless another one has begun since it was put there."""
        item = await _item(self._store, self._namespace, RUNS)
        runs: list[str] = item.value["runs"] if item is not None else []
        if self._batches == 0:
            runs = [*runs, self._run]
        elif runs[-1:] != [self._run]:
            return []
        listed = {"runs": runs[-KEPT_RUNS:], "has_ended": has_ended}
        dropped = [op for run in runs[:-KEPT_RUNS] for op in await self._drop(run)]
        return [*dropped, PutOp(self._namespace, RUNS, listed, index=False)]

    async def _drop(self, run: str) -> list[Op]:
        namespace, ops = (*self._namespace, run), list[Op]()
        while found := await _batches(self._store, namespace, len(ops) + 1):
            ops += [PutOp(namespace, item.key, None) for item in found]
        return ops

    def _hear(self, item: Any) -> None:
        """Take note of readers by what they renew: the clocks of two machines may differ."""
        reader = "" if item is None else item.value["reader"]
        if reader != self._reader:
            self._reader, self._heard = reader, time.monotonic()


def namespace_of(thread_id: str) -> Namespace:
    """Where a thread's events lie; the id is escaped, since a namespace refuses dots."""
    return ("plait", "events", quote(thread_id, safe="", errors="replace").replace(".", "%2E"))


async def _item(store: BaseStore, namespace: Namespace, key: str) -> Any:
    """One item; apart from writes, since a SQLite transaction that reads first may be refused to write."""
    return (await store.abatch([GetOp(namespace, key, refresh_ttl=False)]))[0]


async def _batches(store: BaseStore, namespace: Namespace, first: int) -> list[Any]:
    """Some of the batches from number `first` on that are written, without a gap."""
    numbers = range(first, first + READ_AHEAD)
    items = await store.abatch([GetOp(namespace, f"{number:08d}", refresh_ttl=False) for number in numbers])
    return items[: items.index(None)] if None in items else items


def _packed(plain: Sequence[Any]) -> str:
    return b64encode(zlib.compress(json.dumps(plain, default=str).encode(), 1)).decode()


def _unpacked(text: str) -> list[Any]:
    found: list[Any] = json.loads(zlib.decompress(b64decode(text)))
    return found


def merged(events: Iterable[Event]) -> list[Event]:
    """The events with the pieces of one text, or of one call's arguments, put together.

    Pieces stay apart where anything else happened at their path in between. A merged event has the
    number and time of its last piece.
    """
    kept: list[Event | None] = []
    open_pieces: dict[str, int] = {}
    for event in events:
        place = open_pieces.pop(event.path, None)
        before = None if place is None else kept[place]
        if place is not None and before is not None and _goes_on(before, event):
            kept[place] = None
            args = before.args + event.args if event.args is not None else None
            event = replace(event, delta=f"{before.delta or ''}{event.delta or ''}", args=args)
        if event.type == "message_update":
            open_pieces[event.path] = len(kept)
        kept.append(event)
    return [event for event in kept if event is not None]


def _goes_on(before: Event, event: Event) -> bool:
    same = (before.type, before.tool, before.call_id) == (event.type, event.tool, event.call_id)
    return same and isinstance(before.args, str | None) and type(before.args) is type(event.args)
