"""Function steps: ids, sync and async, what they return, what they raise, and what they may ask."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from typing import Any

import pytest
from langgraph.types import interrupt

from plait import DefinitionError, PlaitError, RunError, Skip, Snapshot, ThreadPaused, Workflow, step


def shout(snapshot: Snapshot) -> str:
    return str(snapshot.task).upper()


async def slowly(snapshot: Snapshot) -> str:
    await asyncio.sleep(0.01)
    return f"{snapshot.output}!"


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, snapshot: Snapshot) -> int:
        self.calls += 1
        return self.calls


async def test_sync_and_async_functions_run_in_a_flow() -> None:
    result = await Workflow(step(shout) >> slowly).run("hi")
    assert (result.output, [record.path for record in result.steps]) == ("HI!", ["shout", "slowly"])


def test_the_id_is_the_functions_name_unless_given() -> None:
    assert (step(shout).id, step(shout, id="loud").id, step(lambda s: 1).id) == ("shout", "loud", "function")
    assert step(Counter()).id == "Counter"


@pytest.mark.parametrize("name", ["a/b", "_x", " ", "a[1]"])
def test_an_id_that_no_path_can_hold_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError):
        step(shout, id=name)


async def test_a_sync_function_runs_in_a_thread_of_its_own() -> None:
    result = await Workflow(
        step(lambda s: threading.current_thread() is threading.main_thread(), id="where")
    ).run("go")
    assert result.output is False


async def test_the_typed_output_is_kept_as_it_is() -> None:
    result = await Workflow(step(lambda s: {"sum": Decimal("1.10"), "set": {1}}, id="typed")).run("go")
    assert result.output == {"sum": Decimal("1.10"), "set": {1}}


async def test_none_is_an_output_and_skip_is_none() -> None:
    result = await Workflow(
        step(lambda s: None, id="none") >> step(lambda s: Skip("because"), id="skip")
    ).run("go")
    assert [(record.status, record.message) for record in result.steps] == [
        ("done", ""),
        ("skipped", "because"),
    ]


async def test_what_it_raises_is_its_failure() -> None:
    def broken(snapshot: Snapshot) -> None:
        raise ZeroDivisionError("by \ud800 zero")

    with pytest.raises(RunError, match="ZeroDivisionError: by") as failed:
        await Workflow(step(broken)).run("go")
    assert (failed.value.path, failed.value.reason) == ("broken", "error")
    assert failed.value.result.message.encode()


async def test_an_output_that_cannot_be_kept_fails_and_says_why() -> None:
    with pytest.raises(RunError, match="object") as failed:
        await Workflow(step(lambda s: object(), id="odd")).run("go")
    assert failed.value.reason == "refused-value"


async def test_the_snapshot_is_read_only() -> None:
    def write(snapshot: Snapshot) -> None:
        snapshot.state.set("a", 1)

    with pytest.raises(PlaitError, match="cannot be written"):
        await Workflow(step(write)).run("go")


async def test_it_reads_task_state_and_outputs_of_earlier_steps() -> None:
    def look(snapshot: Snapshot) -> list[Any]:
        return [snapshot.task, snapshot.state.get("key"), dict(snapshot.outputs), snapshot.path]

    result = await Workflow(step(shout) >> look).run("hi", state={"key": 7})
    assert result.output == ["hi", 7, {"shout": "HI"}, "look"]


async def test_a_step_may_ask_and_runs_again_with_the_answer() -> None:
    def ask(snapshot: Snapshot) -> str:
        return f"you said {interrupt('really?')}"

    workflow = Workflow(step(ask) >> slowly)
    paused = await workflow.run("go", thread_id="t")
    assert [question.question for question in paused.interrupts] == ["really?"]
    with pytest.raises(ThreadPaused):
        await workflow.run("go", thread_id="t")
    assert (await workflow.resume("t", "yes")).output == "you said yes!"


async def test_a_step_that_was_done_is_not_run_again_after_a_later_failure() -> None:
    counter, fails = Counter(), [True]

    def once_broken(snapshot: Snapshot) -> str:
        if fails.pop():
            raise ValueError("not yet")
        return "mended"

    workflow = Workflow(step(counter, id="count") >> once_broken)
    with pytest.raises(RunError):
        await workflow.run("go", thread_id="t")
    fails.append(False)
    assert (await workflow.resume("t")).output == "mended"
    assert counter.calls == 1


def test_steps_are_values() -> None:
    assert step(shout) == step(shout)
    assert step(shout) != step(shout, id="other")
    assert hash(step(shout)) == hash(step(shout))
