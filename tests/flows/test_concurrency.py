"""Limits on what runs at a time: per flow, per run, for leaves only; large maps keep order and memory."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import pytest

from plait import (
    DAGFlow,
    DefinitionError,
    DelegationFlow,
    ParallelFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call

from .support import Log, asker, asking, given, noted, run

BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])


def counted(log: Log, size: int = 0, wait: float = 0.001) -> Any:
    async def work(snapshot: Any) -> Any:
        log.begin("item")
        await asyncio.sleep(wait)
        log.end("item")
        return [snapshot.output, "x" * size]

    return step(work, id="work")


@pytest.mark.parametrize("cap", [5, 1])
async def test_five_hundred_items_keep_the_cap_their_order_and_little_memory(cap: int) -> None:
    log, before = Log(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flow = ParallelFlow.map(counted(log, 10_000), over=lambda s: range(500), max_concurrency=cap)
    result = await run(flow)
    assert log.peak == cap
    assert [number for number, _ in result.output] == list(range(500))
    assert {len(text) for _, text in result.output} == {10_000}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


async def test_a_thousand_items_run_in_batches_and_reduce_once() -> None:
    log = Log()
    total = noted(log, "total")
    flow = ParallelFlow.map(counted(log, wait=0), over=lambda s: range(1_000), reducer=total)
    result = await run(flow)
    assert (result.output, log.starts("item"), log.starts("total")) == ("total", 1_000, 1)
    assert [record.path for record in result.steps[:2]] == ["work{0}", "work{1}"]


async def test_a_cap_counts_units_at_any_depth_and_not_the_flows_around_them() -> None:
    log = Log()
    nested = {f"p{n}": SequentialFlow(ParallelFlow(counted(log), counted(log)), given("x")) for n in range(6)}
    assert (await run(ParallelFlow(nested, max_concurrency=1))).outcome == "done"
    assert log.peak == 1


async def test_an_inner_cap_counts_inside_the_outer_one() -> None:
    inner, other = Log(), Log()
    flow = ParallelFlow(
        {
            "inner": ParallelFlow(*[counted(inner)] * 6, max_concurrency=2),
            "other": ParallelFlow(*[counted(other)] * 6),
        },
        max_concurrency=5,
    )
    assert (await run(flow)).outcome == "done"
    assert (inner.peak, other.peak <= 5) == (2, True)


@BOTH
async def test_the_cap_of_a_run_covers_every_flow_in_it(scheduling: Any) -> None:
    log = Log()
    flow = ParallelFlow(*[counted(log)] * 6) >> ParallelFlow.map(counted(log), over=lambda s: range(9))
    assert (await run(flow, max_concurrency=3, scheduling=scheduling)).outcome == "done"
    assert log.peak == 3


async def test_the_cap_of_a_run_is_its_own() -> None:
    log = Log()
    workflow = Workflow(ParallelFlow(*[counted(log, wait=0.05)] * 4), max_concurrency=2)
    await asyncio.gather(workflow.run("go"), workflow.run("go"))
    assert log.peak == 4


async def test_a_step_that_waits_for_others_takes_no_place() -> None:
    log = Log()
    chain = {name: noted(log, name) for name in "abcd"}
    flow = DAGFlow(None, chain, dependencies={"a": ["b"], "b": ["c"], "c": ["d"]}, max_concurrency=1)
    assert (await asyncio.wait_for(run(flow), 10)).outcome == "done"


async def test_delegating_units_lend_their_place_to_their_specialists() -> None:
    def script(request: Any) -> Any:
        if request.unit == "boss" and not request.tool_results:
            return [call("delegate_to_helper", task="one"), call("delegate_to_helper", task="two")]
        return call("resolve", value=str(request.unit))

    model = ScriptedModel(script, delay_s=0.002)
    flow = DelegationFlow(WorkflowUnit("boss"), [WorkflowUnit("helper")])
    both = ParallelFlow({"x": flow, "y": flow}, max_concurrency=1)
    result = await asyncio.wait_for(run(both, model), 20)
    assert (result.outcome, len(result.steps)) == ("done", 6)


async def test_the_model_is_never_asked_by_more_than_the_cap() -> None:
    running = peak = 0

    def script(request: Any) -> Any:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        asyncio.get_running_loop().call_later(0.004, lambda: drop())
        if request.unit == "boss" and not request.tool_results:
            return [call("delegate_to_helper", task="one"), call("delegate_to_helper", task="two")]
        return call("resolve", value="done")

    def drop() -> None:
        nonlocal running
        running -= 1

    flow = DelegationFlow(WorkflowUnit("boss"), [WorkflowUnit("helper")])
    flows = ParallelFlow(*[flow] * 5, max_concurrency=2)
    assert (await run(flows, ScriptedModel(script, delay_s=0.01))).outcome == "done"
    assert peak == 2


async def test_a_paused_unit_gives_its_place_back() -> None:
    flow = ParallelFlow(*asking("a", "b", "c"), max_concurrency=1)
    result = await asyncio.wait_for(run(flow, asker), 10)
    assert sorted(question.question for question in result.interrupts) == ["a?", "b?", "c?"]


async def test_caps_below_one_and_unknown_schedulings_are_refused() -> None:
    for options in ({"max_concurrency": 0}, {"scheduling": "lazy"}):
        with pytest.raises(DefinitionError):
            Workflow(given("a"), **options)
    with pytest.raises(DefinitionError):
        ParallelFlow(given("a"), scheduling="lazy")
