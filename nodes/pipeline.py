"""The one path every unit takes, stage by stage, from Snapshot to Delta.

`policy.pre_check -> security.pre_hooks -> context.assemble -> adapter -> security.post_hooks ->
output adapter -> SharedState -> context.record -> checkpoint -> observability.emit -> bus.publish`

The node that runs it returns the Delta, which is what the checkpoint holds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.func import task
from langgraph.store.base import BaseStore

from ..core.bus import BusMessage, StateUpdate, UnitOutput
from ..core.delta import Delta
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.outcome import Reason
from ..core.paths import memory_key
from ..core.ports import StageName
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..core.state import SharedState, StateWrite
from .execution import Execution
from .frame import Frame
from .unit import WorkflowUnit

Execute = Callable[[Frame], Awaitable[Execution]]
GLOBAL_NAMESPACE = ("plait", "global")


@dataclass(frozen=True)
class Run:
    """One unit about to run: how it is executed, and what it is recorded as."""

    unit: WorkflowUnit[Any]
    execute: Execute
    definition: str = ""
    store: BaseStore | None = None
    takes_slot: bool = True


async def run_unit(run: Run, frame: Frame) -> Delta:
    """Take one unit through all stages. A failure is state: it is in the Delta, not raised."""
    stage, plane, snapshot, started = _stages(frame), frame.run.plane, frame.snapshot, time.time()
    frame.run.emit("agent_start", snapshot.path, unit=run.unit.id, resumed=frame.run.resumed)
    try:
        execution = await _executed(run, frame, stage)
        await stage("security.post_hooks", plane.post_hooks, snapshot)
        await stage("output_adapter", None)
        execution = _adapted(run.unit, execution, snapshot)
        await stage("shared_state", None)
        await _commit_global(execution, run.store)
        delta = _delta(run, execution, snapshot, started)
        await stage("context.record", plane.record, snapshot)
        await stage("checkpoint", None)
    except BaseException as error:
        _ended_badly(frame, run.unit.id, error)
        raise
    await stage("observability.emit", plane.emit, snapshot)
    _emit_end(frame, run.unit.id, delta.steps[-1])
    await stage("bus.publish", None)
    for message in delta.bus:
        frame.run.publish(message)
    return delta


def _stages(frame: Frame) -> Callable[..., Awaitable[None]]:
    trace = frame.run.plane.trace

    async def stage(name: StageName, call: Any, *args: Any) -> None:
        if trace is not None:
            trace(name)
        if call is not None:
            await task(name=name)(call)(*args)

    return stage


async def _executed(run: Run, frame: Frame, stage: Callable[..., Awaitable[None]]) -> Execution:
    """The stages before, and the execution. A RunError in them, such as a refusal, fails the unit."""
    plane, snapshot = frame.run.plane, frame.snapshot
    try:
        await stage("policy.pre_check", plane.pre_check, snapshot)
        await stage("security.pre_hooks", plane.pre_hooks, snapshot)
        await stage("context.assemble", plane.assemble, snapshot)
        await stage("adapter", None)
        async with AsyncExitStack() as held:
            for slot in frame.slots if run.takes_slot else ():
                await held.enter_async_context(slot)
            return await run.execute(frame)
    except RunError as error:
        if error.reason == "store":
            raise  # what was done can no longer be kept, so the run stops where it last was
        return Execution("failed", error.reason, str(error))


def _adapted(unit: WorkflowUnit[Any], execution: Execution, snapshot: Snapshot) -> Execution:
    """The execution with the output adapter's writes, or failed when those are refused."""
    adapter = unit.output_adapter
    if adapter is None or execution.status == "failed":
        return execution
    state = _state(snapshot, execution.writes)
    before = len(state.writes)
    try:
        output = execution.stored.value
        for key, value in ({adapter: output} if isinstance(adapter, str) else adapter(output)).items():
            state.set(key, value)
    except ValueRefused as error:
        return _refused(execution, "refused-value", error)
    except PlaitError as error:
        return _refused(execution, "invalid-state", error)
    except Exception as error:
        return _refused(execution, "error", f"output_adapter raised {type(error).__name__}: {error}")
    return replace(execution, writes=(*execution.writes, *state.writes[before:]))


def _refused(execution: Execution, reason: Reason, why: object) -> Execution:
    return replace(execution, status="failed", reason=reason, message=str(why))


def _state(snapshot: Snapshot, writes: tuple[StateWrite, ...]) -> SharedState:
    return SharedState(
        snapshot.values_with_outputs(),
        path=snapshot.path,
        unit=memory_key(snapshot.path),
        schema=snapshot.schema,
        writes=list(writes),
    )


async def _commit_global(execution: Execution, store: BaseStore | None) -> None:
    """Global keys live in the store; writing them again on resume changes nothing."""
    written = [write for write in execution.writes if write.scope == "global"]
    if not written or execution.status == "failed":
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
        message=execution.message,
        stored=execution.stored,
        text=execution.text,
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
    return Delta((record,), writes, _messages(record, writes, execution.bus, snapshot), transcripts)


def _messages(
    record: StepRecord, writes: tuple[StateWrite, ...], published: tuple[BusMessage, ...], snapshot: Snapshot
) -> tuple[BusMessage, ...]:
    """The unit's messages, each with an id that is the same when they are made again."""
    updates = [StateUpdate(key=write.key, value=write.value) for write in writes if write.scope == "workflow"]
    output = [UnitOutput(source=record.path, output=record.stored.plain)] if record.status != "failed" else []
    base = f"{snapshot.thread_id}:{snapshot.turn}:{record.id}"
    return tuple(
        replace(
            message,
            id=message.id or f"{base}:{number}",
            path=message.path or record.path,
            timestamp=time.time(),
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
    frame.run.emit(
        "agent_end", frame.snapshot.path, unit=unit, outcome=outcome, error=told, is_error=outcome == "failed"
    )
