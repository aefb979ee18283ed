"""Somebody else's graph as a role: its checkpoints, pauses, streams and tools stay what they are."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from plait import (
    Limits,
    ParallelFlow,
    RouterFlow,
    RunError,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    langgraph_adapter,
)
from plait.testing import ScriptedModel, call, text

from ..support import failure, scripted
from .kinds import talking_graph


class Found(BaseModel):
    city: str


def asking_graph(model: Any, ran: list[str]) -> Any:
    """Two model calls with a question in between; `ran` notes each node that ran."""

    async def draft(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        ran.append(f"draft for {runtime.context}")
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def confirm(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        answer = interrupt({"send": str(state["messages"][-1].text)})
        ran.append(f"confirmed {answer} for {runtime.context}")
        return {"messages": [await model.ainvoke([*state["messages"], ("user", answer)])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("draft", draft)
    builder.add_node("confirm", confirm)
    builder.add_edge(START, "draft")
    builder.add_edge("draft", "confirm")
    builder.add_edge("confirm", END)
    return builder.compile(name="asking")


def agent_graph(model: Any, tools: list[Any], **node_options: Any) -> Any:
    """The usual agent by hand: a model with tools, and LangGraph's ToolNode."""

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    def more(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    builder: Any = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_node("tools", ToolNode(tools, **node_options))
    builder.add_edge(START, "talk")
    builder.add_conditional_edges("talk", more, ["tools", END])
    builder.add_edge("tools", "talk")
    return builder.compile()


@tool
def whoami(runtime: ToolRuntime[Any, Any]) -> str:
    """Say who asks."""
    return f"{type(runtime.context).__name__}: {runtime.context}"


def on(graph: Any, **options: Any) -> Workflow:
    unit = WorkflowUnit("work", prompt="Be brief.", output=options.pop("output", str))
    return Workflow(unit, adapter=langgraph_adapter(graph, **options))


async def test_an_interrupt_pauses_the_run_and_an_answer_by_id_goes_on():
    ran: list[str] = []
    model = scripted([text("a draft"), text("sent")])
    workflow = on(asking_graph(model, ran))
    paused = await workflow.run("Write.", thread_id="t", context="mei")
    assert paused.outcome == "paused"
    (question,) = paused.interrupts
    assert question.question == {"send": "a draft"}
    done = await workflow.resume("t", {question.id: "yes"}, context="mei")
    assert done.output == "sent"
    assert ran == ["draft for mei", "confirmed yes for mei"]
    assert len(model.requests) == 2


async def test_what_was_spent_before_a_pause_is_counted():
    workflow = on(asking_graph(scripted([text("a draft"), text("sent")]), []))
    await workflow.run("Write.", thread_id="t")
    done = await workflow.resume("t", "yes")
    assert done.usage.model_calls == 2


async def test_a_limit_also_counts_what_was_spent_before_a_pause():
    graph = asking_graph(scripted([text("a draft")]), [])
    unit = WorkflowUnit("work", limits=Limits(model_calls=1))
    workflow = Workflow(unit, adapter=langgraph_adapter(graph))
    await workflow.run("Write.", thread_id="t")
    with pytest.raises(RunError) as raised:
        await workflow.resume("t", "yes")
    assert raised.value.reason == "limit"


async def test_it_pauses_deep_inside_a_flow_and_shows_its_question_once():
    model = scripted([text("a draft"), text("sent")])
    asking = WorkflowUnit("asking", adapter=langgraph_adapter(asking_graph(model, [])))
    router = WorkflowUnit("route")
    flow = RouterFlow(
        router, {"write": SequentialFlow(lambda s: s.task, asking), "other": WorkflowUnit("other")}
    )
    workflow = Workflow(flow, model=scripted([call("resolve", value="write")]))
    paused = await workflow.run("Write.", thread_id="t")
    assert len(paused.interrupts) == 1
    assert (await workflow.resume("t", "yes")).output == "sent"


async def test_the_state_of_a_paused_graph_can_be_read():
    workflow = on(asking_graph(scripted([text("a draft"), text("sent")]), []))
    graph = workflow.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"task": "Write."}, config)
    state = await graph.aget_state(config, subgraphs=True)
    (task,) = state.tasks
    assert task.name == "work"
    assert task.state.next == ("confirm",)
    said = [str(message.text) for message in task.state.values["messages"]]
    assert said == ["Be brief.", "Write.", "a draft"]
    result = await graph.ainvoke(Command(resume="yes"), config)
    assert result["output"] == "sent"


async def test_each_of_its_steps_has_a_checkpoint_below_the_unit():
    saver = InMemorySaver()
    graph = on(talking_graph(scripted([text("hi")]))).compile(checkpointer=saver)
    await graph.ainvoke({"task": "Go."}, {"configurable": {"thread_id": "t"}})
    namespaces = {
        item.config["configurable"]["checkpoint_ns"]
        for item in saver.list({"configurable": {"thread_id": "t"}})
    }
    assert any(name.startswith("work:") for name in namespaces)


async def test_its_steps_and_tokens_are_streamed():
    graph = on(talking_graph(scripted([text("Hello there, you.")]))).graph
    updates, tokens = [], []
    async for namespace, mode, data in graph.astream(
        {"task": "Go."}, stream_mode=["updates", "messages"], subgraphs=True
    ):
        if mode == "updates":
            updates += [(namespace[0].split(":")[0] if namespace else "", name) for name in data]
        elif data[1].get("langgraph_node") == "talk":
            tokens.append(str(data[0].text))
    assert ("work", "talk") in updates
    assert "".join(tokens).startswith("Hello there, you.")
    assert len(tokens) > 1


@pytest.mark.parametrize("context", ["mei", {"user": "mei"}, None])
async def test_its_tools_and_nodes_see_the_user_s_context_and_never_a_frame(context):
    seen: list[Any] = []

    async def note(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        seen.extend([runtime.context, get_runtime().context])
        return {}

    inner: Any = StateGraph(MessagesState)
    inner.add_node("note", note)
    inner.add_node("agent", agent_graph(scripted([call("whoami"), text("ok")]), [whoami]))
    inner.add_edge(START, "note")
    inner.add_edge("note", "agent")
    inner.add_edge("agent", END)
    result = await on(inner.compile()).run("Go.", context=context)
    assert seen == [context, context]
    assert [made.output for made in result.steps[0].tool_calls] == [f"{type(context).__name__}: {context}"]


async def test_its_tool_calls_are_in_the_record_and_counted():
    result = await on(agent_graph(scripted([[call("whoami")] * 2, text("ok")]), [whoami])).run(
        "Go.", context=1
    )
    record = result.steps[0]
    assert [(made.name, made.output) for made in record.tool_calls] == [("whoami", "int: 1")] * 2
    assert record.usage.tool_calls == 2
    assert record.usage.model_calls == 2
    assert record.text == "ok"


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_limit_of_tool_calls_stops_it_even_when_it_takes_errors_for_answers(swallows):
    calls: list[int] = []

    @tool
    def count() -> str:
        """Count."""
        calls.append(1)
        return "ok"

    model = ScriptedModel(lambda request: call("count") if request.replies < 3 else text("done"))
    graph = agent_graph(model, [count], handle_tool_errors=swallows)
    unit = WorkflowUnit("work", limits=Limits(tool_calls=1))
    error = await failure(Workflow(unit, adapter=langgraph_adapter(graph)))
    assert error.reason == "limit"
    assert "tool_calls=1" in str(error)
    assert len(calls) == 1


async def test_a_limit_of_model_calls_stops_it_in_the_middle():
    model = ScriptedModel(lambda _: call("whoami"))
    unit = WorkflowUnit("work", limits=Limits(model_calls=3))
    error = await failure(Workflow(unit, adapter=langgraph_adapter(agent_graph(model, [whoami]))))
    assert error.reason == "limit"
    assert len(model.requests) == 3
    assert error.result.usage.model_calls == 3


async def test_its_own_recursion_limit_is_a_limit_and_no_raw_error():
    graph = agent_graph(ScriptedModel(lambda _: call("whoami")), [whoami]).with_config(recursion_limit=5)
    error = await failure(on(graph))
    assert error.reason == "limit"
    assert "5" in str(error)


async def test_an_error_in_a_node_is_the_unit_s_failure():
    async def broken(state: MessagesState) -> dict[str, Any]:
        raise KeyError("city")

    builder: Any = StateGraph(MessagesState)
    builder.add_node("broken", broken)
    builder.add_edge(START, "broken")
    error = await failure(on(builder.compile()))
    assert (error.path, error.reason) == ("work", "error")
    assert "KeyError: 'city'" in str(error)


class Search(TypedDict):
    query: str
    hits: Annotated[list[str], add]


async def test_enter_and_leave_map_a_state_of_its_own():
    async def find(state: Search) -> dict[str, Any]:
        return {"hits": [f"{state['query']}!"]}

    builder: Any = StateGraph(Search)
    builder.add_node("find", find)
    builder.add_edge(START, "find")
    workflow = on(
        builder.compile(),
        output=Found,
        enter=lambda snapshot: {"query": snapshot.task, "hits": []},
        leave=lambda state: {"city": state["hits"][0]},
    )
    assert (await workflow.run("Paris")).output == Found(city="Paris!")


async def test_a_structured_response_is_taken_as_it_is():
    class Answering(MessagesState):
        structured_response: Any

    async def answer(state: Answering) -> dict[str, Any]:
        return {"structured_response": Found(city="Paris")}

    builder: Any = StateGraph(Answering)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    assert (await on(builder.compile(), output=Found).run("Go.")).output == Found(city="Paris")


async def test_a_failed_graph_runs_again_on_resume():
    broken = [True]

    async def flaky(state: MessagesState) -> dict[str, Any]:
        if broken.pop() if broken else False:
            raise OSError("down")
        return {"messages": [("ai", "up")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("flaky", flaky)
    builder.add_edge(START, "flaky")
    workflow = on(builder.compile())
    await failure(workflow, thread_id="t")
    assert (await workflow.resume("t")).output == "up"


async def test_a_run_without_a_saver_counts_and_ends_as_well():
    result = await on(talking_graph(scripted([text("hi")]))).graph.ainvoke({"task": "Go."})
    assert result["output"] == "hi"


async def test_two_graphs_that_pause_side_by_side_are_answered_one_by_one():
    units = [
        WorkflowUnit(name, adapter=langgraph_adapter(asking_graph(scripted([text("draft"), text(name)]), [])))
        for name in ("one", "two")
    ]
    workflow = Workflow(ParallelFlow(*units))
    paused = await workflow.run("Write.", thread_id="t")
    assert len(paused.interrupts) == 2
    still = await workflow.resume("t", {paused.interrupts[0].id: "yes"})
    assert [question.id for question in still.interrupts] == [paused.interrupts[1].id]
    done = await workflow.resume("t", "yes")
    assert done.output == {"one": "one", "two": "two"}
    assert done.usage.model_calls == 4
