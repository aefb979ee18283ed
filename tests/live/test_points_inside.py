"""Parts that ran inside a root that is one node: later rounds of peers, and specialists."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from plait import BroadcastFlow, DelegationFlow, PlaitError, Workflow, WorkflowUnit
from plait.testing import Request, ScriptedModel, call, text

SCHEDULING = pytest.mark.parametrize("scheduling", ["eager", "superstep"])


def unit(name: str, memory: Any = "none") -> WorkflowUnit[str]:
    return WorkflowUnit(name, answer="text", memory=memory)


def heard(request: Request) -> Any:
    """The boss delegates twice; all others say what they were told."""
    if request.unit != "boss":
        return text(f"{request.unit} heard {request.user}")
    tasks = [call("delegate_to_helper", task="one"), call("delegate_to_helper", task="two")]
    return text("all is done") if request.tool_results else tasks


def workflow(flow: Any, scheduling: Any = "eager") -> Workflow:
    return Workflow(flow, model=ScriptedModel(heard), checkpointer=InMemorySaver(), scheduling=scheduling)


@SCHEDULING
async def test_each_round_of_a_root_broadcast_is_run_again(scheduling: Any) -> None:
    talk = workflow(BroadcastFlow(unit("a"), unit("b"), rounds=2), scheduling)
    result = await talk.run("go", thread_id="t")
    assert [record.path for record in result.steps] == ["a[1]", "b[1]", "a[2]", "b[2]"]
    for record in result.steps:
        again = await talk.thread("t").rerun(record.path)
        assert (record.path, again.after.output) == (record.path, record.output)


@SCHEDULING
async def test_a_fork_at_a_later_round_begins_before_the_broadcast(scheduling: Any) -> None:
    talk = workflow(BroadcastFlow(unit("a"), unit("b"), rounds=2), scheduling)
    result = await talk.run("go", thread_id="t")
    await talk.run("more", thread_id="t")
    forked = await talk.thread("t").fork(1)
    assert (await forked.history())[0].turn == 1
    forked = await talk.thread("t").fork("a[2]")
    again = await forked.resume()
    assert [record.path for record in again.steps] == [record.path for record in result.steps]


@SCHEDULING
async def test_a_specialist_is_run_again_with_who_delegated(scheduling: Any) -> None:
    team = workflow(DelegationFlow(unit("boss"), [unit("helper")]), scheduling)
    result = await team.run("go", thread_id="t")
    assert [record.path for record in result.steps] == ["helper[1]", "helper[2]", "boss"]
    with pytest.raises(PlaitError, match=r"'helper\[2\]' was delegated to.*fork the thread at it"):
        await team.thread("t").rerun("helper[2]")
    again = await (await team.thread("t").fork("helper[2]")).resume()
    assert [record.path for record in again.steps] == ["helper[1]", "helper[2]", "boss"]


async def test_a_part_that_never_ran_has_no_point() -> None:
    talk = workflow(BroadcastFlow(unit("a"), unit("b"), rounds=2))
    await talk.run("go", thread_id="t")
    for path in ("a[3]", "c[1]"):
        with pytest.raises(PlaitError, match="no point"):
            await talk.thread("t").fork(path)
