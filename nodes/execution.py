"""What executing a role came to, whatever adapter executed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage
from langgraph.graph.state import CompiledStateGraph

from ..core.bus import BusMessage
from ..core.outcome import Reason, Status, StopReason
from ..core.records import ToolCallRecord
from ..core.snapshot import Snapshot
from ..core.state import StateWrite
from ..core.stored import NOTHING, Stored
from ..core.usage import Usage


@dataclass(frozen=True, slots=True)
class Execution:
    """A role's result before the stages after it: typed output, or why there is none."""

    status: Status = "done"
    reason: Reason | None = None
    message: str = ""
    stored: Stored = NOTHING
    text: str = ""
    stop_reason: StopReason = "stop"
    tool_calls: tuple[ToolCallRecord, ...] = ()
    usage: Usage = Usage()
    writes: tuple[StateWrite, ...] = ()
    bus: tuple[BusMessage, ...] = ()
    transcript: tuple[BaseMessage, ...] = ()


@runtime_checkable
class GraphRole(Protocol):
    """A role with a graph behind it, run with a Frame as its context."""

    graph: CompiledStateGraph[Any, Any, Any, Any]

    def enter(self, snapshot: Snapshot) -> dict[str, Any]:
        """The graph's input."""

    def leave(self, values: Mapping[str, Any], snapshot: Snapshot) -> Execution:
        """What the graph's final state says."""
