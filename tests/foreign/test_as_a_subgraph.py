"""`workflow.graph` added to a StateGraph directly, sharing `messages`, and streamed through."""

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from plait import Workflow

THREAD: Any = {"configurable": {"thread_id": "t"}}


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    before: str


def before(state: Chat) -> Chat:
    return {"before": "done"}


@pytest.fixture
def graph(workflow: Workflow) -> Any:
    builder = StateGraph(Chat)
    builder.add_node("before", before)
    builder.add_node("chat", workflow.graph)
    builder.add_edge(START, "before")
    builder.add_edge("before", "chat")
    return builder.compile(checkpointer=InMemorySaver())


def said(values: Any) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in values["messages"]]


async def streamed(graph: Any, given: Any, mode: str, **options: Any) -> list[Any]:
    return [part async for part in graph.astream(given, THREAD, stream_mode=mode, **options)]


async def test_the_conversation_is_shared_and_counted_once(graph: Any) -> None:
    values = await graph.ainvoke({"messages": [HumanMessage("hi")]}, THREAD)
    assert said(values) == [("human", "hi"), ("ai", "hello yourself")]


async def test_a_second_turn_adds_to_it(graph: Any) -> None:
    await graph.ainvoke({"messages": [HumanMessage("hi")]}, THREAD)
    values = await graph.ainvoke({"messages": [HumanMessage("and again")]}, THREAD)
    assert [text for _, text in said(values)] == ["hi", "hello yourself", "and again", "hello yourself"]


async def test_plain_dict_messages_do_as_well(graph: Any) -> None:
    values = await graph.ainvoke({"messages": [{"role": "user", "content": "hi"}]}, THREAD)
    assert said(values)[-1] == ("ai", "hello yourself")


async def test_a_question_pauses_and_is_answered(graph: Any) -> None:
    paused = await graph.ainvoke({"messages": [HumanMessage("book it")]}, THREAD)
    assert [item.value["question"] for item in paused["__interrupt__"]] == ["how much?"]
    assert said(await graph.ainvoke(Command(resume=3), THREAD))[-1] == ("ai", "answer: 3")


async def test_updates_name_the_nodes_that_ran(graph: Any) -> None:
    parts = await streamed(graph, {"messages": [HumanMessage("hi")]}, "updates", subgraphs=True)
    names = [(len(path), name) for path, update in parts for name in update]
    inside = [name for depth, name in names if depth == 1]
    assert inside == ["_enter", "classify", "general", "_exit"]
    assert [name for depth, name in names if depth == 2] == ["think", "think"]
    assert names[-1] == (0, "chat")


async def test_values_end_with_the_whole_state(graph: Any) -> None:
    parts = await streamed(graph, {"messages": [HumanMessage("hi")]}, "values")
    assert said(parts[-1]) == [("human", "hi"), ("ai", "hello yourself")]


async def test_messages_stream_the_text_of_the_unit_that_writes_it(graph: Any) -> None:
    parts = await streamed(graph, {"messages": [HumanMessage("hi")]}, "messages", subgraphs=True)
    written = [(chunk, about) for _, (chunk, about) in parts if about.get("plait_unit") == "general"]
    assert "".join(chunk.text for chunk, _ in written if chunk.type == "AIMessageChunk") == "hello yourself"
    assert len({chunk.id for chunk, _ in written}) == 1


async def test_an_answer_is_streamed_once_though_it_also_joins_the_conversation(graph: Any) -> None:
    parts = await streamed(graph, {"messages": [HumanMessage("hi")]}, "messages", subgraphs=True)
    texts = [chunk.text for _, (chunk, about) in parts if chunk.type in ("AIMessageChunk", "ai")]
    assert "".join(texts).count("hello yourself") == 1


async def test_custom_parts_of_tools_come_through(workflow: Workflow) -> None:
    given = {"task": "book who"}
    stream = workflow.graph.astream(given, context={"user": "mei"}, stream_mode="custom", subgraphs=True)
    parts = [part async for _, part in stream]
    assert {"from": "who"} in parts


async def test_several_modes_at_once(graph: Any) -> None:
    given = {"messages": [HumanMessage("hi")]}
    modes = [
        mode async for mode, _ in graph.astream(given, THREAD, stream_mode=["updates", "values", "messages"])
    ]
    assert set(modes) == {"updates", "values", "messages"}


async def test_state_keys_edited_from_outside_are_taken_in(workflow: Workflow) -> None:
    graph = workflow.compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"task": "book it", "state": {"currency": "EUR"}}, THREAD)
    await graph.aupdate_state(THREAD, {"state": {"currency": "CNY", "new": 1}}, as_node="classify")
    done = await graph.ainvoke(None, THREAD)
    assert done["__interrupt__"]
    done = await graph.ainvoke(Command(resume=3), THREAD)
    assert done["state"] == {"currency": "CNY", "new": 1}


async def test_the_state_inside_a_subgraph_is_read_with_its_parents(graph: Any) -> None:
    await graph.ainvoke({"messages": [HumanMessage("book it")]}, THREAD)
    state = await graph.aget_state(THREAD, subgraphs=True)
    assert state.tasks[0].state.tasks[0].name == "record"
    assert state.tasks[0].state.values["turn"]["task"] == "book it"


async def test_an_edited_conversation_is_what_the_next_turn_sees(workflow: Workflow) -> None:
    graph = workflow.compile(checkpointer=InMemorySaver())
    first = await graph.ainvoke({"task": "hi"}, THREAD)
    answer = first["messages"][-1]
    await graph.aupdate_state(THREAD, {"messages": [answer.model_copy(update={"content": "edited"})]})
    second = await graph.ainvoke({"task": "again"}, THREAD)
    assert [text for _, text in said(second)] == ["hi", "edited", "again", "hello yourself"]
