"""What earlier sketches of this model got wrong, one test for each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plait import (
    CompositeFlow,
    DelegationFlow,
    Limits,
    MaxRounds,
    ParallelFlow,
    RouterFlow,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
)
from plait.testing import ScriptedModel, call, rules

from .support import Log, given, noted, outputs, resolving, run, statuses


async def test_a_delegation_is_read_by_its_specialist() -> None:
    model = ScriptedModel(
        {
            "boss": [call("delegate_to_x", task="find 7"), call("resolve", value="end")],
            "x": [call("resolve", value="7")],
        }
    )
    await run(DelegationFlow(WorkflowUnit("boss"), [WorkflowUnit("x")]), model)
    assert [request.user for request in model.requests if request.unit == "x"] == ["find 7"]
    model.check()


async def test_a_router_inside_a_composite_learns_its_answer_and_is_asked_once() -> None:
    model = ScriptedModel({"pick": [call("resolve", value="go")]})
    flow = CompositeFlow(
        RouterFlow(WorkflowUnit("pick"), {"go": given("go"), "no": given("no")}), given("end")
    )
    assert list(outputs(await run(flow, model))) == ["router/pick", "router/go", "end"]
    model.check()


async def test_termination_policies_hold_inside_flows() -> None:
    def look() -> str:
        """Look."""
        return "nothing"

    unit = WorkflowUnit("u", tools=[look], termination=MaxRounds(2))
    model = ScriptedModel(lambda request: call("look"))
    result = await run(ParallelFlow(unit, given("x")), model)
    assert (len(model.requests), statuses(result)["u"] != "done") == (2, True)


async def test_concurrency_limits_are_enforced() -> None:
    log = Log()
    parts = [noted(log, f"p{n}", wait=0.01) for n in range(6)]
    await run(ParallelFlow(*parts, max_concurrency=2))
    assert log.peak == 2


@pytest.mark.parametrize("where", ["unit", "flow", "run"])
async def test_time_that_is_up_stops_what_is_running(where: str) -> None:
    limits = Limits(seconds=0.1)
    unit = WorkflowUnit("slow", limits=limits if where == "unit" else None)
    flow = ParallelFlow(unit, given("x"), limits=limits if where == "flow" else None)
    model = ScriptedModel(resolving, delay_s=60)
    result = await asyncio.wait_for(run(flow, model, **({"limits": limits} if where == "run" else {})), 10)
    assert statuses(result) == {"slow": "failed", "x": "done"}
    assert "seconds=0.1" in result.message


async def test_every_scope_of_the_state_is_there_after_a_restore(tmp_path: Path) -> None:
    def note(runtime: ToolRuntime) -> str:
        """Note something in each scope, then ask."""
        for scope in ("workflow", "session", "unit"):
            runtime.shared.scope(scope).set("k", scope)
        return "noted"

    def look(runtime: ToolRuntime) -> str:
        """Ask, then read each scope."""
        runtime.ask("go on?")
        return ",".join(
            runtime.shared.scope(scope).get("k", "-") for scope in ("workflow", "session", "unit")
        )

    unit = WorkflowUnit("u", tools=[note, look])
    flow = given("x") >> ParallelFlow(unit, given("y"))
    made: dict[str, Any] = {"checkpointer": f"sqlite:///{tmp_path}/runs.db"}
    script = [call("note"), call("look"), call("resolve", value="end")]
    paused = await Workflow(flow, model=ScriptedModel(script), **made).run("go", thread_id="t")
    assert paused.outcome == "paused"
    later = Workflow(flow, model=ScriptedModel(script), **made)
    result = await later.resume("t", "yes")
    assert result.steps[1].tool_calls[1].output == "workflow,session,unit"
    assert (await later.thread("t").state(), await later.thread("t").state("session")) == (
        {"k": "workflow"},
        {"k": "session"},
    )


async def test_an_unknown_route_is_no_success() -> None:
    log = Log()
    flow = RouterFlow(given("pick", "nowhere"), {"a": noted(log, "a"), "b": noted(log, "b")})
    result = await run(ParallelFlow(flow, given("x"), on_failure="require_all"))
    assert (result.outcome, result.reason, log) == ("failed", "unknown-route", [])
    assert "nowhere" in result.message


async def test_a_parallel_flow_marks_its_units_done() -> None:
    result = await run(ParallelFlow(WorkflowUnit("a"), WorkflowUnit("b")))
    assert (result.completed_units, statuses(result)) == (("a", "b"), {"a": "done", "b": "done"})


async def test_a_scripted_model_answers_what_it_is_asked() -> None:
    model = ScriptedModel(rules(("red", call("resolve", value="R")), ("blue", call("resolve", value="B"))))
    for task, value in (("blue", "B"), ("red", "R")):
        assert (await run(WorkflowUnit("u"), model, task)).output == value
