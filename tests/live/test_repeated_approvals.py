"""Approvals of calls that are alike: each question stands for its own call, whatever came before it."""

import asyncio
from typing import Any

import pytest

from plait import PlaitError, ThreadPaused, Workflow, WorkflowUnit, approve, tool
from plait.testing import ScriptedModel, call, text

RAN: list[str] = []
GRANULARITIES = pytest.mark.parametrize("granularity", ["round", "unit"])


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


@tool(approval=True)
async def deploy() -> str:
    """Deploy it."""
    RAN.append("deploy")
    await asyncio.sleep(0)
    return "deployed"


@tool(effect="read")
def mend() -> str:
    """Mend it."""
    return "mended"


def engineer(saver: Any, granularity: Any, *script: Any) -> Workflow:
    unit = WorkflowUnit("engineer", tools=[deploy, mend], answer="text")
    return Workflow(unit, model=ScriptedModel([*script]), checkpointer=saver, granularity=granularity)


@GRANULARITIES
async def test_the_same_call_in_a_later_round_is_asked_for_and_answered_anew(
    saver_url: Any, granularity: Any
) -> None:
    workflow = engineer(saver_url, granularity, call("deploy"), call("mend"), call("deploy"), text("done"))
    assert (await workflow.run("go", thread_id="t")).outcome == "paused"
    paused = await workflow.resume("t", approve())
    assert [question.kind for question in paused.interrupts] == ["approval"]
    assert await workflow.thread("t").interrupts() == list(paused.interrupts)
    with pytest.raises(ThreadPaused):
        await workflow.run("something else", thread_id="t")
    assert (await workflow.resume("t", {paused.interrupts[0].id: approve()})).output == "done"
    assert RAN == ["deploy", "deploy"]


@GRANULARITIES
async def test_the_same_call_after_a_cancelled_turn_is_no_call_in_doubt(
    saver_url: Any, granularity: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = engineer(saver_url, granularity, call("deploy"), call("deploy"), text("done"))
    await workflow.run("go", thread_id="t")
    monkeypatch.setattr(asyncio, "sleep", lambda _: asyncio.get_running_loop().create_future())
    run = asyncio.ensure_future(workflow.resume("t", approve()))
    while not RAN:
        await asyncio.wait([run], timeout=0.01)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    monkeypatch.undo()
    paused = await workflow.run("once more", thread_id="t", abandon=True)
    assert [question.kind for question in paused.interrupts] == ["approval"]
    thread = workflow.thread("t")
    assert [question.kind for question in await thread.interrupts()] == ["approval"]
    assert (await thread.resume_plan()).in_doubt == ()
    assert (await workflow.resume("t", approve())).output == "done"


async def test_an_answer_that_nobody_asked_for_is_refused(saver_url: Any) -> None:
    workflow = engineer(saver_url, "round", call("deploy"), text("done"))
    await workflow.run("go", thread_id="t")
    await workflow.resume("t", approve())
    with pytest.raises(PlaitError, match="'t' has no open question"):
        await workflow.resume("t", approve())


async def test_an_answer_that_waited_is_only_for_what_was_open_when_it_was_given(saver_url: Any) -> None:
    workflow = engineer(saver_url, "round", call("deploy"), call("deploy"), text("done"))
    await workflow.run("go", thread_id="t")
    twice = [workflow.resume("t", approve(), queue=True) for _ in range(2)]
    first, second = await asyncio.gather(*twice, return_exceptions=True)
    told = [one for one in (first, second) if isinstance(one, PlaitError)]
    assert len(told) == 1
    assert "have been answered meanwhile" in str(told[0])
    assert RAN == ["deploy"]
