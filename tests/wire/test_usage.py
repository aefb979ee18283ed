"""Usage that a provider leaves out is estimated, marked as such, and still counts against limits."""

import pytest

from plait import Limits, Workflow, WorkflowUnit

from .support import Reply, ran, resolve

LONG = "many words, " * 270  # about 800 tokens
NULLS = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
UNIT = WorkflowUnit("talk", prompt="Talk.", output=bool)


@pytest.mark.parametrize("usage", ["left out", None, NULLS], ids=["missing", "null", "null fields"])
async def test_a_token_limit_holds_without_reported_usage(wire, chat, streamed, usage):
    wire.script(*[Reply(LONG, usage=usage)] * 2)
    result = await ran(
        Workflow(UNIT, model=chat(wire.base_url), limits=Limits(tokens=1000)), streamed=streamed
    )
    assert (result.outcome, result.reason, result.usage.model_calls) == ("failed", "limit", 2)
    assert "tokens=1000" in result.message
    assert result.usage.estimated
    assert 1500 < result.usage.output_tokens < 1800


async def test_reported_usage_is_taken_as_it_is(wire, chat, streamed):
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    made = resolve(value=True)
    wire.script(Reply(calls=made.calls, usage=usage))
    result = await ran(Workflow(UNIT, model=chat(wire.base_url)), streamed=streamed)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 3)
    assert not result.usage.estimated
