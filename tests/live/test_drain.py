"""Draining: what is under way ends, nothing new begins, and the thread goes on from there."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plait import DelegationFlow, Event, ParallelFlow, SequentialFlow, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call

from ..flows import generated
from .balance import imbalance
from .conftest import told, wait_for

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


class Work:
    """A tool that waits, and notes who called it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def work(self, who: str) -> str:
        """Do it."""
        self.calls.append(who)
        self.begun.set()
        await self.go.wait()
        return f"{who} worked"


def reply(request: Any) -> Any:
    if request.tool_results:
        return call("resolve", value=str(request.unit))
    delegates = [call(tool, task="do it") for tool in request.tools if "delegate" in tool]
    return delegates or call("work", who=str(request.unit))


def units(work: Work, *names: str) -> list[WorkflowUnit[str]]:
    return [WorkflowUnit(name, tools=[work.work], output=str) for name in names]


async def drained(workflow: Workflow[Any], work: Work) -> tuple[Any, list[Event]]:
    """The result and the events of a run that was asked to stop while its first tool ran."""
    run = workflow.start("go", thread_id="t")
    await work.begun.wait()
    await asyncio.sleep(0.02)
    stopping = asyncio.ensure_future(run.drain())
    await asyncio.sleep(0.02)
    work.go.set()
    await stopping
    return await run.result(), [event async for event in run.events()]


async def test_the_round_under_way_is_finished_and_nothing_new_begins() -> None:
    work = Work()
    first, second = units(work, "first", "second")
    workflow = Workflow(first >> second, model=ScriptedModel(reply))
    result, events = await drained(workflow, work)
    assert (result.outcome, result.reason, result.interrupts) == ("paused", "interrupted", ())
    assert (result.usage.model_calls, result.usage.tool_calls) == (1, 1)
    assert imbalance(events) == []
    assert [e.outcome for e in events if e.type == "agent_end"] == ["paused", "paused"]
    assert [e.content for e in events if e.type == "tool_execution_end"] == ["first worked"]
    resumed = await workflow.resume("t")
    assert (resumed.outcome, resumed.output, work.calls) == ("done", "second", ["first", "second"])
    assert (resumed.usage.model_calls, resumed.usage.tool_calls) == (4, 2)


async def test_a_reply_that_was_asked_for_and_its_calls_belong_to_the_round() -> None:
    work = Work()
    work.go.set()
    model = ScriptedModel(reply, delay_s=0.1)
    workflow = Workflow(units(work, "first")[0], model=model)
    run = workflow.start("go", thread_id="t")
    while not model.requests:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await run.drain()
    assert ((await run.result()).outcome, work.calls) == ("paused", ["first"])
    assert imbalance([event async for event in run.events()]) == []
    assert (await workflow.resume("t")).outcome == "done"
    assert (work.calls, len(model.requests)) == (["first"], 2)


@pytest.mark.parametrize("scheduling", ["eager", "superstep"])
async def test_parallel_units_end_their_rounds_and_a_step_behind_them_waits(scheduling: Any) -> None:
    work, ran = Work(), []
    last = step(lambda s: ran.append(s.path), id="last")
    flow = SequentialFlow(ParallelFlow(*units(work, "a", "b"), scheduling=scheduling), last)
    workflow = Workflow(flow, model=ScriptedModel(reply))
    result, events = await drained(workflow, work)
    assert (result.outcome, sorted(work.calls), ran) == ("paused", ["a", "b"], [])
    assert imbalance(events) == []
    assert (await workflow.resume("t")).outcome == "done"
    assert (sorted(work.calls), ran) == (["a", "b"], ["last"])


async def test_a_specialist_stops_at_its_own_round() -> None:
    work = Work()
    (specialist,) = units(work, "specialist")
    workflow = Workflow(
        DelegationFlow(WorkflowUnit("boss", output=str), [specialist]), model=ScriptedModel(reply)
    )
    result, events = await drained(workflow, work)
    assert (result.outcome, result.usage.model_calls) == ("paused", 2)
    assert imbalance(events) == []
    assert (await workflow.resume("t")).output == "boss"
    assert work.calls == ["specialist"]


async def test_a_run_of_which_only_the_result_is_left_ends() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(_: Any) -> str:
        begun.set()
        await go.wait()
        return "all"

    run = Workflow(step(wait, id="only"), model=ScriptedModel([])).start("go")
    await begun.wait()
    stopping = asyncio.ensure_future(run.drain())
    await asyncio.sleep(0)
    go.set()
    await stopping
    assert (await run.result()).output == "all"


async def test_new_input_on_a_drained_thread_starts_a_turn() -> None:
    work = Work()
    workflow = Workflow(units(work, "first")[0], model=ScriptedModel(reply))
    await drained(workflow, work)
    assert (await workflow.run("again", thread_id="t")).outcome == "done"


@FEW
@given(generated.flows, st.integers(0, 10_000), st.integers(0, 30))
def test_a_drained_run_that_is_resumed_comes_to_what_it_would_have(
    flow: Any, seed: int, after_ms: int
) -> None:
    way = generated.Way(seed=seed)

    async def stopped() -> Any:
        workflow = generated.workflow(flow, way)
        run = workflow.start("go", thread_id="t", context=way)
        await asyncio.sleep(after_ms / 1000)
        await run.drain()
        result = await generated.result_of(run.result())
        assert imbalance([event async for event in run.events()]) == []
        while result.outcome == "paused":
            result = await generated.result_of(workflow.resume("t", context=way))
        return generated.essence(result)

    assert asyncio.run(stopped()) == generated.essence(asyncio.run(generated.run(flow, way)))


def effects(folder: Path) -> list[str]:
    return (folder / "effects").read_text().split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_first_signal_drains_a_program(way: str, number: Any, tmp_path: Path, begin: Any) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    first = begin("drained", url, str(tmp_path), way)
    wait_for(tmp_path / "effects", first)
    first.send_signal(number)
    (tmp_path / "go").touch()
    said, complained = first.communicate(timeout=60)
    assert (first.returncode, said) == (-number, "")
    lines = complained.strip().splitlines()
    assert lines == [] if number == signal.SIGTERM else lines[-1] == "KeyboardInterrupt"
    assert effects(tmp_path) == ["first"]
    assert told(begin("drained", url, str(tmp_path), "resume")) == {"outcome": "done"}
    assert effects(tmp_path) == ["first", "second"]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_second_signal_cancels_it(way: str, tmp_path: Path, begin: Any) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    first = begin("drained", url, str(tmp_path), way)
    wait_for(tmp_path / "effects", first)
    first.send_signal(signal.SIGTERM)
    while first.poll() is None:
        first.send_signal(signal.SIGTERM)
        try:
            first.wait(timeout=0.5)
        except Exception:
            continue
    assert (first.returncode, *first.communicate()) == (-signal.SIGTERM, "", "")
    assert way == "sync" or (tmp_path / "outcome").read_text() == "cancelled"
    (tmp_path / "go").touch()
    assert told(begin("drained", url, str(tmp_path), "resume")) == {"outcome": "done"}
    assert effects(tmp_path) == ["first", "first", "second"]


def test_a_handler_of_the_programs_own_gets_the_signal_after_the_drain(tmp_path: Path, begin: Any) -> None:
    first = begin("drained", f"sqlite:///{tmp_path}/runs.db", str(tmp_path), "own")
    wait_for(tmp_path / "effects", first)
    first.send_signal(signal.SIGTERM)
    assert not (tmp_path / "handled").exists()
    (tmp_path / "go").touch()
    assert told(first) == {"outcome": "paused"}
    assert (tmp_path / "handled").exists()


def test_the_handlers_are_back_after_a_run() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before, during = [signal.getsignal(number) for number in numbers], []
    look = step(lambda s: during.extend(signal.getsignal(number) for number in numbers), id="look")
    Workflow(look, model=ScriptedModel([])).run_sync("go")
    assert [signal.getsignal(number) for number in numbers] == before
    assert not set(during) & set(before)
