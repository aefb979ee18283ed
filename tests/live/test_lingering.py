"""What cannot be stopped: a sync call that is given up is listed while its thread runs, and never written."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.tools import BaseTool

from plait import (
    Limits,
    Lingering,
    RunError,
    SequentialFlow,
    ToolDefinition,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    agent_adapter,
    step,
    tool,
)
from plait.testing import ScriptedModel, call


class Hang:
    """Sync bodies that hang until the test ends."""

    def __init__(self) -> None:
        self.begun, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()

    def wait(self, *_: Any) -> str:
        self.begun.set()
        self.go.wait(30)
        self.ended.set()
        return "late"


@pytest.fixture
async def hang() -> AsyncIterator[Hang]:
    """Ends in the test's own loop, which waits for its threads when it is closed."""
    made = Hang()
    yield made
    made.go.set()


def reply(request: Any) -> Any:
    return call("resolve", value="so") if request.tool_results else call("hang")


def as_function(hang: Hang) -> Any:
    @tool(name_or_callable="hang")
    def hangs() -> str:
        """Hang."""
        return hang.wait()

    return WorkflowUnit("unit", tools=[hangs], output=str)


def as_definition(hang: Hang) -> Any:
    return WorkflowUnit("unit", tools=[ToolDefinition("hang", "Hang.", {}, hang.wait)], output=str)


def as_tool_class(hang: Hang) -> Any:
    class Hanging(BaseTool):
        name: str = "hang"
        description: str = "Hang."

        def _run(self) -> str:
            return hang.wait()

    return WorkflowUnit("unit", tools=[Hanging()], output=str)


def as_step(hang: Hang) -> Any:
    return step(hang.wait, id="unit")


def as_condition(hang: Hang) -> Any:
    return step(lambda s: 1, id="unit", when=hang.wait)


def as_agent(hang: Hang) -> Any:
    return WorkflowUnit("unit", output=str, adapter=agent_adapter(hang.wait))


FORMS = {
    "hang": [as_function, as_definition, as_tool_class],
    "unit": [as_step, as_agent],
    "when": [as_condition],
}
forms = pytest.mark.parametrize(("form", "name"), [(f, name) for name, fs in FORMS.items() for f in fs])


async def begun(hang: Hang) -> None:
    assert await asyncio.to_thread(hang.begun.wait, 30)


def names(lingering: tuple[Lingering, ...]) -> list[tuple[str, str]]:
    return [(one.path, one.name) for one in lingering]


@forms
async def test_a_sync_call_that_was_cancelled_is_listed(form: Any, name: str, hang: Hang) -> None:
    run = Workflow(form(hang), model=ScriptedModel(reply)).start("go")
    await begun(hang)
    await run.cancel()
    result = await run.result()
    assert (result.outcome, names(result.lingering)) == ("cancelled", [("unit", name)])
    assert (result.lingering[0].call_id is None) == (name != "hang")


@forms
async def test_a_sync_call_whose_time_is_up_is_listed(form: Any, name: str, hang: Hang) -> None:
    workflow = Workflow(form(hang), model=ScriptedModel(reply), limits=Limits(seconds=0.3))
    with pytest.raises(RunError) as raised:
        await workflow.run("go")
    assert (raised.value.reason, names(raised.value.result.lingering)) == ("limit", [("unit", name)])


async def test_one_that_has_ended_meanwhile_is_not(hang: Hang) -> None:
    flow = SequentialFlow(step(hang.wait, id="one"), WorkflowUnit("two", output=str))
    run = Workflow(flow, model=ScriptedModel([call("resolve", value="so")])).start("go")
    await begun(hang)
    hang.go.set()
    assert (await run.result()).lingering == ()


def contents(url: str) -> list[Any]:
    """Everything in the tables of a store."""
    if url.startswith("sqlite"):
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as base:
            return list(base.iterdump())
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        tables = [row[0] for row in found.fetchall()]
        return [sorted(map(repr, connection.execute(f'SELECT * FROM "{t}"'.encode()))) for t in tables]


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_nothing_is_written_or_told_after_the_end(how: str, lasting_url: str, hang: Hang) -> None:
    heard: list[Any] = []

    def hangs(runtime: ToolRuntime) -> str:
        """Hang, then write and tell."""
        hang.wait()
        runtime.shared.set("late", 1)
        return "late"

    unit = WorkflowUnit("unit", tools=[tool(hangs, effect="unsafe")], output=str)
    model = ScriptedModel(lambda r: call("resolve", value="so") if r.tool_results else call("hangs"))
    limits = Limits(seconds=0.5) if how == "timeout" else None
    workflow = Workflow(unit, model=model, checkpointer=lasting_url, limits=limits)
    workflow.bus.subscribe(None, heard.append)
    run = workflow.start("go", thread_id="t")
    await begun(hang)
    if how == "cancel":
        await run.cancel()
    else:
        with pytest.raises(RunError):
            await run.result()
    events = [event async for event in run.events()]
    before, told = contents(lasting_url), len(heard)
    hang.go.set()
    assert await asyncio.to_thread(hang.ended.wait, 30)
    await asyncio.sleep(0.1)
    assert contents(lasting_url) == before
    assert (len([event async for event in run.events()]), len(heard)) == (len(events), told)
    assert "late" not in (await workflow.thread("t").state())


async def test_the_journal_leaves_it_in_doubt(tmp_path: Path, hang: Hang) -> None:
    @tool(name_or_callable="hang")
    def hangs() -> str:
        """Hang."""
        return hang.wait()

    unit = WorkflowUnit("unit", tools=[hangs], output=str)
    workflow = Workflow(unit, model=ScriptedModel(reply), checkpointer=f"sqlite:///{tmp_path}/runs.db")
    run = workflow.start("go", thread_id="t")
    await begun(hang)
    await run.cancel()
    hang.go.set()
    result = await workflow.resume("t")
    assert (result.outcome, [q.path for q in result.interrupts]) == ("paused", ["unit"])
    assert (await workflow.resume("t", {"happened": "by hand"})).outcome == "done"
