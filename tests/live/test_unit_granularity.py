"""Granularity `"unit"`: stopped between rounds, cut within one, killed at any point, and steered."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plait import RunError, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call


class Tools:
    """A tool that ends at once, one that waits, and what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def quick(self, name: str) -> str:
        """Be quick."""
        self.ran.append(name)
        return f"{name} done"

    async def slow(self, name: str) -> str:
        """Take long."""
        self.ran.append(name)
        self.begun.set()
        await self.go.wait()
        return f"{name} done"


def workflow(tools: Tools, script: Any, url: str, **options: Any) -> Workflow[str]:
    unit = WorkflowUnit("u", tools=[tools.quick, tools.slow], output=str, **options)
    return Workflow(unit, model=ScriptedModel(script), checkpointer=url, granularity="unit")


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/runs.db"


async def test_a_drained_loop_goes_on_without_asking_again(url: str) -> None:
    tools = Tools()
    script = [
        call("quick", name="a"),
        call("slow", name="b"),
        call("quick", name="c"),
        call("resolve", value="x"),
    ]
    made = workflow(tools, script, url)
    run = made.start("go", thread_id="t")
    await tools.begun.wait()
    draining = asyncio.ensure_future(run.drain())
    await asyncio.sleep(0)
    tools.go.set()
    await draining
    assert ((await run.result()).outcome, tools.ran) == ("paused", ["a", "b"])
    result = await made.resume("t")
    assert (result.output, tools.ran) == ("x", ["a", "b", "c"])
    assert result.usage.model_calls == 4


async def test_a_turn_after_a_cut_one_begins_with_what_it_had(url: str) -> None:
    tools = Tools()

    def script(request: Any) -> Any:
        if request.user == "second":
            return call("resolve", value="so")
        return (
            [call("quick", name="b"), call("slow", name="c")]
            if request.tool_results
            else call("quick", name="a")
        )

    made = workflow(tools, script, url, memory="thread")
    run = made.start("first", thread_id="t")
    await tools.begun.wait()
    await run.cancel()
    await made.run("second", thread_id="t")
    held = made._options["model"].requests[-1].messages
    assert [m.text for m in held if m.type == "human"] == ["first", "second"]
    said = [(m.text.split(":")[0], m.status) for m in held if m.type == "tool"]
    assert said == [("a done", "success"), ("b done", "success"), ("cancelled", "error")]
    assert tools.ran == ["a", "b", "c"]


async def test_a_failed_unit_goes_on_with_its_transcript(url: str) -> None:
    tools = Tools()
    script = [call("quick", name="a"), call("quick", name="b"), call("resolve", value="x")]
    made = workflow(tools, script, url, max_rounds=2)
    with pytest.raises(RunError, match="max_rounds=2"):
        await made.run("go", thread_id="t")
    result = await made.resume("t")
    assert (result.output, tools.ran) == ("x", ["a", "b"])


async def test_questions_of_several_rounds_get_each_its_answer(url: str) -> None:
    def ask(name: str, runtime: ToolRuntime) -> Any:
        """Ask."""
        return runtime.ask(name)

    script = [
        [call("ask", name="one"), call("ask", name="two"), call("ask", name="three")],
        call("ask", name="four"),
        call("resolve", value="x"),
    ]
    unit = WorkflowUnit("u", tools=[ask])
    made = Workflow(unit, model=ScriptedModel(script), checkpointer=url, granularity="unit")
    paused = await made.run("go", thread_id="t")
    while paused.outcome == "paused":
        last = paused.interrupts[-1]
        paused = await made.resume("t", {last.id: f"answer to {last.question}"})
    assert [made_call.output for made_call in paused.steps[0].tool_calls] == [
        f"answer to {name}" for name in ("one", "two", "three", "four")
    ]
    assert paused.usage.model_calls == 3


@pytest.mark.parametrize("granularity", ["round", "unit"])
async def test_questions_in_order_show_once_and_keep_their_answers(tmp_path: Path, granularity: Any) -> None:
    def ask(name: str, runtime: ToolRuntime) -> Any:
        """Ask."""
        return runtime.ask(name)

    script = [[call("ask", name="one"), call("ask", name="two")], call("resolve", value="x")]
    unit = WorkflowUnit("u", tools=[ask], tool_execution="sequential")
    options: Any = {"model": ScriptedModel(script), "granularity": granularity}
    options["checkpointer"] = f"sqlite:///{tmp_path}/runs.db"
    result = await Workflow(unit, **options).run("go", thread_id="t")
    shown = [[question.question for question in result.interrupts]]
    for answer in ("1", "2"):  # each in a workflow of its own, as in another process
        (question,) = result.interrupts
        result = await Workflow(unit, **options).resume("t", {question.id: answer})
        shown.append([asked.question for asked in result.interrupts])
    assert shown == [["one"], ["two"], []]
    assert [made_call.output for made_call in result.steps[0].tool_calls] == ["1", "2"]
