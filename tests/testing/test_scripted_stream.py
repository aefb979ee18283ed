"""The scripted model as a stream: small pieces that merge to the same message."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration
from langchain_core.runnables import RunnableConfig

from plait.testing import ScriptedModel, call, fail, reply, text

AS_A: RunnableConfig = {"metadata": {"plait_unit": "a"}}


def deep(levels: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(levels):
        nested = {"in": nested}
    return nested


def merged(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return chunks[0] + chunks[1:]


STEPS: list[Any] = [
    text("a longer text in pieces", usage=(3, 4)),
    text(""),
    text("silent", usage=None, finish="length"),
    [text("with calls"), call("save", item="午饭", amount="32"), call("save", {})],
    call("odd", a=2**70, b="\ud800 \U0001f600", c=[None, True, -1.5e300], d=deep(500)),
    AIMessage([{"type": "text", "text": "blocks"}], additional_kwargs={"k": 1}, id="mine"),
    AIMessage("", invalid_tool_calls=[{"name": "t", "args": "nope", "id": "1", "error": None}]),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("size", [1, 8])
async def test_a_stream_merges_to_the_message_it_would_be_without(step: Any, size: int) -> None:
    whole = await ScriptedModel([step]).ainvoke("go")
    streamed = merged([part async for part in ScriptedModel([step], chunk_size=size).astream("go")])
    assert merged(list(ScriptedModel([step], chunk_size=size).stream("go"))).tool_calls == whole.tool_calls
    assert (streamed.content, streamed.tool_calls) == (whole.content, whole.tool_calls)
    assert streamed.invalid_tool_calls == whole.invalid_tool_calls
    assert streamed.usage_metadata == whole.usage_metadata
    assert streamed.response_metadata == whole.response_metadata
    assert streamed.additional_kwargs == whole.additional_kwargs


async def test_a_stream_comes_in_small_pieces_and_ends_with_usage() -> None:
    model = ScriptedModel([reply("nine char", call("save", item="pen"), usage=(1, 2))])
    parts = [part async for part in model.astream("go")]
    assert [part.content for part in parts[:2]] == ["nine cha", "r"]
    written = [(made["name"], made["args"]) for part in parts for made in part.tool_call_chunks]
    assert written == [("save", ""), (None, '{"item":'), (None, ' "pen"}')]
    assert [bool(part.usage_metadata) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].response_metadata["finish_reason"] == "tool_calls"


async def test_streams_and_events_know_the_unit_too() -> None:
    model = ScriptedModel({"a": lambda request: text("hi")})
    assert [part.content async for part in model.astream("go", AS_A)] == ["hi", ""]
    assert [part.content for part in model.stream("go", AS_A)] == ["hi", ""]
    events = [each["event"] async for each in model.astream_events("go", AS_A, version="v2")]
    assert events[-1] == "on_chat_model_end"
    results = await model.agenerate([[HumanMessage("go")]], metadata=AS_A["metadata"])
    assert isinstance(results.generations[0][0], ChatGeneration)
    assert {request.unit for request in model.requests} == {"a"}
    assert all(request.kwargs == {} for request in model.requests)


async def test_a_scripted_failure_is_raised_from_a_stream() -> None:
    with pytest.raises(KeyError):
        [part async for part in ScriptedModel([fail(KeyError("k"))]).astream("go")]


def test_not_a_number_survives_both_ways() -> None:
    model = ScriptedModel(lambda request: call("t", a=float("nan")))
    whole, streamed = model.invoke("go"), merged(list(model.stream("go")))
    assert [str(message.tool_calls[0]["args"]) for message in (whole, streamed)] == ["{'a': nan}"] * 2
