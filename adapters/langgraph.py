"""Any compiled LangGraph graph or agent as a role: its checkpoints, interrupts and streams stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from langgraph.graph.state import CompiledStateGraph

from ..core.codec import registry_of
from ..core.roles import Effect, RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..core.stored import Stored
from ..nodes.callrecords import call_records
from ..nodes.execution import Execution
from ..nodes.frame import Frame
from ..nodes.history import history_faults, message_text
from ..nodes.labels import Labels
from ..nodes.outputs import typed
from ..nodes.request import numbered
from ..nodes.schema import OutputSchema, output_schema
from ..nodes.unit import WorkflowUnit
from .prompts import asked

T = TypeVar("T")
Graph = CompiledStateGraph[Any, Any, Any, Any]
Enter = Callable[[Snapshot], Any]
Leave = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class LangGraphRole:
    """A graph run in the unit's node, below its checkpoint namespace, with the user's context."""

    unit: WorkflowUnit[Any]
    graph: Graph
    enter_with: Enter | None = None
    leave_with: Leave | None = None
    labels: Labels | None = None
    effect: Effect = "flow"

    @cached_property
    def schema(self) -> OutputSchema[Any]:
        return output_schema(self.unit.output)

    def context(self, frame: Frame) -> Any:
        return frame.snapshot.context

    def enter(self, snapshot: Snapshot) -> Any:
        if self.enter_with is not None:
            return self.enter_with(snapshot)
        return {"messages": numbered(asked(self.unit, snapshot), (), snapshot)}

    def leave(self, values: Mapping[str, Any], snapshot: Snapshot) -> Execution:
        """Raises RunError with reason `invalid-resolve` when the graph's result is no output."""
        found = self.leave_with(values) if self.leave_with else _found(values)
        output = typed(self.schema, found, self.labels)
        said = _said(values, snapshot)
        return Execution(
            stored=Stored.of(output, f"output of {snapshot.path}", registry_of(self.unit.output)),
            text=message_text(said[-1]) if said else output if isinstance(output, str) else "",
            tool_calls=call_records(said, snapshot),
            transcript=() if history_faults(said) else tuple(said),
        )

    async def __call__(self, context: ThreadContext) -> Any:
        """Run the graph alone, outside a flow. Raises RunError when its result does not fit."""
        snapshot = context.snapshot
        values = await self.graph.ainvoke(self.enter(snapshot), context=snapshot.context)
        return self.leave(values, snapshot).stored.value


@dataclass(frozen=True)
class LangGraphAdapter:
    """Made by `langgraph_adapter`."""

    graph: Graph
    enter: Enter | None
    leave: Leave | None

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> LangGraphRole:
        return LangGraphRole(unit, self.graph, self.enter, self.leave, labels)


def langgraph_adapter(
    graph: Graph, *, enter: Enter | None = None, leave: Leave | None = None
) -> LangGraphAdapter:
    """Execute roles by running `graph`, drawn and checkpointed inside the unit's node.

    `enter` makes its input of the Snapshot (default: the prompt and the task as `messages`),
    `leave` picks the result from its final state (default: `structured_response`, `output`, or
    the text of the last message), which must fit the unit's output type. The final `messages` are
    the unit's transcript.
    """
    return LangGraphAdapter(graph, enter, leave)


def _found(values: Any) -> Any:
    """Where agents put their result: `structured_response`, `output`, or the last message."""
    if not isinstance(values, Mapping):
        return values
    for key in ("structured_response", "output"):
        if values.get(key) is not None:
            return values[key]
    messages = values.get("messages", ())
    return message_text(messages[-1]) if messages else ""


def _said(values: Any, snapshot: Snapshot) -> Sequence[BaseMessage]:
    """The unit's own messages in the final state: what each pass is told anew is left out."""
    held = values.get("messages", ()) if isinstance(values, Mapping) else ()
    earlier = {message.id for message in snapshot.messages}
    own = (message for message in held if isinstance(message, BaseMessage) and message.type != "system")
    return [message for message in own if message.id not in earlier]
