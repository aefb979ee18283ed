"""What a caller hands in reaches the user's own code: context, callbacks, tags, metadata, and no Frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime, get_runtime

from plait import LoopFlow, Snapshot, ToolRuntime, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call, text


@dataclass
class User:
    name: str


class Inner(TypedDict, total=False):
    seen: str


async def look(state: Inner, runtime: Runtime[Any]) -> Inner:
    return {"seen": repr(runtime.context)}


def inner_graph() -> Any:
    builder = StateGraph(Inner)
    builder.add_node("look", look)
    builder.add_edge(START, "look")
    return builder.compile()


async def call_graph() -> str:
    """A tool that calls somebody's graph."""
    values = await inner_graph().ainvoke({})
    return str(values["seen"])


def own_context(runtime: ToolRuntime) -> str:
    """The context as Plait's runtime gives it."""
    return repr(runtime.context)


def langgraph_context() -> str:
    """The context as LangGraph gives it to any function."""
    get_stream_writer()("written")
    return repr(get_runtime().context)


def calls(name: str) -> list[Any]:
    return [call(name), call("resolve", value="ok")]


def told(result: Any) -> str:
    return str(result.steps[-1].tool_calls[0].output)


TOOLS = [call_graph, own_context, langgraph_context]


@pytest.mark.parametrize("tool", [made.__name__ for made in TOOLS])
async def test_the_users_context_and_no_other_reaches_tools_and_graphs_inside_them(tool: str) -> None:
    unit = WorkflowUnit("u", tools=TOOLS)
    result = await Workflow(unit, model=ScriptedModel(calls(tool))).run("go", context=User("mei"))
    assert told(result) == "User(name='mei')"


@pytest.mark.parametrize("tool", [made.__name__ for made in TOOLS])
async def test_it_is_the_same_in_a_nested_flow_and_after_several_calls_in_one_reply(tool: str) -> None:
    unit = WorkflowUnit("u", tools=TOOLS)
    model = ScriptedModel({"u": [[call(tool), call(tool)], call("resolve", value="ok")]})
    flow = LoopFlow(step(lambda s: 1, id="first") >> unit)
    result = await Workflow(flow, model=model).run("go", context=User("mei"))
    assert [made.output for made in result.steps[-1].tool_calls] == ["User(name='mei')"] * 2


async def test_without_a_context_a_graph_inside_a_tool_sees_none() -> None:
    unit = WorkflowUnit("u", tools=TOOLS)
    assert told(await Workflow(unit, model=ScriptedModel(calls("call_graph"))).run("go")) == "None"


async def test_steps_conditions_and_prompts_see_the_context() -> None:
    def prompt(snapshot: Snapshot) -> str:
        return f"You serve {snapshot.context.name}."

    def function(snapshot: Snapshot) -> str:
        return f"{snapshot.context.name} {get_runtime().context.name}"

    def wanted(snapshot: Snapshot) -> bool:
        return bool(snapshot.context.name == "mei")

    model = ScriptedModel([text("ok")])
    flow = step(function) >> WorkflowUnit("u", prompt=prompt, answer="text", when=wanted)
    result = await Workflow(flow, model=model).run("go", context=User("mei"))
    assert result.steps[0].output == "mei mei"
    assert model.requests[0].system == "You serve mei."


async def test_a_context_schema_makes_the_context_of_plain_data() -> None:
    unit = WorkflowUnit("u", tools=TOOLS)
    workflow = Workflow(unit, model=ScriptedModel(calls("own_context")), context_schema=User)
    values = await workflow.graph.ainvoke({"task": "go"}, context={"name": "mei"})
    assert values["steps"][0]["tool_calls"][0]["output"] == "User(name='mei')"


async def test_the_outer_graphs_context_reaches_tools_through_as_node() -> None:
    unit = WorkflowUnit("u", tools=TOOLS)
    node = unit.as_node(
        lambda state: "go",
        lambda values: {"seen": values["steps"][0]["tool_calls"][0]["output"]},
        model=ScriptedModel(calls("call_graph")),
    )
    builder = StateGraph(Inner, context_schema=User)
    builder.add_node("unit", node)
    builder.add_edge(START, "unit")
    assert (await builder.compile().ainvoke({}, context=User("mei")))["seen"] == "User(name='mei')"


# Callbacks, tags and metadata


class Seen(AsyncCallbackHandler):
    """Notes what LangChain's callbacks tell of models and tools."""

    def __init__(self) -> None:
        self.models: list[dict[str, Any]] = []
        self.tags: list[list[str]] = []
        self.tools: list[str] = []
        self.names: list[str] = []

    async def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
        self.names.append(str(about.get("name")))

    async def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
        self.models.append(about["metadata"])
        self.tags.append(about["tags"])

    async def on_tool_start(self, serialized: Any, input_str: str, **about: Any) -> None:
        self.tools.append(serialized["name"])


@pytest.fixture
async def seen() -> Seen:
    seen = Seen()
    config: RunnableConfig = {
        "callbacks": [seen],
        "tags": ["mine"],
        "metadata": {"ticket": 7},
        "run_name": "job",
    }
    unit = WorkflowUnit("u", tools=TOOLS)
    flow = LoopFlow(step(lambda s: 1, id="first") >> unit)
    await Workflow(flow, model=ScriptedModel({"u": calls("own_context")})).run("go", config=config)
    return seen


async def test_callbacks_see_every_model_call_with_its_unit_and_path(seen: Seen) -> None:
    assert [about["plait_unit"] for about in seen.models] == ["u", "u"]
    assert {about["plait_path"] for about in seen.models} == {"u[1]"}


async def test_tags_and_metadata_pass_through(seen: Seen) -> None:
    assert [about["ticket"] for about in seen.models] == [7, 7]
    assert all("mine" in tags for tags in seen.tags)


async def test_callbacks_see_tools_and_the_name_of_the_run(seen: Seen) -> None:
    assert seen.tools == ["own_context"]
    assert seen.names[0] == "job"


async def test_the_workflow_is_a_runnable_like_any_other() -> None:
    workflow = Workflow(WorkflowUnit("u", answer="text"), model=ScriptedModel([text("hello")]))
    chain = (
        RunnableLambda(lambda question: {"task": question})
        | workflow.graph
        | (lambda values: values["output"])
    )
    assert await chain.ainvoke("hi") == "hello"
