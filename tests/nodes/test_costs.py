"""What a round may not do again: bind its tools, trace its edges, write out its runtime."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
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


@pytest.mark.parametrize(("granularity", "tasks"), [("unit", 0), ("round", 2)])
async def test_calls_whose_round_the_journal_keeps_need_no_tasks_of_their_own(granularity: Any, tasks: int):
    runs, unit = Runs(), UNIT.with_(tools=[note])
    script = [[call("note", word="a"), call("note", word="b")], text("ok")]
    workflow = Workflow(unit, model=scripted(script), granularity=granularity)

    result = await workflow.run("go", config={"callbacks": [runs]})

    assert [made.output for made in result.steps[0].tool_calls] == ["a", "b"]
    assert len([name for name in runs.names if name.startswith("note#")]) == tasks


@pytest.mark.parametrize("granularity", ["round", "unit"])
async def test_of_calls_in_place_the_one_that_asks_goes_on_and_the_others_do_not_run_again(granularity: Any):
    ran: list[str] = []

    async def act(word: str) -> str:
        """Act."""
        ran.append(word)
        return word

    def sure(runtime: ToolRuntime) -> str:
        """Ask."""
        return str(runtime.ask("sure?"))

    script = [[call("act", word="a"), call("sure"), call("act", word="b")], text("ok")]
    workflow = Workflow(UNIT.with_(tools=[act, sure]), model=scripted(script), granularity=granularity)
    paused = await workflow.run("go", thread_id="t")
    assert [question.question for question in paused.interrupts] == ["sure?"]

    result = await workflow.thread("t").resume("yes")

    assert [made.output for made in result.steps[0].tool_calls] == ["a", "yes", "b"]
    assert sorted(ran) == ["a", "b"]


async def test_a_coroutine_tool_gets_config_and_callbacks_where_it_wants_them():
    shown: list[dict[str, Any]] = []

    class Inputs(BaseCallbackHandler):
        def on_tool_start(self, *_: Any, inputs: Any = None, **__: Any) -> None:
            shown.append(inputs)

    async def look(q: str, config: RunnableConfig, callbacks: Any = None) -> str:
        """Look."""
        return f"{q} {config['configurable']['thread_id']} {callbacks is not None}"

    unit = UNIT.with_(tools=[look])
    workflow = Workflow(unit, model=scripted([call("look", q="in"), text("ok")]))
    result = await workflow.run("go", thread_id="t", config={"callbacks": [Inputs()]})

    assert result.steps[0].tool_calls[0].output == "in t True"
    assert shown == [{"q": "in"}]


def test_messages_replace_by_id_however_they_come():
    one, two, other = HumanMessage("1", id="a"), AIMessage("2", id="b"), HumanMessage("3", id="a")
    bare = HumanMessage("4")

    assert add_messages([one], [[two], bare]) == [one, two, bare]
    assert add_messages([one, two], [other]) == [other, two]
    assert add_messages([], [[one, other]]) == [other]
    assert add_messages([one], [[two, two]]) == [one, two]
