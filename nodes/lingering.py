"""Sync calls that still run: a thread cannot be stopped, so what is given up there is told instead.

A call is noted while its function runs. Whoever awaits it waits for its end, so what is still noted
when the run has ended was given up: by a cancel, or because its time was up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Lingering:
    """A sync call whose thread outlived its run; what it gives is dropped.

    `name` is the tool's or the function's, `call_id` the tool call's, `since` the epoch second in
    which it began.
    """

    path: str
    name: str
    call_id: str | None = None
    since: float = 0.0


@dataclass(slots=True, eq=False)
class Place:
    """Where a call stands; `has_returned`: its function has ended, so all that is left is to keep what it
    gave."""

    threads: Threads
    path: str
    name: str
    call_id: str | None
    has_returned: bool = False


@dataclass(slots=True, eq=False)
class Threads:
    """The sync calls of one run that run in threads now, and since when."""

    running: dict[Place, float] = field(default_factory=dict)

    def lingering(self) -> tuple[Lingering, ...]:
        """The calls that run now, those that began first first."""
        running = sorted(self.running.copy().items(), key=_began)
        return tuple(Lingering(place.path, place.name, place.call_id, since) for place, since in running)

    @contextmanager
    def calling(self, path: str, name: str, call_id: str | None = None) -> Iterator[Place]:
        """What is called inside, in whatever thread, is the call `name` of the part at `path`."""
        place = Place(self, path, name, call_id)
        token = _here.set(place)
        try:
            yield place
        finally:
            _here.reset(token)


def _began(running: tuple[Place, float]) -> float:
    return running[1]


_here: ContextVar[Place | None] = ContextVar("plait_call", default=None)


def returned() -> None:
    """Note that the function of the call that is made here has ended."""
    if (place := _here.get()) is not None:
        place.has_returned = True


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, noted while it runs as the call that it is part of."""

    def call(*args: Any, **kwargs: Any) -> Any:
        place = _here.get()
        running = {} if place is None else place.threads.running
        if place is None or place in running:
            return function(*args, **kwargs)
        running[place] = time.time()
        try:
            return function(*args, **kwargs)
        finally:
            del running[place]
            place.has_returned = True

    return call
