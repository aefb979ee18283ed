"""How each kind of part is run: from a Frame to the Delta of what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from ..core.control import Finish, Skip
from ..core.delta import Delta
from ..core.errors import PlaitError, RunError, StateConflict, ValueRefused
from ..core.plain import delta_from
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..core.stored import NOTHING, Stored
from ..nodes.breakpoints import breakpoints
from ..nodes.content import clean_text
from ..nodes.execution import Execution, GraphRole
from ..nodes.executor import execute_function, execute_graph
from ..nodes.frame import Frame
from ..nodes.loop import can_loop, run_loop
from ..nodes.meter import TimeIsUp, in_time
from ..nodes.pipeline import Run, run_unit
from ..nodes.react import ReactRole
from ..nodes.slots import Lease
from ..nodes.unit import WorkflowUnit
from ..nodes.userconfig import in_config, user_config
from .asking import ending
from .binding import Bound
from .flow import FlowEnd
from .order import check_conflicts, in_order
from .region import Region
from .runner import Graph, Runner
from .schedule import Schedule
from .step import FunctionStep


def unit_runner(unit: WorkflowUnit[Any], role: Any, bound: Bound) -> Runner:
    """A unit: the pipeline around its role, which runs in the node that shows its graph."""
    loop = role if bound.binding.granularity == "unit" and isinstance(role, ReactRole) else None

    async def run(frame: Frame, runtime: Runtime[Any], graph: Graph | None) -> Delta:
        async def execute(frame: Frame) -> Execution:
            if loop is not None and can_loop(frame, runtime):
                return loop.leave(await run_loop(loop, frame, runtime), frame.snapshot)
            if graph is not None:
                return await execute_graph(unit, role, graph, frame, runtime)
            return await execute_function(unit, role, frame, runtime)

        definition = bound.definition_of(unit, frame.snapshot.path)
        return await run_unit(Run(unit, execute, definition, runtime.store), frame)

    graph = role.graph if isinstance(role, GraphRole) else None
    return Runner(unit, run, graph, in_place=loop is not None)


def step_runner(part: FunctionStep, bound: Bound) -> Runner:
    """A function step: what it returns is its output, what it raises its failure."""

    async def run(frame: Frame, runtime: Runtime[Any], _: Graph | None) -> Delta:
        started, snapshot = time.time(), frame.snapshot
        record = StepRecord(
            snapshot.path,
            part.id,
            "step",
            started_at=started,
            attempt=len(snapshot.attempts(snapshot.path)) + 1,
            definition=bound.definition_of(part, snapshot.path),
        )
        config = user_config(get_config(), runtime, snapshot.context)
        try:
            async with Lease(frame.slots):
                with frame.run.threads.calling(snapshot.path, part.id):
                    value = await in_time(frame.meter, lambda: in_config(config, part.function, snapshot))
            record = _returned(record, value, bound)
        except (GraphBubbleUp, RunError):
            raise
        except ValueRefused as error:
            record = replace(record, status="failed", reason="refused-value", message=str(error))
        except PlaitError:
            raise
        except TimeIsUp as error:
            record = replace(record, status="failed", reason="limit", message=str(error))
        except Exception as error:
            told = clean_text(f"{type(error).__name__}: {error}")[0]
            record = replace(record, status="failed", reason="error", message=told)
        return Delta((replace(record, duration_s=time.time() - started),))

    return Runner(part, run)


def _returned(record: StepRecord, value: Any, bound: Bound) -> StepRecord:
    if isinstance(value, Skip):
        return replace(record, status="skipped", message=value.why)
    ends = isinstance(value, Finish)
    output = value.output if isinstance(value, Finish) else value
    stored = Stored.of(output, f"output of {record.path}", bound.schema.types)
    return replace(record, stored=stored, ends=ends)


def flow_runner(part: Any, graph: Graph, bound: Bound) -> Runner:
    """A nested flow run by LangGraph: its graph starts empty, with the Snapshot as its context."""

    async def run(frame: Frame, _: Runtime[Any], graph: Graph | None) -> Delta:
        assert graph is not None
        deeper = replace(frame.snapshot, depth=getattr(part, "depth", frame.snapshot.depth), chain=())
        values = await graph.ainvoke({"steps": []}, context=frame.at(deeper).below, **breakpoints())
        return left(part, delta_from(values, bound.schema.types), frame.snapshot)

    return Runner(part, run, graph)


def region_runner(part: Region, runners: Mapping[str, Runner], graph: Graph, bound: Bound) -> Runner:
    """A region: scheduled eagerly, or left to LangGraph's supersteps over its graph of real edges.

    The graph is there in both cases, so that the region is drawn and its paused steps are found.
    """
    types = bound.schema.types

    async def run(frame: Frame, runtime: Runtime[Any], graph: Graph | None) -> Delta:
        frame = frame.with_slots(part.max_concurrency)
        if (part.scheduling or bound.binding.scheduling) == "superstep" and graph is not None:
            values = await graph.ainvoke({"steps": []}, context=frame.below, **breakpoints())
            inner = delta_from(values, types)
            inner = in_order(inner, part.plan(frame.snapshot.apply(inner)))
        else:
            inner = await Schedule(part, runners, frame, runtime, types).run()
        return _checked(part, inner, frame.snapshot, bound)

    return Runner(part, run, graph)


def _checked(part: Region, inner: Delta, before: Snapshot, bound: Bound) -> Delta:
    plan = part.plan(before.apply(inner))
    try:
        check_conflicts(plan, inner.writes, bound.schema)
    except StateConflict as error:
        end = FlowEnd("failed", "state-conflict", str(error), before.path)
        return left(part, replace(inner, writes=()), before, end)
    return left(part, inner, before)


def left(part: Any, inner: Delta, before: Snapshot, end: FlowEnd | None = None) -> Delta:
    """What a nested flow did, with the record of the flow itself."""
    end = end or ending(part, before.apply(inner))
    metadata: dict[str, Any] = {"failed_at": end.path} if end.path else {}
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
