"""What the tasks of a node gave: LangGraph keeps it beside the checkpoint under which they ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# LangGraph has no public name for the channel that holds what a task returned; a test pins it
from langgraph._internal._constants import RETURN
from langgraph.checkpoint.base import CheckpointTuple


def returned(saved: CheckpointTuple | None) -> Iterator[Mapping[str, Any]]:
    """The deltas, in plain form, that parts gave which were called as tasks under a checkpoint."""
    for _, channel, value in (saved.pending_writes or ()) if saved is not None else ():
        if channel == RETURN and isinstance(value, Mapping) and "steps" in value:
            yield value
