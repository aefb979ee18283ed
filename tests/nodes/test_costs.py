"""What a round may not do again: bind its tools, trace its edges, write out its runtime."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.nodes.prepared import prepared
from plait.nodes.unitstate import add_messages
from plait.testing import ScriptedModel, call, text

from ..support import scripted


class Binding(ScriptedModel):
    """Counts how often it is bound to tools."""

    bound: int = 0

    def bind_tools(self, *args: Any, **options: Any) -> Any:
        self.bound += 1
        return super().bind_tools(*args, **options)


class Runs(BaseCallbackHandler):
    """The names of all runs that are traced."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *_: Any, name: str = "", **__: Any) -> None:
        self.names.append(name)


def note(word: str) -> str:
    """Note a word."""
    return word


UNIT = WorkflowUnit("u", tools=[note], answer="text")
SCRIPT = [call("note", word="a"), call("note", word="b"), text("ok")]


async def test_a_model_is_bound_once_to_tools_that_never_change():
    model = Binding(SCRIPT)

    await Workflow(UNIT, model=model).run("go")

    assert model.bound == 1


async def test_a_model_is_bound_anew_where_a_function_gives_the_tools():
    model = Binding(SCRIPT)

    await Workflow(UNIT.with_(tools=lambda _: [note]), model=model).run("go")

    assert model.bound == 3


async def test_edges_are_no_runs_of_their_own():
    runs = Runs()

    await Workflow(UNIT, model=scripted(SCRIPT)).run("go", config={"callbacks": [runs]})

    assert runs.names.count("think") == 3
    assert {"route", "_next"}.isdisjoint(runs.names)


async def test_a_tool_gets_its_runtime_though_its_arguments_are_checked_without_it():
    @tool
    async def where(word: str, runtime: ToolRuntime) -> str:
        """Say where it is called."""
        return f"{word} {runtime.snapshot.path} {len(runtime.state['messages'])}"

    unit = UNIT.with_(tools=[where])
    result = await Workflow(unit, model=scripted([call("where", word="in"), text("ok")])).run("go")

    assert result.steps[0].tool_calls[0].output == "in u 2"
    assert prepared(where).args_schema is where.args_schema


def test_messages_replace_by_id_however_they_come():
    one, two, other = HumanMessage("1", id="a"), AIMessage("2", id="b"), HumanMessage("3", id="a")
    bare = HumanMessage("4")

    assert add_messages([one], [[two], bare]) == [one, two, bare]
    assert add_messages([one, two], [other]) == [other, two]
    assert add_messages([], [[one, other]]) == [other]
    assert add_messages([one], [[two, two]]) == [one, two]
