"""Any compiled LangGraph graph or agent as a role: its checkpoints, interrupts and streams stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.graph.state import CompiledStateGraph

from ..core.codec import registry_of
from ..core.roles import Effect, RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..core.stored import Stored
from ..nodes.execution import Execution
from ..nodes.frame import Frame
from ..nodes.history import message_text
from ..nodes.labels import Labels
from ..nodes.request import numbered, opening
from ..nodes.schema import OutputSchema, output_schema
from ..nodes.unit import WorkflowUnit
from .outputs import typed
from .prompts import told

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
    effect: Effect = "flow"

    @cached_property
    def schema(self) -> OutputSchema[Any]:
        return output_schema(self.unit.output)

    def context(self, frame: Frame) -> Any:
        return frame.snapshot.context

    def enter(self, snapshot: Snapshot) -> Any:
        if self.enter_with is not None:
            return self.enter_with(snapshot)
        prompt = told(self.unit.prompt, snapshot)
        system: list[BaseMessage] = [SystemMessage(prompt)] if prompt else []
        return {"messages": numbered([*system, *opening(self.unit, snapshot)], (), snapshot)}

    def leave(self, values: Mapping[str, Any], snapshot: Snapshot) -> Execution:
        found = self.leave_with(values) if self.leave_with else self._found(values)
        output = typed(self.schema, found)
        stored = Stored.of(output, f"output of {snapshot.path}", registry_of(self.unit.output))
        messages = values.get("messages", ()) if isinstance(values, Mapping) else ()
        return Execution(stored=stored, text=_last_text(messages))

    async def __call__(self, context: ThreadContext) -> Any:
        """Run the graph alone, outside a flow. Raises RunError when its result does not fit."""
        snapshot = context.snapshot
        values = await self.graph.ainvoke(self.enter(snapshot), context=snapshot.context)
        return self.leave(values, snapshot).stored.value

    def _found(self, values: Mapping[str, Any]) -> Any:
        """Where agents put their result: `structured_response`, `output`, or the last message."""
        for key in ("structured_response", "output"):
            if values.get(key) is not None:
                return values[key]
        return _last_text(values.get("messages", ()))


@dataclass(frozen=True)
class LangGraphAdapter:
    """Made by `langgraph_adapter`."""

    graph: Graph
    enter: Enter | None
    leave: Leave | None

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> LangGraphRole:
        return LangGraphRole(unit, self.graph, self.enter, self.leave)


def langgraph_adapter(
    graph: Graph, *, enter: Enter | None = None, leave: Leave | None = None
) -> LangGraphAdapter:
    """Execute roles by running `graph`, drawn and checkpointed inside the unit's node.

    `enter` makes its input of the Snapshot (default: the prompt and the task as `messages`),
    `leave` picks the result from its final state (default: `structured_response`, `output`, or
    the text of the last message), which must fit the unit's output type.
    """
    return LangGraphAdapter(graph, enter, leave)


def _last_text(messages: Any) -> str:
    return message_text(messages[-1]) if messages else ""
