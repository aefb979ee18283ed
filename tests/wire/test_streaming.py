"""A watched run is the same run; and what is written can be read while it is written."""

from typing import Any

import pytest
from pydantic import BaseModel

from plait import RouterFlow, Workflow, WorkflowUnit

from .support import Reply, call, calls, ran, resolve, wire_history_faults

WORDS = '他说："好的"\n\tthen \\ and 😀 / é — ‹end›'


class Route(BaseModel):
    route: str


def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def deltas(events: list[Any], path: str) -> str:
    return "".join(event.delta for event in events if event.type == "message_update" and event.path == path)


async def watched(workflow: Workflow) -> list[Any]:
    return [event async for event in workflow.stream("go")]


def routed() -> RouterFlow:
    write = WorkflowUnit("write", prompt="Write.", output=str, tools=[look])
    return RouterFlow(
        WorkflowUnit("pick", prompt="Pick."), {"write": write, "other": write.with_(id="other")}
    )


async def test_a_streamed_run_comes_to_the_same(wire, chat):
    model, told = chat(wire.base_url), []
    for streamed in (False, True):
        wire.reset()
        wire.script(resolve(value="write"), calls(call("look", q="a"), call("look", call_id="c2", q="b")))
        wire.script(Reply("Nearly there."), resolve(value=WORDS))
        result = await ran(Workflow(routed(), model=model), streamed=streamed)
        steps = [(one.path, one.status, one.output, one.text, one.tool_calls) for one in result.steps]
        said = [(message.type, message.content) for message in result.messages]
        sent = [(body["messages"], body["tools"]) for body in wire.bodies]
        told.append((result.output, result.outcome, steps, said, sent, result.usage.model_calls))
        assert wire_history_faults(wire.bodies) == []
    assert told[0] == told[1]
    assert told[0][0] == WORDS


@pytest.mark.parametrize("size", [1, 3, 50])
async def test_a_text_reply_is_shown_while_it_is_written(wire, chat, size):
    wire.script(Reply(WORDS, size=size))
    unit = WorkflowUnit("say", output=str, answer="text")
    events = await watched(Workflow(unit, model=chat(wire.base_url)))
    assert (events[-1].result.output, deltas(events, "say")) == (WORDS, WORDS)
    assert len([event for event in events if event.type == "message_update"]) >= len(WORDS) // size


@pytest.mark.parametrize("size", [1, 3, 50])
async def test_a_resolved_text_is_shown_while_it_is_written(wire, chat, size):
    wire.script(Reply(calls=[call("resolve", value=WORDS)], size=size))
    events = await watched(Workflow(WorkflowUnit("say", output=str), model=chat(wire.base_url)))
    assert (events[-1].result.output, deltas(events, "say")) == (WORDS, WORDS)
    assert len([event for event in events if event.type == "message_update"]) > (1 if size < 50 else 0)


async def test_a_resolved_text_is_shown_after_what_was_said_before_it(wire, chat):
    wire.script(Reply("Here it is.", [call("look", q="x"), call("resolve", value=WORDS, call_id="r")]))
    unit = WorkflowUnit("say", output=str, tools=[look])
    events = await watched(Workflow(unit, model=chat(wire.base_url)))
    assert deltas(events, "say") == f"Here it is.\n\n{WORDS}"


@pytest.mark.parametrize("options", [{"streaming": False}, {"disable_streaming": "tool_calling"}])
async def test_a_model_that_never_streams_can_be_watched(wire, chat, options):
    wire.script(calls(call("look", q="x")), resolve(value=WORDS))
    unit = WorkflowUnit("say", output=str, tools=[look])
    events = await watched(Workflow(unit, model=chat(wire.base_url, **options)))
    assert (events[-1].result.output, deltas(events, "say")) == (WORDS, WORDS)
    assert not any(body.get("stream") for body in wire.bodies)


async def test_events_are_balanced_and_in_order(wire, chat):
    wire.script(resolve(value="write"), calls(call("look", q="a")), resolve(value="done"))
    events = await watched(Workflow(routed(), model=chat(wire.base_url)))
    assert [event.sequence for event in events] == sorted(event.sequence for event in events)
    for kind in ("agent", "turn", "message", "tool_execution"):
        started = [event.path for event in events if event.type == f"{kind}_start"]
        ended = [event.path for event in events if event.type == f"{kind}_end"]
        assert sorted(started) == sorted(ended)
    assert (events[0].type, events[-1].type, events[-1].outcome) == ("agent_start", "agent_end", "done")


async def messages_stream(workflow: Workflow, unit: str) -> list[str]:
    """The pieces of text that LangGraph's `messages` stream carries for one unit."""
    stream = workflow.graph.astream({"task": "go"}, stream_mode="messages", subgraphs=True)
    found = [(message, about) async for _, (message, about) in stream]
    return [
        str(m.content) for m, about in found if m.type == "AIMessageChunk" and about["plait_unit"] == unit
    ]


async def test_langgraphs_own_messages_stream_carries_a_text_reply(wire, chat):
    wire.script(resolve(value="say"), Reply(WORDS, size=3))
    say = WorkflowUnit("say", prompt="Say it.", output=str, answer="text")
    flow = RouterFlow(WorkflowUnit("pick", prompt="Pick."), {"say": say, "other": say.with_(id="other")})
    pieces = await messages_stream(Workflow(flow, model=chat(wire.base_url)), "say")
    assert "".join(pieces) == WORDS
    assert len(list(filter(None, pieces))) > 5
    assert all(body.get("stream") for body in wire.bodies)


async def test_langgraphs_own_messages_stream_carries_a_resolved_text(wire, chat):
    wire.script(Reply(calls=[call("resolve", value=WORDS)], size=3))
    pieces = await messages_stream(
        Workflow(WorkflowUnit("say", output=str), model=chat(wire.base_url)), "say"
    )
    assert "".join(pieces) == WORDS
    assert len(list(filter(None, pieces))) > 5


async def test_a_model_tagged_nostream_stays_out_of_langgraphs_messages_stream(wire, chat):
    wire.script(Reply(calls=[call("resolve", value=WORDS)], size=3))
    model = chat(wire.base_url, tags=["nostream"])
    assert await messages_stream(Workflow(WorkflowUnit("say", output=str), model=model), "say") == []
