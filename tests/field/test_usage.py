"""Field cases: usage that is missing, null or only streamed, and token limits all the same."""

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from plait import Limits, Workflow, WorkflowUnit
from plait.testing import call, reply, text

from ..support import answers, failure, run, scripted


class Ok(BaseModel):
    ok: bool


LONG = "word " * 640  # about 800 tokens
unit = WorkflowUnit("work", output=Ok)


def unreported():
    return text(LONG, usage=None)


def null_fields():
    message = AIMessage(LONG, response_metadata={"token_usage": None})
    message.usage_metadata = {"input_tokens": None, "output_tokens": None, "total_tokens": None}
    return message


def zeros():
    return text(LONG, usage=(0, 0))


@pytest.mark.parametrize("made", [unreported, null_fields, zeros])
async def test_f17_a_token_limit_fires_by_estimate(made):
    model = scripted([made(), made()])
    error = await failure(Workflow(unit, model=model, limits=Limits(tokens=1000)))
    assert error.reason == "limit"
    assert "tokens=1000" in str(error)
    assert error.result.usage.estimated
    assert error.result.usage.tokens > 1600
    assert len(model.requests) == 2


async def test_f17_a_streamed_run_stops_by_estimate_too():
    model = scripted([unreported(), unreported()])
    workflow = Workflow(unit, model=model, limits=Limits(tokens=1000))
    *_, last = [event async for event in workflow.stream("Go.")]
    assert (last.outcome, last.reason) == ("failed", "limit")
    assert last.result.usage.estimated
    assert last.result.usage.tokens > 1600


async def test_f17_estimates_and_reports_add_up_and_stay_marked():
    script = [text(LONG, usage=None), reply(call("resolve", ok=True), usage=(10, 5))]
    result, _ = await run(unit, script)
    assert result.usage.estimated
    assert result.usage.tokens > 800
    assert result.usage.model_calls == 2


async def test_f17_what_is_reported_is_not_marked():
    result, _ = await run(unit, [reply(call("resolve", ok=True), usage=(10, 5))])
    assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5)
    assert not result.usage.estimated


async def test_f17_call_arguments_are_estimated_as_well():
    def write(body: str) -> str:
        """Write."""
        return "written"

    script = [reply(call("write", body=LONG), usage=None), reply(call("resolve", ok=True), usage=None)]
    result, model = await run(unit.with_(tools=[write]), script)
    assert result.usage.output_tokens > 700
    assert answers(model.requests[1])[0].content == "written"
