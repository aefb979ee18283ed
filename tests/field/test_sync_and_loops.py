"""Field cases: the sync entry point inside running loops, and sync tools that would block one."""

import asyncio
import gc
import threading
import time
from contextvars import ContextVar

import pytest
from pydantic import BaseModel

from plait import RunError, Workflow, WorkflowUnit
from plait.testing import call

from ..support import run, scripted


class Ok(BaseModel):
    ok: bool


DONE = call("resolve", ok=True)
ok_unit = WorkflowUnit("work", output=Ok)


def workflow_of(count, **options):
    return Workflow(ok_unit, model=scripted([DONE] * count), **options)


@pytest.fixture(autouse=True)
def _nothing_left_unawaited():
    """What was never awaited warns when it is collected, and a warning is an error."""
    yield
    gc.collect()


async def test_f14_run_sync_works_inside_a_running_loop():
    result = workflow_of(1).run_sync("Go.")
    assert result.output == Ok(ok=True)


def test_f14_run_sync_works_twice_from_plain_code():
    workflow = workflow_of(2)
    assert [workflow.run_sync("Go.").outcome for _ in range(2)] == ["done", "done"]


def test_f14_run_sync_goes_on_with_a_thread():
    workflow = workflow_of(2)
    workflow.run_sync("One.", thread_id="t")
    result = workflow.run_sync("Two.", thread_id="t")
    assert [message.content for message in result.messages if message.type == "human"] == ["One.", "Two."]


async def test_f14_sync_and_async_calls_mix_on_one_workflow():
    workflow = workflow_of(3)
    outcomes = [
        workflow.run_sync("Go.").outcome,
        (await workflow.run("Go.")).outcome,
        workflow.run_sync("Go.").outcome,
    ]
    assert outcomes == ["done"] * 3


def test_f14_run_sync_works_in_a_thread_with_its_own_loop():
    workflow, found = workflow_of(1), []

    async def inside():
        found.append(workflow.run_sync("Go.").outcome)

    thread = threading.Thread(target=lambda: asyncio.run(inside()))
    thread.start()
    thread.join(timeout=30)
    assert found == ["done"]


def test_f14_run_sync_from_many_threads_at_once():
    workflow, found = workflow_of(8), []
    threads = [
        threading.Thread(target=lambda: found.append(workflow.run_sync("Go.").outcome)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == ["done"] * 8


def test_f14_run_sync_keeps_its_database_usable(tmp_path):
    workflow = workflow_of(2, checkpointer=f"sqlite:///{tmp_path}/runs.db")
    assert [workflow.run_sync("Go.", thread_id="t").outcome for _ in range(2)] == ["done", "done"]


async def test_f14_a_failed_run_raises_the_same_error():
    workflow = Workflow(ok_unit.with_(resolve_attempts=1), model=scripted([call("resolve", ok="no")]))
    with pytest.raises(RunError) as raised:
        workflow.run_sync("Go.")
    assert raised.value.reason == "invalid-resolve"


async def test_f43_sync_tools_run_side_by_side_and_do_not_block_the_loop():
    def wait(n: int) -> int:
        """Wait."""
        time.sleep(0.5)
        return n

    gaps: list[float] = []
    beating = asyncio.create_task(heartbeat(gaps))
    unit = WorkflowUnit("work", output=Ok, tools=[wait])
    started = time.perf_counter()
    await run(unit, [[call("wait", n=n) for n in range(3)], DONE])
    elapsed_s = time.perf_counter() - started
    beating.cancel()
    assert elapsed_s < 1.0
    assert max(gaps) < 0.25


async def heartbeat(gaps):
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.05)
        gaps.append(time.perf_counter() - last)
        last = time.perf_counter()


tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("entry", ["run", "run_sync"])
async def test_f43_context_variables_are_visible_in_sync_tools(count, entry):
    seen = []

    def who() -> str:
        """Who is it?"""
        seen.append((tenant.get(), threading.current_thread() is threading.main_thread()))
        return tenant.get()

    tenant.set("mei")
    workflow = Workflow(
        WorkflowUnit("work", output=Ok, tools=[who]), model=scripted([[call("who")] * count, DONE])
    )
    result = await workflow.run("Go.") if entry == "run" else workflow.run_sync("Go.")
    assert result.outcome == "done"
    assert seen == [("mei", False)] * count


async def test_f43_sync_prompts_adapters_and_conditions_see_context_variables():
    tenant.set("mei")
    unit = ok_unit.with_(
        prompt=lambda snapshot: f"For {tenant.get()}.", input_adapter=lambda snapshot: tenant.get()
    )
    _, model = await run(unit, [DONE])
    assert (model.requests[0].system, model.requests[0].user) == ("For mei.", "mei")
