"""What is stopped is stopped at every depth, and a run that is stopped leaves nothing running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from plait import DAGFlow, LoopFlow, ParallelFlow, RouterFlow, SequentialFlow, Workflow

from .support import Log, given, noted, run, statuses


def shapes(slow: Any) -> dict[str, Any]:
    return {
        "region": ParallelFlow(slow, given("x")),
        "sequence": SequentialFlow(ParallelFlow(slow, given("x")), given("y")),
        "dag": DAGFlow(None, {"slow": slow, "x": given("x")}, dependencies={}),
        "loop": LoopFlow(ParallelFlow(ParallelFlow(slow, given("x")), given("y"))),
        "router": RouterFlow(given("pick", "go"), {"go": SequentialFlow(ParallelFlow(slow), given("y"))}),
        "map": ParallelFlow.map(slow, over=lambda s: [1]),
    }


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something has happened in a run that cannot tell."""
    for _ in range(1_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


SHAPES = pytest.mark.parametrize("shape", shapes(given("slow")))


@SHAPES
async def test_fail_fast_stops_what_is_nested(shape: str) -> None:
    log, never = Log(), asyncio.Event()
    nested = shapes(noted(log, "slow", wait=never))[shape].with_(id="nested")
    flow = ParallelFlow(nested, noted(log, "bad", wait=0.05, then=ValueError("boom")), on_failure="fail_fast")
    result = await asyncio.wait_for(run(flow), 10)
    assert (result.outcome, result.path) == ("failed", "bad")
    assert (log.running, log.count("slow is cancelled")) == (0, 1)
    assert statuses(result)["bad"] == "failed"


@SHAPES
async def test_a_cancelled_run_leaves_nothing_running(shape: str) -> None:
    log, never = Log(), asyncio.Event()
    started = Workflow(shapes(noted(log, "slow", wait=never))[shape]).start("go")
    await until(lambda: log.running > 0)
    await started.cancel()
    assert (log.running, log) == (0, ["slow starts", "slow is cancelled"])


async def test_a_cancelled_run_goes_on_without_repeating_what_was_done() -> None:
    log, gate = Log(), asyncio.Event()
    workflow = Workflow(
        ParallelFlow(noted(log, "fast"), noted(log, "slow", wait=gate)), checkpointer="memory"
    )
    started = workflow.start("go", thread_id="t")
    await until(lambda: log.running == 1 and "fast ends" in log)
    await started.cancel()
    gate.set()
    result = await workflow.resume("t")
    assert result.output == {"fast": "fast", "slow": "slow"}
    assert (log.starts("fast"), log.starts("slow")) == (1, 2)
