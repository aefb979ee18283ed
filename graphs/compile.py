"""From a bound flow to LangGraph graphs: one node per part, edges from the flow's own `next`."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph import graph as langgraph

# as in nodes.userconfig; a route that asked for the runtime by name could not be called by `update_state`
from langgraph._internal._constants import CONFIG_KEY_RUNTIME
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..core.bookkeeping import Role
from ..core.errors import DurabilityWarning
from ..nodes.declared import effect_of
from ..nodes.frame import Frame
from ..nodes.journal import KEPT, is_lasting
from ..nodes.route import untraced_in_config
from ..nodes.tools import as_tool
from ..nodes.unit import WorkflowUnit
from .asking import visits
from .binding import Bound
from .channels import FlowState, RootState
from .delegate import delegating
from .delegation import DelegationFlow
from .edits import GOES_ON, FlowGraph, RootGraph
from .flow import END, START, Flow
from .forms import RootOutput, root_input
from .nodes import InnerPlace, Place, part_node
from .region import Region
from .root import ENTER, EXIT, RootPlace
from .runner import Runner
from .runners import flow_runner, region_runner, step_runner, unit_runner
from .step import FunctionStep
from .supersteps import superstep_graph

Graph = CompiledStateGraph[Any, Any, Any, Any]
Route = Callable[..., Awaitable[list[str]]]
NO_RUNTIME: Runtime[Any] = Runtime()
"""What a route gets when `update_state` asks where to go after an edit: no context and no store."""


def compile_root(
    bound: Bound, context_schema: type | None = None, name: str = "workflow", **langgraph_options: Any
) -> Graph:
    """The whole workflow as a graph that takes a task or messages; options go to LangGraph."""
    flow = bound.root
    place = RootPlace(flow, bound)

    async def enter(state: RootState, runtime: Runtime[Any]) -> dict[str, Any]:
        return await place.begin(state, runtime)

    async def leave(state: RootState, runtime: Runtime[Any]) -> dict[str, Any]:
        return await place.finish(state, runtime)

    builder: Any = StateGraph(
        RootState,
        context_schema=context_schema,
        input_schema=root_input(bound.binding.state),
        output_schema=RootOutput,
    )
    builder.add_node(ENTER, enter)
    builder.add_node(EXIT, leave)
    builder.add_edge(langgraph.START, ENTER)
    builder.add_edge(EXIT, langgraph.END)
    runners = _runners(place)
    _add_parts(builder, place, runners, first=ENTER, last=EXIT)
    graph: Graph = builder.compile(name=name, **langgraph_options)
    return RootGraph(place=place, **vars(graph))


def warn_without_journal(bound: Bound, options: Mapping[str, Any]) -> None:
    """Warn when tools with effects that may not happen twice would run without a journal after a crash."""
    if not is_lasting(options.get("checkpointer")) or options.get("store") is not None:
        return
    default = bound.binding.default_effect
    for path, unit in bound.units.items():
        given = () if callable(unit.tools) else unit.tools
        names = [tool.name for tool in map(as_tool, given) if effect_of(tool, default) in KEPT]
        if names:
            told = (
                f"{path}: {', '.join(names)} may happen twice after a crash, since the graph has no store "
                f"for the journal; compile it with store=, or declare the tools' effects with plait.tool"
            )
            warnings.warn(told, DurabilityWarning, stacklevel=3)
            return


def compile_inner(flow: Any, bound: Bound) -> Graph:
    """A nested flow as a graph that takes its Snapshot as context."""
    place = InnerPlace(flow, bound)
    return _inner_graph(place, _runners(place))


def _inner_graph(place: InnerPlace, runners: Mapping[str, Runner]) -> Graph:
    builder: Any = StateGraph(FlowState, context_schema=Frame)
    _add_parts(builder, place, runners, first=langgraph.START, last=langgraph.END)
    graph: Graph = builder.compile(name=place.flow.id or place.flow.type)
    return FlowGraph(place=place, **vars(graph))


def _add_parts(builder: Any, place: Place, runners: Mapping[str, Runner], *, first: str, last: str) -> None:
    for key, runner in runners.items():
        builder.add_node(key, part_node(key, runner, place))
    named = {START: first, END: last}
    for source in (START, *place.flow.parts):
        found = [named.get(e.target, e.target) for e in place.flow.edges if e.source == source]
        ways = Ways({target: target for target in found})
        route = untraced_in_config(_route(place, last))
        builder.add_conditional_edges(named.get(source, source), route, ways)


class Ways(dict[str, str]):
    """The edges that are drawn from a part. A resumed flow may go anywhere: to the part that failed."""

    def __missing__(self, key: str) -> str:
        return key

    def copy(self) -> Ways:
        """LangGraph keeps a copy, which has to stay one of these."""
        return Ways(self)


def _runners(place: Place) -> dict[str, Runner]:
    """How each part of a flow is run; the members of a delegation know each other's."""
    flow = place.flow
    runners: dict[str, Runner] = {}
    for key, part in flow.parts.items():
        is_delegating = isinstance(flow, DelegationFlow) and bool(flow.delegates_of(key))
        made = delegating(flow, key, runners) if is_delegating else part
        runners[key] = replace(_runner(key, made, place), role=_role_of(flow, key))
    return runners


def _role_of(flow: Any, key: str) -> Role | None:
    """What a part is to its flow; a flow of the user's own need not say."""
    return flow.role_of(key) if isinstance(flow, Flow) else None


def _runner(key: str, part: Any, place: Place) -> Runner:
    if isinstance(part, WorkflowUnit):
        role = place.bound.binding.role(part, place.flow.reading(key))
        return unit_runner(part, role, place.bound)
    if isinstance(part, FunctionStep):
        return step_runner(part, place.bound)
    if isinstance(part, Region):
        inner = InnerPlace(part, place.bound)
        runners = _runners(inner)
        return region_runner(part, runners, superstep_graph(part, inner, runners), place.bound)
    return flow_runner(part, compile_inner(part, place.bound), place.bound)


def _route(place: Place, last: str) -> Route:
    async def route(state: dict[str, Any], config: RunnableConfig) -> list[str]:
        if (state.get("turn") or {}).get("fault"):
            return [last]
        if (told := config.get("configurable", {}).get(GOES_ON)) is not None and "turn" not in state:
            return list(told) or [last]
        frame = await place.frame(state, config.get("configurable", {}).get(CONFIG_KEY_RUNTIME) or NO_RUNTIME)
        return [visit.key for visit in visits(place.flow, frame.snapshot)] or [last]

    return route
