"""A region as a graph that LangGraph itself runs, superstep by superstep.

Where the steps and what they need are known beforehand, the edges are those needs, and a step that
needs several waits for all of them. Where a plan is made at run time, a node between the rounds
sends what is ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph import graph as langgraph
from langgraph.channels.named_barrier_value import NamedBarrierValue
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ..core.delta import Delta
from ..core.plain import delta_from
from ..core.snapshot import Snapshot
from ..nodes.frame import Frame
from .channels import FlowState
from .eager import READY, RegionGraph
from .flow import Visit
from .nodes import InnerPlace
from .order import Ancestors, Owners, in_order
from .region import Planned, Region, visit_of
from .runner import Graph, Runner


def superstep_graph(region: Region, place: InnerPlace, runners: Mapping[str, Runner]) -> Graph:
    """The region's graph. It is drawn, and run when the scheduling is `superstep`."""
    builder: Any = StateGraph(FlowState, context_schema=Frame)
    for key, runner in runners.items():
        builder.add_node(key, _step_node(region, key, runner, place))
    if region.needs is None:
        _join_by_sending(builder, region, place)
    else:
        _join_by_edges(builder, region.needs)
    graph: Graph = builder.compile(name=region.id or region.type)
    channels = {name: _join(channel) for name, channel in graph.channels.items()}
    return RegionGraph(place=place, **{**vars(graph), "channels": channels})


class Join(NamedBarrierValue[str]):
    """A step waits at it for all that it needs. LangGraph's server reads what has come as a list."""

    def from_checkpoint(self, checkpoint: Any) -> Join:
        return super().from_checkpoint(set(checkpoint) if isinstance(checkpoint, list) else checkpoint)


def _join(channel: Any) -> Any:
    return Join(str, channel.names) if isinstance(channel, NamedBarrierValue) else channel


def _join_by_edges(builder: Any, needs: Mapping[str, tuple[str, ...]]) -> None:
    for key, needed in needs.items():
        builder.add_edge(list(needed) if len(needed) > 1 else needed[0] if needed else langgraph.START, key)
    for key in needs.keys() - {need for needed in needs.values() for need in needed}:
        builder.add_edge(key, langgraph.END)


def _join_by_sending(builder: Any, region: Region, place: InnerPlace) -> None:
    async def ready(state: FlowState, runtime: Runtime[Any]) -> dict[str, Any]:
        opened = region.opening((await place.frame(state, runtime)).snapshot)
        return {} if opened is None else place.update(Delta((opened,)), state)

    async def send(state: FlowState, runtime: Runtime[Any]) -> list[Any]:
        frame = await place.frame(state, runtime)
        visits = region.next(frame.snapshot)
        return [Send(visit.key, {**state, "visit": visit.path}) for visit in visits] or [langgraph.END]

    builder.add_node(READY, ready)
    builder.add_edge(langgraph.START, READY)
    builder.add_conditional_edges(READY, send, [*region.parts, langgraph.END])
    for key in region.parts:
        builder.add_edge(key, READY)


def _step_node(
    region: Region, key: str, runner: Runner, place: InnerPlace
) -> Callable[..., Awaitable[dict[str, Any]]]:
    graph = runner.graph

    async def node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        given: Frame = runtime.context
        done = delta_from(state, place.bound.schema.types)
        found = _found(region, key, state.get("visit"), given.snapshot.apply(done))
        if found is None:
            return {}
        visit, step, plan = found
        own = {step.path}  # what had finished inside of it, where an edit made it begin anew
        seen = only(done, Ancestors(plan)[step.path] | own, plan)
        frame = given.at(given.snapshot.apply(seen))
        return place.update(await runner.visit(visit, frame, runtime, graph), state)

    return node


def _found(
    region: Region, key: str, path: str | None, snapshot: Snapshot
) -> tuple[Visit, Planned, tuple[Planned, ...]] | None:
    """The visit of a node, or None when it has run before or the region has been stopped."""
    if region.is_stopped(snapshot):
        return None
    plan = region.plan(snapshot)
    wanted = (step for step in plan if step.key == key and path in (None, step.path))
    step = next((step for step in wanted if snapshot.record(step.path) is None), None)
    return None if step is None else (visit_of(step, snapshot), step, plan)


def only(done: Delta, wanted: frozenset[str], plan: tuple[Planned, ...]) -> Delta:
    """The part of `done` that the steps at the paths `wanted` did; what they may not see is left out."""
    owners = Owners(plan)

    def is_seen(path: str) -> bool:
        owner = owners.of(path)
        return owner is None or owner in wanted

    ordered = in_order(done, plan)
    return Delta(
        steps=tuple(record for record in ordered.steps if is_seen(record.path)),
        writes=tuple(write for write in ordered.writes if is_seen(write.path)),
        transcripts=done.transcripts,
        delivered=done.delivered,
    )
