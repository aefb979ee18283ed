"""One life of a process under a crash sweep: it counts the boundaries that it passes and ends at one of them.

A process has one life at most, and it is a fork that is thrown away, so that the classes whose calls are
boundaries can be changed in place.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from ..nodes.declared import EFFECT

KILLED = 86
"""The exit status of a process that ended at its boundary."""


@dataclass
class Life:
    """Where a process lives, and the number of the boundary at which it ends, from 1; None: at none.

    `thread_id` is the thread that it goes on with, which no other crash has touched. `tell` is
    called with the boundary's name before the process ends.
    """

    folder: Path
    thread_id: str
    kill_at: int | None = None
    tell: Callable[[str], None] = print
    passed: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    """The effects of the tools that were called, by tool."""
    doubts: int = 0
    """In-doubt questions that were answered."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def effects(self) -> Path:
        """The log of effects, shared by all lives of one thread."""
        return self.folder / "effects.jsonl"

    def reach(self, boundary: str) -> None:
        """Pass a boundary, or end at it."""
        with self.lock:
            self.passed.append(boundary)
            if len(self.passed) == self.kill_at:
                self.tell(boundary)
                os._exit(KILLED)

    def watch(self, owner: type, method: str, what: str) -> None:
        """Make each call of an async method a boundary, before it and after it."""
        called = getattr(owner, method)

        async def watched(*args: Any, **named: Any) -> Any:
            self.reach(f"before {what}")
            result = await called(*args, **named)
            self.reach(f"after {what}")
            return result

        setattr(owner, method, watched)


class Watcher(BaseCallbackHandler):
    """Makes the calls of models and tools boundaries, and notes what tools declare of their effect."""

    run_inline = True
    raise_error = True

    def __init__(self, living: Life) -> None:
        self._life = living

    def on_chat_model_start(self, *_: Any, **about: Any) -> None:
        self._life.reach("before a model call")

    def on_llm_start(self, *_: Any, **about: Any) -> None:
        self._life.reach("before a model call")

    def on_llm_end(self, *_: Any, **about: Any) -> None:
        self._life.reach("after a model call")

    def on_tool_start(self, serialized: dict[str, Any] | None, *_: Any, **about: Any) -> None:
        name = str((serialized or {}).get("name"))
        self._life.declared[name] = _declared(about.get("metadata") or {})
        self._life.reach(f"before the call of {name}")

    def on_tool_end(self, *_: Any, **about: Any) -> None:
        self._life.reach(f"after the call of {about.get('name')}")


def _declared(metadata: dict[str, Any]) -> str:
    if EFFECT in metadata:
        return str(metadata[EFFECT])
    if metadata.get("readOnlyHint"):
        return "read"
    return "idempotent" if metadata.get("idempotentHint") else "unsafe"


_living: list[Life] = []


def current() -> Life | None:
    """The life of this process; None outside of a sweep."""
    return _living[-1] if _living else None


def begin(living: Life) -> None:
    """Make `living` the life of this process, with savers and journals as boundaries."""
    from ..adapters.journals import TableJournal
    from ..adapters.sqlite_saver import SqliteSaver
    from ..nodes.store_journal import StoreJournal

    _living.append(living)
    living.watch(SqliteSaver, "aput", "the saver's put")
    living.watch(SqliteSaver, "aput_writes", "the saver's put_writes")
    for journal in (TableJournal, StoreJournal):
        living.watch(journal, "write", "a write of the journal")
