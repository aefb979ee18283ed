"""What the work costs in the same shape with nothing around it: the floor of any framework on LangGraph.

A plain loop over the model's and the tools' `ainvoke` is what a unit's loop cannot go below; a graph of
functions that do just that, without ToolNode, conversion or checks, what a superstep adds to it.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolRuntime

Messages = Sequence[BaseMessage]
Ask = Callable[[Messages, Any], Awaitable[AIMessage]]


class Said(TypedDict, total=False):
    messages: Annotated[list[BaseMessage], operator.add]


def asking(bound: Any, prompt: str) -> Ask:
    """One call of a model that has its tools."""

    async def ask(messages: Messages, config: Any) -> AIMessage:
        reply: AIMessage = await bound.ainvoke([SystemMessage(prompt), *messages], config)
        return reply

    return ask


async def answers(
    reply: AIMessage, tools: Mapping[str, BaseTool], messages: Messages, config: Any
) -> list[BaseMessage]:
    """The calls of a reply, side by side. `runtime` is what a tool that wants it is given."""

    async def one(call: Any) -> BaseMessage:
        tool, args = tools[call["name"]], dict(call["args"])
        schema: Any = tool.get_input_schema()
        if "runtime" in schema.model_fields:
            given: Any = {"messages": list(messages)}
            args["runtime"] = ToolRuntime(
                state=given,
                context=None,
                config=config,
                stream_writer=lambda _: None,
                tool_call_id=call["id"],
                store=None,
            )
        answer: BaseMessage = await tool.ainvoke({**call, "args": args, "type": "tool_call"}, config)
        return answer

    return list(await asyncio.gather(*(one(call) for call in reply.tool_calls)))


async def plain_loop(
    ask: Ask, tools: Mapping[str, BaseTool], task: str, config: Any, until: str = ""
) -> list[BaseMessage]:
    """Ask and answer until a reply calls nothing, or the tool that ends it."""
    messages: list[BaseMessage] = [HumanMessage(task)]
    while True:
        reply = await ask(messages, config)
        messages.append(reply)
        if not reply.tool_calls or reply.tool_calls[0]["name"] == until:
            return messages
        messages += await answers(reply, tools, messages, config)


def bare_graph(ask: Ask, tools: Mapping[str, BaseTool], until: str = "") -> Any:
    """The same loop as a node that asks and a node that answers, a superstep each."""

    async def agent(state: Said, config: RunnableConfig) -> Said:
        return {"messages": [await ask(state["messages"], config)]}

    async def act(state: Said, config: RunnableConfig) -> Said:
        reply = state["messages"][-1]
        assert isinstance(reply, AIMessage)
        return {"messages": await answers(reply, tools, state["messages"], config)}

    async def after(state: Said) -> str:
        reply = state["messages"][-1]
        calls = reply.tool_calls if isinstance(reply, AIMessage) else []
        return "act" if calls and calls[0]["name"] != until else END

    builder: Any = StateGraph(Said)
    builder.add_node("agent", agent)
    builder.add_node("act", act)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after, ["act", END])
    builder.add_edge("act", "agent")
    return builder.compile()
