"""Readers that are slow or late, runs that end badly under them, and subscribers on other threads."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from plait import Event, Limits, MessageBus, PlaitError, RunError, ToolRuntime, Workflow, WorkflowUnit, step
from plait.core.bus import BusMessage, Steering
from plait.graphs.eventbuffer import EventBuffer
from plait.testing import ScriptedModel, call, text

WORDS = " ".join(f"word{n}" for n in range(300))


def event(sequence: int, kind: Any = "turn_start") -> Event:
    return Event(kind, "r", "p", sequence)


def test_no_more_events_are_kept_than_asked_for_and_the_newest_of_them() -> None:
    buffer = EventBuffer(16)
    for number in range(1, 1001):
        buffer.append(event(number))
        assert len(buffer.after(0)) <= 16
    kept = [kept.sequence for kept in buffer.after(0)]
    assert kept == list(range(kept[0], 1001))
    assert len(kept) > 12


def test_pieces_of_replies_go_first_and_the_oldest_of_them() -> None:
    buffer = EventBuffer(16)
    for number in range(1, 101):
        buffer.append(event(number, "turn_start" if number % 10 == 0 else "message_update"))
    kept = buffer.after(0)
    assert [one.sequence for one in kept if one.type == "turn_start"] == list(range(10, 101, 10))
    pieces = [one.sequence for one in kept if one.type == "message_update"]
    assert min(pieces) > 90


def test_a_buffer_keeps_at_least_the_last_event() -> None:
    buffer = EventBuffer(1)
    for number in range(1, 4):
        buffer.append(event(number))
    assert [one.sequence for one in buffer.after(0)] == [3]
    with pytest.raises(PlaitError, match="keep_events must be at least 1"):
        EventBuffer(0)


async def test_a_late_reader_sees_a_gap_and_the_end() -> None:
    units = WorkflowUnit("a", answer="text") >> WorkflowUnit("b", answer="text")
    model = ScriptedModel({"a": [text(WORDS)], "b": [text(WORDS)]}, chunk_size=1)
    run = Workflow(units, model=model).start("go", keep_events=40)
    await run.result()
    found = [event async for event in run.events()]
    numbers = [event.sequence for event in found]
    assert len(found) <= 40
    assert numbers == sorted(set(numbers))
    assert numbers[-1] > len(numbers)  # there are gaps
    assert (found[0].type, found[0].path) == ("agent_start", "")
    assert (found[-1].type, found[-1].outcome) == ("agent_end", "done")
    ends = [event.path for event in found if event.type == "agent_end"]
    assert ends == ["a", "b", ""]


async def test_a_slow_reader_never_holds_up_the_run() -> None:
    model = ScriptedModel({"a": [text(WORDS)]}, chunk_size=1)
    run = Workflow(WorkflowUnit("a", answer="text"), model=model).start("go", keep_events=20)
    found = []
    async for one in run.events():
        found.append(one.sequence)
        if len(found) == 1:
            await run.result()
    assert found == sorted(set(found))
    assert len(found) <= 21
    assert found[-1] > 40


# F66: the stream ends with the failure


async def never(x: int = 0) -> str:
    """Wait for ever."""
    await asyncio.sleep(3600)
    return "never"


def broken(snapshot: Any) -> str:
    raise ValueError("the unit is broken")


async def read_to_the_end(run: Any) -> list[Event]:
    async with asyncio.timeout(30):
        return [event async for event in run.events()]


async def test_f66_the_events_of_a_unit_that_raises_at_once_end_with_its_failure() -> None:
    run = Workflow(step(broken, id="bad")).start("go")
    last = (await read_to_the_end(run))[-1]
    with pytest.raises(RunError) as raised:
        await run.result()
    assert (last.outcome, last.path) == ("failed", "")
    assert str(last.error) == str(raised.value)
    for part in ("bad", "ValueError", "the unit is broken"):
        assert part in str(last.error)


async def test_f66_the_events_of_a_unit_that_exceeds_its_time_end_with_that() -> None:
    unit = WorkflowUnit("slow", tools=[never], limits=Limits(seconds=0.2))
    run = Workflow(unit, model=ScriptedModel([call("never")] * 3)).start("go")
    began = time.monotonic()
    last = (await read_to_the_end(run))[-1]
    with pytest.raises(RunError) as raised:
        await run.result()
    assert time.monotonic() - began < 10
    assert (last.outcome, last.reason, str(last.error)) == ("failed", "limit", str(raised.value))
    assert "slow" in str(last.error)
    assert "seconds" in str(last.error)


async def test_f66_the_events_of_a_cancelled_run_end_with_that() -> None:
    unit = WorkflowUnit("slow", tools=[never])
    run = Workflow(unit, model=ScriptedModel([call("never")])).start("go")
    reading = asyncio.ensure_future(read_to_the_end(run))
    async for one in run.events(types=["tool_execution_start"]):
        assert one.tool == "never"
        break
    await run.cancel()
    last = (await reading)[-1]
    assert (last.outcome, (await run.result()).outcome) == ("cancelled", "cancelled")


# F60: a pause is no failure


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_f60_the_event_stream_shows_a_pause_and_no_failure(elsewhere: bool) -> None:
    ran: list[str] = []

    def gated(runtime: ToolRuntime) -> str:
        """Asks first; around it, code that catches what is an Exception."""
        for _ in range(3):
            try:
                runtime.ask("may I?")
                ran.append("ran")
                return "done"
            except Exception:
                continue
        return "tool failed"

    unit = WorkflowUnit("a", tools=[gated])
    workflow = Workflow(unit, model=ScriptedModel([call("gated"), call("resolve", value="x")]))
    run = workflow.start("go", thread_id="t")
    result = await run.result()
    events = workflow.thread("t").events() if elsewhere else run.events()
    found = [event async for event in events]
    assert (result.outcome, len(result.interrupts), ran) == ("paused", 1, [])
    ends = [(event.path, event.outcome, event.is_error) for event in found if event.type == "agent_end"]
    assert ends == [("a", "paused", False), ("", "paused", False)]
    assert not any(event.is_error or event.error for event in found if event.type.startswith("message"))


# The bus


def steering(number: int, who: str = "a") -> Steering:
    return Steering(id=f"{who}{number}", path=who, target="a", content=str(number))


def test_messages_of_many_threads_all_arrive_once_and_one_at_a_time() -> None:
    bus, heard, inside = MessageBus(), [], threading.Lock()

    def handler(message: BusMessage) -> None:
        assert inside.acquire(blocking=False)
        heard.append(message.id)
        time.sleep(0)
        inside.release()

    bus.subscribe("steering", handler)
    everybody = threading.Barrier(8)

    def publish(who: str) -> None:
        everybody.wait()
        for number in range(200):
            bus.publish(steering(number, who))

    threads = [threading.Thread(target=publish, args=(f"p{n}-",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == [message.id for message in bus.history()]
    assert len(set(heard)) == 1600
    for n in range(8):
        own = [one for one in heard if one.startswith(f"p{n}-")]
        assert own == [f"p{n}-{number}" for number in range(200)]


def test_subscribing_and_leaving_while_others_publish_is_safe() -> None:
    bus, done = MessageBus(keep=10), threading.Event()

    def publish() -> None:
        while not done.is_set():
            bus.publish(steering(1))
            bus.history()
            time.sleep(0.001)  # whoever delivers could not end beside publishers that never rest

    threads = [threading.Thread(target=publish) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(2000):
        leave = bus.subscribe(lambda message: message.path == "a", lambda message: None)
        bus.publish(steering(number))
        leave()
    done.set()
    for thread in threads:
        thread.join()
    assert len(bus.history()) <= 10


def test_a_handler_may_wait_for_a_thread_that_publishes() -> None:
    bus, heard = MessageBus(), []

    def handler(message: BusMessage) -> None:
        heard.append(message.id)
        if message.id == "a1":
            other = threading.Thread(target=bus.publish, args=(steering(2),))
            other.start()
            other.join(30)
            assert not other.is_alive()

    bus.subscribe(None, handler)
    bus.publish(steering(1))
    assert heard == ["a1", "a2"]


def test_a_subscriber_of_a_running_workflow_is_told_live_and_by_its_filter() -> None:
    heard: list[str] = []
    leave = threading.Event()

    def wait(snapshot: Any) -> str:
        assert leave.wait(30)
        return "second"

    unit = WorkflowUnit("one", answer="text")
    workflow = Workflow(unit >> step(wait, id="two"), model=ScriptedModel([text("first")]))
    told = threading.Event()

    def on_output(message: BusMessage) -> None:
        heard.append(message.path)
        told.set()

    workflow.bus.subscribe("unit-output", on_output)
    running = threading.Thread(target=workflow.run_sync, args=("go",))
    running.start()
    assert told.wait(30)
    assert (heard, running.is_alive()) == (["one"], True)
    leave.set()
    running.join(30)
    assert heard == ["one"]  # a step is no unit
