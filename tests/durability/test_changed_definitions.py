"""A thread resumed under a changed definition goes on when only parts that have not begun changed."""

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, create_model

from plait import (
    ClassChanged,
    DAGFlow,
    DefinitionChanged,
    LoopFlow,
    ParallelFlow,
    Plan,
    RouterFlow,
    RunError,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call, fail


def ask(runtime: ToolRuntime) -> str:
    """Ask the user."""
    return str(runtime.ask("go on?"))


a, b, c = (WorkflowUnit(name, prompt=f"Do {name}.", tools=[ask]) for name in "abc")
PAUSING = [call("ask"), call("resolve", value="b is done")]
FAILING = [fail(ConnectionError("dead"))]


def script(b_replies: Sequence[Any]) -> dict[str, Any]:
    resolved = {name: [call("resolve", value=f"{name} is done")] for name in ("a", "c", "d")}
    return {**resolved, "b": b_replies, "pick": [call("resolve", value="work")]}


def nested(*parts: Any) -> Any:
    """Parts in a sequence in a router in a loop."""
    first, *others = parts
    for part in others:
        first = first >> part
    return LoopFlow(RouterFlow(WorkflowUnit("pick"), {"work": first, "rest": WorkflowUnit("rest")}))


def flat(*parts: Any) -> Any:
    first, *others = parts
    for part in others:
        first = first >> part
    return first


@pytest.fixture(params=[flat, nested])
def flow(request: pytest.FixtureRequest) -> Any:
    return request.param


async def paused(flow: Any, saver: InMemorySaver) -> None:
    result = await Workflow(flow(a, b, c), model=ScriptedModel(script(PAUSING)), checkpointer=saver).run(
        "go", thread_id="t"
    )
    assert result.outcome == "paused"


async def failed(flow: Any, saver: InMemorySaver) -> None:
    with pytest.raises(RunError, match="dead"):
        await Workflow(flow(a, b, c), model=ScriptedModel(script(FAILING)), checkpointer=saver).run(
            "go", thread_id="t"
        )


def changed(flow: Any, saver: InMemorySaver, *parts: Any, b_replies: Sequence[Any] = PAUSING) -> Workflow:
    return Workflow(flow(*parts), model=ScriptedModel(script(b_replies)), checkpointer=saver)


async def test_the_same_definition_goes_on(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    assert (await changed(flow, saver, a, b, c).resume("t", "yes")).output == "c is done"


async def test_a_part_that_has_not_run_may_change(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    result = await changed(flow, saver, a, b, c.with_(prompt="Do it well.")).resume("t", "yes")
    assert result.output == "c is done"


async def test_a_part_may_be_added_at_the_end(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    result = await changed(flow, saver, a, b, c, WorkflowUnit("d")).resume("t", "yes")
    assert result.output == "d is done"


async def test_a_part_that_has_not_run_may_be_dropped(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    assert (await changed(flow, saver, a, b).resume("t", "yes")).output == "b is done"


async def test_a_finished_part_may_not_change(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    with pytest.raises(DefinitionChanged) as refused:
        await changed(flow, saver, a.with_(prompt="Do it well."), b, c).resume("t", "yes")
    assert [path.rpartition("/")[2] for path in refused.value.paths] == ["a"]


async def test_a_part_under_way_may_not_change(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    with pytest.raises(DefinitionChanged) as refused:
        await changed(flow, saver, a, b.with_(output=int), c).resume("t", "yes")
    assert [path.rpartition("/")[2] for path in refused.value.paths] == ["b"]


async def test_finished_parts_may_not_be_dropped_or_get_a_predecessor(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    with pytest.raises(DefinitionChanged):
        await changed(flow, saver, b, c).resume("t", "yes")


async def test_a_refused_resume_leaves_the_thread_as_it_was(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    with pytest.raises(DefinitionChanged):
        await changed(flow, saver, a.with_(prompt="Do it well."), b, c).resume("t", "yes")
    assert (await changed(flow, saver, a, b, c).resume("t", "yes")).output == "c is done"


async def test_a_part_that_failed_may_be_mended(flow: Any) -> None:
    await failed(flow, saver := InMemorySaver())
    mended = b.with_(prompt="Do b, but well.")
    replies = [call("resolve", value="b is done")]
    assert (await changed(flow, saver, a, mended, c, b_replies=replies).resume("t")).output == "c is done"


async def test_after_a_failure_finished_parts_may_not_change_either(flow: Any) -> None:
    await failed(flow, saver := InMemorySaver())
    with pytest.raises(DefinitionChanged):
        await changed(flow, saver, a.with_(prompt="Do it well."), b, c).resume("t")


async def test_the_model_limits_and_retries_may_always_change(flow: Any) -> None:
    await paused(flow, saver := InMemorySaver())
    other = a.with_(model=ScriptedModel([]))
    assert (await changed(flow, saver, other, b, c).resume("t", "yes")).output == "c is done"


async def test_a_changed_function_step_is_named() -> None:
    saver = InMemorySaver()
    await Workflow(
        step(lambda s: 1, id="one") >> b, model=ScriptedModel(script(PAUSING)), checkpointer=saver
    ).run("go", thread_id="t")
    other = Workflow(
        step(lambda s: 2, id="one") >> b, model=ScriptedModel(script(PAUSING)), checkpointer=saver
    )
    with pytest.raises(DefinitionChanged, match="one"):
        await other.resume("t", "yes")


async def test_a_class_that_is_gone_stops_the_resume_and_is_named() -> None:
    def made(name: str) -> type[BaseModel]:
        return create_model(name, x=(int, ...), __module__=__name__)

    def flow(output: type[BaseModel]) -> Any:
        return WorkflowUnit("a", output=output) >> WorkflowUnit("b", tools=[ask])

    saver, script = InMemorySaver(), {"a": [call("resolve", x=1)], "b": PAUSING}
    first = Workflow(flow(made("Old")), model=ScriptedModel(script), checkpointer=saver)
    await first.run("go", thread_id="t")
    with pytest.raises((ClassChanged, DefinitionChanged), match=r"Old|a"):
        await Workflow(flow(made("New")), model=ScriptedModel(script), checkpointer=saver).resume("t", "yes")
    assert (await first.resume("t", "yes")).steps[0].output == first.bound.units["a"].output(x=1)


def planned(first: Any, second: Any, saver: InMemorySaver) -> Workflow:
    """A plan of two steps, whose paths are the plan's and not the definition's."""
    steps = [
        {"id": "one", "executor": "a", "task": "begin", "depends_on": []},
        {"id": "two", "executor": "b", "task": "go on", "depends_on": ["one"]},
    ]
    told = {**script(PAUSING), "plan": [call("resolve", steps=steps)]}
    flow = DAGFlow(WorkflowUnit("plan", output=Plan), [first, second])
    return Workflow(flow, model=ScriptedModel(told), checkpointer=saver)


async def test_a_step_of_a_plan_counts_as_its_executor() -> None:
    saver = InMemorySaver()
    assert (await planned(a, b, saver).run("go", thread_id="t")).outcome == "paused"
    with pytest.raises(DefinitionChanged, match="one"):
        await planned(a.with_(prompt="Do otherwise."), b, saver).resume("t", "yes")
    assert (await planned(a, b, saver).resume("t", "yes")).outcome == "done"


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
@pytest.mark.parametrize(
    "changed",
    [
        lambda: ParallelFlow(b, a),
        lambda: ParallelFlow(a, c, b),
        lambda: a >> b,
        lambda: DAGFlow(None, [a, b, c], dependencies={"b": ["a", "c"]}),
    ],
    ids=["other order", "one more", "no region", "a graph"],
)
async def test_parts_that_run_side_by_side_may_not_change_their_order(changed: Any, scheduling: Any) -> None:
    saver = InMemorySaver()

    def workflow(flow: Any) -> Workflow:
        model = ScriptedModel(script(PAUSING))
        return Workflow(flow, model=model, checkpointer=saver, scheduling=scheduling)

    assert (await workflow(ParallelFlow(a, b)).run("go", thread_id="t")).outcome == "paused"
    assert (await workflow(changed()).thread("t").resume_plan()).incompatible
    with pytest.raises(DefinitionChanged):
        await workflow(changed()).resume("t", "yes")
    assert (await workflow(ParallelFlow(a, b)).resume("t", "yes")).outcome == "done"


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_what_a_step_of_a_graph_waits_for_may_not_change(scheduling: Any) -> None:
    saver = InMemorySaver()

    def workflow(*needs: str) -> Workflow:
        flow = DAGFlow(None, [a, b, c], dependencies={"c": [*needs]})
        model = ScriptedModel(script(PAUSING))
        return Workflow(flow, model=model, checkpointer=saver, scheduling=scheduling)

    assert (await workflow("b").run("go", thread_id="t")).outcome == "paused"
    with pytest.raises(DefinitionChanged, match="dag"):
        await workflow("a", "b").resume("t", "yes")
    assert (await workflow("b").resume("t", "yes")).outcome == "done"
