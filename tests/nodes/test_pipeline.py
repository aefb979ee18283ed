"""The one path of every unit: its stages, their order, and what a resume does not repeat."""

import asyncio

import pytest
from pydantic import BaseModel

from plait import Delta, Limits, RunError, SequentialFlow, Snapshot, ToolRuntime, Workflow, WorkflowUnit
from plait.core.ports import Plane
from plait.testing import call

from ..support import failure, scripted


class Ok(BaseModel):
    ok: bool


STAGES = [
    "policy.pre_check",
    "security.pre_hooks",
    "context.assemble",
    "adapter",
    "security.post_hooks",
    "output_adapter",
    "shared_state",
    "context.record",
    "checkpoint",
    "observability.emit",
    "bus.publish",
]
BEFORE, AFTER = ["pre_check", "pre_hooks", "assemble"], ["post_hooks", "record", "emit"]
DONE = call("resolve", ok=True)


def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask("May I?"))


work = WorkflowUnit("work", output=Ok, output_adapter="kept")
asking = work.with_(tools=[ask])


def noting(calls, name):
    async def stage(snapshot, *rest):
        calls.append((name, snapshot.path, len(rest)))
        return rest[0] if rest else snapshot

    return stage


def plane_of(calls):
    return Plane(**{name: noting(calls, name) for name in (*BEFORE, *AFTER)})


async def test_the_stages_run_in_their_order():
    traced = []
    await Workflow(work, model=scripted([DONE]), plane=Plane(trace=traced.append)).run("Go.")
    assert traced == STAGES


async def test_every_unit_takes_the_same_path():
    traced = []
    flow = SequentialFlow(work, work.with_(id="next"))
    await Workflow(flow, model=scripted([DONE, DONE]), plane=Plane(trace=traced.append)).run("Go.")
    assert traced == STAGES * 2


async def test_a_function_adapter_takes_the_same_path():
    traced = []

    def adapter(prompt, schema):
        async def role(context):
            return Ok(ok=True)

        return role

    await Workflow(work, adapter=adapter, plane=Plane(trace=traced.append)).run("Go.")
    assert traced == STAGES


async def test_a_failed_unit_takes_the_same_path():
    traced = []
    workflow = Workflow(
        work.with_(resolve_attempts=1),
        model=scripted([call("resolve", ok=3)]),
        plane=Plane(trace=traced.append),
    )
    await failure(workflow)
    assert traced == STAGES


async def test_stages_before_get_the_snapshot_and_stages_after_the_delta_too():
    calls = []
    await Workflow(work, model=scripted([DONE]), plane=plane_of(calls)).run("Go.")
    assert calls == [(name, "work", 0) for name in BEFORE] + [(name, "work", 1) for name in AFTER]


async def test_stages_are_not_repeated_when_a_paused_unit_goes_on():
    calls, traced = [], []
    plane = Plane(**{name: noting(calls, name) for name in BEFORE}, trace=traced.append)
    workflow = Workflow(asking, model=scripted([call("ask"), DONE]), plane=plane)
    await workflow.run("Go.", thread_id="t")
    assert [name for name, *_ in calls] == BEFORE
    result = await workflow.resume("t", "yes")
    assert result.outcome == "done"
    assert [name for name, *_ in calls] == BEFORE


async def test_a_stage_narrows_what_the_unit_sees():
    async def assemble(snapshot: Snapshot) -> Snapshot:
        return Snapshot(path=snapshot.path, thread_id=snapshot.thread_id, task="Only this.")

    model = scripted([DONE])
    await Workflow(work, model=model, plane=Plane(assemble=assemble)).run("Everything.")
    assert model.requests[0].user == "Only this."


async def test_what_a_stage_narrowed_stays_narrow_when_the_unit_goes_on():
    async def assemble(snapshot: Snapshot) -> Snapshot:
        return Snapshot(path=snapshot.path, thread_id=snapshot.thread_id, task="Only this.")

    model = scripted([call("ask"), DONE])
    workflow = Workflow(asking, model=model, plane=Plane(assemble=assemble))
    await workflow.run("Everything.", thread_id="t")
    await workflow.resume("t", "yes")
    assert [request.first_user for request in model.requests] == ["Only this."] * 2


async def test_a_later_stage_may_change_what_was_done():
    async def record(snapshot: Snapshot, delta: Delta) -> Delta:
        return Delta(delta.steps, (), delta.bus)

    result = await Workflow(work, model=scripted([DONE]), plane=Plane(record=record)).run("Go.")
    assert result.state == {}


@pytest.mark.parametrize("name", BEFORE)
async def test_a_stage_that_refuses_fails_the_unit(name):
    async def refuse(snapshot):
        raise RunError("not today", reason="rejected")

    error = await failure(Workflow(work, model=scripted([]), plane=Plane(**{name: refuse})))
    assert error.reason == "rejected"
    assert error.path == "work"
    assert error.result.steps[0].status == "failed"


@pytest.mark.parametrize("name", BEFORE)
async def test_a_stage_that_hangs_is_stopped_by_the_limit(name):
    async def hang(snapshot):
        await asyncio.sleep(60)

    limits = Limits(seconds=0.05)
    workflow = Workflow(work, model=scripted([]), plane=Plane(**{name: hang}), limits=limits)
    error = await failure(workflow)
    assert (error.reason, error.path) == ("limit", "work")
    assert "did not end" in str(error)


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.parametrize("error", [RunError("not today", reason="rejected"), KeyError("a bug")])
async def test_a_later_stage_that_refuses_or_breaks_fails_the_unit(name, error):
    async def refuse(snapshot, delta):
        raise error

    failed = await failure(Workflow(work, model=scripted([DONE]), plane=Plane(**{name: refuse})))
    assert (failed.path, failed.result.state) == ("work", {})
    assert failed.reason == ("rejected" if isinstance(error, RunError) else "error")
    assert "not today" in str(failed) or "raised KeyError: 'a bug'" in str(failed)


async def test_the_writes_of_a_failed_unit_are_not_committed():
    def note(runtime: ToolRuntime) -> str:
        """Note."""
        runtime.shared.set("noted", 1)
        return "noted"

    unit = work.with_(tools=[note], resolve_attempts=1)
    error = await failure(Workflow(unit, model=scripted([call("note"), call("resolve", ok=3)])))
    assert error.result.state == {}


async def test_the_output_adapter_writes_the_state_and_the_bus_tells_it():
    result = await Workflow(work, model=scripted([DONE])).run("Go.")
    assert result.state == {"kept": Ok(ok=True)}
    assert [message.type for message in result.bus] == ["state-update", "unit-output"]


async def test_an_output_adapter_that_raises_fails_the_unit():
    def adapter(output):
        raise ValueError("no way")

    error = await failure(Workflow(work.with_(output_adapter=adapter), model=scripted([DONE])))
    assert error.path == "work"
    assert "no way" in str(error)
