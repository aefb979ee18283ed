"""The inbox: steers and follow-ups as items of a LangGraph store, and which of them a unit gets now.

Any process that reaches the store can send one. Nothing is ever taken out: what a unit has been
given is in the thread's own state, so a fork is given again what it rewound. A client of a
LangGraph server sends one with its SDK (the namespace of a server's thread is
`("plait", "inbox", thread_id)`):

    told = {"address": "record", "text": "amounts are in EUR"}
    await client.store.put_item(inbox_namespace(thread_id), str(uuid6()), told)

`"kind": "follow_up"` makes it a follow-up. Keys have to be unique and to sort in the order of
sending, as those do that `uuid6` makes.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal
from urllib.parse import quote

from langgraph.checkpoint.base.id import uuid6
from langgraph.store.base import BaseStore, SearchItem

from ..core.addresses import parse_address
from ..core.errors import PlaitError
from ..core.paths import memory_key
from ..core.ports import InboxItem, StopRequest
from .content import clean_text

Kind = Literal["steer", "follow_up"]
Mode = Literal["one-at-a-time", "all"]
"""How many waiting messages a unit is given before one model call."""

STOP = "stop"
PAGE = 1000
"""Items of one read of the store, which gives ten unless told."""


def inbox_namespace(thread_id: str) -> tuple[str, ...]:
    """Where a thread's messages lie; the id is escaped, since a namespace refuses dots.

    >>> inbox_namespace("mei@example.org")
    ('plait', 'inbox', 'mei%40example%2Eorg')
    """
    return ("plait", "inbox", quote(thread_id, safe="", errors="replace").replace(".", "%2E"))


def _stop_namespace(thread_id: str) -> tuple[str, ...]:
    return ("plait", STOP, *inbox_namespace(thread_id)[2:])


def new_item(address: str, text: str, kind: Kind = "steer") -> InboxItem:
    """A message with an id that sorts after all ids made before. Raises PlaitError when it says nothing,
    or when the address is none."""
    parse_address(address)
    if not isinstance(text, str) or not text.strip():
        raise PlaitError(f"there is nothing to say to {address!r}: give a text, not {text!r}")
    return InboxItem(str(uuid6()), address, _kept(text), kind)


def _kept(text: str) -> str:
    """The text as every store can hold it; Postgres refuses the null character."""
    return clean_text(text)[0].replace("\x00", "\ufffd")


class StoreInbox:
    """An inbox over a LangGraph store."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def ask_to_stop(self, thread_id: str, request: StopRequest) -> None:
        value = {"id": request.id, "how": request.how}
        await self._store.aput(_stop_namespace(thread_id), STOP, value, index=False)

    async def stop_asked(self, thread_id: str) -> StopRequest | None:
        item = await self._store.aget(_stop_namespace(thread_id), STOP, refresh_ttl=False)
        return None if item is None else StopRequest(item.value["id"], item.value["how"])

    async def put(self, thread_id: str, item: InboxItem) -> None:
        value = {"address": item.address, "text": item.text, "kind": item.kind}
        await self._store.aput(inbox_namespace(thread_id), item.id, value, index=False)

    async def items(self, thread_id: str) -> Sequence[InboxItem]:
        namespace, found = inbox_namespace(thread_id), dict[str, SearchItem]()
        while True:
            page = await self._store.asearch(namespace, limit=PAGE, offset=len(found))
            before = len(found)
            found.update((item.key, item) for item in page)
            if len(page) < PAGE or len(found) == before:
                break
        own = (found[key] for key in sorted(found) if tuple(found[key].namespace) == namespace)
        return tuple(item for held in own if (item := _item(held.key, held.value)) is not None)


def _item(key: str, value: Any) -> InboxItem | None:
    """An item as it was put; what others wrote there that is no message is passed over."""
    kind = value.get("kind", "steer")
    address, text = value.get("address"), value.get("text")
    if isinstance(address, str) and isinstance(text, str) and text.strip() and kind in ("steer", "follow_up"):
        return InboxItem(key, address, _kept(text), kind)
    logging.getLogger("plait").warning("inbox item %s is no message: %r", key, value)
    return None


def delivery(item: InboxItem, path: str) -> str:
    """What the delivery of an item to the unit at `path` is remembered as, over its passes."""
    return f"{item.id}|{memory_key(path)}"


def due(
    items: Sequence[InboxItem],
    delivered: Collection[str],
    path: str,
    unit: str,
    mode: Mode = "one-at-a-time",
    *,
    is_idle: bool = False,
) -> tuple[InboxItem, ...]:
    """What the unit is given now, in the order of sending: steers, and follow-ups only when it `is_idle`,
    that is when it has nothing else to do and no steer waits."""
    waiting = [item for item in items if delivery(item, path) not in delivered and _is_for(item, path, unit)]
    steers = [item for item in waiting if item.kind == "steer"]
    chosen = steers or (waiting if is_idle else [])
    return tuple(chosen if mode == "all" else chosen[:1])


def undelivered(items: Sequence[InboxItem], delivered: Collection[str]) -> tuple[InboxItem, ...]:
    """The items that no unit was given."""
    given = set(_given(delivered))
    return tuple(item for item in items if item.id not in given)


def _given(delivered: Collection[str]) -> Iterator[str]:
    return (known.rpartition("|")[0] for known in delivered)


def _is_for(item: InboxItem, path: str, unit: str) -> bool:
    try:
        return parse_address(item.address).matches(path, unit)
    except PlaitError:
        return False
