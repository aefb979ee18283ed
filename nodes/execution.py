"""What executing a role came to, whatever adapter executed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage
from langgraph.graph.state import CompiledStateGraph

from ..core.bus import BusMessage
from ..core.delta import Delta
from ..core.outcome import Reason, Status, StopReason
from ..core.records import ToolCallRecord
from ..core.snapshot import Snapshot
from ..core.state import StateWrite
from ..core.stored import NOTHING, Stored
from ..core.usage import Usage
from .frame import Frame


@dataclass(frozen=True, slots=True)
class Execution:
    """A role's result before the stages after it: typed output, or why there is none.

    `inner` is what flows did that ran inside it, such as a delegation's specialists.
    """

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
    inner: Delta = Delta()


@runtime_checkable
class GraphRole(Protocol):
    """A role with a graph behind it, which stands in the unit's node and is drawn there."""

    graph: CompiledStateGraph[Any, Any, Any, Any]

    def context(self, frame: Frame) -> Any:
        """The graph's runtime context: the Frame for Plait's own, the user's for any other."""

    def enter(self, snapshot: Snapshot) -> dict[str, Any]:
        """The graph's input."""

    def leave(self, values: Mapping[str, Any], snapshot: Snapshot) -> Execution:
        """What the graph's final state says."""
