"""The eager driver of a region: every step starts when its own needs are met.

LangGraph matches the results of tasks by the order in which they were called, so all of them are
called up front, in the plan's order and under unique names, and each waits for its needs inside.
After a crash the same calls are made again, and what had finished is not run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.func import task
from langgraph.runtime import Runtime

from ..core.delta import Delta, compose
from ..core.plain import delta_from, update_from
from ..core.records import StepRecord
from ..core.stored import Types
from ..nodes.frame import Frame
from .region import UNDONE, Planned, Region, ancestors_of, visit_of
from .runner import Runner

BATCH = 250
"""Tasks called from one node or task. Each call looks at all earlier ones, so more grows slow."""


@dataclass
class Schedule:
    """One run of a region: round after round, while it plans steps that have no record yet."""

    flow: Region
    runners: Mapping[str, Runner]
    frame: Frame
    runtime: Runtime[Any]
    types: Types

    async def run(self) -> Delta:
        """What all steps did. Raises GraphInterrupt when some of them are paused."""
        done = Delta()
        while True:
            snapshot = self.frame.snapshot.apply(done)
            plan = [step for step in self.flow.plan(snapshot) if snapshot.record(step.path) is None]
            if not plan or self.flow.is_stopped(snapshot):
                return done
            done = compose(done, await _Round(self, plan, done).run())


@dataclass
class _Round:
    """The steps of one plan, called once each."""

    schedule: Schedule
    plan: Sequence[Planned]
    before: Delta
    results: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    bodies: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    finished: list[StepRecord] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)
    closed: Literal["no", "siblings", "all"] = "no"

    async def run(self) -> Delta:
        free = [step for step in self.plan if not step.needs]
        rest = [step for step in self.plan if step.needs]
        if len(self.plan) > BATCH and len(rest) <= 1:
            await self._in_batches(free)
        else:
            rest = list(self.plan)
        for step in rest:
            self.results[step.path] = self._call(step)
        await all_of(self.results.values())
        whole = Delta()
        for step in self.plan:
            whole = compose(whole, self._read(self.results[step.path].result()))
        return whole

    async def _in_batches(self, steps: Sequence[Planned]) -> None:
        """Many steps that need nothing: each batch of them is called from a task of its own."""
        batches = [steps[start : start + BATCH] for start in range(0, len(steps), BATCH)]
        calls = [self._call_batch(number, batch) for number, batch in enumerate(batches)]
        for batch, values in zip(batches, await all_of(calls), strict=True):
            for step, value in zip(batch, values, strict=True):
                self.results[step.path] = asyncio.get_running_loop().create_future()
                self.results[step.path].set_result(value)

    def _call_batch(self, number: int, batch: Sequence[Planned]) -> Any:
        async def run_batch(_: int) -> list[Any]:
            return await all_of([self._call(step) for step in batch])

        named: Any = task(name=f"batch {number}")
        return named(run_batch)(number)

    def _call(self, step: Planned) -> Any:
        async def run_step(_: str) -> dict[str, Any]:
            return update_from(await self._step(step))

        named: Any = task(name=self._name(step))
        return named(run_step)(step.path)

    def _name(self, step: Planned) -> str:
        """The part's key, by which LangGraph finds the drawn node; else what makes it unique."""
        alone = sum(1 for other in self.plan if other.key == step.key) == 1
        return step.key if alone else step.path.rpartition("/")[2]

    async def _step(self, step: Planned) -> Delta:
        """Wait for what the step needs and run it on what its ancestors did."""
        body = asyncio.current_task()
        if self._is_closed(step) or body is None:
            return Delta((_cancelled(step),))
        self.bodies[step.path] = body
        try:
            delta = await self._ran(step)
        except asyncio.CancelledError:
            if step.path not in self.stopped:
                raise
            body.uncancel()
            return Delta((_cancelled(step),))
        finally:
            self.bodies.pop(step.path, None)
        self._note(step, delta)
        return delta

    async def _ran(self, step: Planned) -> Delta:
        seen, schedule = self.before, self.schedule
        wanted = ancestors_of(step, self.plan)
        for other in self.plan:
            if other.path in wanted:
                seen = compose(seen, self._read(await self._needed(other)))
        if self._is_closed(step):
            return Delta((_cancelled(step),))
        frame = schedule.frame.at(schedule.frame.snapshot.apply(seen))
        runner = schedule.runners[step.key]
        visit = visit_of(step, frame.snapshot)
        return await runner.visit(visit, frame, schedule.runtime, runner.graph)

    async def _needed(self, other: Planned) -> Any:
        try:
            return await asyncio.shield(self.results[other.path])
        except GraphInterrupt:
            raise GraphInterrupt(()) from None  # the step it waits for has said that it is paused

    def _note(self, step: Planned, delta: Delta) -> None:
        """Stop the other steps when the flow's policy or its quorum says so."""
        flow = self.schedule.flow
        record = next((r for r in reversed(delta.steps) if r.path == step.path), None)
        if record is None or self.closed != "no":
            return
        self.finished.append(record)
        if record.status in UNDONE and flow.on_failure == "fail_fast":
            self._close("all")
        elif flow.is_enough(self.finished):
            self._close("siblings")

    def _close(self, whom: Literal["siblings", "all"]) -> None:
        self.closed = whom
        for other in self.plan:
            if self._is_closed(other) and other.path in self.bodies:
                self.stopped.add(other.path)
                self.bodies[other.path].cancel()

    def _is_closed(self, step: Planned) -> bool:
        """Whether `step` may not run any more; a reducer still runs when its quorum is there."""
        return self.closed == "all" or (self.closed == "siblings" and not step.always)

    def _read(self, plain: Mapping[str, Any]) -> Delta:
        delta = delta_from(plain, self.schedule.types)
        for record in delta.steps:
            self.schedule.frame.meter.report(record.id, record.usage)
        return delta


def _cancelled(step: Planned) -> StepRecord:
    return StepRecord(step.path, step.key, status="cancelled", message="another step ended the flow")


async def all_of(futures: Iterable[Any]) -> list[Any]:
    """The results of all, once every one has ended.

    Raises what is no pause first; else one GraphInterrupt as LangGraph wants it: with every
    question at the root, and empty below, where the tasks themselves have recorded theirs.
    """
    ended = await asyncio.gather(*futures, return_exceptions=True)
    raised = [error for error in ended if isinstance(error, BaseException)]
    if not raised:
        return list(ended)
    other = next((error for error in raised if not isinstance(error, GraphInterrupt)), None)
    if other is not None:
        raise other
    raise _pause([error for error in raised if isinstance(error, GraphInterrupt)])


def _pause(pauses: Sequence[GraphInterrupt]) -> GraphInterrupt:
    if "|" in get_config().get("configurable", {}).get("checkpoint_ns", ""):
        return GraphInterrupt(())
    questions = {
        question.id: question for pause in pauses for question in (pause.args[0] if pause.args else ())
    }
    return GraphInterrupt(tuple(questions.values()))
