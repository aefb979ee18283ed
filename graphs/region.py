"""A region: parts that run as soon as what they need is done, whatever else still runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

from ..core.bus import BusMessage
from ..core.errors import DefinitionError, Fault, StateConflict
from ..core.failure import failure_of
from ..core.paths import is_below
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from ..core.state import StateWrite
from ..core.stateschema import StateSchema
from .flow import Flow, FlowEnd, Visit

OnFailure = Literal["finish", "fail_fast", "require_all"]
Scheduling = Literal["eager", "superstep"]
UNDONE = ("failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Planned:
    """One step of a region: what it runs, where, and the paths of the steps it waits for.

    `always`: it runs whatever became of those, and sees failures as values.
    """

    path: str
    key: str
    needs: tuple[str, ...] = ()
    always: bool = False
    inputs: tuple[Input, ...] = ()
    task: Any = None
    messages: tuple[BusMessage, ...] = ()
    announces: bool = False


@dataclass(frozen=True)
class Region(Flow):
    """What flows with parallel parts share. A region says its plan; who runs it is not its affair.

    `on_failure`: `finish` lets the others finish, skips what depended on the failed step and ends
    `partial`; `fail_fast` cancels the others; `require_all` lets them finish, then fails.
    `scheduling`: `eager` starts each step when its own needs are met; `superstep` leaves it to
    LangGraph's supersteps, for step-by-step debugging. `max_concurrency` bounds the units that
    run at a time in it.
    """

    on_failure: OnFailure = field(default="finish", kw_only=True)
    max_concurrency: int | None = field(default=None, kw_only=True)
    scheduling: Scheduling | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "region"

    def __post_init__(self) -> None:
        if self.max_concurrency is not None and self.max_concurrency < 1:
            told = f"max_concurrency must be at least 1, got {self.max_concurrency}"
            raise DefinitionError([Fault(self.id or self.type, told)])

    def plan(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        """All steps known now, each after what it needs, in an order that never changes."""
        raise TypeError(f"{type(self).__name__} must define plan")

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]] | None:
        """The parts and what each waits for, by key, or None when that is decided at run time."""
        return None

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        if self.is_stopped(snapshot):
            return ()
        plan = self.plan(snapshot)
        waiting = [step for step in plan if snapshot.record(step.path) is None]
        ready = [step for step in waiting if all(snapshot.record(need) for need in step.needs)]
        return tuple(visit_of(step, snapshot) for step in ready)

    def is_stopped(self, snapshot: Snapshot) -> bool:
        """Whether no further step may start."""
        return self.on_failure == "fail_fast" and any(r.status in UNDONE for r in self.records(snapshot))

    def is_enough(self, finished: Sequence[StepRecord]) -> bool:
        """Whether what has finished is all that is wanted, so that the rest can be cancelled."""
        return False

    def records(self, snapshot: Snapshot) -> list[StepRecord]:
        """What has run of the plan, in its order."""
        found = (snapshot.record(step.path) for step in self.plan(snapshot))
        return [record for record in found if record is not None]

    def judged(self, records: Iterable[StepRecord], good: FlowEnd) -> FlowEnd:
        """`good`, or what the failures among `records` make of it."""
        ran = list(records)
        failed = next((record for record in ran if record.status in UNDONE and record.reason), None)
        failed = failed or next((record for record in ran if record.status in UNDONE), None)
        if failed is not None and (self.on_failure != "finish" or not any(_is_good(r) for r in ran)):
            return FlowEnd(
                "failed", failed.reason or "error", failed.message, failure_path(failed), text=failed.text
            )
        imperfect = failed or next((record for record in ran if record.status == "partial"), None)
        if imperfect is None or good.status != "done":
            return good
        where = failure_path(imperfect)
        return replace(good, status="partial", reason=imperfect.reason, message=imperfect.message, path=where)


def ancestors_of(step: Planned, plan: Iterable[Planned]) -> frozenset[str]:
    """The paths of the steps that `step` depends on, near and far."""
    by_path = {other.path: other for other in plan}
    found: set[str] = set()
    waiting = list(step.needs)
    while waiting:
        path = waiting.pop()
        if path not in found and path in by_path:
            found.add(path)
            waiting.extend(by_path[path].needs)
    return frozenset(found)


def check_conflicts(plan: Sequence[Planned], writes: Iterable[StateWrite], schema: StateSchema) -> None:
    """Raise StateConflict when two steps, neither of which waits for the other, wrote one key
    that has no reducer."""
    writers: dict[str, dict[str, None]] = {}
    for write in writes:
        step = next((step for step in plan if is_below(write.path, step.path)), None)
        if step is not None and not (write.operation == "merge" and schema.has_reducer(write.key)):
            name = write.key if write.scope == "workflow" else f"{write.scope}/{write.key}"
            writers.setdefault(name, {})[step.path] = None
    before = {step.path: ancestors_of(step, plan) for step in plan}
    for key, paths in writers.items():
        for one, other in combinations(paths, 2):
            if one not in before[other] and other not in before[one]:
                raise StateConflict(key, (one, other))


def visit_of(step: Planned, snapshot: Snapshot) -> Visit:
    """A step whose needs are met, with what they gave; blocked when one of them failed."""
    needed = [record for need in step.needs if (record := snapshot.record(need)) is not None]
    inputs = step.inputs or tuple(input_of(record) for record in needed if _is_seen(record, step.always))
    blocker = None if step.always else next((record for record in needed if is_lost(record)), None)
    why = f"{blocker.path} {blocker.status}" if blocker else None
    return Visit(
        step.key, step.path, inputs or snapshot.inputs, step.task, why, step.messages, step.announces
    )


def input_of(record: StepRecord) -> Input:
    """What a step gave, or its failure as a value."""
    if is_lost(record):
        failure = failure_of(record)
        return Input(record.path, failure, str(failure))
    return Input(record.path, record.output)


def is_lost(record: StepRecord) -> bool:
    """Whether a step gave nothing because something failed, so that what needs it cannot run."""
    return record.status in UNDONE or bool(record.metadata.get("blocked"))


def failure_path(record: StepRecord) -> str:
    return str(record.metadata.get("failed_at", record.path))


def _is_seen(record: StepRecord, always: bool) -> bool:
    return _is_good(record) or (always and is_lost(record) and record.status != "cancelled")


def _is_good(record: StepRecord) -> bool:
    return record.status in ("done", "partial")
