"""ParallelFlow: order, failures, reducer, quorum, conditions, and where it may stand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from plait import (
    DAGFlow,
    DefinitionError,
    Failure,
    Finish,
    LoopFlow,
    ParallelFlow,
    RouterFlow,
    RunError,
    SequentialFlow,
    Skip,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call

from .support import Log, broken, given, noted, outputs, resolving, run, seen, statuses

BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])
a, b, c = given("a"), given("b"), given("c")


@BOTH
async def test_results_are_in_declaration_order_whatever_ends_first(scheduling: Any) -> None:
    log = Log()
    parts = [noted(log, name, wait=wait) for name, wait in [("a", 0.03), ("b", 0.0), ("c", 0.01)]]
    result = await run(ParallelFlow(*parts, scheduling=scheduling))
    assert list(result.output.items()) == [("a", "a"), ("b", "b"), ("c", "c")]
    assert [record.path for record in result.steps] == ["a", "b", "c"]
    assert log.peak == 3


@BOTH
async def test_a_failed_branch_leaves_the_others_their_results(scheduling: Any) -> None:
    log = Log()
    flow = ParallelFlow(
        noted(log, "a", wait=0.05), noted(log, "b", then=KeyError("b broke")), c, scheduling=scheduling
    )
    result = await run(flow)
    assert (result.outcome, result.reason, result.path) == ("partial", "error", "b")
    assert (result.output["a"], result.output["c"]) == ("a", "c")
    failure = result.output["b"]
    assert isinstance(failure, Failure)
    assert "KeyError" in failure.message
    assert "b broke" in failure.message
    assert "a is cancelled" not in log


async def test_fail_fast_stops_the_others_and_keeps_what_was_finished() -> None:
    log, never = Log(), asyncio.Event()
    flow = ParallelFlow(
        noted(log, "a", wait=never),
        noted(log, "b", wait=0.03, then=ValueError("boom")),
        c,
        on_failure="fail_fast",
    )
    with pytest.raises(RunError, match="b: ValueError: boom") as raised:
        await Workflow(flow).run("go")
    result = raised.value.result
    assert statuses(result) == {"a": "cancelled", "b": "failed", "c": "done"}
    assert outputs(result)["c"] == "c"
    assert (log.running, log[-1]) == (0, "a is cancelled")


async def test_fail_fast_stops_units_in_the_middle_of_a_reply() -> None:
    slow, flow = WorkflowUnit("slow"), None
    flow = ParallelFlow(slow, noted(Log(), "b", wait=0.05, then=ValueError("boom")), on_failure="fail_fast")
    model = ScriptedModel(resolving, delay_s=30)
    result = await asyncio.wait_for(run(flow, model), 10)
    assert statuses(result) == {"slow": "cancelled", "b": "failed"}
    assert result.steps[0].kind == "unit"


async def test_nothing_starts_after_fail_fast() -> None:
    log = Log()
    flow = ParallelFlow(broken("a"), b, reducer=noted(log, "reduce"), on_failure="fail_fast")
    result = await run(flow)
    assert result.outcome == "failed"
    assert log == []


@BOTH
async def test_require_all_lets_the_others_finish_and_then_fails(scheduling: Any) -> None:
    log = Log()
    flow = ParallelFlow(
        broken("b"), noted(log, "a", wait=0.03), on_failure="require_all", scheduling=scheduling
    )
    result = await run(flow)
    assert (result.outcome, result.path) == ("failed", "b")
    assert statuses(result) == {"b": "failed", "a": "done"}
    assert log == ["a starts", "a ends"]


@BOTH
async def test_the_reducer_sees_failures_as_values(scheduling: Any) -> None:
    result = await run(ParallelFlow(a, broken("b"), reducer=seen(), scheduling=scheduling))
    assert result.outcome == "partial"
    assert result.output["a"] == "a"
    assert isinstance(result.output["b"], Failure)


@BOTH
async def test_the_reducer_still_runs_when_every_branch_failed(scheduling: Any) -> None:
    flow = ParallelFlow(broken("a"), broken("b"), reducer=seen(), scheduling=scheduling)
    result = await run(flow)
    assert (result.outcome, sorted(result.output)) == ("partial", ["a", "b"])


async def test_it_has_failed_when_nothing_is_left() -> None:
    result = await run(ParallelFlow(broken("a"), broken("b")))
    assert (result.outcome, result.path) == ("failed", "a")


async def test_a_unit_as_reducer_is_told_of_failures() -> None:
    model = ScriptedModel(resolving)
    result = await run(ParallelFlow(a, broken("b"), reducer=WorkflowUnit("sum")), model)
    assert (result.outcome, result.output) == ("partial", "sum")
    assert "Output of a:\na" in model.requests[0].user
    assert "Output of b:\nfailed (error): ValueError: b broke" in model.requests[0].user


async def test_a_failed_reducer_fails_the_flow() -> None:
    result = await run(ParallelFlow(a, b, reducer=broken("sum")))
    assert (result.outcome, result.path) == ("failed", "sum")


async def test_a_partial_outcome_is_carried_on_by_outer_flows() -> None:
    result = await run(SequentialFlow(ParallelFlow(a, broken("b")), given("after")))
    assert (result.outcome, result.output, result.path) == ("partial", "after", "parallel/b")


async def test_a_quorum_cancels_the_rest_and_still_reduces() -> None:
    log, never = Log(), asyncio.Event()
    parts = [a, noted(log, "slow", wait=never), b]
    result = await run(ParallelFlow(*parts, quorum=2, reducer=seen()))
    assert (result.outcome, result.output) == ("done", {"a": "a", "b": "b"})
    assert statuses(result)["slow"] == "cancelled"
    assert log.running == 0


async def test_a_quorum_without_reducer_gives_what_was_done() -> None:
    result = await run(
        ParallelFlow(a, noted(Log(), "slow", wait=asyncio.Event()), broken("bad"), b, quorum=2)
    )
    assert (result.outcome, result.output) == ("done", {"a": "a", "b": "b"})


async def test_a_quorum_that_is_missed_is_partial() -> None:
    result = await run(ParallelFlow(a, broken("b"), quorum=2))
    assert (result.outcome, result.path) == ("partial", "b")


async def test_a_quorum_stops_a_branch_that_waits_for_an_answer() -> None:
    from .support import asker, asking

    result = await run(ParallelFlow(*asking("x"), a, b, quorum=2), asker)
    assert (result.outcome, result.interrupts) == ("done", ())
    assert statuses(result)["x"] == "cancelled"


@BOTH
async def test_a_condition_leaves_a_part_out(scheduling: Any) -> None:
    flow = ParallelFlow(
        a, given("b", when=lambda s: s.task == "with b"), reducer=seen(), scheduling=scheduling
    )
    assert (await run(flow)).output == {"a": "a"}
    assert (await run(flow, task="with b")).output == {"a": "a", "b": "b"}
    assert statuses(await run(flow))["b"] == "skipped"


@BOTH
async def test_skipped_parts_are_left_out_of_the_output(scheduling: Any) -> None:
    result = await run(ParallelFlow(a, step(lambda s: Skip("no"), id="b"), scheduling=scheduling))
    assert (result.outcome, result.output) == ("done", {"a": "a"})


@BOTH
async def test_finish_in_a_branch_ends_the_loop_around_once_the_others_are_done(scheduling: Any) -> None:
    log = Log()
    branch = ParallelFlow(
        step(lambda s: Finish("enough"), id="stop"),
        noted(log, "a"),
        reducer=noted(log, "sum"),
        scheduling=scheduling,
    )
    result = await run(LoopFlow(branch, max_iterations=3, until=lambda s: False) >> given("after"))
    assert result.outcome == "done"
    assert log == ["a starts", "a ends"]
    assert outputs(result)["after"] == "after"


@BOTH
async def test_it_nests_in_sequences_routers_and_loops(scheduling: Any) -> None:
    both = ParallelFlow(a, b, scheduling=scheduling)
    routed = RouterFlow(
        given("pick", "both"), {"both": LoopFlow(both, max_iterations=2, until=lambda s: False)}
    )
    result = await run(c >> routed >> seen())
    assert result.outcome == "partial"
    assert list(outputs(result)) == ["c", "router/pick"] + [
        f"router/both[{n}]/{name}" for n in (1, 2) for name in "ab"
    ] + ["seen"]


async def test_a_list_in_a_sequence_is_parallel() -> None:
    flow = given("plan") >> [a, b] >> seen("report")
    assert flow.steps[1] == ParallelFlow(a, b)
    result = await run(flow)
    assert result.output == {"parallel": {"a": "a", "b": "b"}}


async def test_each_part_gets_what_came_before_and_the_reducer_all_parts() -> None:
    flow = given("plan") >> ParallelFlow(seen("x"), seen("y"), reducer=seen("z"))
    result = await run(flow)
    assert result.output == {"x": {"plan": "plan"}, "y": {"plan": "plan"}}


async def test_a_part_that_stands_twice_has_two_places() -> None:
    result = await run(ParallelFlow(a, a))
    assert list(result.output) == ["a", "a~2"]


async def test_parts_may_be_named_by_a_mapping() -> None:
    assert (await run(ParallelFlow({"left": a, "right": a}))).output == {"left": "a", "right": "a"}


async def test_parallel_in_parallel_runs_all_at_once() -> None:
    log, all_in = Log(), asyncio.Event()

    def meet(name: str) -> Any:
        async def run_step(snapshot: Any) -> str:
            log.begin(name)
            if log.running == 4:
                all_in.set()
            await asyncio.wait_for(all_in.wait(), 10)
            return name

        return step(run_step, id=name)

    flow = ParallelFlow({name: ParallelFlow(meet(f"{name}1"), meet(f"{name}2")) for name in "xy"})
    assert (await run(flow)).output == {"x": {"x1": "x1", "x2": "x2"}, "y": {"y1": "y1", "y2": "y2"}}


async def test_options_that_make_no_sense_are_refused() -> None:
    for bad in ({"quorum": 0}, {"max_concurrency": 0}, {"on_failre": "finish"}, {"quorum": 3}):
        with pytest.raises(DefinitionError):
            ParallelFlow(a, b, **bad)


async def test_usage_of_parallel_units_adds_up_whatever_their_order() -> None:
    units = [WorkflowUnit(name) for name in "xyz"]
    result = await run(ParallelFlow(*units), lambda request: call("resolve", value="v"))
    assert result.usage.model_calls == 3


async def test_a_variant_keeps_what_is_not_changed() -> None:
    flow = ParallelFlow(a, b, quorum=1, id="both")
    assert flow.with_(quorum=2) == ParallelFlow(a, b, quorum=2, id="both")
    assert DAGFlow(None, {"a": a}, dependencies={}) == DAGFlow(None, {"a": a}, dependencies={})
