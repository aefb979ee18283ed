"""Counts what a part and its children spend against its limits, at every level at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from typing import TypeVar

from ..core.paths import is_below
from ..core.usage import Breach, Limits, Usage

NO_LIMITS = Limits()
T = TypeVar("T")


class TimeIsUp(Exception):
    """The seconds of a part, or of one around it, are used up; the text names the limit."""


class Meter:
    """The spending of one limited part; its parents see the same spending.

    `spent` is what finished records already account for, `started` the epoch second from which
    `seconds` counts. Running units report their usage as a whole, so nothing is counted twice.
    """

    def __init__(
        self,
        limits: Limits | None,
        *,
        path: str = "",
        spent: Usage | None = None,
        started: float | None = None,
        parent: Meter | None = None,
    ) -> None:
        self.limits = limits or NO_LIMITS
        self.path = path
        self.parent = parent
        self._spent = spent or Usage()
        self._started = time.time() if started is None else started
        self._running: dict[str, Usage] = {}

    @property
    def spent(self) -> Usage:
        return self._spent + Usage.total(self._running.values())

    def report(self, path: str, usage: Usage) -> None:
        """What the running unit at `path` has spent so far, in all."""
        self._running[path] = usage
        if self.parent is not None:
            self.parent.report(path, usage)

    def spent_under(self, path: str, known: Container[str]) -> Usage:
        """What was reported for `path` and below it, but for the records whose ids are `known`."""
        running = list(self._running.items())
        wanted = (u for key, u in running if key not in known and is_below(key.rpartition("#")[0], path))
        return Usage.total(wanted)

    def breach(self) -> Breach | None:
        """The limit that forbids another model call, nearest part first."""
        own = self._used_up("model_calls") or self._used_up("tokens")
        if own is None and self.limits.seconds is not None and self._own_seconds() <= 0:
            own = Breach("seconds", self.limits.seconds, self.path)
        return own or (self.parent.breach() if self.parent else None)

    def tool_calls_left(self) -> int | None:
        """How many more tools may run, over all levels; None is no limit."""
        limit = self.limits.tool_calls
        own = None if limit is None else max(0, limit - self.spent.tool_calls)
        above = self.parent.tool_calls_left() if self.parent else None
        return min((left for left in (own, above) if left is not None), default=None)

    def tool_breach(self) -> Breach:
        """The breach to report when tool calls run out: the nearest part that allows the fewest."""
        limit, left = self.limits.tool_calls, self.tool_calls_left()
        if limit is not None and (self.parent is None or limit - self.spent.tool_calls <= (left or 0)):
            return Breach("tool_calls", limit, self.path)
        return self.parent.tool_breach() if self.parent else Breach("tool_calls", 0, self.path)

    def seconds_left(self) -> float | None:
        """Wall-clock seconds left to this part, over all levels; None is no limit."""
        limit = self.limits.seconds
        own = None if limit is None else max(0.0, self._started + limit - time.time())
        above = self.parent.seconds_left() if self.parent else None
        return min((left for left in (own, above) if left is not None), default=None)

    def seconds_breach(self) -> Breach:
        """The breach to report after time ran out: the nearest part whose time is up."""
        if self.limits.seconds is not None and (self.parent is None or self._own_seconds() <= 0):
            return Breach("seconds", self.limits.seconds, self.path)
        return self.parent.seconds_breach() if self.parent else Breach("seconds", 0, self.path)

    def _own_seconds(self) -> float:
        return self._started + (self.limits.seconds or 0.0) - time.time()

    def _used_up(self, name: str) -> Breach | None:
        limit = getattr(self.limits, name)
        if limit is None or getattr(self.spent, name) < limit:
            return None
        return Breach(name, limit, self.path)


async def in_time(meter: Meter, call: Callable[[], Awaitable[T]]) -> T:
    """What `call` gives within the seconds that are left. Raises TimeIsUp."""
    left = meter.seconds_left()
    if left == 0:
        raise TimeIsUp(str(meter.seconds_breach()))
    try:
        async with asyncio.timeout(left) as clock:
            return await call()
    except TimeoutError as error:
        if not clock.expired():
            raise
        raise TimeIsUp(str(meter.seconds_breach())) from error
