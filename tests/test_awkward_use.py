"""Uses that went wrong for the first people who tried: each says what is wrong, and nothing is lost."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.types import RetryPolicy
from pydantic import BaseModel

from plait import (
    Limits,
    NothingToResume,
    PlaitError,
    RunError,
    ThreadBusy,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call, fail

unit = WorkflowUnit("unit")


def answering(value: str = "ok", **options: float) -> ScriptedModel:
    return ScriptedModel(lambda request: call("resolve", value=value), **options)


class Count(BaseModel):
    count: int = 0


@pytest.mark.parametrize("task", [5, {"task": "x"}, None, "", "   ", [], object()])
async def test_a_task_of_the_wrong_kind_is_refused_before_anything_runs(task: object) -> None:
    model = answering()
    with pytest.raises(PlaitError, match="task"):
        await Workflow(unit, model=model).run(task)
    assert model.requests == []


@pytest.mark.parametrize("task", [[("user", "hi")], [{"role": "user", "content": "hi"}]])
async def test_messages_in_the_usual_short_forms_are_messages(task: object) -> None:
    model = answering()
    await Workflow(unit, model=model).run(task)
    assert model.requests[0].user == "hi"


@pytest.mark.parametrize("state", [{"typo": 1}, {"count": "many"}])
async def test_state_that_is_refused_leaves_the_thread_usable(state: dict[str, object]) -> None:
    workflow = Workflow(step(lambda snapshot: snapshot.state["count"], id="read"), state=Count)
    with pytest.raises(PlaitError, match=r"count|typo"):
        await workflow.run("Go.", thread_id="t", state=state)
    assert (await workflow.run("Go.", thread_id="t", state={"count": 2})).output == 2


async def test_a_second_run_on_a_busy_thread_is_told_so() -> None:
    workflow = Workflow(unit, model=answering(delay_s=0.1))
    first = asyncio.create_task(workflow.run("one", thread_id="t"))
    await asyncio.sleep(0.05)
    with pytest.raises(ThreadBusy, match="'t' is busy"):
        await workflow.run("two", thread_id="t")
    assert (await first).outcome == "done"


def ask(question: str, runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask(question))


asking = unit.with_(tools=[ask])
THREE = [[call("ask", question=f"q{number}") for number in (1, 2, 3)], call("resolve", value="ok")]


async def test_the_questions_of_one_reply_come_in_the_order_of_its_calls() -> None:
    for _ in range(4):
        result = await Workflow(asking, model=ScriptedModel(THREE)).run("Go.")
        assert [question.question for question in result.interrupts] == ["q1", "q2", "q3"]
        assert (result.usage.model_calls, result.usage.tool_calls) == (1, 3)


async def test_an_answer_under_an_id_that_does_not_exist_is_refused() -> None:
    workflow = Workflow(asking, model=ScriptedModel([THREE[0][0], THREE[1]]))
    result = await workflow.run("Go.", thread_id="t")
    with pytest.raises(PlaitError, match="'nope' is no id of an open question"):
        await workflow.resume("t", {"nope": 1})
    assert (await workflow.resume("t", {result.interrupts[0].id: "yes"})).outcome == "done"


async def test_time_spent_waiting_for_a_person_is_not_counted() -> None:
    model = ScriptedModel([THREE[0][0], THREE[1]])
    workflow = Workflow(asking, model=model, limits=Limits(seconds=1.0))
    await workflow.run("Go.", thread_id="t")
    await asyncio.sleep(1.1)
    assert (await workflow.resume("t", "yes")).outcome == "done"


async def test_calls_that_write_one_key_side_by_side_are_told_of_it() -> None:
    async def count(runtime: ToolRuntime) -> str:
        """Count."""
        seen = runtime.shared.get("n", 0)
        await asyncio.sleep(0.01)
        runtime.shared.set("n", seen + 1)
        return "counted"

    model = ScriptedModel([[call("count"), call("count")], call("resolve", value="ok")])
    result = await Workflow(unit.with_(tools=[count]), model=model).run("Go.")
    assert result.state == {"n": 1}
    assert [message.status for message in model.requests[1].tool_results] == ["success", "error"]


async def test_a_failed_call_that_is_tried_again_counts() -> None:
    retried = unit.with_(retry=RetryPolicy(initial_interval=0.01, max_attempts=5, jitter=False))
    script = [fail(ConnectionError("x")), fail(ConnectionError("y")), call("resolve", value="ok")]
    result = await Workflow(retried, model=ScriptedModel(script)).run("Go.")
    assert result.usage.model_calls == 3
    with pytest.raises(RunError, match="model_calls=2"):
        await Workflow(retried, model=ScriptedModel(script[:2]), limits=Limits(model_calls=2)).run("Go.")


async def test_a_blank_thread_and_an_unknown_scope_are_refused() -> None:
    workflow = Workflow(unit, model=answering())
    with pytest.raises(PlaitError, match="blank"):
        await workflow.run("Go.", thread_id=" ")
    with pytest.raises(PlaitError, match="there is no state scope 'glob'"):
        await workflow.thread("t").state("glob")
    with pytest.raises(NothingToResume):
        await workflow.resume("nobody")


PROGRAM = """
from plait.graphs.definition import part_hashes
from plait import step
print(part_hashes(step(lambda snapshot: snapshot.task in {"alpha", "beta", "gamma"}, id="one")))
"""


def test_a_definition_hashes_alike_in_every_process(tmp_path: Path) -> None:
    seeds = [{"PYTHONHASHSEED": str(seed), "PATH": "", "PYTHONPATH": ":".join(sys.path)} for seed in (1, 2)]
    told = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
        for env in seeds
    ]
    assert told[0].stdout == told[1].stdout != ""
