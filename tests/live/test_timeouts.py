"""Time limits stop what can be stopped: of a unit, a flow or the run, whatever hangs in it."""

import asyncio
import time
from typing import Any

import pytest

from plait import DelegationFlow, Limits, LoopFlow, ParallelFlow, SequentialFlow, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call

from ..support import failure

SECONDS = Limits(seconds=0.3)
ended: list[str] = []


async def hang(*_: Any) -> str:
    """Hang."""
    try:
        await asyncio.sleep(60)
    finally:
        ended.append("hang")
    return "late"


def reply(request: Any) -> Any:
    if request.tool_results:
        return call("resolve", value="so")
    return call(request.tools[0], task="go") if "delegate" in request.tools[0] else call("hang")


def unit(**options: Any) -> WorkflowUnit[str]:
    return WorkflowUnit("unit", tools=[hang], output=str, **options)


def boss() -> WorkflowUnit[str]:
    return WorkflowUnit("boss", output=str)


HUNG = {
    "tool": unit,
    "step": lambda **o: SequentialFlow(step(hang, id="unit"), **o),
    "condition": lambda **o: SequentialFlow(step(lambda s: 1, id="unit", when=hang), **o),
    "nested": lambda **o: LoopFlow(
        ParallelFlow(SequentialFlow(unit()), step(lambda s: 1, id="one"), on_failure="require_all"), 1, **o
    ),
    "specialist": lambda **o: DelegationFlow(boss(), [unit()], **o),
}


@pytest.mark.parametrize("of", ["part", "run"])
@pytest.mark.parametrize("what", HUNG)
async def test_what_hangs_is_stopped_and_nothing_is_left(what: str, of: str) -> None:
    ended.clear()
    before, began = asyncio.all_tasks(), time.monotonic()
    options = {"limits": SECONDS} if of == "part" else {}
    workflow = Workflow(
        HUNG[what](**options), model=ScriptedModel(reply), **({} if options else {"limits": SECONDS})
    )
    raised = await failure(workflow)
    assert (raised.reason, ended, raised.result.lingering) == ("limit", ["hang"], ())
    assert "seconds=0.3" in str(raised)
    assert asyncio.all_tasks() == before
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("of", ["part", "run"])
async def test_a_model_that_hangs_is_stopped(of: str) -> None:
    before = asyncio.all_tasks()
    options = {"limits": SECONDS} if of == "part" else {}
    model = ScriptedModel(lambda r: call("resolve", value="so"), delay_s=60)
    workflow = Workflow(
        WorkflowUnit("unit", output=str, **options), model=model, **({} if options else {"limits": SECONDS})
    )
    raised = await failure(workflow)
    assert (raised.reason, raised.result.usage.model_calls) == ("limit", 1)
    assert asyncio.all_tasks() == before


async def test_a_step_does_not_begin_when_the_time_is_up() -> None:
    ran: list[str] = []
    first = step(lambda s: asyncio.sleep(0.4), id="first")
    second = step(lambda s: ran.append("second"), id="second")
    raised = await failure(Workflow(first >> second, model=ScriptedModel([]), limits=SECONDS))
    assert (raised.reason, ran) == ("limit", [])
