"""What can be seen while a model writes, each once: text, the text given to `resolve`, arguments of calls."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from plait import Event, RouterFlow, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, text

LONG = 'It is an answer of 很多 pieces, with "quotes" and a 😀 in it. ' * 3
ANSWERS = {"resolve": call("resolve", value=LONG), "text": text(LONG)}


def look(place: str) -> str:
    """Look."""
    return f"nothing in {place}"


def say(answer: Any) -> WorkflowUnit[str]:
    return WorkflowUnit("say", answer=answer, tools=[look])


async def events_of(flow: Any, script: Any, **options: Any) -> list[Event]:
    return [event async for event in Workflow(flow, model=ScriptedModel(script)).stream("Go.", **options)]


async def streamed(flow: Any, script: Any, **options: Any) -> list[Any]:
    """What LangGraph's own `messages` stream carries."""
    graph = Workflow(flow, model=ScriptedModel(script)).graph
    return [
        item
        async for _, item in graph.astream({"task": "Go."}, stream_mode="messages", subgraphs=True, **options)
    ]


def texts_by_id(messages: list[BaseMessage]) -> dict[str, str]:
    """The texts as a client shows them: pieces of one id are joined, a whole message takes their place."""
    found: dict[str, str] = {}
    for message in messages:
        key = str(message.id)
        pieces = isinstance(message, AIMessageChunk)
        found[key] = found.get(key, "") + message.text if pieces else message.text
    return found


@pytest.mark.parametrize("answer", ANSWERS)
async def test_events_carry_the_text_once_and_in_pieces(answer: str) -> None:
    pieces = [
        e.delta
        for e in await events_of(say(answer), [ANSWERS[answer]])
        if e.type == "message_update" and e.delta
    ]
    assert "".join(map(str, pieces)) == LONG
    assert len(pieces) > 10


@pytest.mark.parametrize("answer", ANSWERS)
async def test_langgraphs_messages_stream_carries_the_text_once_and_in_pieces(answer: str) -> None:
    found = [message for message, _ in await streamed(say(answer), [ANSWERS[answer]])]
    shown = [text for text in texts_by_id([m for m in found if isinstance(m, AIMessage)]).values() if text]
    assert shown == [LONG]
    assert len([m for m in found if isinstance(m, AIMessageChunk) and m.text]) > 10


async def test_the_messages_stream_says_which_unit_writes() -> None:
    flow = RouterFlow(WorkflowUnit("pick"), {"say": say("text"), "rest": WorkflowUnit("rest")})
    found = await streamed(flow, {"pick": [call("resolve", value="say")], "say": [text(LONG)]})
    by_unit = {
        about["plait_unit"]: about["plait_path"]
        for message, about in found
        if message.type == "AIMessageChunk"
    }
    assert by_unit == {"pick": "pick", "say": "say"}


async def test_events_carry_the_arguments_of_calls_beside_blank_text() -> None:
    events = await events_of(say("text"), [call("look", place="the drawer"), text("Nothing.")])
    written = [event for event in events if event.type == "message_update" and event.tool]
    assert "".join(event.args for event in written) == '{"place": "the drawer"}'
    assert {(event.tool, event.delta, event.path) for event in written} == {("look", "", "say")}
    started = next(event for event in events if event.type == "tool_execution_start")
    assert {event.call_id for event in written} == {started.call_id}


async def test_events_may_be_of_one_path_only() -> None:
    script = {"a": [text("one")], "b": [text("two")]}
    flow = WorkflowUnit("a", answer="text") >> WorkflowUnit("b", answer="text")
    events = await events_of(flow, script, path="b")
    assert {event.path for event in events} == {"b", ""}
    assert "".join(event.delta or "" for event in events) == "two"


class CountingModel(ScriptedModel):
    """Counts the pieces that were taken from its stream."""

    taken: list[str]

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for piece in super()._astream(messages, stop, run_manager, **kwargs):
            await asyncio.sleep(0.002)  # as a network does, so that readers have their turn
            self.taken.append(piece.message.text)
            yield piece


async def first_visible(answer: str, chunk_size: int) -> tuple[int, int]:
    """How many pieces were taken from the model when the first text was seen, and how many in all."""
    model = CountingModel([ANSWERS[answer]], chunk_size=chunk_size, taken=[])
    seen: list[int] = []

    def listen(event: Event) -> None:
        if event.delta:
            seen.append(len(model.taken))

    run = Workflow(say(answer), model=model).start("Go.")
    kept, run.listen = run.listen, lambda event: (listen(event), kept(event))[1]  # type: ignore[method-assign]
    await run.result()
    return seen[0], len(model.taken)


@pytest.mark.parametrize("chunk_size", [1, 4, 12])
async def test_a_text_is_visible_with_the_models_first_piece(chunk_size: int) -> None:
    first, in_all = await first_visible("text", chunk_size)
    assert first == 1
    assert in_all > 10


@pytest.mark.parametrize("chunk_size", [1, 4, 12])
async def test_a_resolved_text_is_visible_with_the_first_piece_that_holds_any_of_it(chunk_size: int) -> None:
    first, in_all = await first_visible("resolve", chunk_size)
    before = len('{"value": "')  # what stands before the text, after the piece that names the tool
    assert first == 1 + before // chunk_size + 1
    assert in_all > first + 10


async def test_the_first_piece_reaches_langgraphs_stream_long_before_the_last_is_taken() -> None:
    model = CountingModel([text(LONG)], taken=[])
    graph = Workflow(say("text"), model=model).graph
    async for _, (message, _) in graph.astream({"task": "Go."}, stream_mode="messages", subgraphs=True):
        if message.type == "AIMessageChunk":
            assert len(model.taken) <= 3
            break


async def test_a_message_in_the_conversation_keeps_the_id_it_was_streamed_under() -> None:
    result = await Workflow(say("resolve"), model=ScriptedModel([call("resolve", value="hello")])).run("Go.")
    assert isinstance(result.messages[-1], AIMessage)
    assert result.messages[-1].text == "hello"
    assert result.messages[-1].id != "turn-1-answer"
