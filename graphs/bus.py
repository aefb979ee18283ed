"""The live message bus: publish, subscribe, and the history of what was published."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from threading import Lock

from ..core.bus import BusMessage, known_types
from ..core.errors import PlaitError

Filter = Callable[[BusMessage], bool] | str | type[BusMessage] | None
Handler = Callable[[BusMessage], None]


class MessageBus:
    """Delivers messages to subscribers in the order of publishing, one at a time.

    Any thread may publish: while a message is being delivered, the thread that delivers it takes over
    what others publish. Delivery is at least once: a step that runs again after a crash publishes the
    same id again. `history` holds each id once, the last `keep` of them.
    """

    def __init__(self, keep: int = 10_000) -> None:
        self._keep = keep
        self._history: OrderedDict[str, BusMessage] = OrderedDict()
        self._subscribers: dict[int, tuple[Filter, Handler]] = {}
        self._next = 0
        self._guard = Lock()
        self._waiting: deque[BusMessage] = deque()
        self._is_delivering = False

    def publish(self, message: BusMessage) -> None:
        """Tell every subscriber whose filter matches. A handler that raises is logged.

        What a handler publishes is delivered after the message it was called with.
        """
        with self._guard:
            self._history[message.id] = message
            while len(self._history) > self._keep:
                self._history.popitem(last=False)
            self._waiting.append(message)
            if self._is_delivering:
                return
            self._is_delivering = True
        try:
            while (following := self._following()) is not None:
                self._deliver(*following)
        except BaseException:
            self._is_delivering = False
            raise

    def _following(self) -> tuple[BusMessage, tuple[tuple[Filter, Handler], ...]] | None:
        """The message that is to be delivered now, and the subscribers of this moment."""
        with self._guard:
            if not self._waiting:
                self._is_delivering = False
                return None
            return self._waiting.popleft(), tuple(self._subscribers.values())

    def _deliver(self, message: BusMessage, subscribers: Iterable[tuple[Filter, Handler]]) -> None:
        for wanted, handler in subscribers:
            try:
                if _matches(wanted, message):
                    handler(message)
            except Exception:
                logging.getLogger("plait").exception("a bus subscriber raised")

    def subscribe(self, wanted: Filter, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each message that `wanted` matches: a type name or class, a function
        of the message, or None for all. Returns the function that unsubscribes.

        Raises PlaitError for the name of no type.
        """
        if isinstance(wanted, str) and wanted not in (known := known_types()):
            near = get_close_matches(wanted, known, 1, 0.5) or known
            raise PlaitError(f"no bus message is of type {wanted!r}; the nearest: {', '.join(near)}")
        with self._guard:
            self._next += 1
            number = self._next
            self._subscribers[number] = (wanted, handler)

        def unsubscribe() -> None:
            with self._guard:
                self._subscribers.pop(number, None)

        return unsubscribe

    def history(self) -> tuple[BusMessage, ...]:
        with self._guard:
            return tuple(self._history.values())


def _matches(wanted: Filter, message: BusMessage) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return message.type == wanted
    return isinstance(message, wanted) if isinstance(wanted, type) else bool(wanted(message))
