"""Workflow: ways to run it, threads, options, what is opened and closed, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore

from plait import (
    Limits,
    PlaitError,
    RunError,
    Snapshot,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    react_adapter,
    step,
)
from plait.testing import Request, ScriptedModel, call, text

chat = WorkflowUnit("chat", answer="text", conversation=True)


def echo(request: Request) -> Any:
    return text(f"you said {request.user}")


def echoing(**options: Any) -> Workflow:
    return Workflow(chat, model=ScriptedModel(echo), **options)


# Ways to run


async def test_run_gives_output_outcome_conversation_and_usage() -> None:
    result = await echoing().run("hi", thread_id="t")
    assert (result.output, result.outcome, result.thread_id) == ("you said hi", "done", "t")
    assert [message.text for message in result.messages] == ["hi", "you said hi"]
    assert (result.usage.model_calls, result.usage.tokens > 0, result.duration_s > 0) == (1, True, True)
    assert (result.interrupts, result.lingering) == ((), ())


@pytest.mark.parametrize(
    "task",
    [
        "hi",
        [{"type": "text", "text": "hi"}],
        HumanMessage("hi"),
        [HumanMessage("before"), AIMessage("yes"), HumanMessage("hi")],
    ],
)
async def test_a_task_is_text_content_blocks_or_messages(task: Any) -> None:
    assert (await echoing().run(task)).output == "you said hi"


@pytest.mark.parametrize("task", ["", [], None])
async def test_nothing_to_do_is_refused(task: Any) -> None:
    with pytest.raises(PlaitError, match="nothing to do"):
        await echoing().run(task)


def test_run_sync_from_a_script() -> None:
    assert echoing().run_sync("hi").output == "you said hi"


async def test_run_sync_inside_a_running_loop() -> None:
    assert echoing().run_sync("hi").output == "you said hi"


async def test_each_run_without_a_thread_id_has_a_thread_of_its_own() -> None:
    workflow = echoing()
    first, second = await workflow.run("a"), await workflow.run("b")
    assert first.thread_id != second.thread_id
    assert len(second.messages) == 2


async def test_the_thread_id_may_come_in_the_config() -> None:
    workflow = echoing()
    await workflow.run("a", config={"configurable": {"thread_id": "t"}})
    assert len((await workflow.run("b", thread_id="t")).messages) == 4


async def test_batch_keeps_the_order_of_its_tasks_and_bounds_how_many_run() -> None:
    running, most = [0], [0]

    async def count(snapshot: Snapshot) -> Any:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1
        return snapshot.task

    results = await Workflow(step(count)).batch([f"t{number}" for number in range(9)], max_concurrency=3)
    assert [result.output for result in results] == [f"t{number}" for number in range(9)]
    assert most[0] == 3


async def test_a_batch_raises_the_first_error_or_returns_it_in_its_place() -> None:
    def only_even(snapshot: Snapshot) -> int:
        if int(str(snapshot.task)) % 2:
            raise ValueError("odd")
        return int(str(snapshot.task))

    workflow = Workflow(step(only_even))
    with pytest.raises(RunError, match="odd"):
        await workflow.batch(["0", "1", "2"])
    ended = await workflow.batch(["0", "1", "2"], return_exceptions=True)
    assert [ended[0].output, type(ended[1]), ended[2].output] == [0, RunError, 2]


async def test_a_stream_that_is_left_early_stops_the_run() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def slow(snapshot: Snapshot) -> None:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    stream = Workflow(step(slow)).stream("go")
    async for _ in stream:
        await started.wait()
        break
    await stream.aclose()  # type: ignore[attr-defined]
    assert stopped.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_stream_left_in_the_middle_of_a_unit_leaves_no_task_behind() -> None:
    model = ScriptedModel(echo, delay_s=30)
    stream = Workflow(chat, model=model).stream("go")
    async for event in stream:
        if event.type == "message_start":
            break
    await stream.aclose()  # type: ignore[attr-defined]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_run_can_be_resumed() -> None:
    delays = [30.0, 0.0]
    workflow = Workflow(chat, model=ScriptedModel(echo, delay_s=lambda _: delays.pop(0)))
    running = asyncio.create_task(workflow.run("hi", thread_id="t"))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await workflow.thread("t").result()).outcome == "cancelled"
    assert (await workflow.resume("t")).output == "you said hi"


# Options


async def test_replace_gives_another_workflow_and_leaves_the_first() -> None:
    first = echoing()
    second = first.replace(model=ScriptedModel([text("fixed")]))
    assert ((await second.run("hi")).output, (await first.run("hi")).output) == ("fixed", "you said hi")


async def test_an_adapter_overrides_and_a_units_own_model_win_in_this_order() -> None:
    def says(word: str) -> ScriptedModel:
        return ScriptedModel([text(word)])

    one, two, three = (WorkflowUnit(name, answer="text") for name in ("one", "two", "three"))
    workflow = Workflow(
        one >> two >> three.with_(model=says("own")),
        model=says("default"),
        overrides={"two": react_adapter(model=says("override"))},
    )
    result = await workflow.run("go")
    assert [record.output for record in result.steps] == ["default", "override", "own"]


@dataclass
class User:
    name: str


def who(runtime: ToolRuntime) -> str:
    """Who asks."""
    return str(runtime.context.name)


async def test_the_context_reaches_tools_and_prompts() -> None:
    unit = WorkflowUnit("u", tools=[who], prompt=lambda snapshot: f"Serve {snapshot.context.name}.")
    model = ScriptedModel([call("who"), call("resolve", value="ok")])
    result = await Workflow(unit, model=model, context_schema=User).run("go", context=User("mei"))
    assert result.steps[0].tool_calls[0].output == "mei"
    assert model.requests[0].system == "Serve mei."


async def test_a_tool_may_name_the_type_of_its_context_as_in_langgraph() -> None:
    def who(runtime: "ToolRuntime[User, Any]") -> str:  # noqa: UP037 - read when the tool is made
        """Who asks."""
        return runtime.context.name

    model = ScriptedModel([call("who"), call("resolve", value="ok")])
    result = await Workflow(WorkflowUnit("u", tools=[who]), model=model).run("go", context=User("mei"))
    assert result.steps[0].tool_calls[0].output == "mei"


def add(old: list[Decimal], new: list[Decimal]) -> list[Decimal]:
    return [*old, *new]


class Shared(TypedDict, total=False):
    amounts: Annotated[list[Decimal], add]
    name: str


async def test_a_typed_state_is_given_merged_and_read_back() -> None:
    unit = WorkflowUnit("u", output=list[Decimal], output_adapter="amounts")
    model = ScriptedModel([call("resolve", value=["1.10"]), call("resolve", value=["2.20"])])
    workflow = Workflow(unit, model=model, state=Shared)
    await workflow.run("go", thread_id="t", state={"name": "mei", "amounts": [Decimal(1)]})
    result = await workflow.run("go", thread_id="t")
    assert result.state == {"name": "mei", "amounts": [Decimal(1), Decimal("1.10"), Decimal("2.20")]}
    assert await workflow.get_state("t") == result.state


async def test_state_that_the_type_does_not_have_is_refused_before_anything_runs() -> None:
    model = ScriptedModel([])
    with pytest.raises(PlaitError, match="no key 'nam'"):
        await Workflow(chat, model=model, state=Shared).run("go", state={"nam": "mei"})
    assert model.requests == []


@pytest.mark.parametrize("limits", [Limits(model_calls=0), Limits(tokens=0), Limits(seconds=0)])
async def test_a_limit_of_zero_lets_nothing_run(limits: Limits) -> None:
    model = ScriptedModel([])
    with pytest.raises(RunError, match="is used up") as failed:
        await Workflow(chat, model=model, limits=limits).run("go")
    assert (failed.value.reason, model.requests) == ("limit", [])


async def test_limits_cover_all_units_of_nested_flows_and_count_each_call_once() -> None:
    units = [WorkflowUnit(name, answer="text") for name in "abc"]
    inner = (units[0] >> units[1]).with_(id="inner")
    allowed = await Workflow(inner >> units[2], model=ScriptedModel(echo), limits=Limits(model_calls=3)).run(
        "go"
    )
    assert allowed.usage.model_calls == 3
    with pytest.raises(RunError, match="model_calls=2 of the run") as failed:
        await Workflow(inner >> units[2], model=ScriptedModel(echo), limits=Limits(model_calls=2)).run("go")
    assert failed.value.path == "c"


async def test_a_flows_own_limits_cover_its_parts_alone() -> None:
    units = [WorkflowUnit(name, answer="text") for name in "abc"]
    inner = (units[0] >> units[1]).with_(id="inner", limits=Limits(model_calls=1))
    with pytest.raises(RunError, match="model_calls=1 of inner") as failed:
        await Workflow(units[2] >> inner, model=ScriptedModel(echo)).run("go")
    assert failed.value.path == "inner/b"


async def test_global_keys_live_in_the_store_for_every_thread() -> None:
    def keep(runtime: ToolRuntime) -> str:
        """Keep."""
        runtime.shared.scope("global").set("key", {1, 2})
        return "kept"

    unit = WorkflowUnit("u", tools=[keep])
    store = InMemoryStore()
    script = [call("keep"), call("resolve", value="ok")]
    await Workflow(unit, model=ScriptedModel(script), store=store).run("go", thread_id="a")
    found = await Workflow(step(lambda s: s.state.scope("global").get("key"), id="look"), store=store).run(
        "go"
    )
    assert found.output == {1, 2}


# Savers


@pytest.mark.parametrize("url", [None, "memory", "sqlite"])
async def test_threads_go_on_whatever_keeps_them(url: str | None, tmp_path: Path) -> None:
    workflow = echoing(checkpointer=f"sqlite:///{tmp_path}/deep/runs.db" if url == "sqlite" else url)
    await workflow.run("a", thread_id="t")
    assert [message.text for message in (await workflow.run("b", thread_id="t")).messages] == [
        "a", "you said a", "b", "you said b",
    ]  # fmt: skip


async def test_any_saver_instance_is_used_as_it_is_and_left_open(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        await echoing(checkpointer=saver).run("a", thread_id="t")
        result = await echoing(checkpointer=saver).run("b", thread_id="t")
        assert len(result.messages) == 4


async def test_an_open_workflow_keeps_its_saver_between_runs(tmp_path: Path) -> None:
    async with echoing(checkpointer=f"sqlite:///{tmp_path}/runs.db") as workflow:
        for task in ("a", "b"):
            await workflow.run(task, thread_id="t")
    assert len((await workflow.run("c", thread_id="t")).messages) == 6


PROGRAM = """
from plait import Workflow, WorkflowUnit
from plait.testing import ScriptedModel, text
unit = WorkflowUnit("u", answer="text", conversation=True)
workflow = Workflow(unit, model=ScriptedModel([text("a"), text("b")]), checkpointer="sqlite:///{path}")
workflow.run_sync("one", thread_id="t")
print(len(workflow.run_sync("two", thread_id="t").messages))
"""


def test_the_interpreter_exits_after_run_sync_with_sqlite(tmp_path: Path) -> None:
    program = PROGRAM.format(path=tmp_path / "runs.db")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "4\n", "")


def test_one_workflow_serves_several_event_loops(tmp_path: Path) -> None:
    workflow = echoing(checkpointer=f"sqlite:///{tmp_path}/runs.db")
    for turn in (1, 2):
        result = asyncio.run(workflow.run("hi", thread_id="t"))
        assert len(result.messages) == 2 * turn
    assert len(workflow.run_sync("hi", thread_id="t").messages) == 6


def test_one_workflow_serves_several_threads_of_the_program(tmp_path: Path) -> None:
    workflow = echoing(checkpointer=f"sqlite:///{tmp_path}/runs.db")
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = asyncio.run(workflow.run(f"n{number}", thread_id=f"t{number}")).output

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=30)
    assert outputs == {number: f"you said n{number}" for number in range(6)}


async def test_many_threads_at_a_time_on_one_loop(tmp_path: Path) -> None:
    workflow = echoing(checkpointer=f"sqlite:///{tmp_path}/runs.db")
    results = await asyncio.gather(
        *(workflow.run(f"n{number}", thread_id=f"t{number}") for number in range(20))
    )
    assert [result.output for result in results] == [f"you said n{number}" for number in range(20)]


async def test_a_workflow_that_is_dropped_is_freed() -> None:
    workflow = echoing(checkpointer=InMemorySaver())
    await workflow.run("hi")
    kept = weakref.ref(workflow)
    del workflow
    gc.collect()
    assert kept() is None


async def test_many_runs_leave_nothing_behind() -> None:
    workflow = echoing(checkpointer=InMemorySaver())
    await workflow.batch(["hi"] * 5)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(3):
        await workflow.run("hi", thread_id="t", abandon=True)
    gc.collect()
    assert len(gc.get_objects()) - before < 4_000
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Threads


async def test_a_thread_tells_its_last_result_state_and_history() -> None:
    workflow = echoing()
    result = await workflow.run("hi", thread_id="t", state={"key": 1})
    thread = workflow.thread("t")
    assert (await thread.result()).output == result.output
    assert await thread.state() == {"key": 1}
    assert await thread.state("session") == {}
    assert list(await thread.interrupts()) == []
    assert (await thread.history())[0].next == ()
    assert len(await thread.history(limit=1)) == 1


async def test_an_unknown_thread_says_so() -> None:
    with pytest.raises(PlaitError, match="no thread 'x'"):
        await echoing().thread("x").result()


async def test_output_of_a_failed_result_raises_its_error() -> None:
    with pytest.raises(RunError) as failed:
        await Workflow(chat, model=ScriptedModel([ConnectionError("no")])).run("hi", thread_id="t")
    with pytest.raises(RunError, match="no"):
        failed.value.result.output  # noqa: B018


def test_a_workflow_has_a_readable_form() -> None:
    assert repr(echoing()) == "Workflow(WorkflowUnit('chat'))"
