"""Events of a run and messages on the bus: their order, their balance, and bad subscribers."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from plait import (
    BusMessage,
    Event,
    LoopFlow,
    MessageBus,
    PlaitError,
    RouterFlow,
    RunError,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.core.bus import Broadcast, Steering
from plait.testing import ScriptedModel, call, fail, text


def look(x: int, runtime: ToolRuntime) -> int:
    """Look."""
    runtime.shared.set("looked", x)
    return x


def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    return str(runtime.ask("well?"))


a = WorkflowUnit("a", tools=[look, ask])
b = WorkflowUnit("b", answer="text")
SCRIPT = {"a": [call("look", x=1), call("resolve", value="found")], "b": [text("hello")]}
STARTS = {"agent_start": "agent_end", "turn_start": "turn_end", "message_start": "message_end",
          "tool_execution_start": "tool_execution_end"}  # fmt: skip


async def events(flow: Any, script: Any, **options: Any) -> list[Event]:
    return [event async for event in Workflow(flow, model=ScriptedModel(script)).stream("go", **options)]


def check_balanced(found: list[Event]) -> None:
    """Every start has its end, in its own path, inside the one around it."""
    open_ones: list[tuple[str, str, str | None]] = []
    for event in found:
        if event.type in STARTS:
            open_ones.append((STARTS[event.type], event.path, event.call_id))
        elif event.type.endswith("_end"):
            matching = (event.type, event.path, event.call_id)
            assert matching in open_ones, f"{event.type} of {event.path} without its start"
            open_ones.remove(matching)
    assert open_ones == []


async def test_the_events_of_a_unit_come_in_this_order() -> None:
    found = [event.type for event in await events(a, SCRIPT, path="a") if event.type != "message_update"]
    turn = ["turn_start", "message_start", "message_end"]
    tool = ["tool_execution_start", "tool_execution_end"]
    assert found == ["agent_start", *turn, *tool, "turn_end", *turn, "turn_end", "agent_end", "agent_end"]


async def test_the_run_itself_starts_first_and_ends_last_with_the_result() -> None:
    found = await events(a >> b, SCRIPT)
    assert [(event.type, event.path) for event in (found[0], found[-1])] == [
        ("agent_start", ""),
        ("agent_end", ""),
    ]
    assert (found[-1].outcome, found[-1].result.output) == ("done", "hello")


async def test_events_are_numbered_timed_and_of_one_run() -> None:
    found = await events(a >> b, SCRIPT)
    assert [event.sequence for event in found] == list(range(1, len(found) + 1))
    assert [event.time for event in found] == sorted(event.time for event in found)
    assert len({event.run_id for event in found}) == 1


async def test_text_arrives_in_pieces_that_make_the_whole() -> None:
    found = await events(a >> b, SCRIPT, path="b", types=["message_update"])
    assert "".join(event.delta or "" for event in found) == "hello"
    assert len([event for event in found if event.delta]) >= 1


@pytest.mark.parametrize(
    "script",
    [
        SCRIPT,
        {"a": [fail(ConnectionError("no"))]},
        {"a": [text("")] * 3},
        {
            "a": [
                call("look", x="no number"),
                call("nothing"),
                call("resolve", value=1),
                call("resolve", value="x"),
            ],
            "b": [text("x")],
        },
        {
            "a": [[call("look", x=1), call("look", x=2)], call("resolve", value="x")],
            "b": [fail(ValueError("no"))],
        },
        {"a": [call("ask")]},
        {"a": [[call("ask"), call("look", x=1)]]},
    ],
)
@pytest.mark.parametrize("nested", [False, True])
async def test_every_start_has_its_end_however_the_run_ends(script: Any, nested: bool) -> None:
    flow = LoopFlow(RouterFlow(step(lambda s: "go", id="pick"), {"go": a >> b})) if nested else a >> b
    found = await events(flow, script)
    check_balanced(found)
    assert found[-1].outcome in ("done", "failed", "paused")


async def test_a_failure_is_told_where_it_happened_and_at_the_end() -> None:
    found = await events(a >> b, {"a": [fail(ConnectionError("no line"))]})
    ends = [event for event in found if event.type == "agent_end"]
    assert [(event.path, event.outcome, event.reason) for event in ends] == [
        ("a", "failed", "provider"),
        ("", "failed", "provider"),
    ]
    assert "no line" in str(ends[0].error)


async def test_a_pause_ends_the_unit_as_paused_and_going_on_says_so() -> None:
    workflow = Workflow(a, model=ScriptedModel({"a": [call("ask"), call("resolve", value="x")]}))
    found = [event async for event in workflow.stream("go", thread_id="t")]
    assert [(event.path, event.outcome) for event in found if event.type == "agent_end"] == [
        ("a", "paused"),
        ("", "paused"),
    ]


async def test_the_filters_of_a_stream_still_let_the_last_event_through() -> None:
    found = await events(a >> b, SCRIPT, path="b", types=["turn_start"])
    assert [(event.path, event.type) for event in found] == [("b", "turn_start"), ("", "agent_end")]


async def test_nobody_listening_changes_nothing() -> None:
    quiet = await Workflow(a >> b, model=ScriptedModel(SCRIPT)).run("go")
    loud = (await events(a >> b, SCRIPT))[-1].result
    assert (quiet.output, [s.path for s in quiet.steps]) == (loud.output, [s.path for s in loud.steps])
    assert [m.text for m in quiet.messages] == [m.text for m in loud.messages]


# The bus


async def test_outputs_and_state_updates_are_on_the_bus_in_order() -> None:
    workflow = Workflow(a >> b, model=ScriptedModel(SCRIPT))
    heard: list[BusMessage] = []
    workflow.bus.subscribe(None, heard.append)
    result = await workflow.run("go")
    assert [(message.type, message.path) for message in heard] == [
        ("state-update", "a"), ("unit-output", "a"), ("unit-output", "b"),
    ]  # fmt: skip
    assert [message.id for message in result.bus] == [message.id for message in heard]
    assert len({message.id for message in heard}) == 3
    assert await workflow.get_messages(result.thread_id) == result.bus


async def test_a_failed_unit_publishes_no_output() -> None:
    workflow = Workflow(a >> b, model=ScriptedModel({"a": [fail(ValueError("no"))]}))
    with pytest.raises(RunError):
        await workflow.run("go")
    assert [message.type for message in workflow.bus.history()] == []


async def test_a_bad_subscriber_never_breaks_a_run(caplog: pytest.LogCaptureFixture) -> None:
    def bad(message: BusMessage) -> None:
        raise RuntimeError("I am broken")

    workflow = Workflow(a >> b, model=ScriptedModel(SCRIPT))
    heard: list[BusMessage] = []
    workflow.bus.subscribe(None, bad)
    workflow.bus.subscribe(bad, heard.append)  # type: ignore[arg-type]
    workflow.bus.subscribe("unit-output", heard.append)
    with caplog.at_level(logging.ERROR, logger="plait"):
        assert (await workflow.run("go")).outcome == "done"
    assert len(heard) == 2
    assert "subscriber raised" in caplog.text


def test_subscribers_are_told_what_they_asked_for_until_they_leave() -> None:
    bus, heard = MessageBus(), []
    leave = bus.subscribe(Steering, heard.append)
    bus.subscribe(lambda message: message.path == "p", heard.append)
    bus.publish(Steering(id="1", target="a", content="left"))
    bus.publish(Broadcast(id="2", path="p", source="a", content="hi"))
    leave()
    leave()
    bus.publish(Steering(id="3", target="a", content="right"))
    assert [message.id for message in heard] == ["1", "2"]


def test_history_holds_each_id_once_and_only_so_many() -> None:
    bus = MessageBus(keep=2)
    for number in ("1", "2", "2", "3"):
        bus.publish(Steering(id=number, target="a", content=number))
    assert [message.id for message in bus.history()] == ["2", "3"]


def test_a_subscriber_may_publish_and_unsubscribe_while_it_is_told() -> None:
    bus, heard = MessageBus(), []

    def once(message: BusMessage) -> None:
        leave()
        heard.append(message.id)
        bus.publish(Steering(id="again", target="a", content=""))

    leave = bus.subscribe(None, once)
    bus.publish(Steering(id="first", target="a", content=""))
    assert heard == ["first"]
    assert [message.id for message in bus.history()] == ["first", "again"]


def test_a_subscription_to_no_type_of_message_names_the_nearest() -> None:
    with pytest.raises(PlaitError, match="no bus message is of type 'stering'; the nearest: steering"):
        MessageBus().subscribe("stering", print)


def test_a_message_class_of_ones_own_has_a_name_to_subscribe_to() -> None:
    class Weather(BusMessage):
        type = "weather"

    bus, heard = MessageBus(), []
    bus.subscribe("weather", heard.append)
    bus.publish(Weather(id="1"))
    assert [message.id for message in heard] == ["1"]
