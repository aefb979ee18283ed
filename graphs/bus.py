"""The live message bus: publish, subscribe, and the history of what was published."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

from ..core.bus import BusMessage

Filter = Callable[[BusMessage], bool] | str | type[BusMessage] | None
Handler = Callable[[BusMessage], None]


class MessageBus:
    """Delivers messages to subscribers in the order of publishing.

    Delivery is at least once: a step that runs again after a crash publishes the same id again.
    `history` holds each id once, the last `keep` of them.
    """

    def __init__(self, keep: int = 10_000) -> None:
        self._keep = keep
        self._history: OrderedDict[str, BusMessage] = OrderedDict()
        self._subscribers: dict[int, tuple[Filter, Handler]] = {}
        self._next = 0

    def publish(self, message: BusMessage) -> None:
        """Tell every subscriber whose filter matches. A handler that raises is logged."""
        self._history[message.id] = message
        while len(self._history) > self._keep:
            self._history.popitem(last=False)
        for wanted, handler in list(self._subscribers.values()):
            try:
                if _matches(wanted, message):
                    handler(message)
            except Exception:
                logging.getLogger("plait").exception("a bus subscriber raised")

    def subscribe(self, wanted: Filter, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each message that `wanted` matches: a type name or class, a function
        of the message, or None for all. Returns the function that unsubscribes."""
        self._next += 1
        number = self._next
        self._subscribers[number] = (wanted, handler)

        def unsubscribe() -> None:
            self._subscribers.pop(number, None)

        return unsubscribe

    def history(self) -> tuple[BusMessage, ...]:
        return tuple(self._history.values())


def _matches(wanted: Filter, message: BusMessage) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return message.type == wanted
    return isinstance(message, wanted) if isinstance(wanted, type) else bool(wanted(message))
