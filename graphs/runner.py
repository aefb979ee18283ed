"""Runner: one part of a flow and how it is run, from a Frame to the Delta of what it did."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphDrained
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..core.bookkeeping import ROLE, Role
from ..core.bus import Broadcast, BusMessage
from ..core.delta import Delta
from ..core.errors import RunError
from ..core.outcome import Status
from ..core.records import Kind, StepRecord
from ..nodes.asking import Asker, asking
from ..nodes.frame import Frame
from ..nodes.meter import Meter, TimeIsUp, in_time
from ..nodes.request import shown
from ..nodes.tasks import call_task
from ..nodes.unit import WorkflowUnit
from ..nodes.userconfig import in_config, user_config
from .flow import Visit
from .step import FunctionStep

Graph = CompiledStateGraph[Any, Any, Any, Any]
RunPart = Callable[[Frame, Runtime[Any], Graph | None], Awaitable[Delta]]


@dataclass(frozen=True)
class Runner:
    """One part of a flow, how it is run, and the graph behind it if there is one.

    `in_place`: the graph is there to be drawn, and what it would do runs in the node itself.
    """

    part: Any
    run: RunPart
    graph: Graph | None = None
    role: Role | None = None
    in_place: bool = False

    async def visit(self, visit: Visit, frame: Frame, runtime: Runtime[Any], graph: Graph | None) -> Delta:
        """Run the part as `visit` says, or record why it was left out.

        `frame` is the flow's. `graph` is `self.graph`, which the caller names so that LangGraph
        sees it in the node. Raises GraphDrained when nothing new is to begin.
        """
        frame.run.check()
        if frame.run.is_draining:
            raise GraphDrained("nothing new begins")
        snapshot = frame.snapshot.at(visit.path, visit.inputs)
        if visit.task is not None:
            snapshot = replace(snapshot, task=visit.task, assigned=True)
        here, asker = frame.at(snapshot), Asker.of(snapshot, frame.run.publish)
        try:
            is_left_out = visit.blocked is not None or not await asking(
                asker, _wanted(self.part, here, runtime)
            )
        except RunError as error:
            return Delta((self.unrun(visit.path, "failed", str(error), reason=error.reason),))
        if is_left_out:
            metadata = {} if visit.blocked is None else {"blocked": True}
            return Delta((self.unrun(visit.path, "skipped", visit.blocked or "", metadata=metadata),))
        for message in visit.messages:
            frame.run.publish(message)
        delta = await asking(asker, self.run(_metered(self.part, here), runtime, graph))
        noted = {**({"unsure": True} if visit.unsure else {}), **({ROLE: self.role} if self.role else {})}
        delta = _noted(delta, visit.path, noted) if noted else delta
        frame.run.resumed = False
        frame.run.records.update((record.id, record) for record in delta.steps)
        said = (*asker.said, *(_broadcast(delta, here) if visit.announces else ()))
        if not said and not visit.messages:
            return delta
        return Delta(bus=visit.messages).then(delta).then(Delta(bus=said))

    def unrun(self, path: str, status: Status, why: str, **fields: Any) -> StepRecord:
        """The record of the part at `path` when it did not run, or not to its end."""
        part = self.part
        kind: Kind = "step" if isinstance(part, FunctionStep) else "flow"
        kind = "unit" if isinstance(part, WorkflowUnit) else kind
        name = getattr(part, "id", None) or getattr(part, "type", "")
        return StepRecord(path, str(name), kind, status, message=why, **fields)


def _noted(delta: Delta, path: str, noted: Mapping[str, Any]) -> Delta:
    """The same, with more in the metadata of the record at `path`."""
    steps = (replace(s, metadata={**s.metadata, **noted}) if s.path == path else s for s in delta.steps)
    return replace(delta, steps=tuple(steps))


def _broadcast(delta: Delta, frame: Frame) -> tuple[BusMessage, ...]:
    """What the part gave, as the message that others hear."""
    snapshot = frame.snapshot
    record = next((r for r in reversed(delta.steps) if r.path == snapshot.path), None)
    if record is None or record.status not in ("done", "partial"):
        return ()
    said = Broadcast(
        id=f"{snapshot.thread_id}:{snapshot.turn}:{record.id}:broadcast",
        path=record.path,
        timestamp=time.time(),
        source=record.path,
        content=shown(record.output),
    )
    frame.run.publish(said)
    return (said,)


async def _wanted(part: Any, frame: Frame, runtime: Runtime[Any]) -> bool:
    """Whether the part's condition holds. Raises RunError when it raises."""
    if part.when is None:
        return True
    config = user_config(get_config(), runtime, frame.snapshot.context)

    async def verdict(_: str) -> bool | list[str]:
        try:
            with frame.run.threads.calling(frame.snapshot.path, "when"):
                asked = in_time(frame.meter, lambda: in_config(config, part.when, frame.snapshot))
                return bool(await asked)
        except GraphBubbleUp:
            raise
        except TimeIsUp as error:
            return ["limit", f"when= did not answer: {error}"]
        except Exception as error:
            return ["error", f"when= raised {type(error).__name__}: {error}"]

    # asked in a task of its own, so that a resume does not ask again about a part that has begun
    found = await call_task("when", verdict, frame.snapshot.path)
    if isinstance(found, list):
        raise RunError(found[1], path=frame.snapshot.path, reason=found[0])
    return bool(found)


def _metered(part: Any, frame: Frame) -> Frame:
    """The frame in which the part's own limits count, if it has any."""
    limits = getattr(part, "limits", None)
    if limits is None:
        return frame
    return frame.at(frame.snapshot, Meter(limits, path=frame.snapshot.path, parent=frame.meter))
