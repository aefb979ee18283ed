"""The events of one unit, in order and balanced: when it succeeds, fails, is cancelled, and pauses."""

import asyncio

import pytest
from langgraph.types import Command
from pydantic import BaseModel

from plait import ToolRuntime, Workflow, WorkflowUnit
from plait.testing import call, fail, text

from ..support import scripted


class Ok(BaseModel):
    ok: bool


def look() -> str:
    """Look."""
    return "seen"


def boom() -> str:
    """Fail."""
    raise ValueError("boom")


work = WorkflowUnit("work", output=Ok, tools=[look, boom])
DONE = call("resolve", ok=True)
MESSAGE = ["message_start", "message_end"]
TOOL = ["tool_execution_start", "tool_execution_end"]
ROUND = ["turn_start", *MESSAGE, "turn_end"]
TOOL_ROUND = ["turn_start", *MESSAGE, *TOOL, "turn_end"]


async def events_of(script, unit=work):
    workflow = Workflow(unit, model=scripted(script))
    return [event async for event in workflow.stream("Go.")]


def kinds(events, path="work"):
    return [e.type for e in events if e.path == path and e.type != "message_update"]


def balanced(events):
    """Whether each start has its end, properly nested within its path (tools may interleave)."""
    opened: dict[tuple[str, str, str | None], int] = {}
    for event in events:
        what, _, edge = event.type.rpartition("_")
        key = (event.path, what, event.call_id)
        opened[key] = opened.get(key, 0) + {"start": 1, "end": -1}.get(edge, 0)
        assert opened[key] in (0, 1)
    return not any(opened.values())


def numbered(events):
    return [event.sequence for event in events] == list(range(1, len(events) + 1))


async def test_success_is_rounds_between_start_and_end():
    events = await events_of([call("look"), DONE])
    assert kinds(events) == ["agent_start", *TOOL_ROUND, *ROUND, "agent_end"]
    assert kinds(events, "") == ["agent_start", "agent_end"]
    assert balanced(events)
    assert numbered(events)


async def test_the_run_encloses_its_units():
    events = await events_of([DONE])
    assert [(events[0].type, events[0].path), (events[-1].type, events[-1].path)] == [
        ("agent_start", ""),
        ("agent_end", ""),
    ]
    assert events[-1].result.outcome == events[-1].outcome == "done"
    assert len({event.run_id for event in events}) == 1


async def test_two_calls_of_one_reply_are_one_round():
    events = await events_of([[call("look"), call("look")], DONE])
    round_one = kinds(events)[1:9]
    assert round_one[:3] == ["turn_start", *MESSAGE]
    assert sorted(round_one[3:7]) == sorted(TOOL * 2)
    assert round_one[7] == "turn_end"
    assert balanced(events)


async def test_a_failing_tool_ends_with_an_error_and_the_round_goes_on():
    events = await events_of([call("boom"), DONE])
    assert kinds(events) == ["agent_start", *TOOL_ROUND, *ROUND, "agent_end"]
    (ended,) = [event for event in events if event.type == "tool_execution_end"]
    assert ended.is_error
    assert "boom" in ended.content
    assert balanced(events)


async def test_a_reminder_is_a_round_of_its_own():
    events = await events_of([text("Hm."), DONE])
    assert kinds(events) == ["agent_start", *ROUND, *ROUND, "agent_end"]


async def test_a_model_failure_ends_everything_that_began():
    events = await events_of([call("look"), fail(RuntimeError("no connection"))])
    assert kinds(events) == ["agent_start", *TOOL_ROUND, *ROUND, "agent_end"]
    ended = [event for event in events if event.type == "agent_end"]
    assert [(event.outcome, event.reason) for event in ended] == [("failed", "provider")] * 2
    assert "no connection" in ended[0].error
    assert [event.is_error for event in events if event.type == "message_end"] == [False, True]
    assert balanced(events)


async def test_a_used_up_budget_ends_the_unit_as_failed():
    events = await events_of([text("Hm.")], work.with_(reminders=0))
    ended = [event for event in events if event.type == "agent_end"]
    assert [(event.path, event.outcome, event.reason) for event in ended] == [
        ("work", "failed", "no-resolve"),
        ("", "failed", "no-resolve"),
    ]
    assert balanced(events)


async def test_text_arrives_in_pieces_before_its_message_ends():
    events = await events_of([text("A reply in several pieces.")], WorkflowUnit("work", answer="text"))
    pieces = [event.delta for event in events if event.type == "message_update"]
    assert "".join(pieces) == "A reply in several pieces."
    assert len(pieces) > 1


async def test_a_text_output_arrives_in_pieces_although_it_is_an_argument():
    events = await events_of(
        [call("resolve", value="A reply in several pieces.")], WorkflowUnit("work", output=str)
    )
    pieces = [event.delta for event in events if event.type == "message_update"]
    assert "".join(pieces) == "A reply in several pieces."
    assert len(pieces) > 1


async def test_filters_keep_the_last_event():
    model = scripted([call("look"), DONE])
    kept = [e async for e in Workflow(work, model=model).stream("Go.", path="work", types=["turn_end"])]
    assert [event.type for event in kept] == ["turn_end", "turn_end", "agent_end"]


async def observed(workflow, given, events, **options):
    async with workflow.drive("t") as drive:
        drive.listeners.append(events.append)
        return await drive.run(given, **options)


@pytest.mark.parametrize("count", [1, 2])
async def test_a_cancel_ends_everything_that_began(count):
    started, events = asyncio.Event(), []

    async def hang() -> str:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    workflow = Workflow(work.with_(tools=[hang]), model=scripted([[call("hang")] * count]))
    running = asyncio.create_task(observed(workflow, {"task": "Go."}, events))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert balanced(events)
    assert [e.outcome for e in events if e.type == "agent_end"] == ["cancelled", "cancelled"]


def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask("May I?"))


async def test_a_pause_ends_the_agent_as_paused_and_going_on_starts_it_resumed():
    workflow, before, after = Workflow(work.with_(tools=[ask]), model=scripted([call("ask"), DONE])), [], []
    paused = await observed(workflow, {"task": "Go."}, before)
    assert paused.outcome == "paused"
    assert balanced(before)
    assert [e.outcome for e in before if e.type == "agent_end"] == ["paused", "paused"]
    assert not any(e.error for e in before)
    done = await observed(workflow, Command(resume={paused.interrupts[0].id: "yes"}), after, resumed=True)
    assert done.outcome == "done"
    assert balanced(after)
    assert [e.resumed for e in after if e.type == "agent_start"] == [True, True]
    assert kinds(after) == ["agent_start", "turn_start", *TOOL, "turn_end", *ROUND, "agent_end"]


async def test_a_paused_tool_is_no_failed_tool():
    workflow, events = Workflow(work.with_(tools=[ask]), model=scripted([call("ask")])), []
    await observed(workflow, {"task": "Go."}, events)
    assert [e.is_error for e in events if e.type.endswith("_end")] == [False] * len(
        [e for e in events if e.type.endswith("_end")]
    )


async def test_a_listener_that_raises_breaks_nothing(caplog):
    def bad(event):
        raise RuntimeError("bad listener")

    workflow = Workflow(work, model=scripted([DONE]))
    async with workflow.drive("t") as drive:
        drive.listeners.append(bad)
        assert (await drive.run({"task": "Go."})).outcome == "done"
    assert "a subscriber raised" in caplog.text


async def test_a_tool_tells_of_its_progress():
    def dig(runtime: ToolRuntime) -> str:
        """Dig."""
        runtime.stream_writer("half way")
        runtime.stream_writer({"metres": 2})
        return "dug"

    events = await events_of([call("dig"), DONE], work.with_(tools=[dig]))
    updates = [event for event in events if event.type == "tool_execution_update"]
    assert [event.content for event in updates] == ["half way", {"metres": 2}]
    assert {(event.path, event.tool) for event in updates} == {("work", "dig")}
    assert kinds(events)[4:8] == [TOOL[0], *["tool_execution_update"] * 2, TOOL[1]]
