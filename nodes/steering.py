"""What a unit is told while it runs: drained before each model call, and able to keep it from ending."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.store.base import BaseStore

from ..core.bus import BusMessage, FollowUp, Steering
from ..core.delta import Delta
from ..core.plain import update_from
from ..core.ports import Inbox, InboxItem
from ..core.snapshot import Snapshot
from .decide import ACCEPTED, Step
from .ending import checked
from .frame import Frame
from .inbox import StoreInbox, delivery, due
from .tools import RESOLVE
from .unit import WorkflowUnit
from .unitstate import UnitState

NOT_TAKEN = f"not taken: a new message came; read it, then call {RESOLVE} again"


@dataclass(frozen=True)
class Mailbox:
    """A thread's inbox as one of its units sees it."""

    inbox: Inbox
    unit: WorkflowUnit[Any]
    snapshot: Snapshot
    delivered: frozenset[str]

    async def due(self, *, is_idle: bool = False) -> tuple[InboxItem, ...]:
        """What the unit is to be given now: one read of the inbox."""
        items = await self.inbox.items(self.snapshot.thread_id)
        if not items:
            return ()
        path, unit = self.snapshot.path, self.unit
        return due(items, self.delivered, path, unit.id, unit.steering, is_idle=is_idle)

    def emptied(self, mail: Mail) -> Mailbox:
        """The same, once `mail` is delivered."""
        return replace(self, delivered=self.delivered.union(mail.delivered)) if mail.delivered else self


def mailbox(
    unit: WorkflowUnit[Any], state: UnitState, frame: Frame, store: BaseStore | None
) -> Mailbox | None:
    """The run's inbox, else one over the store, as under a server; None where there is neither."""
    snapshot = frame.snapshot
    inbox = frame.run.live.inbox or (None if store is None else StoreInbox(store))
    if inbox is None or not snapshot.thread_id:
        return None
    own = (known for done in state.get("inner", ()) for known in done.get("delivered", ()))
    return Mailbox(inbox, unit, snapshot, frozenset((*snapshot.delivered, *own)))


@dataclass(frozen=True, slots=True)
class Mail:
    """Items on their way into a unit's transcript."""

    messages: tuple[HumanMessage, ...] = ()
    bus: tuple[BusMessage, ...] = ()
    delivered: tuple[str, ...] = ()

    def read(self, state: UnitState) -> UnitState:
        """The unit's state with the mail at the end of its transcript."""
        return {**state, "messages": [*state.get("messages", []), *self.messages]} if self.messages else state

    def update(self, written: dict[str, Any]) -> dict[str, Any]:
        """`written` with the mail in it, so that it is delivered by the write that holds the reply to it."""
        if not self.messages:
            return written
        inner = update_from(Delta(bus=self.bus, delivered=self.delivered))
        return {**written, "messages": [*self.messages, *written.get("messages", [])], "inner": [inner]}


async def drained(box: Mailbox | None, frame: Frame, *, is_idle: bool) -> Mail:
    """What goes to the unit before its next model call; it is published as it goes."""
    items = () if box is None else await box.due(is_idle=is_idle)
    if not items:
        return Mail()
    snapshot = frame.snapshot
    published = tuple(_said(item, snapshot) for item in items)
    for message in published:
        frame.run.publish(message)
    told = tuple(_message(item, snapshot) for item in items)
    return Mail(told, published, tuple(delivery(item, snapshot.path) for item in items))


def _message(item: InboxItem, snapshot: Snapshot) -> HumanMessage:
    place = f"{snapshot.path}:{snapshot.turn}.{item.kind}.{item.id}"
    return HumanMessage(item.text, id=place, additional_kwargs={"plait": item.kind})


def _said(item: InboxItem, snapshot: Snapshot) -> BusMessage:
    kind = Steering if item.kind == "steer" else FollowUp
    return kind(
        id=f"{snapshot.thread_id}:{snapshot.turn}:{snapshot.path}:{item.id}",
        path=snapshot.path,
        timestamp=time.time(),
        target=snapshot.path,
        content=item.text,
    )


async def settled(
    box: Mailbox | None, step: Step, frame: Frame, state: UnitState, unit: WorkflowUnit[Any], text: str
) -> Step:
    """`step` as the unit's policies leave it; one that ends the unit well is put off for a message that
    waits, unless a policy or a limit would then end the unit worse."""
    if box is None or step.ending is None or step.ending.status == "failed" or _is_used_up(unit, step, frame):
        return checked(unit, step, frame, state, text)
    longer = put_off(step, await box.due(is_idle=True))
    return longer if checked(unit, longer, frame, state, text) is longer else step


def _is_used_up(unit: WorkflowUnit[Any], step: Step, frame: Frame) -> bool:
    frame.meter.report(frame.meter_key, step.counters.usage)
    return step.counters.rounds >= unit.max_rounds or frame.meter.breach() is not None


def put_off(step: Step, waiting: Sequence[InboxItem]) -> Step:
    """A step that would have ended the unit, going on because of what waits for it.

    A steer changes what the result should be, so it is not taken; a follow-up comes after it.
    """
    if not waiting:
        return step
    is_steered = waiting[0].kind == "steer"
    messages = tuple(_not_taken(message) for message in step.messages) if is_steered else step.messages
    return replace(
        step, messages=messages, counters=step.counters.but(next="think", idle=not is_steered), ending=None
    )


def _not_taken(message: BaseMessage) -> BaseMessage:
    is_resolve = isinstance(message, ToolMessage) and message.name == RESOLVE
    if not is_resolve or message.content != ACCEPTED:
        return message
    return message.model_copy(update={"content": NOT_TAKEN, "status": "error"})
