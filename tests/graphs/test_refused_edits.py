"""Edits that would make an effect happen twice, or that a channel cannot take, are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from plait import ParallelFlow, PlaitError, SequentialFlow, ToolRuntime, Workflow, WorkflowUnit, step, tool
from plait.nodes.doubt import marked
from plait.testing import Request, ScriptedModel, call, text

PAID: list[int] = []
BEGAN: list[asyncio.Event] = []
THREAD: Any = {"configurable": {"thread_id": "t"}}
EVERY_WAY = pytest.mark.parametrize(
    ("scheduling", "granularity"), [(s, g) for s in ("eager", "superstep") for g in ("round", "unit")]
)


@pytest.fixture(autouse=True)
def _forget() -> None:
    PAID.clear()
    BEGAN.clear()


@tool
def pay(n: int) -> str:
    """Pay."""
    PAID.append(n)
    return f"paid {n}"


@tool
async def pay_slowly(n: int) -> str:
    """Pay, and say so late the first time."""
    PAID.append(n)
    if len(PAID) == 1:
        BEGAN[0].set()
        await asyncio.Event().wait()
    return f"paid {n}"


@tool(effect="read")
def who(runtime: ToolRuntime) -> str:
    """Ask a person."""
    return str(runtime.ask("who?"))


def scripted(request: Request) -> Any:
    """The unit `q` pays and asks, `a` pays, `s` pays slowly, `o` only asks."""
    calls = {
        "q": [call("pay", n=1), call("who")],
        "a": [call("pay", n=2)],
        "s": [call("pay_slowly", n=3)],
        "o": [call("who")],
    }[request.unit]
    return [*calls, text(f"{request.unit} is done")][len(request.tool_results)]


def unit(name: str) -> WorkflowUnit[str]:
    return WorkflowUnit(name, answer="text", tools=[pay, who, pay_slowly])


def compiled(flow: Any, scheduling: Any = "eager", granularity: Any = "round", store: Any = None) -> Any:
    model = ScriptedModel(scripted)
    workflow = Workflow(flow, model=model, scheduling=scheduling, granularity=granularity)
    return workflow.compile(checkpointer=InMemorySaver(), store=store)


async def stopped_in_the_call(graph: Any, thread: Any = THREAD) -> None:
    began = asyncio.Event()
    BEGAN.append(began)
    task = asyncio.create_task(graph.ainvoke({"task": "go"}, thread, durability="sync"))
    async with asyncio.timeout(30):
        await began.wait()
    task.cancel()
    await asyncio.wait([task])


@EVERY_WAY
@pytest.mark.parametrize("nested", [False, True])
async def test_an_edit_does_not_erase_doubt(scheduling: Any, granularity: Any, nested: bool) -> None:
    part: Any = unit("s")
    flow = ParallelFlow(part, step(lambda s: 1, id="one")) if nested else part >> step(lambda s: 1, id="one")
    graph = compiled(flow, scheduling, granularity, InMemoryStore())
    await stopped_in_the_call(graph)
    with pytest.raises(PlaitError, match=r"pay_slowly in .*s.* may have run, which may not happen twice"):
        await graph.aupdate_state(THREAD, {"state": {"k": 1}})
    values = await graph.ainvoke(None, THREAD, durability="sync")
    assert values["__interrupt__"][0].value["type"] == "in-doubt"
    answer = marked({"happened": "paid 3"})
    assert (await graph.ainvoke(Command(resume=answer), THREAD, durability="sync"))["outcome"] == "done"
    assert PAID == [3]


@EVERY_WAY
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["no store", "store"])
async def test_what_a_stopped_unit_has_paid_is_not_paid_again(
    scheduling: Any, granularity: Any, store: Any
) -> None:
    flow = SequentialFlow(ParallelFlow(SequentialFlow(unit("a"), unit("q")), step(lambda s: 1, id="one")))
    graph = compiled(flow, scheduling, granularity, store)
    await graph.ainvoke({"task": "go"}, THREAD)
    with pytest.raises(PlaitError, match=r"(pay|a tool) in .*q.* has run"):
        await graph.aupdate_state(THREAD, {"state": {"k": 1}})
    values = await graph.ainvoke(Command(resume="me"), THREAD)
    assert (values["outcome"], PAID) == ("done", [2, 1])


@EVERY_WAY
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["no store", "store"])
async def test_what_has_finished_beside_a_question_bars_no_edit(
    scheduling: Any, granularity: Any, store: Any
) -> None:
    flow = SequentialFlow(ParallelFlow(SequentialFlow(unit("a"), unit("o")), step(lambda s: 1, id="one")))
    graph = compiled(flow, scheduling, granularity, store)
    await graph.ainvoke({"task": "go"}, THREAD)
    await graph.aupdate_state(THREAD, {"state": {"k": 1}})
    await graph.ainvoke(None, THREAD)
    values = await graph.ainvoke(Command(resume="me"), THREAD)
    assert (values["outcome"], values["state"], PAID) == ("done", {"k": 1}, [2])


async def test_the_state_of_the_unit_itself_may_be_edited() -> None:
    graph = compiled(unit("q") >> step(lambda s: 1, id="one"), store=InMemoryStore())
    await graph.ainvoke({"task": "go"}, THREAD)
    inside = (await graph.aget_state(THREAD, subgraphs=True)).tasks[0].state
    await graph.aupdate_state(inside.config, {"messages": []})
    await graph.ainvoke(None, THREAD)
    assert (await graph.ainvoke(Command(resume="me"), THREAD))["outcome"] == "done"
    assert PAID == [1]


async def test_from_an_earlier_point_all_is_meant_to_run_again() -> None:
    graph = compiled(unit("a") >> unit("q"))
    await graph.ainvoke({"task": "go"}, THREAD)
    earlier = next(s for s in [s async for s in graph.aget_state_history(THREAD)] if s.next == ("a",))
    await graph.ainvoke(None, await graph.aupdate_state(earlier.config, {"state": {"k": 1}}))
    assert PAID == [2, 1, 2, 1]


async def test_an_edit_in_a_region_keeps_what_had_finished_inside_its_steps() -> None:
    region = ParallelFlow(SequentialFlow(unit("a"), unit("o")), step(lambda s: "one", id="one"))
    graph = compiled(step(lambda s: 1, id="first") >> region, "superstep")
    await graph.ainvoke({"task": "go"}, THREAD)
    inside = (await graph.aget_state(THREAD, subgraphs=True)).tasks[0].state
    record = next(one for one in inside.values["steps"] if one["path"] == "parallel/one")
    await graph.aupdate_state(inside.config, {"steps": [{**record, "output": "edited"}]})
    await graph.ainvoke(None, THREAD)
    values = await graph.ainvoke(Command(resume="me"), THREAD)
    assert "edited" in str(values["output"])
    assert PAID == [2]


async def test_the_place_of_an_eager_region_says_that_it_cannot_be_edited() -> None:
    graph = compiled(step(lambda s: 1, id="first") >> ParallelFlow(unit("o"), step(lambda s: 1, id="one")))
    await graph.ainvoke({"task": "go"}, THREAD)
    inside = (await graph.aget_state(THREAD, subgraphs=True)).tasks[0].state
    with pytest.raises(PlaitError, match=r"scheduled eagerly"):
        await graph.aupdate_state(inside.config, {"steps": []})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"state": "text"}, "'state' takes a mapping, got 'text'"),
        ({"state": None}, "'state' takes a mapping, got None"),
        ({"ended": []}, "'ended' takes a mapping"),
        ({"steps": "junk"}, "'steps' takes a list of mappings, got 'junk'"),
        ({"steps": ["junk"]}, "'steps' takes a list of mappings"),
        ({"steps": [{"id": "x"}]}, "an item of 'steps' lacks 'path'"),
        ({"writes": [{"id": "x"}]}, "an item of 'writes' does not fit"),
        ({"bus": [{"id": "x"}]}, "an item of 'bus' "),
        ({"outcome": "bogus"}, "'outcome' is one of done"),
    ],
)
async def test_a_value_that_its_channel_cannot_take_is_refused(values: Any, told: str) -> None:
    graph = compiled(step(lambda s: 1, id="first") >> unit("o"))
    await graph.ainvoke({"task": "go"}, THREAD)
    before = await graph.aget_state(THREAD)
    with pytest.raises(PlaitError, match=told):
        await graph.aupdate_state(THREAD, values)
    assert (await graph.aget_state(THREAD)).config == before.config
    assert (await graph.ainvoke(Command(resume="me"), THREAD))["outcome"] == "done"


@pytest.mark.parametrize("by_id", [True, False])
async def test_outside_of_a_workflow_one_plain_answer_settles_a_doubt(by_id: bool) -> None:
    graph = compiled(unit("s"), "eager", "round", InMemoryStore())
    await stopped_in_the_call(graph)
    (question,) = (await graph.ainvoke(None, THREAD, durability="sync"))["__interrupt__"]
    answer = {question.id: "run_again"} if by_id else "run_again"
    ended = await graph.ainvoke(Command(resume=answer), THREAD, durability="sync")
    assert (ended["outcome"], PAID) == ("done", [3, 3])
