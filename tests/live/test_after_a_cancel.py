"""A new turn after one that was cut: units with a memory for the thread begin with what they had."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call

from .conftest import told, wait_for
from .programs.cut import KINDS, Tools, flow, reply, sent


def check_second_turn(told: Any, folder: Path) -> None:
    """The finished call has its result, the other is answered as cancelled, and nothing ran again."""
    assert told["faults"] == []
    assert told["said"][0][1].startswith("first, look")
    fast, slow = [said[1:] for said in told["said"] if said[0] == "tool"][:2]
    assert fast == ["what is near", "success"]
    assert (slow[0].split(":")[0], slow[1]) == ("cancelled", "error")
    assert told["said"][-1][0] == "human"
    assert "again, look" in told["said"][-1][1]
    assert [(folder / name).read_text() for name in ("fast", "slow")] == ["ran\n", "ran\n"]


async def cancelled_in_slow(workflow: Workflow[Any], folder: Path) -> None:
    run = workflow.start("first, look", thread_id="t")
    async with asyncio.timeout(30):
        while not all((folder / name).exists() for name in ("fast", "running")):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    await run.cancel()
    assert (await run.result()).outcome == "cancelled"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_new_turn_goes_on_from_the_cut_transcript(kind: str, saver_url: Any, tmp_path: Path) -> None:
    tools = Tools(tmp_path)
    workflow = Workflow(flow(kind, tools), model=ScriptedModel(reply), checkpointer=saver_url)
    await cancelled_in_slow(workflow, tmp_path)
    model = ScriptedModel(reply)
    result = await workflow.replace(model=model).run("again, look", thread_id="t")
    assert result.outcome == "done"
    check_second_turn(sent(model), tmp_path)


@pytest.mark.parametrize("kind", ["unit", "parallel", "delegation"])
def test_a_new_turn_after_a_kill_goes_on_too(kind: str, tmp_path: Path, begin: Any) -> None:
    after_a_kill(f"sqlite:///{tmp_path}/runs.db", kind, tmp_path, begin)


def test_a_new_turn_after_a_kill_goes_on_too_on_postgres(postgres: str, tmp_path: Path, begin: Any) -> None:
    after_a_kill(postgres, "unit", tmp_path, begin)


def after_a_kill(url: str, kind: str, folder: Path, begin: Any) -> None:
    first = begin("cut", url, str(folder), kind, "first")
    wait_for(folder / "running", first)
    first.kill()
    first.communicate()
    second = told(begin("cut", url, str(folder), kind, "again"))
    assert second["outcome"] == "done"
    check_second_turn(second, folder)


async def test_the_turn_may_be_cut_again_and_again(tmp_path: Path) -> None:
    model = ScriptedModel(reply)
    workflow = Workflow(flow("unit", Tools(tmp_path)), model=model)
    await cancelled_in_slow(workflow, tmp_path)
    (tmp_path / "running").unlink()
    await cancelled_in_slow(workflow, tmp_path)
    model.requests.clear()
    await workflow.run("again, look", thread_id="t")
    tools = [said for said in sent(model)["said"] if said[0] == "tool"]
    assert sent(model)["faults"] == []
    assert [said[2] for said in tools] == ["success", "error", "success", "error"]


async def test_an_abandoned_question_is_answered_as_cancelled(tmp_path: Path) -> None:
    async def ask(runtime: ToolRuntime) -> str:
        """Ask somebody."""
        return str(runtime.ask("well?"))

    def asks(request: Any) -> Any:
        return call("ask") if request.user == "first" else call("resolve", value="so")

    model = ScriptedModel(asks)
    unit = WorkflowUnit("asker", tools=[ask], memory="thread", output=str)
    workflow = Workflow(unit, model=model)
    assert (await workflow.run("first", thread_id="t")).outcome == "paused"
    assert (await workflow.run("second", thread_id="t", abandon=True)).outcome == "done"
    (answer,) = [m for m in model.requests[-1].messages if m.type == "tool"]
    assert (answer.text.split(":")[0], getattr(answer, "status", None)) == ("cancelled", "error")


async def test_a_unit_without_such_a_memory_begins_afresh(tmp_path: Path) -> None:
    forgetful = flow("unit", Tools(tmp_path)).with_(memory="run")
    model = ScriptedModel(reply)
    workflow = Workflow(forgetful, model=model)
    await cancelled_in_slow(workflow, tmp_path)
    await workflow.run("again, look", thread_id="t")
    assert [m.type for m in model.requests[-1].messages] == ["human"]


async def test_a_turn_that_ended_is_not_taken_for_a_cut_one(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: call("resolve", value="seen"))
    workflow = Workflow(flow("unit", Tools(tmp_path)), model=model)
    for number in range(3):
        await workflow.run(f"turn {number}", thread_id="t")
    assert [m.text for m in model.requests[-1].messages if m.type == "human"] == [
        "turn 0",
        "turn 1",
        "turn 2",
    ]


async def test_a_call_that_ended_alone_is_known_from_the_journal(tmp_path: Path) -> None:
    """The process ends between the tool's effect and the checkpoint that would hold its answer."""
    cut, ended = asyncio.Event(), asyncio.Event()

    class Saver(InMemorySaver):
        async def aput_writes(self, config: Any, writes: Any, *rest: Any) -> None:
            if any(channel == "messages" for channel, _ in writes) and ended.is_set() and not cut.is_set():
                cut.set()
                await asyncio.sleep(60)
            await super().aput_writes(config, writes, *rest)

    async def pay() -> str:
        """Pay."""
        ended.set()
        return "paid"

    def pays(request: Any) -> Any:
        return call("pay") if request.user == "first" else call("resolve", value="so")

    model = ScriptedModel(pays)
    unit = WorkflowUnit("payer", tools=[pay], memory="thread", output=str)
    workflow = Workflow(unit, model=model, checkpointer=Saver())
    run = workflow.start("first", thread_id="t")
    await cut.wait()
    await run.cancel()
    await workflow.run("second", thread_id="t")
    assert [m.text for m in model.requests[-1].messages if m.type == "tool"] == ["paid"]
