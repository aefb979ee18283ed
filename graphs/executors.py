"""The region of a DAGFlow: its executors and aggregator, as declared or as the latest plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..core.bookkeeping import Role
from ..core.paths import join, pass_of
from ..core.plans import Plan, PlanStep, ordered
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..core.stored import Stored
from .flow import END, START, Edge, FlowEnd, as_input, end_of, path_of
from .region import Planned, Region, input_of, is_lost


@dataclass(frozen=True, kw_only=True)
class Executors(Region[Any]):
    """Made by DAGFlow. It stands at the flow's own path, so its steps are addressed below that."""

    executors: Mapping[str, Any]
    aggregator: Any = None
    aggregator_key: str | None = None
    dependencies: Mapping[str, tuple[str, ...]] | None = None
    planner_key: str | None = None
    type: ClassVar[str] = "steps"

    def __hash__(self) -> int:
        return hash((tuple(self.executors), self.aggregator_key))

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {**self.executors, **({self.aggregator_key: self.aggregator} if self.aggregator_key else {})}

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]] | None:
        return None if self.dependencies is None else {**self._declared_needs, **self._aggregated}

    @property
    def edges(self) -> tuple[Edge, ...]:
        needs = {**self._declared_needs, **self._aggregated}
        edges = [Edge(need, key) for key, needed in needs.items() for need in needed or (START,)]
        needed = {need for needs_of in needs.values() for need in needs_of}
        return (*edges, *(Edge(key, END) for key in needs if key not in needed))

    def role_of(self, key: str) -> Role | None:
        return "aggregator" if key == self.aggregator_key else None

    def plan(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        steps = self._planned(snapshot) if self.dependencies is None else self._declared(snapshot)
        if self.aggregator_key is None:
            return steps
        path = _numbered(path_of(snapshot, self.aggregator_key), max(1, len(self._plans(snapshot))))
        return (*steps, Planned(path, self.aggregator_key, tuple(step.path for step in steps), always=True))

    def end(self, snapshot: Snapshot) -> FlowEnd:
        plan = self.plan(snapshot)
        ended = snapshot.final
        records = [ended[step.path] for step in plan if step.path in ended]
        aggregated = records.pop() if self.aggregator_key and len(records) == len(plan) else None
        if aggregated is None or aggregated.status in ("skipped", "cancelled"):
            return self.judged(records, _collected(records, snapshot))
        return self.judged(records, end_of(aggregated), reduced=True)

    @cached_property
    def _declared_needs(self) -> dict[str, tuple[str, ...]]:
        return {key: tuple((self.dependencies or {}).get(key, ())) for key in self.executors}

    @property
    def _aggregated(self) -> dict[str, tuple[str, ...]]:
        return {self.aggregator_key: tuple(self.executors)} if self.aggregator_key else {}

    def _declared(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        needs = self._declared_needs
        paths = {key: path_of(snapshot, key) for key in needs}
        planned = snapshot.record(planner_path(snapshot, self.planner_key, 1)) if self.planner_key else None
        told: tuple[Input, ...] = () if planned is None else (as_input(planned),)
        return tuple(
            Planned(paths[key], key, tuple(paths[n] for n in needs[key]), inputs=() if needs[key] else told)
            for key in ordered(needs)
        )

    def _planned(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        plans = self._plans(snapshot)
        if not plans:
            return ()
        steps = {step.id: step for step in plans[-1].steps}
        paths = placed(plans, snapshot)
        return tuple(
            Planned(
                paths[step_id],
                steps[step_id].executor,
                tuple(paths[need] for need in steps[step_id].depends_on),
                task=steps[step_id].task,
            )
            for step_id in ordered({step.id: step.depends_on for step in plans[-1].steps})
        )

    def _plans(self, snapshot: Snapshot) -> list[Plan]:
        """Every plan so far, the latest last."""
        found: list[Plan] = []
        while self.planner_key and self.dependencies is None:
            record = snapshot.record(planner_path(snapshot, self.planner_key, len(found) + 1))
            if record is None or record.status not in ("done", "partial"):
                break
            found.append(as_plan(record.output))
        return found


def planner_path(snapshot: Snapshot, key: str, number: int) -> str:
    """Where the planner's planning `number` stands; the first has no mark."""
    return _numbered(path_of(snapshot, key), number)


def placed(plans: Sequence[Plan], snapshot: Snapshot) -> dict[str, str]:
    """The path of each step of the latest plan: its earlier one where it did well and neither the
    step nor anything it depends on changed, else a new one marked with the plan's number."""
    paths: dict[str, str] = {}
    for number, plan in enumerate(plans, start=1):
        before = {step.id: step for step in plans[number - 2].steps} if number > 1 else {}
        fresh = {step.id: _numbered(join(snapshot.path, step.id), number) for step in plan.steps}
        kept: dict[str, str] = {}
        for step_id in ordered({step.id: step.depends_on for step in plan.steps}):
            step = next(step for step in plan.steps if step.id == step_id)
            same = before.get(step_id) == step and all(need in kept for need in step.depends_on)
            if same and _is_good(snapshot.record(paths[step_id])):
                kept[step_id] = paths[step_id]
        paths = {**fresh, **kept}
    return paths


def _is_good(record: StepRecord | None) -> bool:
    return record is not None and record.status in ("done", "partial")


def _numbered(path: str, number: int) -> str:
    return path if number == 1 else pass_of(path, number)


def as_plan(output: Any) -> Plan:
    """The planner's output as a Plan; a type of the user's own must have the same fields."""
    if isinstance(output, Plan):
        return output
    steps = output["steps"] if isinstance(output, Mapping) else output.steps
    return Plan(steps=[PlanStep.model_validate(step, from_attributes=True) for step in steps])


def _collected(records: Sequence[StepRecord], snapshot: Snapshot) -> FlowEnd:
    """Without an aggregator: the outputs by step, in the plan's order."""
    start = len(snapshot.path) + 1 if snapshot.path and not snapshot.path.startswith("[") else 0
    seen = {r.path[start:]: input_of(r).output for r in records if r.status != "skipped" or is_lost(r)}
    return FlowEnd(stored=Stored.of(seen, "output of the steps", snapshot.schema.types))
