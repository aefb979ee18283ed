"""A router of two units: a structured call that names the handler, then a handler that calls a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from plait import RouterFlow, Workflow, WorkflowUnit
from plait.nodes.history import estimate_tokens

from .double import Double, called
from .floors import asking, bare_graph, plain_loop
from .measure import Case, Granularity, Work, told

SHAPES: Mapping[Granularity, str] = {"round": "graph", "unit": "node"}
TASK = "Lunch, 32 yuan"
DECIDE = "Decide what the message is."
BOOK = "Book the expense with the tool, then say what was booked."
ANSWER = "Answer kindly."
FINISH = "resolve"


class Route(BaseModel):
    """Where a message goes."""

    route: Literal["record", "general"]


class Entry(BaseModel):
    """Give the final result and end. Call it once, when everything else is done."""

    item: str
    amount: int
    currency: str = "CNY"


@tool
async def save_entry(item: str, amount: int) -> str:
    """Save an expense."""
    return f"saved {item}: {amount}"


def rule(messages: Sequence[BaseMessage]) -> AIMessage:
    """The route, then one call of the tool, then the entry; what it is asked is in the prompt."""
    if messages[0].content == DECIDE:
        return called(0, (FINISH, {"route": "record"}))
    name = FINISH if messages[-1].type == "tool" else "save_entry"
    return called(len(messages), (name, {"item": "Lunch", "amount": 32}))


class State(MessagesState, total=False):
    route: str
    entry: Entry


def graph_by_hand(model: Double) -> Any:
    """One flat graph; both outputs are asked for as a call of a tool, as Plait does."""
    router = model.bind_tools([_named(Route)])
    handler = model.bind_tools([save_entry, _named(Entry)])

    async def classify(state: State, config: RunnableConfig) -> dict[str, Any]:
        reply = await router.ainvoke([SystemMessage(DECIDE), *state["messages"]], config)
        return {"route": Route.model_validate(reply.tool_calls[0]["args"]).route}

    async def record(state: State, config: RunnableConfig) -> dict[str, Any]:
        reply = await handler.ainvoke([SystemMessage(BOOK), *state["messages"]], config)
        call = reply.tool_calls[0]
        entry = {"entry": Entry.model_validate(call["args"])} if call["name"] == FINISH else {}
        return {"messages": [reply], **entry}

    async def general(state: State, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([SystemMessage(ANSWER), *state["messages"]], config)]}

    async def chosen(state: State) -> str:
        return state["route"]

    async def after_record(state: State) -> str:
        return END if "entry" in state else "tools"

    builder: Any = StateGraph(State)
    for node in (classify, record, general):
        builder.add_node(node.__name__, node)
    builder.add_node("tools", ToolNode([save_entry]))
    builder.add_edge(START, "classify")
    builder.add_conditional_edges("classify", chosen, ["record", "general"])
    builder.add_conditional_edges("record", after_record, ["tools", END])
    builder.add_edge("tools", "record")
    builder.add_edge("general", END)
    return builder.compile()


def _named(schema: type[BaseModel]) -> dict[str, Any]:
    """A model as the finishing tool."""
    told = {"name": FINISH, "description": schema.__doc__, "parameters": schema.model_json_schema()}
    return {"type": "function", "function": told}


def flow() -> RouterFlow:
    return RouterFlow(
        WorkflowUnit("classify", prompt=DECIDE, output=Route),
        {
            "record": WorkflowUnit("record", prompt=BOOK, output=Entry, tools=[save_entry]),
            "general": WorkflowUnit("general", prompt=ANSWER, output=str, answer="text"),
        },
    )


def router(repeats: int, runs: int = 20, granularity: Granularity = "round") -> Case:
    """CPU time of one run."""
    model = Double(rule=rule)
    graph, workflow = graph_by_hand(model), Workflow(flow(), model=model, granularity=granularity)

    async def by_hand() -> Any:
        for _ in range(runs):
            values = await graph.ainvoke({"messages": [HumanMessage(TASK)]})
        return values["entry"]

    async def with_plait() -> Any:
        for _ in range(runs):
            result = await workflow.run(TASK)
        return result.output

    target = 1.7 if granularity == "round" else 0.8
    name = f"router of two units{told(granularity)}"
    saved = f"floor: bare calls, a {SHAPES[granularity]} for each unit, a saver in memory"
    more = {saved: at_least(floor(model, granularity), runs)}
    return Case(name, by_hand, with_plait, target=target, per=runs, repeats=repeats, more=more)


def at_least(graph: Any, runs: int) -> Work:
    async def run() -> Any:
        for _ in range(runs):
            config: Any = {"configurable": {"thread_id": str(uuid4())}}
            values = await graph.ainvoke({"messages": [HumanMessage(TASK)]}, config, durability="sync")
        return Entry.model_validate(values["messages"][-1].tool_calls[0]["args"])

    return run


def floor(model: Double, granularity: Granularity) -> Any:
    """Two nodes with a unit in each, which is a graph of its own or a plain loop, and nothing around them.
    What may pause has to have a saver."""
    tools = {save_entry.name: save_entry}
    asks = {
        "classify": asking(model.bind_tools([_named(Route)]), DECIDE),
        "record": asking(model.bind_tools([save_entry, _named(Entry)]), BOOK),
    }

    def node(name: str) -> Any:
        graph = bare_graph(asks[name], tools, FINISH) if granularity == "round" else None

        async def run(state: State, config: RunnableConfig) -> dict[str, Any]:
            if graph is not None:
                messages = (await graph.ainvoke({"messages": [HumanMessage(TASK)]}))["messages"]
            else:
                messages = await plain_loop(asks[name], tools, TASK, config, FINISH)
            return {"messages": messages[-1:]}

        return run

    async def chosen(state: State) -> str:
        reply = state["messages"][-1]
        assert isinstance(reply, AIMessage)
        return str(reply.tool_calls[0]["args"]["route"])

    builder: Any = StateGraph(State)
    builder.add_node("classify", node("classify"))
    builder.add_node("record", node("record"))
    builder.add_edge(START, "classify")
    builder.add_conditional_edges("classify", chosen, ["record"])
    builder.add_edge("record", END)
    return builder.compile(checkpointer=InMemorySaver())


def prompt_tokens() -> Case:
    """What the model is sent over a run, messages and tools, by the same estimate on both sides."""
    model = Double(rule=rule, keeps=True)
    graph, workflow = graph_by_hand(model), Workflow(flow(), model=model)

    async def by_hand() -> Any:
        model.requests.clear()
        values = await graph.ainvoke({"messages": [HumanMessage(TASK)]})
        return values["entry"], _sent(model)

    async def with_plait() -> Any:
        model.requests.clear()
        result = await workflow.run(TASK)
        return result.output, _sent(model)

    return Case(
        "router: prompt tokens per unit",
        by_hand,
        with_plait,
        "tokens",
        repeats=1,
        weigh=lambda result: result[1] / 2,
        result=lambda result: result[0],
    )


def _sent(model: Double) -> int:
    return sum(
        estimate_tokens(messages) + estimate_tokens(json.dumps(tools)) for messages, tools in model.requests
    )
