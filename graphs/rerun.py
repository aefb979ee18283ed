"""One unit of a past run, run again on what it saw then, beside what it did then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.runnables import RunnableConfig
from langgraph.constants import END, START
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.display import Displayed
from ..core.errors import PlaitError
from ..core.records import StepRecord
from ..nodes.frame import Frame, RunScope
from ..nodes.meter import Meter
from ..nodes.unit import WorkflowUnit
from .compare import Row
from .drive import Drive
from .flow import Visit
from .runner import Runner
from .runners import unit_runner
from .seen import seen_by


@dataclass(frozen=True, slots=True)
class Rerun(Displayed):
    """A unit's record in the thread, and the one of running it again; `row` shows what differs."""

    before: StepRecord
    after: StepRecord

    _display: ClassVar[str] = "comparisons:rerun_bundle"

    @property
    def row(self) -> Row:
        return Row(self.before.path, self.before, self.after)

    def __str__(self) -> str:
        return str(self.row)


class _Done(TypedDict, total=False):
    """The one channel of the graph around the unit."""

    record: dict[str, Any]


async def rerun(drive: Drive, path: str, changes: dict[str, Any], task: Any = None) -> Rerun:
    """Run the unit at `path` again with `changes`, on what it saw then; nothing of it is kept.

    Its tools do what they do. Raises PlaitError when no unit ran there, or when it asks somebody.
    """
    record = next((step for step in reversed((await drive.result()).steps) if step.path == path), None)
    seen = await seen_by(drive, path)
    unit = seen.part
    if record is None or not isinstance(unit, WorkflowUnit):
        raise PlaitError(f"thread {drive.thread_id!r}: no unit ran at {path!r} in its last turn")
    if getattr(seen.flow, "delegates_of", None) is not None and seen.flow.delegates_of(seen.key):
        raise PlaitError(f"{path!r} delegates to others, which cannot be run again by themselves")
    changed = unit.with_(**changes) if changes else unit
    if "model" in changes and _adapter(drive, unit) is not None:
        raise PlaitError(f"{path!r} runs through an adapter, which has its own model; change that instead")
    role = drive.bound.binding.role(changed, seen.flow.reading(seen.key))
    visit = Visit(seen.key, path, seen.snapshot.inputs, task)
    frame = Frame(seen.snapshot, Meter(drive.bound.binding.limits), RunScope(plane=drive.plane))
    found = await _alone(unit_runner(changed, role, drive.bound), visit, frame)
    if found is None:
        raise PlaitError(f"{path!r} asks a person, which it cannot while it is run again beside its thread")
    return Rerun(record, StepRecord.from_plain(found, drive.bound.schema.types))


def _adapter(drive: Drive, unit: WorkflowUnit[Any]) -> Any:
    adapters = drive.bound.binding.adapters
    return adapters.overrides.get(unit.id) or unit.adapter or adapters.default


async def _alone(runner: Runner, visit: Visit, frame: Frame) -> dict[str, Any] | None:
    """The plain record of a part run in a graph of its own; None when it paused."""
    graph = runner.graph

    async def node(state: _Done, runtime: Runtime[Any]) -> dict[str, Any]:
        delta = await runner.visit(visit, frame, runtime, graph)
        return {"record": delta.steps[-1].to_plain()}

    builder: Any = StateGraph(_Done)
    builder.add_node("unit", node)
    builder.add_edge(START, "unit")
    builder.add_edge("unit", END)
    config: RunnableConfig = {"configurable": {"thread_id": frame.snapshot.thread_id}}
    found: dict[str, Any] | None = (await builder.compile().ainvoke({}, config)).get("record")
    return found
