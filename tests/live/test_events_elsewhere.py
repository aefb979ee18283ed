"""A thread's events, read in another process than the one that runs it; their stream always ends."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from plait import Event, PlaitError, RunError, ToolRuntime, Workflow, WorkflowUnit
from plait.adapters.eventlog import KEPT_RUNS, StoreEventLog, merged, namespace_of
from plait.testing import ScriptedModel, call, fail, text

from .processes import started, told, until

PATIENCE_S = 60
SCRIPT = {"a": [call("look", x=1), call("resolve", value="found")], "b": [text("hello")]}


def look(x: int) -> int:
    """Look."""
    return x


def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask("well?"))


flow = WorkflowUnit("a", tools=[look, ask]) >> WorkflowUnit("b", answer="text")


def made(saver: Any, script: Any = SCRIPT, **options: Any) -> Workflow[Any]:
    return Workflow(flow, model=ScriptedModel(script), checkpointer=saver, **options)


async def read(workflow: Workflow[Any], **options: Any) -> list[Event]:
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in workflow.thread("t").events(**options)]


def reader(url: str) -> Workflow[Any]:
    """A workflow of this process, which runs nothing."""
    parts = WorkflowUnit("first") >> WorkflowUnit("second", answer="text")
    return Workflow(parts, model=ScriptedModel([]), checkpointer=url)


async def letting_go(events: AsyncIterator[Event], folder: Path) -> AsyncIterator[Event]:
    """The events, which let each tool end when its start is seen."""
    names = iter(("one", "two"))
    async for event in events:
        if event.type == "tool_execution_start":
            (folder / next(names)).touch()
        yield event


async def test_another_process_is_followed_live_to_its_end(lasting_url: str, tmp_path: Path) -> None:
    process = started("streamer", lasting_url, tmp_path, "run")
    async with asyncio.timeout(PATIENCE_S), reader(lasting_url) as workflow:
        while True:
            try:
                events = letting_go(workflow.thread("t").events(), tmp_path)
                found = [event async for event in events]
                break
            except PlaitError:  # it has not begun yet
                await asyncio.sleep(0.05)
    assert told(process) == {"told": "done"}
    assert (found[0].type, found[0].path) == ("agent_start", "")
    assert (found[-1].type, found[-1].path, found[-1].outcome) == ("agent_end", "", "done")
    assert [event.sequence for event in found] == sorted({event.sequence for event in found})
    assert [event.content for event in found if event.type == "tool_execution_end"] == [
        "there is one",
        "there is two",
    ]
    pieces = [e for e in found if e.path == "second" and e.type == "message_update"]
    assert "".join(event.delta or "" for event in pieces) == "a reply of some length that is streamed"
    said = [event.message for event in found if event.type == "message_end"]
    assert all(isinstance(message, AIMessage) for message in said)
    assert said[0].tool_calls[0]["args"] == {"name": "one"}


async def test_the_stream_of_a_killed_process_ends_and_says_so(lasting_url: str, tmp_path: Path) -> None:
    process = started("streamer", lasting_url, tmp_path, "run")
    async with reader(lasting_url) as workflow:
        await asyncio.to_thread(until, lambda: has_begun(lasting_url))
        found = []
        async with asyncio.timeout(PATIENCE_S):
            async for event in workflow.thread("t").events():
                found.append(event)
                if event.type == "tool_execution_start":
                    process.kill()
        process.communicate()
        assert [event.sequence for event in found] == sorted({event.sequence for event in found})
        assert (found[-1].type, found[-1].path, found[-1].outcome) == ("agent_end", "", "cancelled")
        assert "the process that ran thread 't' is gone" in str(found[-1].error)
        assert found[-1].run_id == found[0].run_id != ""
        assert [event.sequence for event in await read(workflow)] == [event.sequence for event in found]


def has_begun(url: str) -> bool:
    async def looked() -> bool:
        async with reader(url).drive("t") as drive:
            assert drive.live.events is not None
            return await drive.live.events.latest("t") is not None

    return asyncio.run(looked())


async def test_after_a_kill_the_resumed_run_is_the_one_that_is_read(lasting_url: str, tmp_path: Path) -> None:
    process = started("streamer", lasting_url, tmp_path, "run")
    await asyncio.to_thread(until, lambda: has_begun(lasting_url))
    process.kill()
    process.communicate()
    broken_off = await read(reader(lasting_url))
    for name in ("one", "two"):
        (tmp_path / name).touch()
    assert told(started("streamer", lasting_url, tmp_path, "resume")) == {"told": "done"}
    resumed = await read(reader(lasting_url))
    assert broken_off[-1].outcome == "cancelled"
    assert (resumed[0].resumed, resumed[-1].outcome) == (True, "done")
    everything = await read(reader(lasting_url), after=broken_off[-1])
    assert len(everything) == len(resumed)  # what was seen was of another run


# In one process


async def test_what_has_ended_is_read_from_its_first_event_to_its_last(saver_url: Any) -> None:
    lived = [event async for event in made(saver_url).stream("go", thread_id="t")]
    found = await read(made(saver_url))
    assert [event for event in found if event.type != "message_update"] == [
        event if event.result is None else found[-1] for event in lived if event.type != "message_update"
    ]
    assert texts(found) == texts(lived)
    assert found[-1].result is None


def texts(events: Iterable[Event]) -> str:
    return "".join(event.delta or "" for event in events)


async def test_a_reader_goes_on_after_what_it_saw_and_takes_what_it_wants(saver_url: Any) -> None:
    await made(saver_url).run("go", thread_id="t")
    workflow = made(saver_url)
    every = await read(workflow)
    assert await read(workflow, after=5) == [event for event in every if event.sequence > 5]
    assert await read(workflow, after=every[4]) == [event for event in every if event.sequence > 5]
    assert {(event.path, event.type) for event in await read(workflow, path="b", types=["turn_start"])} == {
        ("b", "turn_start"),
        ("", "agent_end"),
    }
    assert [event.type for event in await read(workflow, after=10_000)] == ["agent_end"]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (SCRIPT, "done"),
        ({"a": [call("ask")]}, "paused"),
        ({"a": [fail(ConnectionError("no line"))]}, "failed"),
    ],
)
async def test_the_last_event_says_how_the_run_ended(saver_url: Any, script: Any, outcome: str) -> None:
    with suppress(RunError):
        await made(saver_url, script).run("go", thread_id="t")
    found = await read(made(saver_url))
    assert (found[-1].outcome, found[-1].path) == (outcome, "")
    assert ("no line" in str(found[-1].error)) == (outcome == "failed")


async def test_a_cancelled_run_is_told_as_cancelled(saver_url: Any) -> None:
    slow = Workflow(flow, model=ScriptedModel(SCRIPT, delay_s=30), checkpointer=saver_url)
    async with slow:
        run = slow.start("go", thread_id="t")
        async for _ in run.events(types=["message_start"]):
            break
        reading = asyncio.ensure_future(read(made(saver_url)))
        await run.cancel()
        assert (await reading)[-1].outcome == "cancelled"


async def test_several_readers_see_the_same(saver_url: Any) -> None:
    workflow = made(saver_url)
    async with workflow:
        run = workflow.start("go", thread_id="t")
        async for _ in run.events(types=["agent_start"]):
            break
        found = await asyncio.gather(*(read(workflow) for _ in range(3)), read(made(saver_url)))
        await run.result()
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][-1].outcome == "done"


async def test_a_thread_on_which_nothing_ran_has_no_events(saver_url: Any) -> None:
    with pytest.raises(PlaitError, match="thread 't' has no events"):
        await read(made(saver_url))


async def test_nobody_reading_means_no_pieces_of_replies(saver_url: Any) -> None:
    await made(saver_url).run("go", thread_id="t")
    assert texts(await read(made(saver_url))) == ""


async def test_only_the_latest_runs_are_kept() -> None:
    store = InMemoryStore()
    workflow = made("memory", {name: replies * 7 for name, replies in SCRIPT.items()}, store=store)
    for _ in range(KEPT_RUNS + 3):
        await workflow.run("go", thread_id="t")
    await workflow.run("go", thread_id="a.b/c")
    items = await store.asearch(namespace_of("t"), limit=1000)
    runs = {item.namespace[-1] for item in items if item.namespace != namespace_of("t")}
    listed = await store.aget(namespace_of("t"), "runs")
    assert listed is not None
    assert runs == set(listed.value["runs"])
    assert len(runs) == KEPT_RUNS
    assert (await read(workflow))[-1].outcome == "done"


async def test_a_long_run_is_pruned_whole() -> None:
    store, log = InMemoryStore(), StoreEventLog(InMemoryStore())
    log = StoreEventLog(store)
    async with log.writer("t") as first:
        for number in range(40):
            first(Event("turn_start", "r", "p", number + 1))
            await first._write()  # type: ignore[attr-defined]
        first(Event("agent_end", "r", "", 41))
    assert len(await store.asearch(namespace_of("t"), limit=1000)) == 42
    for _ in range(KEPT_RUNS):
        async with log.writer("t") as later:
            later(Event("agent_end", "s", "", 1))
    assert len(await store.asearch(namespace_of("t"), limit=1000)) == KEPT_RUNS + 1


class NoEvents(InMemoryStore):
    """A store that fails when events are written to it."""

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        if any(isinstance(op, PutOp) and op.namespace[:2] == ("plait", "events") for op in listed):
            raise ConnectionError("the store is away")
        return await super().abatch(listed)


async def test_events_that_cannot_be_written_never_break_a_run(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="plait"):
        result = await made("memory", store=NoEvents()).run("go", thread_id="t")
    assert result.outcome == "done"
    assert "could not be written" in caplog.text


# The forms of events


def test_an_event_is_read_as_it_was_written() -> None:
    message = AIMessage("hi", tool_calls=[{"name": "f", "args": {"x": [1, "\ud800"]}, "id": "1"}])
    event = Event("message_end", "r", "a/b", 3, 1.5, unit="b", message=message, is_error=True)
    plain = event.to_plain()
    assert plain["message"]["type"] == "ai"
    assert Event.from_plain({**plain, "later": 1}) == event


def piece(sequence: int, delta: str, path: str = "p", **about: Any) -> Event:
    return Event("message_update", "r", path, sequence, delta=delta, **about)


def test_pieces_of_one_text_are_put_together_and_keep_their_order() -> None:
    events = [piece(1, "a"), piece(2, "x", "q"), piece(3, "b"), piece(4, "y", "q"),
              Event("message_end", "r", "p", 5), piece(6, "z", "q"), piece(7, "c")]  # fmt: skip
    found = merged(events)
    assert [(event.sequence, event.path, event.delta) for event in found] == [
        (3, "p", "ab"), (5, "p", None), (6, "q", "xyz"), (7, "p", "c"),
    ]  # fmt: skip


def test_the_arguments_of_two_calls_stay_apart() -> None:
    pieces = [("1", '{"a"'), ("1", ":1}"), ("2", "{}")]
    events = [piece(n, "", tool="f", call_id=call, args=args) for n, (call, args) in enumerate(pieces)]
    found = merged([*events, piece(4, "text")])
    assert [(event.call_id, event.args, event.delta) for event in found] == [
        ("1", '{"a":1}', ""),
        ("2", "{}", ""),
        (None, None, "text"),
    ]
