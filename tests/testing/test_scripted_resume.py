"""The scripted model goes on rightly: in a new object, in a repeated step, in a graph."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from plait.testing import ScriptedModel, ScriptError, call, fail, reply, text

A, B, C = text("A"), call("b", x=1), text("C")


def held(*said: str) -> list[BaseMessage]:
    """A conversation that holds these replies; a lower-case one stands for a call with x=1."""
    messages: list[BaseMessage] = [HumanMessage("go")]
    for each in said:
        calls = [{"name": each, "args": {"x": 1}, "id": f"id-{each}"}] if each.islower() else []
        messages.append(AIMessage("" if calls else each, tool_calls=calls))
        messages.append(ToolMessage("ok", tool_call_id=f"id-{each}") if calls else HumanMessage("more"))
    return messages


def within(execution: str, unit: str = "u") -> RunnableConfig:
    return {"metadata": {"plait_unit": unit, "langgraph_checkpoint_ns": execution}}


# A new object finds its place


@pytest.mark.parametrize(
    ("script", "history", "answer"),
    [
        ([A, text("next")], [], "A"),
        ([A, text("next")], ["A"], "next"),
        ([A, B, text("next")], ["A", "b"], "next"),
        ([A, B, text("next"), A], ["b"], "next"),
        ([A, A, A, text("next")], ["A", "A", "A"], "next"),
        ([A, text(""), B, text("next")], ["A", "b"], "next"),
        ([A, fail(TimeoutError), B, text("next")], ["A", "b"], "next"),
        ([A, reply("cut", call("z"), finish="length"), B, text("next")], ["A", "b"], "next"),
        ([A, B, text("next")], ["Foreign", "A", "b"], "next"),
        ([A, B, text("next")], ["A", "Foreign", "b"], "next"),
        ([A, B, text("next")], ["C", "A", "b"], "next"),
        ([text("first"), A], ["Foreign"], "first"),
    ],
)
def test_a_new_object_goes_on_after_the_replies_already_held(
    script: list[Any], history: list[str], answer: str
) -> None:
    assert ScriptedModel(script).invoke(held(*history)).text == answer


def test_older_replies_are_left_out_when_all_of_them_do_not_match() -> None:
    assert ScriptedModel([A, B, C, text("next")]).invoke(held("C", "A", "b")).text == "C"


def test_only_the_first_request_of_a_unit_looks_for_its_place() -> None:
    model = ScriptedModel({"u": [text("first"), A, text("third")], "v": [A, text("second")]})
    assert model.invoke(held("Foreign"), within("1")).text == "first"
    assert model.invoke(held("A"), within("2")).text == "A"
    assert model.invoke(held("A"), within("3", "v")).text == "second"
    assert model.invoke(held("A"), within("4")).text == "third"


def test_replies_used_in_a_former_process_count_as_used() -> None:
    with ScriptedModel([A, B, C]) as model:
        model.invoke(held("A", "b"))


def test_the_error_says_that_replies_were_held_already() -> None:
    with pytest.raises(ScriptError, match="has 1 replies, the first 1 of which its first request"):
        ScriptedModel([A]).invoke(held("A"))


def test_the_call_ids_of_a_rule_do_not_repeat_in_a_new_object() -> None:
    first = ScriptedModel(lambda request: B).invoke("go")
    second = ScriptedModel(lambda request: B).invoke([HumanMessage("go"), first])
    assert [first.tool_calls[0]["id"], second.tool_calls[0]["id"]] == ["call_x_0_0", "call_x_1_0"]


# A repeated step gets the same reply


def test_the_same_messages_in_the_same_execution_get_the_same_reply() -> None:
    model = ScriptedModel([B, C])
    first, again = model.invoke(held(), within("n:1")), model.invoke(held(), within("n:1"))
    assert first.tool_calls == again.tool_calls
    assert len(model.requests) == 2
    assert model.invoke(held("b"), within("n:1")).text == "C"


def test_another_execution_gets_a_new_reply() -> None:
    model = ScriptedModel([A, C])
    assert [model.invoke(held(), within(ns)).text for ns in ("n:1", "n:2")] == ["A", "C"]


def test_without_a_graph_each_request_gets_a_new_reply() -> None:
    model = ScriptedModel([A, C])
    assert [model.invoke("go").text, model.invoke("go").text] == ["A", "C"]


def test_a_failure_is_not_repeated() -> None:
    model = ScriptedModel([fail(TimeoutError), A])
    with pytest.raises(TimeoutError):
        model.invoke(held(), within("n:1"))
    assert model.invoke(held(), within("n:1")).text == "A"


# In a graph


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


Graph = CompiledStateGraph[Chat, None, Chat, Chat]
ABOUT: RunnableConfig = {"metadata": {"plait_unit": "u"}}


def chat_graph(
    model: ScriptedModel, saver: InMemorySaver, before_leaving: Callable[[], None] = lambda: None
) -> Graph:
    """think and act, where `think` may crash between the model's answer and its end."""

    async def think(state: Chat) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"], ABOUT)
        before_leaving()
        return {"messages": [answer]}

    async def act(state: Chat) -> dict[str, Any]:
        asked = state["messages"][-1]
        assert isinstance(asked, AIMessage)
        return {"messages": [ToolMessage("ok", tool_call_id=made["id"]) for made in asked.tool_calls]}

    async def onward(state: Chat) -> str:
        return "act" if getattr(state["messages"][-1], "tool_calls", None) else END

    graph = StateGraph(Chat)
    graph.add_node("think", think).add_node("act", act)
    graph.add_edge(START, "think").add_edge("act", "think")
    graph.add_conditional_edges("think", onward, ["act", END])
    return graph.compile(checkpointer=saver)


def crash_at(visit: int) -> Callable[[], None]:
    visits = iter(range(1, 100))

    def check() -> None:
        if next(visits) == visit:
            raise RuntimeError("crash")

    return check


THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}
START_WITH: Chat = {"messages": [HumanMessage("go")]}


async def ends_with(run: Awaitable[Any]) -> str:
    return str((await run)["messages"][-1].text)


@pytest.mark.parametrize("visit", [1, 2, 3])
async def test_a_node_that_crashed_after_the_answer_gets_it_again(visit: int) -> None:
    saver = InMemorySaver()
    with ScriptedModel({"u": [B, B, C]}) as model:
        graph = chat_graph(model, saver, crash_at(visit))
        with pytest.raises(RuntimeError, match="crash"):
            await graph.ainvoke(START_WITH, THREAD)
        assert await ends_with(graph.ainvoke(None, THREAD)) == "C"
    assert len(model.requests) == 4


@pytest.mark.parametrize("visit", [1, 2, 3])
async def test_a_new_object_takes_over_where_the_graph_crashed(visit: int) -> None:
    saver = InMemorySaver()
    with pytest.raises(RuntimeError, match="crash"):
        await chat_graph(ScriptedModel([B, B, C]), saver, crash_at(visit)).ainvoke(START_WITH, THREAD)
    with ScriptedModel([B, B, C]) as fresh:
        assert await ends_with(chat_graph(fresh, saver).ainvoke(None, THREAD)) == "C"
    assert len(fresh.requests) == 4 - visit


async def test_a_second_turn_goes_on_in_the_script() -> None:
    with ScriptedModel({"u": [B, A, C]}) as model:
        graph = chat_graph(model, InMemorySaver())
        assert await ends_with(graph.ainvoke(START_WITH, THREAD)) == "A"
        assert await ends_with(graph.ainvoke(START_WITH, THREAD)) == "C"


async def test_the_graphs_own_message_stream_knows_the_unit() -> None:
    with ScriptedModel({"u": [text("in several pieces")]}) as model:
        stream = chat_graph(model, InMemorySaver()).astream(START_WITH, THREAD, stream_mode="messages")
        parts = [getattr(part, "content", None) async for part, _ in stream]
    assert parts == ["in sever", "al piece", "s", ""]
    assert model.requests[0].unit == "u"


async def test_parallel_threads_of_a_graph_share_one_model() -> None:
    model = ScriptedModel(lambda request: B if request.replies < 2 else C, delay_s=0.001)
    graph = chat_graph(model, InMemorySaver())
    runs = [graph.ainvoke(START_WITH, {"configurable": {"thread_id": str(at)}}) for at in range(20)]
    assert [await ends_with(run) for run in asyncio.as_completed(runs)] == ["C"] * 20
    assert len(model.requests) == 60
