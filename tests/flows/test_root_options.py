"""Limits and conditions hold wherever they stand, and what a condition raises fails the flow by name."""

import pytest

from plait import (
    DAGFlow,
    Limits,
    LoopFlow,
    ParallelFlow,
    RouterFlow,
    RunError,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
)
from plait.testing import ScriptedModel, call

a, b = WorkflowUnit("a"), WorkflowUnit("b")
ONE = Limits(model_calls=1)


def never(snapshot):
    return False


def model():
    return ScriptedModel(lambda request: call("resolve", value="a"))


FLOWS = {
    "sequence": lambda **options: SequentialFlow(a, b, **options),
    "loop": lambda **options: LoopFlow(a, 3, never, **options),
    "router": lambda **options: RouterFlow(b, {"a": a, "c": a.with_(id="c")}, **options),
    "parallel": lambda **options: ParallelFlow(a, b, **options),
    "dag": lambda **options: DAGFlow(None, [a, b], dependencies={"b": ["a"]}, **options),
}


@pytest.mark.parametrize("kind", FLOWS)
async def test_a_limit_of_the_root_flow_holds(kind):
    asked = model()
    try:
        outcome = (await Workflow(FLOWS[kind](limits=ONE), model=asked).run("Go.")).outcome
    except RunError as error:
        outcome = error.reason
    assert (len(asked.requests), outcome) in ((1, "limit"), (1, "partial"))


@pytest.mark.parametrize("kind", FLOWS)
async def test_a_condition_of_the_root_flow_holds(kind):
    asked = model()
    result = await Workflow(FLOWS[kind](when=never), model=asked).run("Go.")
    assert (result.outcome, len(asked.requests)) == ("done", 0)


async def test_units_side_by_side_cannot_all_take_the_last_call():
    asked = ScriptedModel(lambda request: call("resolve", value="a"), delay_s=0.02)
    flow = ParallelFlow(*(WorkflowUnit(name) for name in "abcd"))
    await Workflow(flow, model=asked, limits=Limits(model_calls=2)).run("Go.")
    assert len(asked.requests) == 2


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        (
            LoopFlow(a, 2, lambda snapshot: snapshot.output.foo),
            "a condition of the loop raised AttributeError",
        ),
        (a >> b.with_(when=lambda snapshot: snapshot.nope), "when= raised AttributeError"),
        (a.with_(prompt=lambda snapshot: 1 / 0), "prompt= raised ZeroDivisionError"),
        (a.with_(input_adapter=lambda snapshot: 1 / 0), "input_adapter= raised ZeroDivisionError"),
        (a.with_(tools=lambda snapshot: 1 / 0), "tools= raised ZeroDivisionError"),
    ],
    ids=["until", "when", "prompt", "input_adapter", "tools"],
)
async def test_what_the_users_functions_raise_is_the_parts_failure(flow, told):
    workflow = Workflow(flow, model=model())
    with pytest.raises(RunError, match=told) as raised:
        await workflow.run("Go.", thread_id="t")
    assert raised.value.reason == "error"
    assert (await workflow.thread("t").result()).outcome == "failed"
