"""What a flow keeps account of can be read in the state, in a scope of its own, and by nobody written."""

from __future__ import annotations

from typing import Any

import pytest

from plait import (
    DAGFlow,
    DelegationFlow,
    LoopFlow,
    PlaitError,
    Plan,
    RouterFlow,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call

from .support import broken, given, resolving


async def kept(flow: Any, where: str = "", script: Any = resolving) -> dict[str, Any]:
    workflow = Workflow(flow, model=ScriptedModel(script), checkpointer="memory")
    await workflow.run("go", thread_id="t")
    return dict(await workflow.thread("t").state(f"flow:{where}"))


def planning(request: Any) -> Any:
    if request.unit != "plan":
        return resolving(request)
    steps = [{"id": name, "executor": name, "task": "t"} for name in ("a", "b")]
    return call("resolve", steps=steps)


@pytest.mark.parametrize("at", ["", "dag"])
async def test_a_planned_flow_accounts_for_plan_steps_and_aggregation(at: str) -> None:
    flow = DAGFlow(WorkflowUnit("plan"), {"a": given("a"), "b": broken("b")}, given("end"), id="dag")
    told = await kept(given("x") >> flow if at else flow, at, planning)
    assert isinstance(told["plan"], Plan)
    assert [planned.id for planned in told["plan"].steps] == ["a", "b"]
    assert (told["completedSteps"], told["aggregated"]) == (["a"], True)


async def test_a_router_says_which_handler_is_done() -> None:
    flow = RouterFlow(given("pick", "go"), {"go": given("go"), "stay": given("stay")})
    assert await kept(flow) == {"handler.go.done": True, "completedSteps": ["pick"]}


async def test_a_delegation_says_when_the_orchestrator_has_ended() -> None:
    script = [call("delegate_to_x", task="t"), call("resolve", value="end")]
    told = await kept(DelegationFlow(WorkflowUnit("boss"), {"x": given("x")}), "", script)
    assert told == {"orchestrator.finalized": True, "completedSteps": ["x[1]"]}


async def test_each_flow_has_its_own_account() -> None:
    inner = RouterFlow(given("pick", "go"), {"go": given("go")}, id="inner")
    flow = given("first") >> LoopFlow(inner, 2, until=lambda s: False, id="loop")
    assert (await kept(flow, "loop[2]"))["handler.go.done"] is True
    assert (await kept(flow))["completedSteps"] == ["first", "loop[1]", "loop[2]", "loop"]


async def test_parts_read_it_while_the_flow_runs_and_cannot_write_it() -> None:
    def look(snapshot: Any) -> Any:
        with pytest.raises(PlaitError):
            snapshot.state.scope("flow:").set("plan", 1)
        return snapshot.state.scope("flow:").get("completedSteps")

    result = await Workflow(given("a") >> given("b") >> step(look, id="look")).run("go")
    assert result.output == ["a", "b"]


async def test_a_flow_that_has_done_nothing_accounts_for_nothing() -> None:
    assert await kept(given("a"), "nowhere") == {}
