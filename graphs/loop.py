"""The same part again and again, until it is good or the passes are used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..core.conditions import Predicate, field
from ..core.errors import DefinitionError, Fault
from ..core.part import Out, PartLike
from ..core.paths import join, pass_of
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from .flow import END, START, Edge, Flow, FlowEnd, Visit, as_input, end_of, key_of
from .step import as_part

Score = Callable[[Any], Any]


@dataclass(frozen=True)
class LoopFlow(Flow[object, Out]):
    """Runs `body` until `until(snapshot)` holds, whose `output` is the pass's output.

    Without `until` it stops at the first pass that is done. `Finish` in the body ends this loop
    only. After `max_iterations` passes it is `partial` with reason `exhausted` and keeps its last
    output, or its best one when `best` (a field, or a function of the output) can rank them.
    """

    body: PartLike[Out]
    max_iterations: int = 10
    until: Predicate | None = None
    best: Score | field | None = None
    type: ClassVar[str] = "loop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", as_part(self.body))
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            raise DefinitionError(
                [Fault(self.segment, f"max_iterations must be at least 1, got {self.max_iterations}")]
            )

    @property
    def is_single(self) -> bool:
        """Whether the body is one unit or step, which then shares the loop's segment."""
        return not isinstance(self.body, Flow)

    @property
    def segment(self) -> str:
        return self.id or (key_of(self.body) if self.is_single else self.type)

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {key_of(self.body): self.body}

    @property
    def edges(self) -> tuple[Edge, ...]:
        key = next(iter(self.parts))
        return (Edge(START, key), Edge(key, key, "again"), Edge(key, END))

    def place_of(self, key: str, path: str) -> str:
        return (path or key) if self.is_single else path

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        passes = self._passes(snapshot)
        if passes and self._is_over(snapshot, passes):
            return ()
        inputs = (as_input(passes[-1]),) if passes else snapshot.inputs
        return (Visit(next(iter(self.parts)), self._path(snapshot, len(passes) + 1), inputs),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        passes = self._passes(snapshot)
        if not passes:
            return FlowEnd()
        last = end_of(passes[-1])
        if last.status in ("failed", "cancelled"):
            return last
        if passes[-1].ends or self._is_satisfied(snapshot, passes[-1]):
            return FlowEnd(
                last.status, last.reason, last.message, last.path, last.stored, last.text, accepted=True
            )
        kept = self._kept(passes)
        told = f"{len(passes)} passes were made and none was accepted"
        return FlowEnd("partial", "exhausted", told, kept.path, kept.stored, kept.text, accepted=False)

    def _passes(self, snapshot: Snapshot) -> list[StepRecord]:
        found: list[StepRecord] = []
        while (record := snapshot.record(self._path(snapshot, len(found) + 1))) is not None:
            found.append(record)
        return found

    def _path(self, snapshot: Snapshot, number: int) -> str:
        own = snapshot.path
        if self.is_single and (not own or own.startswith("[")):
            own = join(own, key_of(self.body))
        return pass_of(own, number)

    def _is_over(self, snapshot: Snapshot, passes: list[StepRecord]) -> bool:
        last = passes[-1]
        stopped = last.status in ("failed", "cancelled") or last.ends or len(passes) >= self.max_iterations
        return stopped or self._is_satisfied(snapshot, last)

    def _is_satisfied(self, snapshot: Snapshot, last: StepRecord) -> bool:
        if self.until is None:
            return last.status in ("done", "skipped")
        return bool(self.until(snapshot.at(last.path, (as_input(last),))))

    def _kept(self, passes: list[StepRecord]) -> StepRecord:
        rank = self.best.read if isinstance(self.best, field) else self.best
        if rank is None:
            return passes[-1]
        ranked = [(rank(record.output), number) for number, record in enumerate(passes)]
        scored = [(score, number) for score, number in ranked if score is not None]
        return passes[max(scored)[1]] if scored else passes[-1]
