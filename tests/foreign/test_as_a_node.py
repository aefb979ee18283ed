"""The workflow as a node of a hand-written StateGraph: input, output, failures, pauses, its own thread."""

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from plait import RunError, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, fail, text


class Outer(TypedDict, total=False):
    text: str
    answer: str
    note: str
    messages: Annotated[list[AnyMessage], add_messages]


def enter(state: Outer) -> str:
    return state["text"]


def leave(values: dict[str, Any]) -> Outer:
    return {"answer": values["output"]}


def after(state: Outer) -> Outer:
    return {"note": f"after {state['answer']}"}


def outer(node: Any, **options: Any) -> Any:
    builder = StateGraph(Outer)
    builder.add_node("work", node)
    builder.add_node("after", after)
    builder.add_edge(START, "work")
    builder.add_edge("work", "after")
    builder.add_edge("after", END)
    return builder.compile(**options)


@pytest.fixture
def saved(workflow: Workflow) -> Any:
    return outer(workflow.as_node(enter, leave), checkpointer=InMemorySaver())


THREAD: Any = {"configurable": {"thread_id": "t"}}


async def test_it_runs_between_other_nodes(workflow: Workflow) -> None:
    graph = outer(workflow.as_node(enter, leave))
    done = await graph.ainvoke({"text": "hi"})
    assert (done["answer"], done["note"]) == ("hello yourself", "after hello yourself")


async def test_a_unit_alone_is_a_node_too() -> None:
    unit = WorkflowUnit("double", output=int)
    node = unit.as_node(
        enter,
        lambda values: {"answer": str(values["output"] + 1)},
        model=ScriptedModel([call("resolve", value=41)]),
    )
    assert (await outer(node).ainvoke({"text": "hi"}))["answer"] == "42"


async def test_a_flow_alone_is_a_node_too() -> None:
    flow = WorkflowUnit("a", answer="text") >> WorkflowUnit("b", answer="text")
    node = flow.as_node(enter, leave, model=ScriptedModel({"a": [text("one")], "b": [text("two")]}))
    assert (await outer(node).ainvoke({"text": "hi"}))["answer"] == "two"


async def test_a_failure_is_raised_with_path_and_reason() -> None:
    unit = WorkflowUnit("dead", answer="text")
    node = unit.as_node(enter, leave, model=ScriptedModel([fail(ConnectionError("no line"))]))
    with pytest.raises(RunError, match="no line") as failed:
        await outer(node).ainvoke({"text": "hi"})
    assert (failed.value.path, failed.value.reason) == ("dead", "provider")


async def test_a_question_pauses_the_outer_graph_and_its_answer_goes_on(saved: Any) -> None:
    paused = await saved.ainvoke({"text": "book it"}, THREAD)
    assert [item.value["question"] for item in paused["__interrupt__"]] == ["how much?"]
    done = await saved.ainvoke(Command(resume=32), THREAD)
    assert (done["answer"], done["note"]) == ("answer: 32", "after answer: 32")


async def test_the_state_inside_is_seen_while_it_is_paused(saved: Any) -> None:
    await saved.ainvoke({"text": "book it"}, THREAD)
    state = await saved.aget_state(THREAD, subgraphs=True)
    root = state.tasks[0].state
    unit = root.tasks[0].state
    assert (state.next, root.next, unit.next) == (("work",), ("record",), ("act",))
    assert [message.type for message in unit.values["messages"]] == ["human", "ai"]
    assert root.values["turn"]["task"] == "book it"


async def test_the_transcript_inside_can_be_edited_before_going_on(saved: Any) -> None:
    await saved.ainvoke({"text": "book it"}, THREAD)
    state = await saved.aget_state(THREAD, subgraphs=True)
    unit = state.tasks[0].state.tasks[0].state
    reply = unit.values["messages"][-1]
    edited = reply.model_copy(
        update={"tool_calls": [{**reply.tool_calls[0], "args": {"question": "how many?"}}]}
    )
    await saved.aupdate_state(unit.config, {"messages": [edited]}, as_node="think")
    again = await saved.ainvoke(None, THREAD)
    assert again["__interrupt__"][0].value["question"] == "how many?"


async def test_two_turns_of_the_outer_thread_are_separate_runs(saved: Any) -> None:
    await saved.ainvoke({"text": "hi"}, THREAD)
    assert (await saved.ainvoke({"text": "hi again"}, THREAD))["answer"] == "hello yourself"


async def test_it_may_stand_twice_in_one_graph(workflow: Workflow) -> None:
    builder = StateGraph(Outer)
    builder.add_node("one", workflow.as_node(enter, leave))
    builder.add_node(
        "two", workflow.as_node(lambda state: state["answer"], lambda values: {"note": values["output"]})
    )
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    assert (await builder.compile().ainvoke({"text": "hi"}))["note"] == "hello yourself"


async def test_enter_may_give_the_graphs_whole_input() -> None:
    seen: list[Any] = []

    def look(values: dict[str, Any]) -> Outer:
        seen.append(values)
        return {"answer": values["output"]}

    unit = WorkflowUnit("a", answer="text", conversation=True)
    model = ScriptedModel([text("ok")])
    given = {
        "messages": [
            {"role": "user", "content": "before"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": "now"},
        ]
    }
    node = unit.as_node(lambda _: {**given, "state": {"key": 1}}, look, model=model)
    await outer(node).ainvoke({"text": "hi"})
    assert [message.text for message in model.requests[0].messages] == ["before", "yes", "now"]
    assert (seen[0]["outcome"], seen[0]["state"]) == ("done", {"key": 1})
