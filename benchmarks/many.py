"""A thousand units side by side, beside a bare `Send` to a subgraph that does the same."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from plait import ParallelFlow, Workflow, WorkflowUnit

from .double import Double, said
from .floors import asking, plain_loop
from .measure import Case, Granularity, told

PROMPT = "Say what the number is."
PAUSE_S = 0.05


@tool
async def look_up(key: str) -> str:
    """Look up what is known of a key."""
    return key


def rule(messages: Sequence[BaseMessage]) -> AIMessage:
    return said(f"It is {str(messages[-1].content).split()[-1]}.")


class Work(TypedDict):
    item: str


class State(TypedDict, total=False):
    items: list[str]
    found: Annotated[list[str], operator.add]


def agent_by_hand(model: Double) -> Any:
    """The subgraph: a model node and a ToolNode, as for any agent."""
    bound = model.bind_tools([look_up])

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke([SystemMessage(PROMPT), *state["messages"]], config)]}

    async def after(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([look_up]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile()


def graph_by_hand(model: Double) -> Any:
    graph = agent_by_hand(model)

    async def work(state: Work) -> dict[str, Any]:
        values = await graph.ainvoke({"messages": [HumanMessage(state["item"])]})
        return {"found": [values["messages"][-1].content]}

    return sent_to(work)


def bare(model: Double) -> Any:
    """A `Send` to a function that does nothing but the call."""
    ask = asking(model.bind_tools([look_up]), PROMPT)

    async def work(state: Work, config: RunnableConfig) -> dict[str, Any]:
        messages = await plain_loop(ask, {look_up.name: look_up}, state["item"], config)
        return {"found": [messages[-1].content]}

    return sent_to(work)


def sent_to(work: Any) -> Any:
    """A graph that sends each item to `work`."""

    async def fan(state: State) -> list[Send]:
        return [Send("work", {"item": item}) for item in state["items"]]

    builder: Any = StateGraph(State)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, fan, ["work"])
    builder.add_edge("work", END)
    return builder.compile()


def many(count: int, repeats: int, granularity: Granularity = "round") -> Case:
    """CPU time of one unit."""
    model = Double(rule=rule, pause_s=PAUSE_S)
    items = [f"number {number}" for number in range(count)]
    unit = WorkflowUnit("say", prompt=PROMPT, output=str, answer="text", tools=[look_up])
    graph = graph_by_hand(model)
    flow = ParallelFlow.map(unit, over=lambda _: items)
    workflow = Workflow(flow, model=model, granularity=granularity)

    async def by_hand() -> Any:
        return (await graph.ainvoke({"items": items}))["found"]

    async def with_plait() -> Any:
        return (await workflow.run("Say what each number is.")).output

    name = f"{count:,} parallel units{told(granularity)}: per unit"
    target = 1.6 if granularity == "round" else 0.5
    lowest, what = (bare(model), "a bare call") if granularity == "unit" else (graph, "by hand")
    kept = lowest.copy({"checkpointer": InMemorySaver()})

    async def at_least() -> Any:
        config: Any = {"configurable": {"thread_id": str(uuid4())}}
        return (await kept.ainvoke({"items": items}, config, durability="sync"))["found"]

    more = {f"floor: {what}, a saver in memory": at_least}
    return Case(name, by_hand, with_plait, target=target, per=count, repeats=repeats, more=more)
