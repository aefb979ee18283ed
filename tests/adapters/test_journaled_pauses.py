"""A call that asks beside one that takes its time, in a ToolNode: neither takes the answer of the other."""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from plait import journaled
from plait.testing import ScriptedModel, call, text

BOOKED: list[int] = []


async def ask() -> str:
    """Ask who it is."""
    return str(interrupt("who?"))


async def book(number: int) -> str:
    """Book, which nobody wants twice."""
    await asyncio.sleep(0.1)
    BOOKED.append(number)
    return f"booked {number}"


async def test_a_pause_waits_for_the_calls_beside_it() -> None:
    BOOKED.clear()
    tools = journaled([ask, book])
    model = ScriptedModel([[call("ask"), call("book", number=1)], text("ok")]).bind_tools(tools)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    graph = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    thread: Any = {"configurable": {"thread_id": "t"}}
    paused = await graph.ainvoke({"messages": [("user", "go")]}, thread, durability="sync")
    assert [one.value for one in paused["__interrupt__"]] == ["who?"]
    ended = await graph.ainvoke(Command(resume="Mei"), thread, durability="sync")
    assert [message.content for message in ended["messages"]][2:] == ["Mei", "booked 1", "ok"]
    assert BOOKED == [1]
