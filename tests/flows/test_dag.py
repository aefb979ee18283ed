"""DAGFlow: declared and planned dependencies, joins, failures, bad plans, and plans made anew."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from plait import (
    DAGFlow,
    DefinitionError,
    Failure,
    LoopFlow,
    Plan,
    RunError,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call

from .support import Log, broken, given, noted, outputs, planned, planning, resolving, run, seen, statuses

BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])
PLANNER = WorkflowUnit("plan", output=Plan)


async def test_a_step_starts_when_its_own_needs_are_met_and_not_when_its_level_is_done() -> None:
    log, c_began = Log(), asyncio.Event()

    async def begin(snapshot: Any) -> str:
        c_began.set()
        return "c"

    flow = DAGFlow(
        None,
        {"a": noted(log, "a"), "b": noted(log, "b", wait=c_began), "c": step(begin, id="c")},
        seen("join"),
        dependencies={"c": ["a"]},
    )
    result = await asyncio.wait_for(run(flow), 10)
    assert result.output == {"a": "a", "b": "b", "c": "c"}


@BOTH
async def test_branches_of_different_length_join_once_and_last(scheduling: Any) -> None:
    log = Log()
    executors = {name: noted(log, name) for name in ("a", "b", "b2", "c", "d")}
    executors["d"] = seen("d")
    needs = {"b": ["a"], "b2": ["b"], "c": ["a"], "d": ["b2", "c"]}
    result = await run(DAGFlow(None, executors, dependencies=needs, scheduling=scheduling))
    assert list(outputs(result)).index("d") == 4
    assert outputs(result)["d"] == {"b2": "b2", "c": "c"}
    assert [log.starts(name) for name in ("a", "b", "b2", "c")] == [1, 1, 1, 1]


@BOTH
async def test_dependents_of_a_failed_step_are_skipped_and_the_aggregator_sees_why(scheduling: Any) -> None:
    log = Log()
    executors = {"a": broken("a"), "b": noted(log, "b"), "c": noted(log, "c"), "free": given("free")}
    flow = DAGFlow(None, executors, seen("sum"), {"b": ["a"], "c": ["b"]}, scheduling=scheduling)
    result = await run(flow)
    assert (result.outcome, result.path, log) == ("partial", "a", [])
    assert statuses(result) == {"a": "failed", "b": "skipped", "c": "skipped", "free": "done", "sum": "done"}
    assert {k: type(v) for k, v in result.output.items()} == {
        "a": Failure,
        "b": Failure,
        "c": Failure,
        "free": str,
    }


@BOTH
async def test_a_step_left_out_by_its_condition_blocks_nobody(scheduling: Any) -> None:
    executors = {"a": given("a", when=lambda s: False), "b": seen("b")}
    result = await run(DAGFlow(None, executors, dependencies={"b": ["a"]}, scheduling=scheduling))
    assert (result.outcome, statuses(result)) == ("done", {"a": "skipped", "b": "done"})


@BOTH
async def test_a_planner_with_dependencies_is_an_ordinary_first_unit(scheduling: Any) -> None:
    flow = DAGFlow(
        given("first"), {"a": seen("a"), "b": seen("b")}, seen("sum"), {"b": ["a"]}, scheduling=scheduling
    )
    result = await run(flow)
    assert list(outputs(result)) == ["first", "a", "b", "sum"]
    assert outputs(result)["a"] == {"first": "first"}
    assert outputs(result)["b"] == {"a": {"first": "first"}}


async def test_a_failed_planner_ends_the_flow() -> None:
    result = await run(DAGFlow(broken("first"), {"a": given("a")}, dependencies={}))
    assert (result.outcome, result.path, statuses(result)) == ("failed", "first", {"first": "failed"})


@BOTH
async def test_a_plan_decides_what_runs_and_an_executor_serves_several_steps(scheduling: Any) -> None:
    model = ScriptedModel(
        planning(planned(("find", "x"), ("read", "x", "find"), ("sum", "y", "read", "find")))
    )
    flow = DAGFlow(
        PLANNER, [WorkflowUnit("x"), WorkflowUnit("y")], WorkflowUnit("end"), scheduling=scheduling
    )
    result = await run(flow, model)
    assert list(outputs(result).items())[1:] == [(p, p) for p in ("find", "read", "sum", "end")]
    assert [record.unit for record in result.steps] == ["plan", "x", "x", "y", "end"]
    told = {request.path: request.user for request in model.requests}
    assert told["read"] == "do read\n\nOutput of find:\nfind"
    assert told["end"].startswith("Go.")


async def test_steps_of_one_executor_remember_nothing_of_each_other() -> None:
    model = ScriptedModel(planning(planned(("one", "x"), ("two", "x", "one"))))
    await run(DAGFlow(PLANNER, [WorkflowUnit("x")]), model)
    assert [request.replies for request in model.requests] == [0, 0, 0]


async def test_executors_may_be_flows() -> None:
    flow = DAGFlow(PLANNER, {"x": LoopFlow(given("in"), 2, until=lambda s: False)})
    result = await run(flow, planning(planned(("one", "x"), ("two", "x"))))
    assert list(outputs(result))[1:] == ["one[1]", "one[2]", "two[1]", "two[2]"]


async def test_a_planner_without_a_schema_gets_the_plan_as_its_output() -> None:
    result = await run(DAGFlow(WorkflowUnit("plan"), [WorkflowUnit("x")]), planning(planned(("a", "x"))))
    assert isinstance(outputs(result)["plan"], Plan)


def failing_once() -> Any:
    tries: list[str] = []

    def work(snapshot: Any) -> str:
        tries.append(snapshot.path)
        if snapshot.path == "b":
            raise ValueError("b broke")
        return str(snapshot.path)

    return step(work, id="x"), tries


@BOTH
async def test_a_new_plan_after_a_failure_runs_only_what_changed(scheduling: Any) -> None:
    part, tries = failing_once()
    first = planned(("a", "x"), ("b", "x"), ("c", "x", "b"))
    model = ScriptedModel(planning(first, first))
    flow = DAGFlow(PLANNER, {"x": part}, seen("end"), replan=1, scheduling=scheduling)
    result = await run(flow, model)
    assert (result.outcome, tries) == ("done", ["a", "b", "b[2]", "c[2]"])
    assert result.output == {"a": "a", "b[2]": "b[2]", "c[2]": "c[2]"}
    assert "b broke" in model.requests[1].user
    assert "Output of a" in model.requests[1].user


async def test_a_step_whose_task_changed_runs_again_with_what_needs_it() -> None:
    def plans(request: Any) -> Any:
        if request.unit != "plan":
            return resolving(request)
        plan = planned(("a", "x"), ("b", "x", "a"), ("c", "x"))
        plan["steps"][0]["task"] = f"try {request.replies}"
        return call("resolve", **plan)

    flow = DAGFlow(
        PLANNER,
        {"x": step(lambda s: s.path, id="x")},
        seen("end"),
        replan=2,
        replan_when=lambda s: "a" in s.output,
    )
    result = await run(flow, plans)
    assert list(outputs(result)) == ["plan", "a", "b", "c", "end", "plan[2]", "a[2]", "b[2]", "end[2]"]
    assert result.output == {"a[2]": "a[2]", "b[2]": "b[2]", "c": "c"}


async def test_a_planner_is_asked_again_no_more_than_allowed() -> None:
    plan = planned(("a", "x"))
    flow = DAGFlow(PLANNER, {"x": broken("x")}, seen("end"), replan=2)
    result = await run(flow, planning(plan, plan, plan))
    assert (result.outcome, result.path) == ("partial", "a[3]")
    assert [path for path in statuses(result) if path.startswith("plan")] == ["plan", "plan[2]", "plan[3]"]


async def test_fail_fast_and_require_all_hold_for_plans_too() -> None:
    log = Log()
    executors = {"bad": broken("bad"), "x": noted(log, "x", wait=asyncio.Event()), "y": noted(log, "y")}
    plan = planned(("a", "bad"), ("b", "x"), ("c", "y", "b"))
    result = await run(DAGFlow(PLANNER, executors, on_failure="fail_fast"), planning(plan))
    assert (result.outcome, result.path) == ("failed", "a")
    assert log == [] or log == ["x starts", "x is cancelled"]
    executors["x"] = noted(Log(), "x")
    result = await run(DAGFlow(PLANNER, executors, on_failure="require_all"), planning(plan))
    assert (result.outcome, statuses(result)["c"]) == ("failed", "done")


async def test_a_dag_at_the_root_and_below_has_the_same_paths() -> None:
    flow = DAGFlow(None, {"a": given("a"), "b": given("b")}, seen("sum"), {"b": ["a"]}, id="dag")
    assert list(outputs(await run(flow))) == ["a", "b", "sum"]
    assert list(outputs(await run(given("x") >> flow))) == ["x", "dag/a", "dag/b", "dag/sum"]
    looped = LoopFlow(flow, 2, until=lambda s: False)
    assert list(outputs(await run(looped)))[-3:] == ["a[2]", "b[2]", "sum[2]"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"executors": {"a": given("a")}, "dependencies": {"a": ["b"]}}, "'b', which is no executor"),
        ({"executors": {"a": given("a")}, "dependencies": {"b": []}}, "'b', which is no executor"),
        (
            {"executors": {"a": given("a"), "b": given("b")}, "dependencies": {"a": ["b"], "b": ["a"]}},
            "a -> b -> a",
        ),
        ({"executors": {}, "dependencies": {}}, "at least one executor"),
        ({"executors": {"a": given("a")}}, "without a planner"),
    ],
)
def test_declarations_that_cannot_run_are_refused(options: Any, match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        DAGFlow(None, **options)


async def test_resuming_a_failed_dag_runs_only_what_failed() -> None:
    log, broke = Log(), [True]

    def mend(snapshot: Any) -> str:
        if broke.pop() if broke else False:
            raise ValueError("once")
        return "b"

    flow = DAGFlow(
        None,
        {"a": noted(log, "a"), "b": step(mend, id="b"), "c": noted(log, "c")},
        dependencies={"c": ["b"]},
        on_failure="require_all",
    )
    workflow = Workflow(flow, checkpointer="memory")
    with pytest.raises(RunError, match="once"):
        await workflow.run("go", thread_id="t")
    result = await workflow.resume("t")
    assert (result.outcome, result.output) == ("done", {"a": "a", "b": "b", "c": "c"})
    assert (log.starts("a"), log.starts("c")) == (1, 1)
