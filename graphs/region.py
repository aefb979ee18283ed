"""A region: parts that run as soon as what they need is done, whatever else still runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

from ..core.bus import BusMessage
from ..core.errors import DefinitionError, Fault
from ..core.failure import failure_of
from ..core.part import Out
from ..core.plans import ordered
from ..core.records import StepRecord
from ..core.snapshot import Input, Snapshot
from .flow import Flow, FlowEnd, Visit, end_of

OnFailure = Literal["finish", "fail_fast", "require_all"]
Scheduling = Literal["eager", "superstep"]
UNSURE = "unsure"
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
class Region(Flow[object, Out]):
    """What flows with parallel parts share. A region says its plan; who runs it is not its affair.

    `on_failure`: `finish` lets the others finish, skips what depended on the failed step and ends
    `partial`; `fail_fast` cancels the others; `require_all` lets them finish, then fails.
    `scheduling`: `eager` starts each step when its own needs are met; `superstep` leaves it to
    LangGraph's supersteps, for step-by-step debugging. `max_concurrency` bounds the units
    and function steps that run at a time in it, at any depth.
    """

    on_failure: OnFailure = field(default="finish", kw_only=True)
    max_concurrency: int | None = field(default=None, kw_only=True)
    scheduling: Scheduling | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "region"

    def __post_init__(self) -> None:
        if faults := option_faults(self):
            raise DefinitionError(faults)

    def opening(self, snapshot: Snapshot) -> StepRecord | None:
        """What is settled once, before the first plan, and kept with the run; None when nothing is."""
        return None

    def plan(self, snapshot: Snapshot) -> tuple[Planned, ...]:
        """All steps known now, each after what it needs, in an order that never changes."""
        raise TypeError(f"{type(self).__name__} must define plan")

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]] | None:
        """The parts and what each waits for, by key, or None when that is decided at run time."""
        return None

    @property
    def unordered(self) -> tuple[tuple[str, str], ...]:
        """The pairs of parts that may run at the same time, as far as that is declared."""
        needs = self.needs or {}
        before: dict[str, set[str]] = {}
        for key in ordered(needs):
            before[key] = {*needs[key], *(far for need in needs[key] for far in before[need])}
        return tuple((a, b) for a, b in combinations(needs, 2) if a not in before[b] and b not in before[a])

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        if self.is_stopped(snapshot):
            return ()
        ended = snapshot.final
        waiting = [step for step in self.plan(snapshot) if step.path not in ended]
        ready = [step for step in waiting if all(need in ended for need in step.needs)]
        return tuple(visit_of(step, snapshot) for step in ready)

    def is_stopped(self, snapshot: Snapshot) -> bool:
        """Whether no further step may start."""
        return self.on_failure == "fail_fast" and any(r.status in UNDONE for r in self.records(snapshot))

    @property
    def may_stop(self) -> bool:
        """Whether one step can end it while others still run."""
        return self.on_failure == "fail_fast"

    def is_enough(self, finished: Sequence[StepRecord]) -> bool:
        """Whether what has finished is all that is wanted, so that the rest can be cancelled."""
        return False

    def records(self, snapshot: Snapshot) -> list[StepRecord]:
        """What has run of the plan, in its order."""
        ended = snapshot.final
        return [ended[step.path] for step in self.plan(snapshot) if step.path in ended]

    def judged(self, records: Iterable[StepRecord], good: FlowEnd, *, reduced: bool = False) -> FlowEnd:
        """`good`, or what `Finish` and the failures among `records` make of it.

        `reduced`: a part that runs after all others has made `good` of whatever there was.
        """
        ran = list(records)
        finisher = next((record for record in ran if record.ends), None)
        good = good if finisher is None else end_of(finisher)
        failed = next((record for record in ran if record.status in UNDONE and record.reason), None)
        failed = failed or next((record for record in ran if record.status in UNDONE), None)
        is_lost_whole = not reduced and not any(_is_good(record) for record in ran)
        if failed is not None and (self.on_failure != "finish" or is_lost_whole):
            return FlowEnd(
                "failed", failed.reason or "error", failed.message, failure_path(failed), text=failed.text
            )
        imperfect = failed or next((record for record in ran if record.status == "partial"), None)
        if imperfect is None or good.status != "done":
            return good
        where = failure_path(imperfect)
        return replace(good, status="partial", reason=imperfect.reason, message=imperfect.message, path=where)


def option_faults(flow: Any) -> list[Fault]:
    """What is wrong with the options that flows with parallel parts share."""
    where, limit = flow.id or flow.type, flow.max_concurrency
    faults = [] if limit is None or limit >= 1 else [f"max_concurrency must be at least 1, got {limit}"]
    for name, known in (("on_failure", get_args(OnFailure)), ("scheduling", (None, *get_args(Scheduling)))):
        if (given := getattr(flow, name)) not in known:
            choices = ", ".join(choice for choice in known if choice)
            faults.append(f"{name}={given!r} is unknown; there are: {choices}")
    return [Fault(where, told) for told in faults]


def visit_of(step: Planned, snapshot: Snapshot) -> Visit:
    """A step whose needs are met, with what they gave; blocked when one of them failed."""
    ended = snapshot.final if step.needs else {}
    needed = [ended[need] for need in step.needs if need in ended]
    inputs = step.inputs or tuple(input_of(record) for record in needed if _is_seen(record, step.always))
    finisher = next((record for record in needed if record.ends), None)
    blocker = None if step.always else next((record for record in needed if is_lost(record)), None)
    why = f"{finisher.path} ended the flow" if finisher else None
    why = why or (f"{blocker.path} {blocker.status}" if blocker else None)
    unsure = any(is_lost(record) or record.metadata.get(UNSURE) for record in needed)
    inputs = inputs or snapshot.inputs
    return Visit(step.key, step.path, inputs, step.task, why, unsure, step.messages, step.announces)


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
