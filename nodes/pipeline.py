"""The one path every unit takes, stage by stage, from Snapshot to Delta.

`policy.pre_check -> security.pre_hooks -> context.assemble -> adapter -> security.post_hooks ->
output adapter -> SharedState -> context.record -> checkpoint -> observability.emit -> bus.publish`

The node that runs it returns the Delta, which is what the checkpoint holds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langgraph.errors import GraphBubbleUp
from langgraph.store.base import BaseStore

from ..core.bus import BusMessage, StateUpdate, UnitOutput
from ..core.delta import Delta
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.outcome import Reason
from ..core.paths import memory_key
from ..core.plain import changed, changes_of, delta_from, update_from
from ..core.ports import DeltaStage, SnapshotStage, StageName
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..core.state import SharedState, StateWrite
from ..core.stored import NOTHING
from .content import clean_text
from .execution import Execution
from .frame import Frame
from .meter import TimeIsUp, in_time
from .slots import Lease
from .tasks import call_task
from .unit import WorkflowUnit

T = TypeVar("T")
Execute = Callable[[Frame], Awaitable[Execution]]
GLOBAL_NAMESPACE = ("plait", "global")


@dataclass(frozen=True)
class Run:
    """One unit about to run: how it is executed, and what it is recorded as."""

    unit: WorkflowUnit[Any]
    execute: Execute
    definition: str = ""
    store: BaseStore | None = None


async def run_unit(run: Run, frame: Frame) -> Delta:
    """Take one unit through all stages. A failure is state: it is in the Delta, not raised."""
    plane, snapshot, started = frame.run.plane, frame.snapshot, time.time()
    stages = _Stages(frame)
    frame.run.emit("agent_start", snapshot.path, unit=run.unit.id, resumed=frame.run.resumed)
    try:
        execution = await _executed(run, frame, stages)
        delta = _delta(run, execution, snapshot, started)
        delta = await stages.after("security.post_hooks", plane.post_hooks, delta)
        await stages.passed("output_adapter")
        delta = _adapted(run.unit, delta, snapshot)
        await stages.passed("shared_state")
        await _commit_global(delta, run.store)
        delta = await stages.after("context.record", plane.record, delta)
        await stages.passed("checkpoint")
        delta = await stages.after("observability.emit", plane.emit, delta)
    except BaseException as error:
        _ended_badly(frame, run.unit.id, error)
        raise
    _emit_end(frame, run.unit.id, delta.steps[-1])
    await stages.passed("bus.publish")
    said = _messages(delta, execution.inner, snapshot)
    for message in said:
        frame.run.publish(message)
    return replace(delta, bus=(*execution.inner.bus, *said))


async def _executed(run: Run, frame: Frame, stages: _Stages) -> Execution:
    """The stages before, and the execution. A RunError in them, such as a refusal, fails the unit."""
    plane, snapshot = frame.run.plane, frame.snapshot
    try:
        snapshot = await stages.before("policy.pre_check", plane.pre_check, snapshot)
        snapshot = await stages.before("security.pre_hooks", plane.pre_hooks, snapshot)
        snapshot = await stages.before("context.assemble", plane.assemble, snapshot)
        await stages.passed("adapter")
        async with Lease(frame.slots) as lease:
            with frame.run.threads.calling(snapshot.path, run.unit.id):
                return await run.execute(replace(frame, snapshot=snapshot, lease=lease))
    except RunError as error:
        if error.reason == "store":
            raise  # what was done can no longer be kept, so the run stops where it last was
        return Execution("failed", error.reason, str(error))


class _Stages:
    """Runs the plane's stages, each as a task, so that a resume does not repeat what is done."""

    def __init__(self, frame: Frame) -> None:
        self._trace = frame.run.plane.trace
        self._meter = frame.meter
        self._snapshot = frame.snapshot
        self._types = frame.snapshot.schema.types

    async def passed(self, name: StageName) -> None:
        if self._trace is not None:
            self._trace(name)

    async def _in_time(self, name: StageName, stage: Callable[[], Awaitable[T]]) -> T:
        try:
            return await in_time(self._meter, stage)
        except TimeIsUp as error:
            raise RunError(f"{name} did not end: {error}", reason="limit") from error
        except (GraphBubbleUp, RunError):
            raise
        except Exception as error:
            raise RunError(f"{name} raised {type(error).__name__}: {error}", reason="error") from error

    async def before(self, name: StageName, stage: SnapshotStage | None, snapshot: Snapshot) -> Snapshot:
        """What the unit may see after the stage; an empty stage costs nothing."""
        await self.passed(name)
        if stage is None:
            return snapshot

        async def run_stage(_: str) -> dict[str, Any]:
            return changes_of(snapshot, await self._in_time(name, lambda: stage(snapshot)))

        return changed(snapshot, await call_task(name, run_stage, name), self._types)

    async def after(self, name: StageName, stage: DeltaStage | None, delta: Delta) -> Delta:
        """What the unit did, as the stage leaves it; failed where it refuses."""
        await self.passed(name)
        if stage is None:
            return delta

        async def run_stage(_: str) -> dict[str, Any]:
            return update_from(await self._in_time(name, lambda: stage(self._snapshot, delta)))

        try:
            return delta_from(await call_task(name, run_stage, name), self._types)
        except RunError as error:
            if error.reason == "store":
                raise
            return _refused(delta, error.reason, error)


def _adapted(unit: WorkflowUnit[Any], delta: Delta, snapshot: Snapshot) -> Delta:
    """The Delta with the output adapter's writes, or failed when those are refused."""
    adapter, record = unit.output_adapter, delta.steps[-1]
    if adapter is None or record.status == "failed":
        return delta
    state = _state(snapshot, delta.writes)
    before = len(state.writes)
    try:
        output = record.output
        for key, value in ({adapter: output} if isinstance(adapter, str) else adapter(output)).items():
            state.set(key, value)
    except ValueRefused as error:
        return _refused(delta, "refused-value", error)
    except PlaitError as error:
        return _refused(delta, "invalid-state", error)
    except Exception as error:
        return _refused(delta, "error", f"output_adapter raised {type(error).__name__}: {error}")
    return replace(delta, writes=(*delta.writes, *state.writes[before:]))


def _refused(delta: Delta, reason: Reason, why: object) -> Delta:
    """The same, failed: nothing is written, and what was is held for a resume."""
    record = replace(delta.steps[-1], status="failed", reason=reason, message=str(why), stored=NOTHING)
    own = [write for write in delta.writes if write.path == record.path]
    held = {"held": [write.to_plain() for write in own]} if own else {}
    record = replace(record, metadata={**record.metadata, **held})
    others = tuple(write for write in delta.writes if write.path != record.path)
    return replace(delta, steps=(*delta.steps[:-1], record), writes=others)


def _state(snapshot: Snapshot, writes: tuple[StateWrite, ...]) -> SharedState:
    return SharedState(
        snapshot.values_with_outputs(),
        path=snapshot.path,
        unit=memory_key(snapshot.path),
        schema=snapshot.schema,
        writes=list(writes),
    )


async def _commit_global(delta: Delta, store: BaseStore | None) -> None:
    """Global keys live in the store; writing them again on resume changes nothing."""
    written = [write for write in delta.writes if write.scope == "global"]
    if not written:
        return
    if store is None:
        raise PlaitError("state scope 'global' needs a store; give Workflow(store=…)")
    for write in written:
        if write.operation == "delete":
            await store.adelete(GLOBAL_NAMESPACE, write.key)
        else:
            await store.aput(GLOBAL_NAMESPACE, write.key, {"value": write.value})


def _delta(run: Run, execution: Execution, snapshot: Snapshot, started: float) -> Delta:
    failed = execution.status == "failed"
    held = {"held": [write.to_plain() for write in execution.writes]} if failed and execution.writes else {}
    record = StepRecord(
        path=snapshot.path,
        unit=run.unit.id,
        status=execution.status,
        reason=execution.reason,
        message=clean_text(execution.message)[0],
        stored=execution.stored,
        text=clean_text(execution.text)[0],
        tool_calls=execution.tool_calls,
        stop_reason=execution.stop_reason,
        usage=execution.usage,
        started_at=started,
        duration_s=time.time() - started,
        metadata=held,
        attempt=len(snapshot.attempts(snapshot.path)) + 1,
        definition=run.definition,
    )
    keeps = failed or run.unit.memory != "none"
    transcripts = {memory_key(snapshot.path): execution.transcript} if keeps and execution.transcript else {}
    writes = () if failed else execution.writes
    return execution.inner.then(Delta((record,), writes, execution.bus, transcripts))


def _messages(delta: Delta, inner: Delta, snapshot: Snapshot) -> tuple[BusMessage, ...]:
    """The unit's own messages, each with an id that is the same when they are made again."""
    record, known = delta.steps[-1], {message.id for message in inner.bus}
    published = [message for message in delta.bus if message.id not in known]
    written = [w for w in delta.writes if w.scope == "workflow" and w.path == record.path]
    updates = [StateUpdate(key=write.key, value=write.value) for write in written]
    output = [UnitOutput(source=record.path, output=record.stored.plain)] if record.status != "failed" else []
    base = f"{snapshot.thread_id}:{snapshot.turn}:{record.id}"
    return tuple(
        replace(
            message,
            id=message.id or f"{base}:{number}",
            path=message.path or record.path,
            timestamp=message.timestamp or time.time(),
        )
        for number, message in enumerate([*published, *updates, *output])
    )


def _emit_end(frame: Frame, unit: str, record: StepRecord) -> None:
    outcome = record.status if record.status in ("done", "partial", "failed") else "failed"
    frame.run.emit(
        "agent_end",
        record.path,
        unit=unit,
        outcome=outcome,
        reason=record.reason,
        error=record.message or None,
        is_error=record.status == "failed",
    )


def _ended_badly(frame: Frame, unit: str, error: BaseException) -> None:
    """Close the unit's events when it is paused, cancelled, or stopped by what is no failure."""

    paused = isinstance(error, GraphBubbleUp)
    outcome = "paused" if paused else "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
    told = None if paused else f"{type(error).__name__}: {error}"
    if frame.snapshot.path in frame.run.open_turns:  # stopped between a reply and its calls
        frame.run.turn_ends(frame.snapshot.path, unit, error=None if paused else type(error).__name__)
    frame.run.emit(
        "agent_end", frame.snapshot.path, unit=unit, outcome=outcome, error=told, is_error=outcome == "failed"
    )
