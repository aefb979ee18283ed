"""Events as LangGraph's `custom` stream parts, for those who drive the compiled graph themselves."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from plait import Event, ParallelFlow, RouterFlow, ToolRuntime, Workflow, WorkflowUnit
from plait.nodes.streamed import custom_stream
from plait.testing import ScriptedModel, call, text


def look(x: int) -> int:
    """Look."""
    return x


def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask("well?"))


a, b = WorkflowUnit("a", tools=[look, ask]), WorkflowUnit("b", answer="text")
SCRIPT = {
    "pick": [call("resolve", value="work")],
    "a": [call("look", x=1), call("resolve", value="found")],
    "b": [text("hello")],
}
FLOWS = {
    "sequence": a >> b,
    "nested": RouterFlow(WorkflowUnit("pick"), {"work": a >> b, "rest": WorkflowUnit("rest")}),
    "parallel": ParallelFlow(a, b),
}


async def streamed(graph: Any, given: Any, **options: Any) -> list[Event]:
    """The events among the parts of a stream."""
    found = []
    modes = ["custom", "updates"]
    async for part in graph.astream(given, stream_mode=modes, subgraphs=True, version="v2", **options):
        if part["type"] == "custom" and part["data"].get("plait") == "event":
            assert json.loads(json.dumps(part["data"])) == part["data"]
            found.append(Event.from_plain(part["data"]))
    return found


def told(events: list[Event]) -> list[tuple[str, str]]:
    """Types and paths, without the pieces of replies, of which there may be any number."""
    return [(event.type, event.path) for event in events if event.type != "message_update"]


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS.keys())
async def test_the_custom_stream_tells_what_a_run_tells(flow: Any, scheduling: Any) -> None:
    def workflow() -> Workflow[Any]:
        return Workflow(flow, model=ScriptedModel(SCRIPT), scheduling=scheduling)

    found = await streamed(workflow().graph, {"task": "go"})
    own = [event async for event in workflow().stream("go")]
    assert sorted(told(found)) == sorted(told(own))
    assert (told(found)[0], told(found)[-1]) == (("agent_start", ""), ("agent_end", ""))
    assert found[-1].outcome == "done"
    numbers = [event.sequence for event in found]
    assert numbers == sorted(set(numbers))
    assert len({event.run_id for event in found}) == 1
    assert "".join(event.delta or "" for event in found if event.path.endswith("b")) == "hello"


class State(TypedDict, total=False):
    asked: str
    answers: list[str]


def foreign(*workflows: Workflow[Any], **options: Any) -> Any:
    """Somebody else's graph with the workflows as its nodes, one after the other."""
    graph = StateGraph(State)
    names = [f"node{number}" for number in range(len(workflows))]
    for name, workflow in zip(names, workflows, strict=True):
        node = workflow.as_node(
            lambda state: {"task": state["asked"]}, lambda out: {"answers": [str(out["output"])]}
        )
        graph.add_node(name, node)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(**options)


async def test_inside_a_foreign_graph_the_events_come_through_too() -> None:
    graph = foreign(*(Workflow(a >> b, model=ScriptedModel(SCRIPT)) for _ in range(2)))
    found = await streamed(graph, {"asked": "go"})
    roots = [(event.type, event.outcome) for event in found if event.path == ""]
    assert roots == [("agent_start", None), ("agent_end", "done")] * 2
    runs = list(dict.fromkeys(event.run_id for event in found))
    for run in runs:
        numbers = [event.sequence for event in found if event.run_id == run]
        assert numbers == sorted(set(numbers))


async def test_two_runs_on_one_graph_count_for_themselves() -> None:
    workflow = Workflow(b, model=ScriptedModel({"b": [text("hello")] * 2}))
    one, other = await asyncio.gather(*(streamed(workflow.graph, {"task": "go"}) for _ in range(2)))
    assert one[0].run_id != other[0].run_id
    assert told(one) == told(other)
    for found in (one, other):
        assert [event.sequence for event in found] == list(range(1, len(found) + 1))


async def test_a_run_that_goes_on_after_a_pause_says_so() -> None:
    model = ScriptedModel({"a": [call("ask"), call("resolve", value="x")], "b": [text("hello")]})
    graph = Workflow(a >> b, model=model).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    paused = await streamed(graph, {"task": "go"}, config=config)
    assert (paused[-1].path, paused[-1].outcome) == ("a", "paused")
    resumed = await streamed(graph, Command(resume="yes"), config=config)
    assert [(event.type, event.resumed) for event in resumed if event.path == ""] == [
        ("agent_start", True),
        ("agent_end", False),
    ]
    assert [event.sequence for event in resumed] == list(range(1, len(resumed) + 1))


async def test_a_failed_run_ends_its_events_as_failed() -> None:
    model = ScriptedModel({"a": [call("nothing")]})
    found = await streamed(Workflow(a.with_(max_rounds=1), model=model).graph, {"task": "go"})
    assert [(event.path, event.outcome, event.reason) for event in found[-2:]] == [
        ("a", "failed", "limit"),
        ("", "failed", "limit"),
    ]


async def test_without_custom_nothing_is_written_and_no_reply_is_streamed() -> None:
    seen: list[Any] = []

    def watch() -> str:
        """Watch."""
        seen.append(custom_stream())
        return "seen"

    unit = WorkflowUnit("a", tools=[watch])
    model = ScriptedModel({"a": [call("watch"), call("resolve", value="x")] * 2})
    graph = Workflow(unit, model=model).graph
    parts = [part async for part in graph.astream({"task": "go"}, stream_mode="updates", subgraphs=True)]
    assert parts
    assert (await graph.ainvoke({"task": "go"}))["output"] == "x"
    assert seen == [None, None]
    assert custom_stream() is None
