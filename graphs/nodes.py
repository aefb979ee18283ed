"""From parts of a flow to node functions: enter the part, run it, leave with a Delta."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..core.control import Finish, Skip
from ..core.delta import Delta
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.paths import memory_key
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..core.stored import NOTHING, Stored
from ..nodes.execution import Execution, GraphRole
from ..nodes.executor import execute_function, execute_graph
from ..nodes.frame import Frame
from ..nodes.meter import Meter
from ..nodes.pipeline import Run, run_unit
from ..nodes.unit import WorkflowUnit
from ..nodes.userconfig import in_config, user_config
from .binding import Bound
from .channels import delta_from, update_from
from .flow import Visit
from .router import RouterFlow
from .step import FunctionStep

NodeFunction = Callable[..., Awaitable[dict[str, Any]]]
RunPart = Callable[[Frame, Runtime[Any]], Awaitable[Delta]]


class Place(Protocol):
    """Where a flow's nodes stand: at the root of a run or below it."""

    @property
    def flow(self) -> Any:
        """The flow whose parts the nodes are."""

    @property
    def bound(self) -> Bound:
        """The whole definition with its binding."""

    async def frame(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Frame:
        """What the flow's parts may read now."""

    def update(self, delta: Delta, state: Mapping[str, Any]) -> dict[str, Any]:
        """A Delta as the update of the flow's channels."""


async def visited(
    key: str, place: Place, state: Mapping[str, Any], runtime: Runtime[Any], run: RunPart
) -> dict[str, Any]:
    """Run the part `key` of a flow, or record that its condition left it out."""
    frame = await place.frame(state, runtime)
    visit = _visit(key, place, frame.snapshot)
    part = place.flow.parts[key]
    here = frame.at(frame.snapshot.at(visit.path, visit.inputs))
    if not await _wanted(part, here, runtime):
        skipped = StepRecord(visit.path, str(getattr(part, "id", None) or key), _kind(part), "skipped")
        return place.update(Delta((skipped,)), state)
    meter = _meter(part, here)
    delta = await run(replace(here, meter=meter), runtime)
    frame.run.resumed = False
    return place.update(delta, state)


def _visit(key: str, place: Place, snapshot: Snapshot) -> Visit:
    found: Visit | None = next((visit for visit in place.flow.next(snapshot) if visit.key == key), None)
    if found is None:
        raise PlaitError(
            f"{snapshot.path or 'the workflow'}: {key!r} is not what runs next, so it cannot be run here"
        )
    return found


async def _wanted(part: Any, frame: Frame, runtime: Runtime[Any]) -> bool:
    if part.when is None:
        return True
    config = user_config(get_config(), runtime, frame.snapshot.context)
    return bool(await in_config(config, part.when, frame.snapshot))


def _kind(part: Any) -> Any:
    return "unit" if isinstance(part, WorkflowUnit) else "step" if isinstance(part, FunctionStep) else "flow"


def _meter(part: Any, frame: Frame) -> Meter:
    limits = getattr(part, "limits", None)
    if limits is None:
        return frame.meter
    return Meter(limits, path=frame.snapshot.path, parent=frame.meter)


def unit_node(key: str, unit: WorkflowUnit[Any], place: Place) -> NodeFunction:
    """The node of a unit, with its role's graph in plain sight of LangGraph."""
    labels = (
        place.flow.labels if isinstance(place.flow, RouterFlow) and key == place.flow.router_key else None
    )
    role = place.bound.binding.role(unit, labels)
    hashes = place.bound.hashes

    def unit_run(frame: Frame, runtime: Runtime[Any], execute: Any) -> Awaitable[Delta]:
        definition = hashes.get(memory_key(frame.snapshot.path), "")
        return run_unit(Run(unit, execute, definition, runtime.store), frame)

    if isinstance(role, GraphRole):
        graph = role.graph

        async def node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
            async def execute(frame: Frame) -> Execution:
                return await execute_graph(unit, role, graph, frame)

            return await visited(key, place, state, runtime, lambda f, r: unit_run(f, r, execute))

        return node

    async def plain_node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        async def execute(frame: Frame) -> Execution:
            return await execute_function(unit, role, frame, runtime)

        return await visited(key, place, state, runtime, lambda f, r: unit_run(f, r, execute))

    return plain_node


def step_node(key: str, part: FunctionStep, place: Place) -> NodeFunction:
    """The node of a function step."""

    async def run(frame: Frame, runtime: Runtime[Any]) -> Delta:
        started, snapshot = time.time(), frame.snapshot
        record = StepRecord(
            snapshot.path,
            part.id,
            "step",
            started_at=started,
            attempt=len(snapshot.attempts(snapshot.path)) + 1,
            definition=place.bound.hashes.get(memory_key(snapshot.path), ""),
        )
        try:
            value = await in_config(
                user_config(get_config(), runtime, snapshot.context), part.function, snapshot
            )
            record = _returned(record, value, place)
        except (GraphBubbleUp, RunError):
            raise
        except ValueRefused as error:
            record = replace(record, status="failed", reason="refused-value", message=str(error))
        except PlaitError:
            raise
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            record = replace(record, status="failed", reason="error", message=told)
        return Delta((replace(record, duration_s=time.time() - started),))

    async def node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        return await visited(key, place, state, runtime, run)

    return node


def _returned(record: StepRecord, value: Any, place: Place) -> StepRecord:
    if isinstance(value, Skip):
        return replace(record, status="skipped", message=value.why)
    ends = isinstance(value, Finish)
    output = value.output if isinstance(value, Finish) else value
    return replace(
        record, stored=Stored.of(output, f"output of {record.path}", place.bound.schema.types), ends=ends
    )


def flow_node(
    key: str, part: Any, place: Place, graph: CompiledStateGraph[Any, Any, Any, Any]
) -> NodeFunction:
    """The node of a nested flow: its graph starts empty, with the Snapshot as its context."""
    types = place.bound.schema.types

    async def node(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        async def run(frame: Frame, _: Runtime[Any]) -> Delta:
            values = await graph.ainvoke({"steps": []}, context=frame)
            return _left(part, delta_from(values, types), frame.snapshot)

        return await visited(key, place, state, runtime, run)

    return node


def _left(part: Any, inner: Delta, before: Snapshot) -> Delta:
    """What a nested flow did, with the record of the flow itself."""
    end = part.end(before.apply(inner))
    metadata = {"failed_at": end.path} if end.path else {}
    if end.accepted is not None:
        metadata["accepted"] = end.accepted
    absorbs = part.type == "loop"
    record = StepRecord(
        before.path,
        str(part.id or part.type),
        "flow",
        end.status,
        end.reason,
        end.message,
        end.stored if end.stored is not None else NOTHING,
        end.text,
        ends=end.ends and not absorbs,
        attempt=len(before.attempts(before.path)) + 1,
        metadata=metadata,
    )
    return inner.then(Delta((record,)))


@dataclass(frozen=True)
class InnerPlace:
    """A flow below the root: what it may read comes as a Frame, what it did stays in its channels."""

    flow: Any
    bound: Bound

    async def frame(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Frame:
        given: Frame = runtime.context
        done = delta_from(state, self.bound.schema.types)
        for record in done.steps:
            given.meter.report(record.path, record.usage)  # in place of what it reported while it ran
        return given.at(given.snapshot.apply(done))

    def update(self, delta: Delta, state: Mapping[str, Any]) -> dict[str, Any]:
        return update_from(delta)
