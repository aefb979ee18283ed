"""Streams that break off: nothing of them runs, nothing hangs, and the thread can go on."""

import time
from contextlib import aclosing

import pytest
from langgraph.types import RetryPolicy
from llmock.scenarios import Reply, ToolCall

from plait import Limits, Workflow, WorkflowUnit

from .support import ran, wire_history_faults

TEXT = "one two three four five six seven eight nine ten eleven twelve"


class Saver:
    def __init__(self):
        self.saved = []

    def unit(self, **options):
        def save(text: str) -> str:
            """Save a text."""
            self.saved.append(text)
            return "saved"

        return WorkflowUnit("keep", prompt="Keep it.", output=bool, tools=[save], **options)


def saving():
    return Reply(tool_calls=(ToolCall("save", {"text": TEXT}),))


def resolving():
    return Reply(tool_calls=(ToolCall("resolve", {"value": True}),))


def bodies(llmock):
    return [request.body for request in llmock.requests]


@pytest.fixture(params=["watched", "by setting"])
def stream(request, chat, llmock):
    """A model and how to run on it: watched, or with a model that always streams."""
    watched = request.param == "watched"
    return chat(llmock.base_url(), **({} if watched else {"streaming": True})), watched


@pytest.mark.parametrize("chunks", [1, 2, 4, 7])
async def test_a_truncated_call_never_runs_and_the_model_is_told(llmock, stream, chunks):
    model, watched = stream
    saver = Saver()
    llmock.truncate(after_chunks=chunks).add(saving(), saving(), resolving())
    result = await ran(Workflow(saver.unit(), model=model), streamed=watched)
    assert (result.outcome, saver.saved) == ("done", [TEXT])
    assert "broke off" in str(bodies(llmock)[1]["messages"][-1]["content"])
    assert wire_history_faults(bodies(llmock)) == []


async def test_a_truncated_text_is_no_answer(llmock, stream):
    model, watched = stream
    llmock.truncate(after_chunks=5).reply(TEXT).reply(TEXT)
    unit = WorkflowUnit("say", prompt="Say it.", output=str, answer="text")
    result = await ran(Workflow(unit, model=model), streamed=watched)
    assert (result.outcome, result.output, len(llmock.requests)) == ("done", TEXT, 2)


async def test_streams_that_always_break_off_end_the_unit(llmock, stream):
    model, watched = stream
    llmock.truncate(after_chunks=3, times=None).add(*[saving()] * 3)
    result = await ran(Workflow(Saver().unit(), model=model), streamed=watched)
    assert (result.outcome, result.reason) == ("failed", "bad-model-reply")


@pytest.mark.parametrize("fault", ["disconnect", "corrupt"])
async def test_a_lost_or_corrupted_stream_fails_and_can_be_resumed(llmock, stream, fault):
    model, watched = stream
    saver = Saver()
    getattr(llmock, fault)(after_chunks=3).add(saving(), saving(), resolving())
    workflow = Workflow(saver.unit(), model=model)
    result = await ran(workflow, streamed=watched, thread_id="t")
    assert (result.outcome, result.reason, saver.saved) == ("failed", "provider", [])
    assert "JSONDecodeError" not in result.message
    resumed = await workflow.resume("t")
    assert (resumed.outcome, saver.saved) == ("done", [TEXT])
    assert wire_history_faults(bodies(llmock)) == []


async def test_a_lost_stream_is_tried_again_when_the_unit_says_so(llmock, stream):
    model, watched = stream
    saver = Saver()
    llmock.disconnect(after_chunks=3).add(saving(), saving(), resolving())
    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, jitter=False)
    result = await ran(Workflow(saver.unit(retry=retry), model=model), streamed=watched)
    assert (result.outcome, saver.saved, len(llmock.requests)) == ("done", [TEXT], 3)


async def test_a_retried_reply_is_shown_as_a_message_of_its_own(llmock, chat):
    llmock.disconnect(after_chunks=4).reply(TEXT).reply(TEXT)
    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, jitter=False)
    unit = WorkflowUnit("say", prompt="Say it.", output=str, answer="text", retry=retry)
    shown, ends = [], []
    async for event in Workflow(unit, model=chat(llmock.base_url())).stream("go", path="say"):
        if event.type == "message_start":
            shown.append("")
        if event.type == "message_update":
            shown[-1] += event.delta
        if event.type == "message_end":
            ends.append(event.is_error)
    assert (shown[-1], ends) == (TEXT, [True, False])


async def test_a_stalled_stream_ends_at_the_limit_of_seconds(llmock, stream):
    model, watched = stream
    llmock.stall(after_chunks=3, seconds=3).add(saving())
    began = time.monotonic()
    result = await ran(
        Workflow(Saver().unit(), model=model, limits=Limits(seconds=0.4)), streamed=watched, thread_id="t"
    )
    assert time.monotonic() - began < 2
    assert (result.outcome, result.reason) == ("failed", "limit")
    assert "seconds=0.4" in result.message


async def test_a_stream_without_any_chunk_fails_and_can_be_resumed(llmock, stream):
    model, watched = stream
    saver = Saver()
    llmock.truncate(after_chunks=0).add(saving(), saving(), resolving())
    workflow = Workflow(saver.unit(), model=model)
    result = await ran(workflow, streamed=watched, thread_id="t")
    assert (result.outcome, result.reason) == ("failed", "provider")
    assert (await workflow.resume("t")).outcome == "done"


async def test_leaving_a_stream_early_ends_its_request_at_once(llmock, chat):
    unit = WorkflowUnit("say", prompt="Say it.", output=str, answer="text")
    workflow = Workflow(unit, model=chat(llmock.base_url()))
    for thread_id in map(str, range(12)):  # a cancellation that came together with a piece was lost at times
        llmock.reset().stall(after_chunks=4, seconds=5).reply(TEXT).reply(TEXT)
        began = time.monotonic()
        async with aclosing(workflow.stream("go", thread_id=thread_id)) as stream:
            while (await anext(stream)).type != "message_update":
                continue
        assert time.monotonic() - began < 2
        assert (await workflow.resume(thread_id)).output == TEXT
