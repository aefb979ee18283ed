"""A run under way is stopped at any part, and an edit of its state keeps what has finished."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from plait import (
    DAGFlow,
    ParallelFlow,
    PlaitError,
    RouterFlow,
    SequentialFlow,
    Snapshot,
    Workflow,
    WorkflowUnit,
    ask,
    step,
)
from plait.testing import Request, ScriptedModel, call

RAN: list[str] = []
THREAD: Any = {"configurable": {"thread_id": "t"}}
SCHEDULING = pytest.mark.parametrize("scheduling", ["eager", "superstep"])


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


def part(name: str, *, asks: bool = False) -> Any:
    """A step that says its name, the state's colour and what it was given."""

    def say(snapshot: Snapshot) -> str:
        answer = ask(f"{name}?") if asks else ""
        RAN.append(name)
        given = ",".join(str(item.output) for item in snapshot.inputs)
        return f"{name}{answer}-{snapshot.state.get('colour')}({given})"

    return step(say, id=name)


def diamond(**options: Any) -> DAGFlow[Any]:
    """a before c, and b; d after both."""
    executors = {name: part(name) for name in "abcd"}
    return DAGFlow(None, executors, dependencies={"c": ["a"], "d": ["b", "c"]}, **options)


def nested(inner: Any) -> Any:
    return part("first") >> RouterFlow(WorkflowUnit("pick"), {"x": inner}) >> part("last")


def compiled(flow: Any, scheduling: Any = "superstep", script: Any = None) -> Any:
    model = ScriptedModel(script or (lambda request: call("resolve", value="x")))
    return Workflow(flow, model=model, scheduling=scheduling).compile(checkpointer=InMemorySaver())


async def run(graph: Any, given: Any = None, **options: Any) -> Any:
    started = {"task": "go", "state": {"colour": "red"}}
    return await graph.ainvoke(given or started, THREAD, **options)


async def below(graph: Any, *names: str) -> Any:
    """The state of the graph below the thread's, by the names of the nodes that lead to it."""
    state = await graph.aget_state(THREAD, subgraphs=True)
    for name in names:
        state = next(task.state for task in state.tasks if task.name == name)
    return state


@pytest.mark.parametrize("name", ["d", "router:x:steps:d"])
async def test_a_breakpoint_stops_at_a_nested_part(name: str) -> None:
    graph = compiled(nested(diamond()))
    assert (await run(graph, interrupt_before=[name]))["outcome"] == ""
    assert RAN == ["first", "a", "b", "c"]
    assert (await below(graph, "router", "x", "steps")).next == ("d",)
    assert (await graph.ainvoke(None, THREAD))["outcome"] == "done"
    assert RAN == ["first", "a", "b", "c", "d", "last"]


async def test_a_breakpoint_stops_after_a_part() -> None:
    graph = compiled(SequentialFlow(part("one"), WorkflowUnit("u")) >> part("two"))
    await run(graph, interrupt_after=["u"])
    assert (await graph.aget_state(THREAD)).next == ("two",)


async def test_breakpoints_leave_no_trace_in_checkpoints() -> None:
    graph = compiled(nested(diamond()))
    await run(graph, interrupt_before=["d"])
    async for saved in graph.checkpointer.alist(THREAD):
        assert not [key for key in saved.metadata if "breakpoint" in key]


async def test_an_edit_of_the_shared_state_runs_nothing_twice() -> None:
    graph = compiled(nested(diamond()))
    await run(graph, interrupt_before=["d"])
    await graph.aupdate_state(THREAD, {"state": {"colour": "green"}})
    values = await graph.ainvoke(None, THREAD)
    assert RAN == ["first", "a", "b", "c", "d", "last"]
    assert values["outcome"] == "done"
    outputs = {record["path"]: record["output"] for record in values["steps"] if "output" in record}
    assert outputs["router/x/d"].startswith("d-green(")
    assert outputs["router/x/a"].startswith("a-red(")
    assert len(values["steps"]) == len({record["id"] for record in values["steps"]})


async def test_an_edited_result_reaches_what_comes_after() -> None:
    graph = compiled(nested(diamond()))
    await run(graph, interrupt_before=["d"])
    region = await below(graph, "router", "x", "steps")
    record = next(one for one in region.values["steps"] if one["path"] == "router/x/b")
    await graph.aupdate_state(region.config, {"steps": [{**record, "output": "edited"}]})
    values = await graph.ainvoke(None, THREAD)
    assert RAN == ["first", "a", "b", "c", "d", "last"]
    assert "d-red(edited," in values["output"] or ",edited)" in values["output"]


async def test_an_edit_between_root_and_region_runs_nothing_twice() -> None:
    graph = compiled(nested(diamond()))
    await run(graph, interrupt_before=["d"])
    flow = await below(graph, "router")
    note = {"type": "broadcast", "id": "n", "path": "x", "timestamp": 0.0, "source": "x", "content": "hi"}
    await graph.aupdate_state(flow.config, {"bus": [note]})
    values = await graph.ainvoke(None, THREAD)
    assert RAN == ["first", "a", "b", "c", "d", "last"]
    assert values["outcome"] == "done"


async def test_steps_of_a_plan_are_kept_by_an_edit() -> None:
    plan = {"steps": [{"id": f"s{n}", "executor": e, "task": "t"} for n, e in enumerate("ab")]}
    plan["steps"].append({"id": "s2", "executor": "c", "task": "t", "depends_on": ["s0", "s1"]})
    script = {"plan": [call("resolve", plan)]}
    graph = compiled(DAGFlow(WorkflowUnit("plan"), [part("a"), part("b"), part("c")]), script=script)
    await run(graph, interrupt_before=["c"])
    region = await below(graph, "steps")
    record = next(one for one in region.values["steps"] if one["path"] == "s1")
    await graph.aupdate_state(region.config, {"steps": [{**record, "output": "edited"}]})
    values = await graph.ainvoke(None, THREAD)
    assert RAN == ["a", "b", "c"]
    assert "edited" in values["output"]["s2"]


@SCHEDULING
async def test_what_had_finished_beside_a_question_is_kept_by_an_edit(scheduling: Any) -> None:
    flow = nested(ParallelFlow(part("a"), part("b", asks=True), part("c")))
    graph = compiled(flow, scheduling)
    await run(graph)
    assert sorted(RAN) == ["a", "c", "first"]
    await graph.aupdate_state(THREAD, {"state": {"colour": "green"}})
    assert (await graph.ainvoke(None, THREAD))["outcome"] == ""
    values = await run(graph, Command(resume="!"))
    assert sorted(RAN) == ["a", "b", "c", "first", "last"]
    assert "b!-green" in values["output"]


async def test_an_edit_of_an_earlier_point_runs_what_came_after_it_again() -> None:
    graph = compiled(nested(diamond()))
    await run(graph)
    history = [state async for state in graph.aget_state_history(THREAD)]
    earlier = next(state for state in history if state.next == ("router",))
    RAN.clear()
    config = await graph.aupdate_state(earlier.config, {"state": {"colour": "green"}})
    values = await graph.ainvoke(None, config)
    assert sorted(RAN) == ["a", "b", "c", "d", "last"]
    assert "d-green" in values["output"]


async def test_a_region_that_is_scheduled_eagerly_says_that_it_cannot_be_edited() -> None:
    graph = compiled(ParallelFlow(part("a"), part("b", asks=True)) >> part("last"), "eager")
    await run(graph)
    task = (await graph.aget_state(THREAD)).tasks[0]
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": f"parallel:{task.id}"}}
    with pytest.raises(PlaitError, match=r"scheduled eagerly.*superstep"):
        await graph.aupdate_state(place, {"steps": []})


async def test_a_units_messages_may_be_edited_as_plain_json() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        RAN.append(f"{a}+{b}")
        return a + b

    def reply(request: Request) -> Any:
        return call("resolve", value="ok") if request.tool_results else call("add", a=1, b=2)

    graph = compiled(SequentialFlow(WorkflowUnit("u", tools=[add])), script=reply)
    await run(graph, interrupt_before=["u:act"])
    unit = await below(graph, "u")
    asked = unit.values["messages"][-1].model_dump()
    asked["tool_calls"][0]["args"]["b"] = 40
    await graph.aupdate_state(unit.config, {"messages": [asked]})
    assert (await graph.ainvoke(None, THREAD))["outcome"] == "done"
    assert RAN == ["1+40"]


class Painted(BaseModel):
    """Shared keys."""

    colour: str = "red"


async def test_an_edit_of_the_shared_state_is_there_at_once_and_is_validated() -> None:
    flow = part("one") >> part("two")
    workflow = Workflow(flow, model=ScriptedModel([]), state=Painted)
    graph = workflow.compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"task": "go"}, THREAD, interrupt_before=["two"])
    await graph.aupdate_state(THREAD, {"state": {"colour": "green"}})
    assert (await graph.aget_state(THREAD)).values["state"] == {"colour": "green"}
    for wrong in ({"colour": 7}, {"color": "blue"}):
        with pytest.raises(PlaitError, match="colo"):
            await graph.aupdate_state(THREAD, {"state": wrong})
    values = await graph.ainvoke(None, THREAD)
    assert values["output"] == "two-green(one-red())"
    assert values["state"] == {"colour": "green"}
