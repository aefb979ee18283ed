"""How each kind of part is run: from a Frame to the Delta of what it did."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

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
from .channels import delta_from
from .flow import Visit
from .step import FunctionStep

Graph = CompiledStateGraph[Any, Any, Any, Any]
RunPart = Callable[[Frame, Runtime[Any], Graph | None], Awaitable[Delta]]


@dataclass(frozen=True)
class Runner:
    """One part of a flow, how it is run, and the graph behind it if there is one."""

    part: Any
    run: RunPart
    graph: Graph | None = None

    async def visit(self, visit: Visit, frame: Frame, runtime: Runtime[Any], graph: Graph | None) -> Delta:
        """Run the part as `visit` says, or record why it was left out.

        `frame` is the flow's. `graph` is `self.graph`, which the caller names so that LangGraph
        sees it in the node.
        """
        snapshot = frame.snapshot.at(visit.path, visit.inputs)
        here = frame.at(snapshot if visit.task is None else replace(snapshot, task=visit.task))
        if visit.blocked is not None or not await _wanted(self.part, here, runtime):
            return Delta((_skipped(self.part, visit),))
        delta = await self.run(here.at(here.snapshot, _meter(self.part, here)), runtime, graph)
        frame.run.resumed = False
        for message in visit.messages:
            frame.run.publish(message)
        return Delta(bus=visit.messages).then(delta) if visit.messages else delta


def _skipped(part: Any, visit: Visit) -> StepRecord:
    kind = "unit" if isinstance(part, WorkflowUnit) else "step" if isinstance(part, FunctionStep) else "flow"
    metadata = {} if visit.blocked is None else {"blocked": True}
    name = str(getattr(part, "id", None) or visit.key)
    return StepRecord(visit.path, name, kind, "skipped", message=visit.blocked or "", metadata=metadata)  # type: ignore[arg-type]


async def _wanted(part: Any, frame: Frame, runtime: Runtime[Any]) -> bool:
    if part.when is None:
        return True
    config = user_config(get_config(), runtime, frame.snapshot.context)
    return bool(await in_config(config, part.when, frame.snapshot))


def _meter(part: Any, frame: Frame) -> Meter:
    limits = getattr(part, "limits", None)
    if limits is None:
        return frame.meter
    return Meter(limits, path=frame.snapshot.path, parent=frame.meter)


def unit_runner(unit: WorkflowUnit[Any], role: Any, bound: Bound) -> Runner:
    """A unit: the pipeline around its role, which runs in the node that shows its graph."""

    async def run(frame: Frame, runtime: Runtime[Any], graph: Graph | None) -> Delta:
        async def execute(frame: Frame) -> Execution:
            if graph is not None:
                return await execute_graph(unit, role, graph, frame)
            return await execute_function(unit, role, frame, runtime)

        definition = bound.hashes.get(memory_key(frame.snapshot.path), "")
        return await run_unit(Run(unit, execute, definition, runtime.store), frame)

    return Runner(unit, run, role.graph if isinstance(role, GraphRole) else None)


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
            definition=bound.hashes.get(memory_key(snapshot.path), ""),
        )
        config = user_config(get_config(), runtime, snapshot.context)
        try:
            record = _returned(record, await in_config(config, part.function, snapshot), bound)
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
        values = await graph.ainvoke({"steps": []}, context=frame)
        return left(part, delta_from(values, bound.schema.types), frame.snapshot)

    return Runner(part, run, graph)


def left(part: Any, inner: Delta, before: Snapshot) -> Delta:
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
