"""What travels to a child graph as its runtime context: the Snapshot and the live run.

A Snapshot is no channel of the child, since a channel is checkpointed at every step; the parent
makes it again when the run is resumed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.runtime import RunControl

from ..core.bus import BusMessage
from ..core.events import Event, EventType
from ..core.ports import EMPTY_PLANE, NO_LIVE, Emit, Live, Plane, Publish, Recorder
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from .declared import Effect
from .lingering import Threads
from .meter import Meter
from .slots import Lease
from .streamed import custom_stream


class RoundControl(RunControl):
    """Drains a unit when its run is to be drained and the unit has no round under way."""

    __slots__ = ("_open", "_path", "_run")

    def __init__(self, run: RunControl, open_turns: Container[str], path: str) -> None:
        super().__init__()
        self._run, self._open, self._path = run, open_turns, path

    @property
    def drain_requested(self) -> bool:
        return self._run.drain_requested and self._path not in self._open

    @property
    def drain_reason(self) -> str | None:
        return self._run.drain_reason


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
    threads: Threads = field(default_factory=Threads)
    control: RunControl | None = None
    """How LangGraph is asked to drain this run."""
    recorder: Recorder | None = None
    """Where other processes can read the run's events."""
    task: asyncio.Task[Any] | None = None
    """The task that drives the run; it is cancelled to stop it."""
    has_ended: bool = False
    """Nothing is told or published any more; a thread that outlived the run would."""

    @property
    def is_draining(self) -> bool:
        """Whether nothing new is to begin."""
        return self.control is not None and self.control.drain_requested

    def check(self) -> None:
        """Raise CancelledError when the run was cancelled and the user's code has swallowed that."""
        if self.task is not None and self.task.cancelling():
            raise asyncio.CancelledError

    def unit_control(self, path: str) -> RunControl | None:
        """What drains the unit at `path` between its rounds, and not within one."""
        return None if self.control is None else RoundControl(self.control, self.open_turns, path)

    def slots_for(self, limit: int | None) -> tuple[asyncio.Semaphore, ...]:
        """The places of the whole run, when it has a limit."""
        if limit is not None and self.slots is None:
            self.slots = asyncio.Semaphore(limit)
        return () if self.slots is None else (self.slots,)

    @property
    def streaming(self) -> bool:
        """Whether anybody wants to see replies while they are written."""
        is_watched = self.recorder is not None and self.recorder.is_watched
        return is_watched or bool(self.listeners) or custom_stream() is not None

    def emit(self, type: EventType, path: str, **fields: Any) -> None:
        """Tell the listeners, and LangGraph's stream. A listener that raises never breaks the run."""
        self.sequence += 1
        if self.has_ended:
            return
        stream = custom_stream()
        if stream is None and self.recorder is None and not self.listeners:
            return
        event = Event(type, self.run_id, path, self.sequence, time.time(), **fields)
        for listener in self.listeners:
            _shielded(listener, event)
        if self.recorder is not None:
            self.recorder(event)
        if stream is not None:
            stream({"plait": "event", **event.to_plain()})

    def turn_starts(self, path: str, unit: str) -> None:
        """Begin a round at `path`, unless its first half has already begun it."""
        if path not in self.open_turns:
            self.open_turns.add(path)
            self.emit("turn_start", path, unit=unit)

    def turn_ends(self, path: str, unit: str, error: str | None = None) -> None:
        self.open_turns.discard(path)
        self.emit("turn_end", path, unit=unit, is_error=error is not None, error=error)

    def publish(self, message: BusMessage) -> None:
        for publisher in () if self.has_ended else self.publishers:
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
    `default_effect` is that of tools that declare none.
    """

    snapshot: Snapshot
    meter: Meter
    run: RunScope = field(default_factory=RunScope)
    slots: tuple[asyncio.Semaphore, ...] = ()
    lease: Lease | None = None
    in_root: bool = False
    hold: Hold | None = None
    default_effect: Effect = "unsafe"

    @property
    def below(self) -> Frame:
        """The same for a graph of its own, whose tasks are no other graph's."""
        return self if not self.in_root and self.hold is None else replace(self, in_root=False, hold=None)

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
