"""Questions of parallel parts: each shows exactly once, at any depth, answered together or one by one."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from plait import (
    BroadcastFlow,
    DAGFlow,
    DelegationFlow,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    RunResult,
    SequentialFlow,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    field,
    step,
)
from plait.testing import ScriptedModel, call

from .support import Log, Score, answered, ask, asker, asking, given, noted, outputs, seen, statuses

a, b, c, d = asking("a", "b", "c", "d")
BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])
ORDER = pytest.mark.parametrize("together", [True, False])


@pytest.fixture(autouse=True, params=["round", "unit"])
def _both_drivers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Workflow.__init__.__kwdefaults__, "granularity", request.param)


def several(request: Any) -> Any:
    """Each unit asks two questions in one reply."""
    if request.tool_results:
        return call("resolve", value=" and ".join(result.text for result in request.tool_results))
    return [call("ask", who=f"{request.path} 1"), call("ask", who=f"{request.path} 2")]


def workflow(flow: Any, script: Any = asker, **options: Any) -> Workflow:
    return Workflow(flow, model=ScriptedModel(script), checkpointer="memory", **options)


def questions(result: RunResult) -> list[str]:
    return sorted(question.question for question in result.interrupts)


NESTED = ParallelFlow(
    a,
    SequentialFlow(
        given("x"),
        DAGFlow(None, {"b": b, "deep": ParallelFlow(c, d)}, seen("sum"), {}),
        id="mid",
    ),
    id="top",
)


@BOTH
@ORDER
async def test_questions_of_parallel_units(scheduling: Any, together: bool) -> None:
    made = workflow(ParallelFlow(a, b, given("x"), reducer=seen()), scheduling=scheduling)
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a?", "b?"]
    assert statuses(paused).get("seen") is None
    result = await answered(made, paused, together=together)
    assert result.output == {"a": "a heard A?", "b": "b heard B?", "x": "x"}


@BOTH
@ORDER
async def test_questions_three_schedulers_deep(scheduling: Any, together: bool) -> None:
    made = workflow(NESTED, scheduling=scheduling)
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a?", "b?", "c?", "d?"]
    assert questions(await made.thread("t").result()) == questions(paused)
    result = await answered(made, paused, together=together)
    assert result.outcome == "done"
    assert {path.rpartition("/")[2] for path in outputs(result)} == {"a", "x", "b", "c", "d", "sum"}


@BOTH
@ORDER
async def test_several_questions_of_one_reply_in_each_of_several_units(
    scheduling: Any, together: bool
) -> None:
    made = workflow(ParallelFlow(a, ParallelFlow(b, id="in")), several, scheduling=scheduling)
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a 1?", "a 2?", "in/b 1?", "in/b 2?"]
    result = await answered(made, paused, together=together)
    assert result.output["a"] == "a 1 heard A 1? and a 2 heard A 2?"


async def test_nothing_finished_runs_again_when_an_answer_comes() -> None:
    log = Log()
    made = workflow(ParallelFlow(a, noted(log, "x"), SequentialFlow(noted(log, "y"), b), id="p"))
    result = await answered(made, await made.run("go", thread_id="t"), together=False)
    assert result.outcome == "done"
    assert (log.starts("x"), log.starts("y")) == (1, 1)


async def test_what_does_not_wait_for_the_answer_goes_on() -> None:
    log = Log()
    flow = DAGFlow(
        None,
        {"a": a, "after": noted(log, "after"), "free": noted(log, "free")},
        dependencies={"after": ["a"]},
    )
    made = workflow(flow)
    paused = await made.run("go", thread_id="t")
    assert (questions(paused), log.starts("free"), log.starts("after")) == (["a?"], 1, 0)
    assert (await answered(made, paused)).outcome == "done"
    assert (log.starts("free"), log.starts("after")) == (1, 1)


async def test_a_quorum_reached_beside_a_question_makes_it_void() -> None:
    asked = asyncio.Event()

    def hear(who: str, runtime: Any) -> str:
        asked.set()
        return str(runtime.ask("ever?"))

    async def wait(snapshot: Any) -> str:
        await asked.wait()
        await asyncio.sleep(0.1)
        return "ok"

    unit = WorkflowUnit("u", tools=[ask_as(hear)])
    made = workflow(ParallelFlow(unit, step(wait, id="w"), quorum=1, reducer=seen()))
    result = await made.run("go", thread_id="t")
    assert (result.outcome, result.interrupts, result.output) == ("done", (), {"w": "ok"})
    assert statuses(result)["u"] == "cancelled"


async def test_a_failure_beside_a_question_ends_a_flow_that_fails_fast() -> None:
    asked = asyncio.Event()

    def hear(who: str, runtime: Any) -> str:
        asked.set()
        return str(runtime.ask("ever?"))

    async def fail(snapshot: Any) -> str:
        await asked.wait()
        await asyncio.sleep(0.1)
        raise ValueError("boom")

    flow = ParallelFlow(WorkflowUnit("u", tools=[ask_as(hear)]), step(fail, id="bad"), on_failure="fail_fast")
    result = await result_of(workflow(flow).run("go", thread_id="t"))
    assert (result.outcome, result.path, result.interrupts) == ("failed", "bad", ())
    assert statuses(result) == {"u": "cancelled", "bad": "failed"}


def ask_as(function: Any) -> Any:
    async def asked(who: str, runtime: ToolRuntime) -> str:
        return str(function(who, runtime))

    return StructuredTool.from_function(coroutine=asked, name="ask", description="Ask.")


async def result_of(work: Any) -> RunResult:
    from plait import RunError

    try:
        return await work
    except RunError as error:
        return error.result


async def test_a_map_asks_for_each_item() -> None:
    made = workflow(ParallelFlow.map(WorkflowUnit("u", tools=[ask]), over=lambda s: [1, 2, 3]), several)
    paused = await made.run("go", thread_id="t")
    assert len(questions(paused)) == 6
    result = await answered(made, paused)
    assert [text.startswith(f"u{{{n}}} 1") for n, text in enumerate(result.output)] == [True] * 3


async def test_a_map_in_batches_asks_too() -> None:
    some = RouterFlow(
        step(lambda s: "ask" if s.output == 299 else "not", id="pick"), {"ask": a, "not": given("n")}
    )
    made = workflow(ParallelFlow.map(some, over=lambda s: range(300)))
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a?"]
    result = await answered(made, paused)
    assert (result.outcome, result.output[299], len(result.output)) == ("done", "a heard A?", 300)


def delegate(request: Any) -> Any:
    if request.unit != "boss":
        return asker(request)
    if request.tool_results:
        return call("resolve", value="; ".join(result.text for result in request.tool_results))
    return [call("delegate_to_a", task="one"), call("delegate_to_b", task="two")]


@ORDER
async def test_specialists_ask_through_the_delegation(together: bool) -> None:
    made = workflow(ParallelFlow(DelegationFlow(WorkflowUnit("boss"), [a, b]), c), delegate)
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a?", "b?", "c?"]
    result = await answered(made, paused, together=together)
    assert result.output == {"delegation": "a heard A?; b heard B?", "c": "c heard C?"}


async def test_a_single_delegation_asks_at_the_root_too() -> None:
    def script(request: Any) -> Any:
        if request.unit == "boss" and not request.tool_results:
            return call("delegate_to_a", task="one")
        return delegate(request)

    made = workflow(DelegationFlow(WorkflowUnit("boss"), [a]), script)
    paused = await made.run("go", thread_id="t")
    assert [(q.question, q.path) for q in paused.interrupts] == [("a?", "a[1]")]
    assert (await answered(made, paused)).output == "a heard A?"


@BOTH
async def test_each_round_of_a_broadcast_may_ask(scheduling: Any) -> None:
    made = workflow(BroadcastFlow(a, b, rounds=2, scheduling=scheduling))
    first = await made.run("go", thread_id="t")
    assert questions(first) == ["a?", "b?"]
    second = await made.resume("t", {question.id: "one" for question in first.interrupts})
    assert questions(second) == ["a?", "b?"]
    result = await made.resume("t", {question.id: "two" for question in second.interrupts})
    assert result.output == {"a": "a heard two", "b": "b heard two"}


async def test_actors_of_parallel_reflexions_ask() -> None:
    judge = WorkflowUnit("judge", output=Score)

    def script(request: Any) -> Any:
        return call("resolve", score=9) if request.unit == "judge" else asker(request)

    flows = {name: ReflexionFlow(unit, judge, field("score") >= 8) for name, unit in (("x", a), ("y", b))}
    made = workflow(ParallelFlow(flows), script)
    paused = await made.run("go", thread_id="t")
    assert questions(paused) == ["a?", "b?"]
    assert (await answered(made, paused, together=False)).output == {"x": "a heard A?", "y": "b heard B?"}


async def test_a_loop_around_parallel_questions_asks_again_each_pass() -> None:
    made = workflow(LoopFlow(ParallelFlow(a, b), max_iterations=2, until=lambda s: False))
    result, rounds = await made.run("go", thread_id="t"), 0
    while result.outcome == "paused":
        rounds += 1
        assert questions(result) == ["a?", "b?"]
        result = await made.resume("t", {question.id: str(rounds) for question in result.interrupts})
    assert (rounds, result.output) == (2, {"a": "a heard 2", "b": "b heard 2"})


class Outer(TypedDict, total=False):
    text: str
    made: Any


def foreign(flow: Any, depth: int) -> Any:
    """The flow as a node of a graph written by hand, in as many graphs as wanted."""
    node = flow.as_node(lambda s: s["text"], lambda v: {"made": v["output"]}, model=ScriptedModel(asker))
    builder = StateGraph(Outer).add_node("plait", node).add_edge(START, "plait").add_edge("plait", END)
    for _ in range(depth):
        inner = builder.compile()
        builder = StateGraph(Outer).add_node("inner", inner).add_edge(START, "inner").add_edge("inner", END)
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("depth", [0, 1])
@ORDER
async def test_somebody_elses_graph_shows_each_question_once(depth: int, together: bool) -> None:
    graph, config = foreign(NESTED, depth), {"configurable": {"thread_id": "t"}}
    values = await graph.ainvoke({"text": "go"}, config)
    asked = {item.value["question"]: item.id for item in values["__interrupt__"]}
    assert sorted(asked) == ["a?", "b?", "c?", "d?"]
    assert len(values["__interrupt__"]) == 4
    while pending := values.get("__interrupt__"):
        told = {item.id: item.value["question"].upper() for item in (pending if together else pending[:1])}
        values = await graph.ainvoke(Command(resume=told), config)
    assert values["made"]["a"] == "a heard A?"


@BOTH
async def test_the_state_of_a_paused_step_can_be_read(scheduling: Any) -> None:
    saver = InMemorySaver()
    graph = workflow(NESTED, scheduling=scheduling).compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"task": "go"}, config)
    found = dict(units_of(await graph.aget_state(config, subgraphs=True)))
    assert sorted(found) == ["a", "b", "c", "d"]
    assert all(values["messages"][-1].tool_calls for values in found.values())


async def test_steps_of_a_plan_that_share_an_executor_can_be_read_too() -> None:
    def script(request: Any) -> Any:
        if request.unit != "plan":
            return asker(request)
        steps = [{"id": name, "executor": "a", "task": name} for name in ("one", "two")]
        return call("resolve", steps=steps)

    graph = workflow(DAGFlow(WorkflowUnit("plan"), {"a": a}), script).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"task": "go"}, config)
    found = [name for name, _ in units_of(await graph.aget_state(config, subgraphs=True))]
    assert found == ["a", "a"]


def units_of(state: Any) -> Any:
    """The paused units in a StateSnapshot with their values."""
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            if "progress" in task.state.values:
                yield task.name, task.state.values
            yield from units_of(task.state)
