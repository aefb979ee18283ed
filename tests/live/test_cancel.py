"""Cancelling: at once, resumable, counted, balanced, and nothing is left behind."""

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from plait import DelegationFlow, Event, ParallelFlow, Workflow, WorkflowUnit, tool
from plait.testing import ScriptedModel, call

from .balance import imbalance


class Slow:
    """A tool that is under way until it is cancelled, and says so."""

    def __init__(self) -> None:
        self.begun, self.started, self.ended = asyncio.Event(), 0, 0

    def tool(self) -> Any:
        async def slow() -> str:
            """Take long."""
            self.started += 1
            self.begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.01)  # some cleaning up
                self.ended += 1
            return "never"

        return tool(slow, effect="idempotent")


@tool(effect="read")
async def quick() -> str:
    """Be quick."""
    return "quick"


def reply(request: Any) -> Any:
    if request.tool_results:
        return call("resolve", value="so")
    if "delegate_to_unit" in request.tools:
        return call("delegate_to_unit", task="go")
    return [call("quick"), call("slow")]


FLOWS = {
    "unit": lambda unit: unit,
    "sequential": lambda unit: unit.with_(tool_execution="sequential"),
    "parallel": lambda unit: ParallelFlow(unit, unit.with_(id="other")),
    "superstep": lambda unit: ParallelFlow(unit, unit.with_(id="other"), scheduling="superstep"),
    "delegation": lambda unit: DelegationFlow(WorkflowUnit("boss", output=str), [unit]),
}


def workflow_of(kind: str, slow: Slow, **options: Any) -> Workflow[Any]:
    unit = WorkflowUnit("unit", tools=[quick, slow.tool()], output=str)
    return Workflow(FLOWS[kind](unit), model=ScriptedModel(reply), **options)


async def under_way(slow: Slow) -> None:
    await slow.begun.wait()
    await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", FLOWS)
async def test_cancel_stops_everything_and_says_what_was_spent(kind: str, saver_url: Any) -> None:
    slow, before = Slow(), asyncio.all_tasks()
    run = workflow_of(kind, slow, checkpointer=saver_url).start("go", thread_id="t")
    await under_way(slow)
    await run.cancel()
    result = await run.result()
    calls = 2 if kind in ("parallel", "superstep", "delegation") else 1
    assert (result.outcome, result.reason, result.lingering) == ("cancelled", "interrupted", ())
    assert (result.usage.model_calls, result.usage.input_tokens > 0) == (calls, True)
    assert slow.ended == slow.started
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("kind", FLOWS)
async def test_the_events_of_a_cancelled_run_are_balanced(kind: str) -> None:
    slow = Slow()
    run = workflow_of(kind, slow).start("go")
    await under_way(slow)
    await run.cancel()
    events = [event async for event in run.events()]
    assert imbalance(events) == []
    assert (events[-1].outcome, events[-1].result.outcome) == ("cancelled", "cancelled")
    last = [e.type for e in events if e.path.startswith(("unit", "parallel/unit"))][-3:]
    assert last == ["tool_execution_end", "turn_end", "agent_end"]


@pytest.mark.parametrize("kind", FLOWS)
async def test_a_cancelled_thread_goes_on(kind: str, saver_url: Any) -> None:
    slow = Slow()
    workflow = workflow_of(kind, slow, checkpointer=saver_url)
    run = workflow.start("go", thread_id="t")
    await under_way(slow)
    await run.cancel()
    slow.begun.clear()
    again = asyncio.ensure_future(workflow.resume("t"))
    await under_way(slow)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again


async def test_the_tasks_of_a_run_whose_caller_is_cancelled_end_with_it() -> None:
    slow, before, heard = Slow(), asyncio.all_tasks(), list[Event]()
    workflow = workflow_of("parallel", slow)

    async def stream() -> None:
        async for event in workflow.stream("go"):
            heard.append(event)

    for work in (workflow.run("go"), stream()):
        slow.begun.clear()
        task = asyncio.ensure_future(work)
        await under_way(slow)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert asyncio.all_tasks() == before


async def test_cancelling_before_the_run_has_begun_gives_a_result_too() -> None:
    for turns in range(12):
        run = workflow_of("unit", Slow()).start("go")
        for _ in range(turns):
            await asyncio.sleep(0)
        await run.cancel()
        assert (await run.result()).outcome == "cancelled"
        assert imbalance([event async for event in run.events()]) == []


async def test_a_tool_that_swallows_its_cancel_does_not_keep_the_run_going() -> None:
    begun = asyncio.Event()

    async def stubborn() -> str:
        """Not to be stopped."""
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "went on"
        return "never"

    model = ScriptedModel(lambda r: call("resolve", value="so") if r.tool_results else call("stubborn"))
    run = Workflow(WorkflowUnit("unit", tools=[stubborn], output=str), model=model).start("go")
    await begun.wait()
    await run.cancel()
    assert ((await run.result()).outcome, len(model.requests)) == ("cancelled", 1)


async def test_a_round_cut_between_its_reply_and_its_calls_ends_too() -> None:
    class Saver(InMemorySaver):
        """Does not come to an end where it would keep the reply."""

        held = asyncio.Event()

        async def aput(self, config: Any, checkpoint: Any, *rest: Any) -> Any:
            if "progress" in checkpoint["channel_values"]:
                self.held.set()
                await asyncio.sleep(60)
            return await super().aput(config, checkpoint, *rest)

    saver = Saver()
    run = workflow_of("unit", Slow(), checkpointer=saver).start("go")
    await saver.held.wait()
    await run.cancel()
    assert imbalance([event async for event in run.events()]) == []
