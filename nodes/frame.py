"""What travels to a child graph as its runtime context: the Snapshot and the live run.

A Snapshot is no channel of the child, since a channel is checkpointed at every step; the parent
makes it again when the run is resumed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.bus import BusMessage
from ..core.events import Event, EventType
from ..core.ports import EMPTY_PLANE, NO_LIVE, Emit, Live, Plane, Publish
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from .meter import Meter
from .slots import Lease


@dataclass(slots=True)
class RunScope:
    """The live side of a run in this process: who listens, the count of events, and the root's meter."""

    run_id: str = ""
    listeners: Sequence[Emit] = ()
    publishers: Sequence[Publish] = ()
    plane: Plane = EMPTY_PLANE
    live: Live = NO_LIVE
    resumed: bool = False
    started: float = field(default_factory=time.time)
    meter: Meter | None = None
    sequence: int = 0
    open_turns: set[str] = field(default_factory=set)
    slots: asyncio.Semaphore | None = None
    records: dict[str, StepRecord] = field(default_factory=dict)
    """What has finished in this process, by id: all that is left when the store is lost."""

    def slots_for(self, limit: int | None) -> tuple[asyncio.Semaphore, ...]:
        """The places of the whole run, when it has a limit."""
        if limit is not None and self.slots is None:
            self.slots = asyncio.Semaphore(limit)
        return () if self.slots is None else (self.slots,)

    @property
    def streaming(self) -> bool:
        """Whether anybody wants to see replies while they are written."""
        return bool(self.listeners)

    def emit(self, type: EventType, path: str, **fields: Any) -> None:
        """Tell the listeners. A listener that raises never breaks the run."""
        self.sequence += 1
        if not self.listeners:
            return
        event = Event(type, self.run_id, path, self.sequence, time.time(), **fields)
        for listener in self.listeners:
            _shielded(listener, event)

    def turn_starts(self, path: str, unit: str) -> None:
        """Begin a round at `path`, unless its first half has already begun it."""
        if path not in self.open_turns:
            self.open_turns.add(path)
            self.emit("turn_start", path, unit=unit)

    def turn_ends(self, path: str, unit: str, error: str | None = None) -> None:
        self.open_turns.discard(path)
        self.emit("turn_end", path, unit=unit, is_error=error is not None, error=error)

    def publish(self, message: BusMessage) -> None:
        for publisher in self.publishers:
            _shielded(publisher, message)


def _shielded(call: Callable[[Any], None], value: Any) -> None:
    try:
        call(value)
    except Exception:  # a bad subscriber is its owner's affair
        logging.getLogger("plait").exception("a subscriber raised")


Hold = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Frame:
    """The runtime context of every graph below the root.

    `slots` are the places that a leaf has to take, `lease` what the running one has taken. `in_root`:
    what runs here are tasks of the root graph itself, called by a region that stands in it. `hold` is
    what a region whose steps are paused awaits before it pauses, when another region called it.
    """

    snapshot: Snapshot
    meter: Meter
    run: RunScope = field(default_factory=RunScope)
    slots: tuple[asyncio.Semaphore, ...] = ()
    lease: Lease | None = None
    in_root: bool = False
    hold: Hold | None = None

    def with_slots(self, limit: int | None) -> Frame:
        """The same, where at most `limit` units and steps run at a time."""
        return self if limit is None else replace(self, slots=(asyncio.Semaphore(limit), *self.slots))

    @property
    def meter_key(self) -> str:
        """What this part's spending is reported under: the id its record will have."""
        path = self.snapshot.path
        return f"{path}#{len(self.snapshot.attempts(path)) + 1}"

    def at(self, snapshot: Snapshot, meter: Meter | None = None) -> Frame:
        return replace(self, snapshot=snapshot, meter=meter or self.meter)


current_run: ContextVar[RunScope | None] = ContextVar("plait_run", default=None)
"""Set by the caller of a root graph; absent under a server, which then has no listeners."""
