"""Plan and execute: executors that depend on each other, by declaration or by a planner's plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from typing_extensions import TypeVar

from ..core.bookkeeping import Role
from ..core.conditions import Predicate
from ..core.errors import DefinitionError, Fault
from ..core.part import PartLike
from ..core.plans import Plan, cycle, plan_fault
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..nodes.labels import Labels
from ..nodes.unit import WorkflowUnit
from .executors import Executors, as_plan, planner_path
from .flow import END, START, Edge, Flow, FlowEnd, Visit, as_input, end_of, free_key, keyed
from .region import UNDONE, OnFailure, Scheduling, input_of, option_faults
from .step import as_part

STEPS = "steps"

Aggregated = TypeVar("Aggregated", covariant=True, default=dict[str, Any])


@dataclass(frozen=True)
class PlanReading(Labels):
    """How a planner's plan is checked while the planner may still be asked again."""

    executors: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def fault(self, args: Mapping[str, Any]) -> str | None:
        try:
            plan = Plan.model_validate(dict(args))
        except ValueError:
            return None  # a plan of another type is the affair of its own schema
        return plan_fault(plan, self.executors, self.taken)

    def text(self, text: str) -> dict[str, Any] | None:
        return None

    def arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        return dict(args)


@dataclass(frozen=True)
class DAGFlow(Flow[object, Aggregated]):
    """Runs executors as soon as what they depend on is done, then the aggregator.

    With `dependencies` (executor key to the keys it needs) each executor runs once and the planner,
    if there is one, is an ordinary first unit. Without, the planner's typed `Plan` decides: its steps
    name executors, and an executor may serve several. A plan with a circle, an unknown executor, or
    an id that is missing or double is answered to the planner as an invalid `resolve`; no step runs.

    `executors` is a mapping, or units whose ids are their keys. The aggregator sees failed steps as
    `Failure` values. `replan`: how often the planner may be asked again, with what is known by then,
    when a step failed or `replan_when` holds for the aggregator's output; of the new plan only the
    steps run whose executor, task or inputs changed. Other options are those of every region.
    """

    planner: PartLike[Any] | None
    executors: Any
    aggregator: PartLike[Aggregated] | None = None
    dependencies: Mapping[str, Any] | None = None
    replan: int = field(default=0, kw_only=True)
    replan_when: Predicate | None = field(default=None, kw_only=True)
    on_failure: OnFailure = field(default="finish", kw_only=True)
    max_concurrency: int | None = field(default=None, kw_only=True)
    scheduling: Scheduling | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "dag"

    def __post_init__(self) -> None:
        given = self.executors
        named = dict(given) if isinstance(given, Mapping) else keyed(as_part(part) for part in given)
        object.__setattr__(self, "executors", {key: as_part(part) for key, part in named.items()})
        for name in ("planner", "aggregator"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_part(getattr(self, name)))
        if self.dependencies is not None:
            needs = {key: tuple(needed) for key, needed in self.dependencies.items()}
            object.__setattr__(self, "dependencies", needs)
        if faults := list(self._faults()):
            raise DefinitionError(faults)

    def __hash__(self) -> int:
        return hash((self.planner, tuple(self.executors), self.aggregator))

    @cached_property
    def planner_key(self) -> str | None:
        return None if self.planner is None else free_key(self.planner, self.executors)

    @cached_property
    def region_key(self) -> str:
        taken = {*self.executors, self.planner_key}
        return next(key for key in (STEPS, f"{STEPS}~2", f"{STEPS}~3") if key not in taken)

    @cached_property
    def region(self) -> Executors:
        """The part that runs once the planner is done."""
        taken = {*self.executors, self.planner_key}
        return Executors(
            executors=self.executors,
            aggregator=self.aggregator,
            aggregator_key=None if self.aggregator is None else free_key(self.aggregator, taken),
            dependencies=self.dependencies,
            planner_key=self.planner_key,
            on_failure=self.on_failure,
            max_concurrency=self.max_concurrency,
            scheduling=self.scheduling,
        )

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        first = {self.planner_key: self._planning_part} if self.planner_key else {}
        return {**first, self.region_key: self.region}

    @property
    def edges(self) -> tuple[Edge, ...]:
        if self.planner_key is None:
            return (Edge(START, self.region_key), Edge(self.region_key, END))
        again = (Edge(self.region_key, self.planner_key, "again"),) if self.replan else ()
        refused = Edge(self.planner_key, END, "no plan")
        first = (Edge(START, self.planner_key), Edge(self.planner_key, self.region_key), refused)
        return (*first, Edge(self.region_key, END), *again)

    def place_of(self, key: str, path: str) -> str:
        return path if key == self.region_key else super().place_of(key, path)

    def role_of(self, key: str) -> Role | None:
        return "planner" if key == self.planner_key else None

    def reading(self, key: str) -> Labels | None:
        is_planned = key == self.planner_key and self.dependencies is None
        return PlanReading((), "", None, False, tuple(self.executors), self._taken) if is_planned else None

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        planned, ran = self._plannings(snapshot), self._runs(snapshot)
        if self.planner_key is not None:
            if not planned:
                return (
                    Visit(self.planner_key, planner_path(snapshot, self.planner_key, 1), snapshot.inputs),
                )
            if planned[-1].status in UNDONE or planned[-1].ends or self._plan_fault(planned[-1]):
                return ()
            if len(ran) == len(planned) and self._asks_again(snapshot, planned, ran):
                path = planner_path(snapshot, self.planner_key, len(planned) + 1)
                return (Visit(self.planner_key, path, self._known(snapshot)),)
        if len(ran) >= max(1, len(planned)):
            return ()
        return (Visit(self.region_key, snapshot.path, snapshot.inputs),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        planned, ran = self._plannings(snapshot), self._runs(snapshot)
        if planned and (planned[-1].status in UNDONE or planned[-1].ends):
            end = end_of(planned[-1])
            unplanned = self.dependencies is None and end.reason in ("invalid-resolve", "no-resolve")
            return FlowEnd("failed", "bad-plan", end.message, end.path, text=end.text) if unplanned else end
        if planned and (fault := self._plan_fault(planned[-1])):
            return FlowEnd("failed", "bad-plan", fault, planned[-1].path, text=planned[-1].text)
        return end_of(ran[-1]) if ran else FlowEnd()

    def _plan_fault(self, planned: StepRecord) -> str | None:
        """Why a planner's output is no plan, as far as the planner itself was not told."""
        if self.dependencies is not None:
            return None
        try:
            return plan_fault(as_plan(planned.output), tuple(self.executors), self._taken)
        except (AttributeError, KeyError, TypeError, ValueError):
            return f"the planner gave no plan but {planned.output!r:.200}"

    def _plannings(self, snapshot: Snapshot) -> list[StepRecord]:
        found: list[StepRecord] = []
        key = self.planner_key
        while key and (record := snapshot.record(planner_path(snapshot, key, len(found) + 1))) is not None:
            found.append(record)
        return found

    def _runs(self, snapshot: Snapshot) -> list[StepRecord]:
        """The region's records; they stand at the flow's own path."""
        return [r for r in snapshot.attempts(snapshot.path) if r.is_final and r.unit == Executors.type]

    def _asks_again(self, snapshot: Snapshot, planned: list[StepRecord], ran: list[StepRecord]) -> bool:
        if len(planned) > self.replan or self.dependencies is not None:
            return False
        failed = any(record.status in UNDONE for record in self.region.records(snapshot))
        wanted = self.replan_when
        return failed or (
            wanted is not None and bool(wanted(snapshot.at(ran[-1].path, (as_input(ran[-1]),))))
        )

    def _known(self, snapshot: Snapshot) -> tuple[Input, ...]:
        """What the planner is told when it is asked again: every result and failure so far."""
        return tuple(input_of(record) for record in self.region.records(snapshot))

    @property
    def _taken(self) -> tuple[str, ...]:
        """The keys of planner and aggregator, which no planned step may have."""
        return tuple(key for key in (self.planner_key, self.region.aggregator_key) if key)

    @cached_property
    def _planning_part(self) -> Any:
        unit: Any = self.planner
        plans = isinstance(unit, WorkflowUnit) and unit.output is str and self.dependencies is None
        return unit.with_(output=Plan, answer="resolve") if plans else unit

    def _faults(self) -> list[Fault]:
        where = self.id or self.type
        needs: Mapping[str, tuple[str, ...]] = self.dependencies or {}
        named = set(needs) | {need for needed in needs.values() for need in needed}
        faults = option_faults(self) + [
            Fault(where, f"dependencies name {key!r}, which is no executor")
            for key in named - set(self.executors)
        ]
        if circle := cycle(needs):
            faults.append(Fault(where, f"dependencies go in a circle: {' -> '.join(circle)}"))
        if not self.executors:
            faults.append(Fault(where, "a DAGFlow needs at least one executor"))
        if self.planner is None and self.dependencies is None:
            faults.append(Fault(where, "without a planner, dependencies must be given (they may be empty)"))
        return sorted(faults, key=str)
