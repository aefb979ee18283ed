"""The eager driver of a region: every step starts when its own needs are met.

LangGraph matches the results of tasks by the order in which they were called, so all of them are
called up front, in the plan's order and under unique names, and each waits for its needs inside.
After a crash the same calls are made again, and what had finished is not run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime

from ..core.delta import Delta, compose, compose_all
from ..core.plain import delta_from, update_from
from ..core.records import StepRecord
from ..core.stored import Types
from ..nodes.frame import Frame
from ..nodes.tasks import call_task, pause
from .eager import BATCH_NAME
from .order import Ancestors
from .region import UNDONE, Planned, Region, visit_of
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
    in_root: bool = False

    def __post_init__(self) -> None:
        """Note whether the steps are tasks of the root graph; a region around this one may call it."""
        namespace = get_config().get("configurable", {}).get("checkpoint_ns", "")
        self.in_root = self.frame.in_root or "|" not in namespace

    async def run(self) -> Delta:
        """What all steps did. Raises GraphInterrupt when some of them are paused."""
        done = await self._opened()
        while True:
            snapshot = self.frame.snapshot.apply(done)
            ended = snapshot.final
            plan = [step for step in self.flow.plan(snapshot) if step.path not in ended]
            if not plan or self.flow.is_stopped(snapshot):
                return done
            done = compose(done, await _Round(self, plan, done).run())

    async def _opened(self) -> Delta:
        """What the flow settles before it plans, kept like a step, so that a resume plans the same."""
        snapshot = self.frame.snapshot
        if type(self.flow).opening is Region.opening:
            return Delta()

        async def settle(_: str) -> dict[str, Any]:
            opened = self.flow.opening(snapshot)
            return update_from(Delta() if opened is None else Delta((opened,)))

        return delta_from(await call_task("opening", settle, snapshot.path), self.types)


@dataclass
class _Round:
    """The steps of one plan, called once each."""

    schedule: Schedule
    plan: Sequence[Planned]
    before: Delta
    results: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    bodies: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    deltas: dict[str, Delta] = field(default_factory=dict)
    finished: dict[str, StepRecord] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    closed: Literal["no", "siblings", "all"] = "no"

    def __post_init__(self) -> None:
        self.ancestors = Ancestors(self.plan)
        self.seen = self.schedule.frame.snapshot.apply(self.before)

    async def run(self) -> Delta:
        free = [step for step in self.plan if not step.needs]
        rest = [step for step in self.plan if step.needs]
        if len(self.plan) > BATCH and len(rest) <= 1:
            await self._in_batches(free)
        else:
            rest = list(self.plan)
        for step in rest:
            self._start(step)
        await self._ended(rest)
        return compose_all(self._delta(step) for step in self.plan)

    async def _in_batches(self, steps: Sequence[Planned]) -> None:
        """Many steps that need nothing: each batch of them is called from a task of its own."""
        batches = [steps[start : start + BATCH] for start in range(0, len(steps), BATCH)]
        calls = [self._call_batch(number, batch) for number, batch in enumerate(batches)]
        ended = await self._stopping(all_of(calls, self.schedule.in_root))
        for batch, values in zip(batches, ended, strict=True):
            for step, value in zip(batch, values, strict=True):
                self.results[step.path] = asyncio.get_running_loop().create_future()
                self.results[step.path].set_result(value)

    def _call_batch(self, number: int, batch: Sequence[Planned]) -> Any:
        async def run_batch(_: int) -> list[Any]:
            for step in batch:
                self._start(step)
            return await self._ended(batch)

        return call_task(f"{BATCH_NAME}{number}", run_batch, number)

    async def _ended(self, steps: Sequence[Planned]) -> list[Any]:
        """The results of `steps` once every one has ended. One that is paused counts as cancelled when
        the flow was ended by another."""
        futures = [self.results[step.path] for step in steps]
        if futures:
            await self._stopping(asyncio.wait(futures))
        for step, future in zip(steps, futures, strict=True):
            if self._is_closed(step) and _is_paused(future):
                self.results[step.path] = asyncio.get_running_loop().create_future()
                self.results[step.path].set_result(update_from(self._cancelled(step)))
        return await all_of([self.results[step.path] for step in steps], self.schedule.in_root)

    def _start(self, step: Planned) -> None:
        async def run_step(_: str) -> dict[str, Any]:
            return update_from(await self._step(step))

        self.results[step.path] = future = call_task(step.key, run_step, step.path)
        future.add_done_callback(partial(self._restored, step))

    def _restored(self, step: Planned, future: asyncio.Future[Any]) -> None:
        """Note a step that had ended before the run was resumed, so that its body did not run."""
        if step.path in self.ended or step.path in self.paused:
            return
        self.ended.add(step.path)
        if not future.cancelled() and future.exception() is None:
            self._note(step, self._delta(step))
        self._settle()

    async def _step(self, step: Planned) -> Delta:
        """Wait for what the step needs and run it on what its ancestors did."""
        body = asyncio.current_task()
        if self._is_closed(step) or body is None:
            return self._cancelled(step)
        self.bodies[step.path] = body
        try:
            return await self._finished(step)
        except asyncio.CancelledError:
            if step.path not in self.stopped:
                raise
            body.uncancel()
            return self._cancelled(step)
        finally:
            self.bodies.pop(step.path, None)
            self.ended.add(step.path)
            self._settle()

    async def _finished(self, step: Planned) -> Delta:
        """What the step did. A pause is held back while another step may still end the flow: LangGraph
        stops at a task that pauses, whatever becomes of the one that called it."""
        try:
            delta = await self._ran(step)
        except GraphInterrupt:
            await self._hold(step)
            raise
        self.bodies.pop(step.path, None)
        self._note(step, delta)
        return delta

    async def _hold(self, step: Planned) -> None:
        """Wait until no step is left that could end this flow or one around it."""
        self.paused.add(step.path)
        self._settle()
        if self.schedule.flow.may_stop:
            await self.settled.wait()
        if self.schedule.frame.hold is not None:
            await self.settled.wait()
            await self.schedule.frame.hold()

    def _settle(self) -> None:
        """Note when every step has ended, is paused, or waits for one that is."""
        over = self.ended | self.paused
        if self.paused and all(
            self._is_closed(step) or step.path in over or self.ancestors[step.path] & self.paused
            for step in self.plan
        ):
            self.settled.set()

    async def _ran(self, step: Planned) -> Delta:
        schedule = self.schedule
        before = self.ancestors[step.path]
        needed = [other for other in self.plan if other.path in before] if before else []
        if needed:
            await asyncio.wait([self.results[other.path] for other in needed])
        if self._is_closed(step):
            return self._cancelled(step)
        seen = self.seen
        if needed:
            seen = seen.apply(compose_all(self._needed(other) for other in needed))
        runner = schedule.runners[step.key]
        may_stop = schedule.flow.may_stop or schedule.frame.hold is not None
        shares = isinstance(runner.part, Region) or runner.in_place  # its tasks are tasks of the same graph
        hold = partial(self._hold, step) if shares and (may_stop or not runner.in_place) else None
        frame = replace(schedule.frame, snapshot=seen, in_root=shares and schedule.in_root, hold=hold)
        visit = visit_of(step, frame.snapshot)
        return await runner.visit(visit, frame, schedule.runtime, runner.graph)

    def _needed(self, other: Planned) -> Delta:
        """What a step that has ended did; one that is paused pauses whatever needs it."""
        if not _is_paused(self.results[other.path]):
            return self._delta(other)
        if self._is_closed(other):
            return self._cancelled(other)
        raise GraphInterrupt(())  # the step itself has asked its question

    def _note(self, step: Planned, delta: Delta) -> None:
        """Stop the other steps when the flow's policy or its quorum says so."""
        flow = self.schedule.flow
        record = next((r for r in reversed(delta.steps) if r.path == step.path), None)
        if record is None or self.closed != "no":
            return
        self.finished[step.path] = record
        if record.status in UNDONE and flow.on_failure == "fail_fast":
            self._close("all")
        elif flow.is_enough([*self.finished.values()]):
            self._close("siblings")

    def _close(self, whom: Literal["siblings", "all"]) -> None:
        self.closed = whom
        for other in self.plan:
            if self._is_closed(other) and other.path in self.bodies:
                self.stopped.add(other.path)
                self.bodies[other.path].cancel()

    async def _stopping(self, waiting: Awaitable[Any]) -> Any:
        """Wait; when the flow itself is stopped meanwhile, stop its steps and wait for their end."""
        try:
            return await waiting
        except asyncio.CancelledError:
            for path, future in self.results.items():
                body = self.bodies.get(path)
                if body is None or not body.cancelling():  # a second cancel would disturb its end
                    future.cancel()
            if self.bodies:
                await asyncio.wait(self.bodies.values())
            raise

    def _is_closed(self, step: Planned) -> bool:
        """Whether `step` may not run any more; a reducer still runs when its quorum is there."""
        return self.closed == "all" or (self.closed == "siblings" and not step.always)

    def _delta(self, step: Planned) -> Delta:
        """What a step that has ended did. Raises what it raised."""
        if step.path not in self.deltas:
            plain = self.results[step.path].result()
            self.deltas[step.path] = delta = delta_from(plain, self.schedule.types)
            for record in delta.steps:
                self.schedule.frame.meter.report(record.id, record.usage)
        return self.deltas[step.path]

    def _cancelled(self, step: Planned) -> Delta:
        """The record of a step that was not let finish, with what it had spent by then."""
        frame, runner = self.schedule.frame, self.schedule.runners[step.key]
        known = {record.id for record in frame.snapshot.steps}
        spent = frame.meter.spent_under(step.path, known)
        told = "another step ended the flow"
        return Delta((runner.unrun(step.path, "cancelled", told, usage=spent),))


def _is_paused(future: asyncio.Future[Any]) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), GraphInterrupt)


async def all_of(futures: Iterable[Any], in_root: bool) -> list[Any]:
    """The results of all, once every one has ended.

    Raises what is no pause first; else one GraphInterrupt as LangGraph wants it: with every
    question at the root, and empty below, where LangGraph itself gathers those of a graph's tasks.
    """
    ended = await asyncio.gather(*futures, return_exceptions=True)
    raised = [error for error in ended if isinstance(error, BaseException)]
    if not raised:
        return list(ended)
    other = next((error for error in raised if not isinstance(error, GraphInterrupt)), None)
    if other is not None:
        raise other
    raise pause([error for error in raised if isinstance(error, GraphInterrupt)] if in_root else [])
