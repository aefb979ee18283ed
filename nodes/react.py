"""The ReAct loop: `think -> act -> think ...` in a graph of its own, ended by `resolve`.

`ReactRole` is a unit bound to a model. Its decisions are in `decide`, its effects in `think` and
`act`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..core.bus import message_from_plain
from ..core.codec import decode, registry_of
from ..core.delta import Delta, compose
from ..core.errors import RunError
from ..core.plain import delta_from
from ..core.roles import Effect, ThreadContext
from ..core.snapshot import Snapshot
from ..core.state import StateWrite
from ..core.stored import NOTHING, Stored, Types
from .act import act
from .callrecords import call_records, without_notes
from .execution import Execution
from .frame import Frame, RunScope
from .labels import Labels
from .meter import Meter
from .model import ModelCall
from .request import numbered, opening
from .route import untraced
from .schema import OutputSchema, output_schema
from .think import think
from .tools import RESOLVE, Toolset, resolve_schema, toolset
from .unit import WorkflowUnit
from .unitstate import Counters, Ending, UnitProgress, UnitState
from .usercode import called

Offer = Literal["tools", "json_schema", "nothing"]
"""How the output is asked for: as the `resolve` tool, as the reply's format, or by the prompt."""


@dataclass(frozen=True)
class ReactRole:
    """A unit bound to a model: `.graph` is its compiled graph, and calling it runs it alone.

    `labels` is set for a router, whose label may be written in many ways; `offer` says how the
    output is asked for where the model cannot call tools.
    """

    unit: WorkflowUnit[Any]
    model: Any
    labels: Labels | None = None
    offer: Offer = "tools"

    @property
    def effect(self) -> Effect:
        return "flow"

    @cached_property
    def schema(self) -> OutputSchema[Any]:
        return output_schema(self.unit.output)

    @cached_property
    def types(self) -> Types:
        return registry_of(
            *(output for output in (self.unit.output, self.unit.salvage) if output is not None)
        )

    @cached_property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        async def think_node(
            state: UnitState, runtime: Runtime[Frame], config: RunnableConfig
        ) -> dict[str, Any]:
            return await think(self, state, runtime.context, config, runtime.store)

        async def act_node(
            state: UnitState, runtime: Runtime[Frame], config: RunnableConfig
        ) -> dict[str, Any]:
            return await act(self, state, runtime)

        builder: Any = StateGraph(UnitState, context_schema=Frame)
        builder.add_node("think", think_node)
        builder.add_node("act", act_node, metadata=self._drawn)
        builder.add_edge(START, "think")
        builder.add_conditional_edges("think", untraced(_next), {"think": "think", "act": "act", "end": END})
        builder.add_conditional_edges("act", untraced(_next), {"think": "think", "end": END})
        graph: CompiledStateGraph[Any, Any, Any, Any] = builder.compile(name=self.unit.id)
        return graph

    def tools(self, snapshot: Snapshot) -> Toolset:
        """The unit's tools; the same for every request of one run of the unit."""
        given = self.unit.tools
        if not callable(given):
            return self._static_tools
        return self._toolset(tuple(called("tools=", given, snapshot)))

    def call(
        self, tools: Toolset, tool_choice: str | None, snapshot: Snapshot, *, bare: bool = False
    ) -> ModelCall:
        """The model with `tools` bound; `bare` offers none."""
        key = self.schema.wrap_key if self.schema.wrapped else None
        model = self._model(snapshot)
        if self.offer == "json_schema":
            return ModelCall(model.bind(response_format=self._response_format), self.unit.retry)
        if bare or not tools.schemas:
            return ModelCall(model, self.unit.retry, key)
        return ModelCall(self._bound(model, tools, tool_choice), self.unit.retry, key)

    def _model(self, snapshot: Snapshot) -> Any:
        """The unit's model; a function chooses one by the Snapshot, as from the run's context."""
        is_chosen = callable(self.model) and not hasattr(self.model, "ainvoke")
        return called("model=", self.model, snapshot) if is_chosen else self.model

    def context(self, frame: Frame) -> Frame:
        return frame

    def enter(self, snapshot: Snapshot) -> dict[str, Any]:
        """The transcript to start with; a unit taken up again also has the writes it had made."""
        messages = numbered(opening(self.unit, snapshot), (), snapshot)
        attempts = snapshot.attempts(snapshot.path)
        held = attempts[-1].metadata.get("held", ()) if attempts and attempts[-1].status == "rewound" else ()
        begun = {"progress": {"place": snapshot.path}, "messages": messages}
        return {**begun, **({"writes": list(held)} if held else {})}

    def leave(self, values: Mapping[str, Any], snapshot: Snapshot) -> Execution:
        ending, types = Ending(**values["ending"]), snapshot.schema.types
        counters = Counters.from_plain(values.get("progress"))
        messages: list[BaseMessage] = values.get("messages", [])
        stored = (
            Stored(ending.value, f"output of {snapshot.path}", self.types) if ending.has_value else NOTHING
        )
        return Execution(
            status=ending.status,
            reason=ending.reason,
            message=ending.message,
            stored=stored,
            text=ending.text,
            stop_reason=ending.stop_reason,
            usage=counters.usage,
            tool_calls=call_records(messages, snapshot, self.tools(snapshot).given_names),
            writes=tuple(StateWrite(**write) for write in values.get("writes", ())),
            bus=tuple(message_from_plain(decode(message, "bus")) for message in values.get("bus", ())),
            transcript=without_notes(messages),
            inner=reduce(compose, (delta_from(done, types) for done in values.get("inner", ())), Delta()),
        )

    async def __call__(self, context: ThreadContext) -> Any:
        """Run the unit alone, outside a flow. Returns its output; raises RunError when it fails."""
        frame = Frame(context.snapshot, Meter(self.unit.limits), RunScope())
        values = await self.graph.ainvoke(self.enter(context.snapshot), context=frame)
        execution = self.leave(values, context.snapshot)
        if execution.status == "failed":
            raise RunError(execution.message, path=self.unit.id, reason=execution.reason or "error")
        return execution.stored.value

    @cached_property
    def _drawn(self) -> dict[str, str] | None:
        """What LangGraph's drawing shows with the node that runs the tools."""
        names = () if callable(self.unit.tools) else self._static_tools.names
        told = ", ".join(name for name in names if name != RESOLVE)
        return {"plait_tools": told} if told else None

    @cached_property
    def _static_tools(self) -> Toolset:
        given = self.unit.tools
        return self._toolset(() if callable(given) else tuple(given))

    def _bound(self, model: Any, tools: Toolset, tool_choice: str | None) -> Any:
        """The model with its tools: bound once, unless a function gives the model or the tools."""
        is_static = tools is self._static_tools and model is self.model
        if is_static and tool_choice in self._bound_models:
            return self._bound_models[tool_choice]
        forced = {"tool_choice": tool_choice} if tool_choice else {}
        bound = model.bind_tools(list(tools.schemas), **forced)
        if is_static:
            self._bound_models[tool_choice] = bound
        return bound

    @cached_property
    def _bound_models(self) -> dict[str | None, Any]:
        return {}

    @cached_property
    def _response_format(self) -> dict[str, Any]:
        schema = {"name": RESOLVE, "schema": self.schema.parameters()}
        return {"type": "json_schema", "json_schema": schema}

    def _toolset(self, tools: tuple[Any, ...]) -> Toolset:
        resolves = self.offer == "tools" and self.unit.answer != "text"
        offered = resolve_schema(self.schema.parameters()) if resolves else None
        return toolset(self.unit.id, tools, offered)


async def _next(state: UnitProgress) -> str:
    next_node: str = (state.get("progress") or {}).get("next", "think")
    return next_node
