"""A plan that cannot run is answered to the planner; nothing of it ever runs."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from plait import DAGFlow, Plan, PlanStep, WorkflowUnit, step
from plait.testing import ScriptedModel

from .support import Log, given, noted, planned, planning, run, seen

PLANNER = WorkflowUnit("plan", output=Plan)

BAD = {
    "circle": (planned(("a", "x", "b"), ("b", "x", "a")), "a -> b -> a"),
    "itself": (planned(("a", "x", "a")), "a -> a"),
    "dangling": (planned(("a", "x", "zz")), "'zz'"),
    "double": (planned(("a", "x"), ("a", "x")), "'a'"),
    "empty": (planned(), "no steps"),
    "executor": (planned(("a", "nobody")), "'nobody'"),
    "unfit id": (planned(("a/b", "x")), "a/b"),
    "framework id": (planned(("plan", "x")), "'plan'"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_plan_is_answered_to_the_planner_and_nothing_runs(kind: str) -> None:
    bad, told = BAD[kind]
    model = ScriptedModel(planning(bad, planned(("a", "x"))))
    result = await run(DAGFlow(PLANNER, [WorkflowUnit("x")], seen("end")), model)
    assert result.outcome == "done"
    answer = next(m for m in model.requests[1].messages if m.type == "tool")
    assert answer.status == "error"
    assert told in answer.text
    assert [request.unit for request in model.requests] == ["plan", "plan", "x"]


@pytest.mark.parametrize("kind", BAD)
async def test_a_planner_that_never_gives_a_good_plan_fails_with_bad_plan(kind: str) -> None:
    bad, told = BAD[kind]
    log = Log()
    flow = DAGFlow(PLANNER, {"x": noted(log, "x")}, noted(log, "end"))
    result = await asyncio.wait_for(run(flow, planning(bad, bad, bad)), 5)
    assert (result.outcome, result.reason, result.path, log) == ("failed", "bad-plan", "plan", [])
    assert told in result.message


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_plan_of_a_function_fails_with_bad_plan(kind: str) -> None:
    bad, told = BAD[kind]
    log = Log()
    result = await run(DAGFlow(given("plan", bad), {"x": noted(log, "x")}))
    assert (result.outcome, result.reason, log) == ("failed", "bad-plan", [])
    assert told in result.message


async def test_a_planner_may_be_a_function_and_what_is_no_plan_fails() -> None:
    made = Plan(steps=[PlanStep(id="a", executor="x", task="t")])
    flow = DAGFlow(given("plan", made), {"x": step(lambda s: s.task, id="x")})
    assert (await run(flow)).output == {"a": "t"}
    for none in ("no plan", 3, {"steps": "x"}):
        result = await run(DAGFlow(given("plan", none), {"x": given("x")}))
        assert (result.outcome, result.reason) == ("failed", "bad-plan")


class Mine(BaseModel):
    why: str
    steps: list[PlanStep]


async def test_a_plan_of_ones_own_type_is_checked_too() -> None:
    unit = WorkflowUnit("plan", output=Mine)
    bad, good = ({**planned(("a", name)), "why": "so"} for name in ("nobody", "x"))
    result = await run(DAGFlow(unit, [WorkflowUnit("x")]), planning(bad, good))
    assert (result.outcome, result.output) == ("done", {"a": "a"})
