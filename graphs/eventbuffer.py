"""The events of a run that are kept for its readers: so many of them, the newest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..core.errors import PlaitError
from ..core.events import Event

KEPT_EVENTS = 10_000


class EventBuffer:
    """Keeps `keep` events at most. Where there is no room, an eighth of them goes at a time: the oldest
    `message_update`s, and when there are not enough of those, the oldest of the others."""

    def __init__(self, keep: int = KEPT_EVENTS) -> None:
        if keep < 1:
            raise PlaitError(f"keep_events must be at least 1, got {keep}")
        self._keep = keep
        self._events: list[Event] = []

    def append(self, event: Event) -> None:
        if len(self._events) >= self._keep:
            self._events = thinned(self._events, max(1, self._keep // 8))
        self._events.append(event)

    def after(self, sequence: int) -> Sequence[Event]:
        """What is kept of the events with a higher sequence number."""
        return self._events[bisect_right(self._events, sequence, key=lambda event: event.sequence) :]

    @property
    def last(self) -> Event | None:
        return self._events[-1] if self._events else None


def thinned(events: Sequence[Event], surplus: int) -> list[Event]:
    """The events without `surplus` of them."""
    updates = [place for place, event in enumerate(events) if event.type == "message_update"]
    others = (place for place, event in enumerate(events) if event.type != "message_update")
    dropped = {
        *updates[:surplus],
        *(place for place, _ in zip(others, range(surplus - len(updates)), strict=False)),
    }
    return [event for place, event in enumerate(events) if place not in dropped]
