"""Messages to the units of a workflow's threads, while they run and before."""

from __future__ import annotations

from .core.ports import InboxItem
from .graphs.background import run_in_background
from .nodes.inbox import new_item
from .workflow_engine import Engine


class Messages:
    """The part of a Workflow that sends messages; `plait.core.addresses` says what an address is.

    They can be sent from any process that shares the workflow's store, or without one its
    checkpointer given by URL. What no unit took by the end of a turn is in `result.undelivered`.
    """

    _engine: Engine

    async def steer(self, thread_id: str, address: str, text: str) -> InboxItem:
        """Tell the units at `address` something before their next model call, each of them once.

        No tool call is skipped, a unit about to end goes on, and one that does not run yet is told when it
        does. Raises PlaitError for an address that can reach no unit.
        """
        return await self._engine.send(thread_id, new_item(address, text))

    def steer_sync(self, thread_id: str, address: str, text: str) -> InboxItem:
        """`steer` for callers that cannot await, such as another thread."""
        return run_in_background(self.steer(thread_id, address, text))

    async def follow_up(self, thread_id: str, address: str, text: str) -> InboxItem:
        """Like `steer`, but told only when the unit has its result and would end; it then goes on, and its
        next result counts."""
        return await self._engine.send(thread_id, new_item(address, text, "follow_up"))

    def follow_up_sync(self, thread_id: str, address: str, text: str) -> InboxItem:
        """`follow_up` for callers that cannot await."""
        return run_in_background(self.follow_up(thread_id, address, text))
