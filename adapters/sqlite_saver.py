"""LangGraph's saver for SQLite, whose writes share commits with what else is written to the file."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, get_checkpoint_metadata
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from .database import Database, Statement

SOON_S = 0.002

_PUT = (
    "INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, "
    "type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PUT_WRITES = (
    "INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteSaver(AsyncSqliteSaver):
    """Writes the rows that LangGraph's own saver writes, which a test compares.

    LangGraph writes a checkpoint after the results of the tasks that led to it. So results wait for it, and
    are committed with it; those of tasks that end long before the others wait `SOON_S` seconds at most.

    Source: langgraph-checkpoint-sqlite, `AsyncSqliteSaver`, from which all reading is inherited.
    """

    def __init__(self, database: Database, serde: Any) -> None:
        super().__init__(database.opened, serde=serde)
        self._database = database
        self._held: dict[str, list[Statement]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._late: asyncio.Task[None] | None = None

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        named = config["configurable"]
        kind, held = self.serde.dumps_typed(checkpoint)
        told = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        place = (str(named["thread_id"]), named["checkpoint_ns"], checkpoint["id"])
        row = (*place, named.get("checkpoint_id"), kind, held, told.encode("utf-8", "ignore"))
        await self._write(place[0], (_PUT, [row]))
        written = {"thread_id": named["thread_id"], "checkpoint_ns": place[1], "checkpoint_id": place[2]}
        return {"configurable": written}

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        named = config["configurable"]
        place = (str(named["thread_id"]), str(named["checkpoint_ns"]), str(named["checkpoint_id"]))
        rows = [
            (*place, task_id, task_path, WRITES_IDX_MAP.get(channel, number), channel, *self._dumped(value))
            for number, (channel, value) in enumerate(writes)
        ]
        insert = f"INSERT OR {'REPLACE' if replaces else 'IGNORE'} {_PUT_WRITES}"
        self._held.setdefault(place[0], []).append((insert, rows))
        if any(channel in WRITES_IDX_MAP for channel, _ in writes):
            await self._write(place[0])  # a pause or an error, after which no checkpoint comes
        else:
            self._write_soon()

    def _dumped(self, value: Any) -> tuple[str, bytes]:
        dumped: tuple[str, bytes] = self.serde.dumps_typed(value)
        return dumped

    async def adelete_thread(self, thread_id: str) -> None:
        place = [(str(thread_id),)]
        self._held.pop(str(thread_id), None)
        await self._database.write(
            ("DELETE FROM checkpoints WHERE thread_id = ?", place),
            ("DELETE FROM writes WHERE thread_id = ?", place),
        )

    async def aget_tuple(self, config: Any) -> Any:
        await self.settle()
        return await super().aget_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        await self.settle()
        async for found in super().alist(config, **options):
            yield found

    async def aget_delta_channel_history(self, **which: Any) -> Any:
        await self.settle()
        return await super().aget_delta_channel_history(**which)

    async def settle(self) -> None:
        """Write what waits, and wait for what is being written."""
        for thread_id in list(self._held):
            await self._write(thread_id)
        await self._database.settle()

    async def _write(self, thread_id: str, *statements: Statement) -> None:
        """Write them with what is held of the thread, all of it or nothing."""
        held = self._held.pop(thread_id, [])
        try:
            await self._database.write(*held, *statements)
        except BaseException:
            if held:
                self._held[thread_id] = [*held, *self._held.get(thread_id, ())]
                self._write_soon()
            raise

    def _write_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._late is not None and not self._late.done():
            self._write_soon()
        elif self._held:
            self._late = asyncio.ensure_future(self._write_late())

    async def _write_late(self) -> None:
        """Write what waits; where that fails, whoever writes or reads next is told."""
        for thread_id in list(self._held):
            with suppress(sqlite3.OperationalError):
                await self._write(thread_id)

    async def close(self) -> None:
        """Write what waits, for the last time. Where that fails, a run has failed before."""
        try:
            await self.settle()
        except Exception:
            logging.getLogger("plait").exception("results of tasks could not be written; they will run again")
        self._held.clear()
        if self._timer is not None:
            self._timer.cancel()
