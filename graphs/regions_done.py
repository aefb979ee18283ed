"""What has finished in regions that have not: LangGraph keeps it as results of tasks, not in channels."""

from __future__ import annotations

from typing import Any

# as in nodes.userconfig: LangGraph has no public names for these; a test pins them
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINT_NS
from langgraph.checkpoint.base import CheckpointTuple

from ..core.records import StepRecord
from .binding import Bound
from .flow import walk
from .region import Region
from .returned import returned


async def done_in_regions(bound: Bound, saver: Any, thread_id: str) -> tuple[StepRecord, ...]:
    """The records of steps whose results a resume takes from tasks; none where there are no regions."""
    if not any(isinstance(part, Region) for _, part in walk(bound.root)):
        return ()
    thread = {"thread_id": thread_id}
    root = await saver.aget_tuple({CONF: {**thread, CONFIG_KEY_CHECKPOINT_NS: ""}})
    if root is None:
        return ()
    held = _records(root)
    async for saved in saver.alist({CONF: thread}):
        # ids follow time, and what has not ended began after the root's last checkpoint
        if saved.checkpoint["id"] > root.checkpoint["id"]:
            held += _records(saved)
    records = {record.id: record for record in held if record.kind != "flow"}
    return tuple(records.values())


def _records(saved: CheckpointTuple) -> list[StepRecord]:
    return [StepRecord.from_plain(plain) for given in returned(saved) for plain in given["steps"]]
