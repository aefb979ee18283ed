"""What goes wrong on the provider's side: error answers, rate limits, and a 200 that holds no reply."""

import subprocess
import sys
import time
from pathlib import Path

import openai
import pytest
from langgraph.types import RetryPolicy
from llmock.scenarios import Reply, ToolCall

from plait import Workflow, WorkflowUnit

from .support import (
    Raw,
    ReplayServer,
    call,
    calls,
    events,
    plain,
    ran,
    resolve,
    tool_texts,
    wire_history_faults,
)

PAGE = b"<html><body><h1>502 Bad Gateway</h1>" + b"x" * 500 + b"</body></html>"
NO_REPLY = {
    "choices null": plain({"id": "r", "object": "chat.completion", "model": "m", "choices": None}),
    "choices empty": plain({"id": "r", "object": "chat.completion", "model": "m", "choices": []}),
    "error in a 200": plain({"error": {"message": "quota used up", "code": 42}}),
    "a page": Raw([PAGE], "text/html"),
}
NO_STREAM = {
    "choices null": events({"id": "r", "object": "chat.completion.chunk", "model": "m", "choices": None}),
    "choices empty": events({"id": "r", "object": "chat.completion.chunk", "model": "m", "choices": []}),
    "error in a 200": events({"error": {"message": "quota used up", "code": 42}}),
    "a page": Raw([PAGE], "text/html"),
}
TELLS = {"error in a 200": "quota used up"}
PYTHON_NAMES = ("TypeError", "IndexError", "KeyError", "JSONDecodeError", "AttributeError")
UNIT = WorkflowUnit("ask", prompt="Ask.", output=bool)
QUICKLY = RetryPolicy(max_attempts=3, initial_interval=0.01, jitter=False)


def resolving() -> Reply:
    return Reply(tool_calls=(ToolCall("resolve", {"value": True}),))


@pytest.mark.parametrize("kind", NO_REPLY)
async def test_a_200_without_a_reply_fails_in_words_and_can_be_resumed(wire, chat, streamed, kind):
    wire.script((NO_STREAM if streamed else NO_REPLY)[kind])
    workflow = Workflow(UNIT, model=chat(wire.base_url))
    result = await ran(workflow, streamed=streamed, thread_id="t")
    assert (result.outcome, result.reason) == ("failed", "provider")
    assert not [name for name in PYTHON_NAMES if name in result.message]
    assert TELLS.get(kind, "") in result.message
    assert len(result.message) < 700
    wire.script(resolve(value=True))
    resumed = await workflow.resume("t")
    assert (resumed.outcome, resumed.output) == ("done", True)
    assert wire_history_faults(wire.bodies) == []


async def test_a_page_in_place_of_a_reply_is_quoted(wire, chat):
    wire.script(NO_REPLY["a page"])
    result = await ran(Workflow(UNIT, model=chat(wire.base_url)))
    assert "502 Bad Gateway" in result.message


async def test_a_broken_json_body_fails_in_words(wire, chat):
    wire.script(Raw([b'{"choices": [{"mess']))
    result = await ran(Workflow(UNIT, model=chat(wire.base_url)))
    assert (result.outcome, result.reason) == ("failed", "provider")
    assert not [name for name in PYTHON_NAMES if name in result.message]


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_an_error_answer_fails_with_its_text_after_one_request(llmock, chat, streamed, status):
    llmock.fail(status, message="the told reason")
    result = await ran(Workflow(UNIT, model=chat(llmock.base_url())), streamed=streamed)
    assert (result.outcome, result.reason, len(llmock.requests)) == ("failed", "provider", 1)
    assert "the told reason" in result.message
    assert str(status) in result.message


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_passes_is_tried_again_when_the_unit_says_so(llmock, chat, streamed, status):
    llmock.fail(status, times=2, retry_after=0.05).add(resolving())
    unit = UNIT.with_(retry=QUICKLY)
    result = await ran(Workflow(unit, model=chat(llmock.base_url())), streamed=streamed)
    assert (result.outcome, len(llmock.requests)) == ("done", 3)
    llmock.assert_resilient()


async def test_a_retry_waits_as_long_as_the_provider_asks(llmock, chat, streamed):
    llmock.rate_limit(retry_after=0.4).add(resolving())
    unit, began = UNIT.with_(retry=QUICKLY), time.monotonic()
    result = await ran(Workflow(unit, model=chat(llmock.base_url())), streamed=streamed)
    assert result.outcome == "done"
    assert time.monotonic() - began >= 0.4
    llmock.assert_resilient()


async def test_retries_end_and_the_failed_thread_can_be_resumed(llmock, chat):
    llmock.fail(503, times=3, retry_after=0.01, message="overloaded")
    workflow = Workflow(UNIT.with_(retry=QUICKLY), model=chat(llmock.base_url()))
    result = await ran(workflow, thread_id="t")
    assert (result.outcome, result.reason, len(llmock.requests)) == ("failed", "provider", 3)
    assert "overloaded" in result.message
    llmock.add(resolving())
    assert (await workflow.resume("t")).output is True


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_the_provider_will_refuse_again_is_not_tried_again(llmock, chat, status):
    llmock.fail(status, times=None)
    result = await ran(Workflow(UNIT.with_(retry=QUICKLY), model=chat(llmock.base_url())))
    assert (result.outcome, len(llmock.requests)) == ("failed", 1)


async def test_only_the_named_errors_are_tried_again(llmock, chat):
    llmock.fail(503, times=None)
    named = RetryPolicy(max_attempts=3, initial_interval=0.01, retry_on=openai.RateLimitError)
    result = await ran(Workflow(UNIT.with_(retry=named), model=chat(llmock.base_url())))
    assert (result.outcome, len(llmock.requests)) == ("failed", 1)


async def test_a_server_that_is_not_there_is_a_provider_failure(chat, unused_tcp_port):
    result = await ran(Workflow(UNIT, model=chat(f"http://127.0.0.1:{unused_tcp_port}/v1")))
    assert (result.outcome, result.reason) == ("failed", "provider")
    assert "onnect" in result.message


async def test_what_ran_before_the_failure_does_not_run_again(wire, chat, streamed):
    runs: list[str] = []

    def search(q: str) -> str:
        """Look something up."""
        runs.append(q)
        return f"found {q}"

    workflow = Workflow(UNIT.with_(tools=[search]), model=chat(wire.base_url))
    wire.script(calls(call("search", q="x")), plain({"error": {"message": "down"}}, 503))
    assert (await ran(workflow, streamed=streamed, thread_id="t")).reason == "provider"
    wire.script(resolve(value=True))
    resumed = await workflow.resume("t")
    assert (resumed.output, runs) == (True, ["x"])
    assert tool_texts(wire.bodies[-1]) == ["found x"]
    assert wire_history_faults(wire.bodies) == []


async def test_many_runs_at_a_time_keep_their_replies_apart(wire, chat):
    def echo(body):
        return resolve(value=body["messages"][-1]["content"])

    wire.script(*[echo] * 12)
    workflow = Workflow(UNIT.with_(output=str), model=chat(wire.base_url))
    results = await workflow.batch([f"task {n}" for n in range(12)])
    assert [result.output for result in results] == [f"task {n}" for n in range(12)]


def test_one_model_serves_one_event_loop_after_another():
    with ReplayServer() as server:
        server.script(*[resolve(value=True)] * 8)  # a dead connection takes a request too
        command = [sys.executable, str(Path(__file__).parent / "programs" / "loops.py"), server.base_url]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "[True, True, True, True]\n", ended.stderr
