"""A tool-calling agent of many rounds, two tool calls in each."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition

from plait import Workflow, WorkflowUnit

from .double import Counting, Double, called, said
from .floors import asking, bare_graph, plain_loop
from .measure import Case, Granularity, Work, told

PROMPT = "You look things up and add numbers, two tools at a time, until all is known."
TASK = "Find out what there is to know."
FILLING = "and what else there is to say about it, " * 20


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"{a} and {b} are {a + b}"


@tool
async def look_up(key: str, runtime: ToolRuntime) -> str:
    """Look up what is known of a key."""
    return f"{key}, {len(runtime.state['messages'])} messages in, {FILLING}"


TOOLS = [add, look_up]


def rule(rounds: int) -> Any:
    """Two calls in each of `rounds` replies, then a text. A round adds three messages to a request."""

    def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        number = (len(messages) - 1) // 3
        if number >= rounds:
            return said("All is known.")
        return called(number, ("add", {"a": number, "b": 1}), ("look_up", {"key": f"key {number}"}))

    return reply


async def condition(state: MessagesState) -> str:
    """`tools_condition` as a coroutine, which LangGraph does not send to a thread."""
    return tools_condition(dict(state))


def graph_by_hand(model: Double, saver: Any = None, condition: Any = tools_condition) -> Any:
    """The agent as LangGraph's own guide writes it: a model node, a ToolNode, and the way between."""
    bound = model.bind_tools(TOOLS)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke([SystemMessage(PROMPT), *state["messages"]], config)]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", condition, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def unit(rounds: int) -> WorkflowUnit[str]:
    return WorkflowUnit("agent", prompt=PROMPT, tools=TOOLS, answer="text", max_rounds=rounds + 1)


def react(rounds: int, repeats: int, granularity: Granularity = "round") -> Case:
    """The loop alone: CPU time, with the same callbacks on both sides."""
    model = Double(rule=rule(rounds))
    workflow = Workflow(unit(rounds), model=model, granularity=granularity)

    def by_hand(graph: Any) -> Work:
        async def run() -> Any:
            counting = Counting()
            config: Any = {"recursion_limit": 4 * rounds + 10, "callbacks": [counting]}
            values = await graph.ainvoke({"messages": [HumanMessage(TASK)]}, config)
            return values["messages"][-1].content, counting.counts, values["messages"]

        return run

    async def with_plait() -> Any:
        counting = Counting()
        result = await workflow.run(TASK, config={"callbacks": [counting]})
        return result.output, counting.counts, result.steps[0]

    return Case(
        f"react, {rounds} rounds{told(granularity)}: per round",
        by_hand(graph_by_hand(model)),
        with_plait,
        target=0.7 if granularity == "round" else 0.35,
        per=rounds,
        repeats=repeats,
        more={
            "by hand, its edge a coroutine": by_hand(graph_by_hand(model, condition=condition)),
            **_floor(model, by_hand, granularity),
        },
        result=_told,
    )


def _floor(model: Double, by_hand: Any, granularity: Granularity) -> dict[str, Work]:
    """The calls alone, in the shape of the granularity."""
    tools = {each.name: each for each in TOOLS}
    ask = asking(model.bind_tools(TOOLS), PROMPT)
    if granularity == "round":
        return {"floor: bare calls, two supersteps a round": by_hand(bare_graph(ask, tools))}

    async def loop() -> Any:
        counting = Counting()
        messages = await plain_loop(ask, tools, TASK, {"callbacks": [counting]})
        return messages[-1].content, counting.counts, messages

    return {"floor: bare calls in a plain loop": loop}


def _told(result: Any) -> Any:
    """The answer, how often callbacks were called, and each tool result with its call's id."""
    answer, counts, told = result
    if isinstance(told, list):
        answers = [(m.tool_call_id, m.content) for m in told if isinstance(m, ToolMessage)]
    else:
        answers = [(call.id, call.output) for call in told.tool_calls]
    return answer, counts, answers


def durable(rounds: int, repeats: int, granularity: Granularity = "round") -> tuple[Case, Case]:
    """The same on SQLite, each step written before the next: time, and the bytes left behind."""
    model = Double(rule=rule(rounds))

    async def by_hand() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hand.db"
            async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
                config: Any = {"recursion_limit": 4 * rounds + 10, "configurable": {"thread_id": "t"}}
                given: Any = {"messages": [HumanMessage(TASK)]}
                values = await graph_by_hand(model, saver).ainvoke(given, config, durability="sync")
            return values["messages"][-1].content, size_kb(path)

    async def with_plait() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plait.db"
            url = f"sqlite:///{path}"
            workflow = Workflow(unit(rounds), model=model, checkpointer=url, granularity=granularity)
            result = await workflow.run(TASK, thread_id="t")
            return result.output, size_kb(path)

    name = f"{rounds} rounds on SQLite, sync{told(granularity)}"
    target = 1.0 if granularity == "round" else 0.3
    time_case = Case(
        f"{name}: per round", by_hand, with_plait, "wall", target, rounds, repeats=repeats, result=_first
    )
    size_case = Case(
        f"{name}: bytes", by_hand, with_plait, "bytes", 0.1, repeats=1, weigh=_second, result=_first
    )
    return time_case, size_case


def size_kb(path: Path) -> float:
    """What a database takes once its log is written back, in units of 1,000 bytes."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1000


def _first(result: Any) -> Any:
    return result[0]


def _second(result: Any) -> float:
    return float(result[1])
