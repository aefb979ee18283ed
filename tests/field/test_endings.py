"""Field cases: how a unit ends, or does not: prose, invalid results, blank replies."""

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from plait import WorkflowUnit
from plait.testing import call, text

from ..support import answers, run, run_failing


class City(BaseModel):
    city: str


class Score(BaseModel):
    score: int = Field(ge=0, le=10)


class Ok(BaseModel):
    ok: bool


def search() -> str:
    """Search."""
    return "found"


capital = WorkflowUnit("capital", prompt="Name the capital.", output=City)
rate = WorkflowUnit("rate", output=Score)


async def test_f01_prose_instead_of_resolve_draws_a_reminder():
    prose = "The capital is Paris."
    result, model = await run(capital, [text(prose), call("resolve", city="Paris")])
    assert result.output == City(city="Paris")
    *_, kept, reminder = model.requests[1].messages
    assert (kept.type, kept.content, reminder.type) == ("ai", prose, "human")
    assert "resolve" in reminder.content
    assert len(model.requests) == 2


async def test_f01_prose_for_ever_fails_with_the_last_text():
    error, model = await run_failing(capital, [text("One."), text("Two."), text("It is Paris.")])
    assert (error.reason, error.path) == ("no-resolve", "capital")
    assert "It is Paris." in str(error)
    assert error.result.steps[0].text == "It is Paris."
    assert len(model.requests) == 3


@pytest.mark.parametrize("limit", [0, 1, 4])
async def test_f01_the_reminder_limit_counts_reminders(limit):
    error, model = await run_failing(capital.with_(reminders=limit), [text("Paris.")] * (limit + 1))
    assert error.reason == "no-resolve"
    assert len(model.requests) == limit + 1


async def test_f01_a_bare_string_is_never_the_result():
    error, _ = await run_failing(capital.with_(reminders=0), [text("Paris")])
    with pytest.raises(type(error)):
        _ = error.result.output


async def test_f02_invalid_results_are_answered_with_field_and_reason():
    script = [call("resolve", score="high"), call("resolve", score=11), call("resolve", score=7)]
    result, model = await run(rate.with_(resolve_attempts=3), script)
    assert result.output == Score(score=7)
    first, second = answers(model.requests[2])
    assert first.status == second.status == "error"
    assert "score" in first.content
    assert "integer" in first.content
    assert "score" in second.content
    assert "10" in second.content


async def test_f02_the_attempts_are_a_budget_that_ends_the_unit():
    error, model = await run_failing(
        rate.with_(resolve_attempts=2), [call("resolve", score="high"), call("resolve", score=11)]
    )
    assert error.reason == "invalid-resolve"
    assert "score" in str(error)
    assert "10" in str(error)
    assert len(model.requests) == 2


@pytest.mark.parametrize("sent", ["high", "7", 7.5, True, None])
async def test_f02_what_is_no_integer_is_never_made_one(sent):
    error, _ = await run_failing(rate.with_(resolve_attempts=1), [call("resolve", score=sent)])
    assert error.reason == "invalid-resolve"


@pytest.mark.parametrize("blank", ["", "  \n"])
async def test_f11_a_blank_reply_draws_a_reminder_and_is_not_sent_back(blank):
    unit = WorkflowUnit("work", output=Ok, tools=[search])
    result, model = await run(unit, [call("search"), text(blank), call("resolve", ok=True)])
    assert result.output == Ok(ok=True)
    assert len(model.requests) == 3
    assert [m.type for m in model.requests[2].messages] == ["human", "ai", "tool", "human"]
    assert "resolve" in model.requests[2].messages[-1].content


@pytest.mark.parametrize("content", [[], [""], [{"type": "text", "text": " "}]])
async def test_f11_blank_content_blocks_are_a_blank_reply(content):
    unit = WorkflowUnit("work", output=Ok, tools=[search])
    result, _ = await run(unit, [call("search"), AIMessage(content), call("resolve", ok=True)])
    assert result.output == Ok(ok=True)


async def test_f11_blank_for_ever_fails_as_empty_reply():
    error, model = await run_failing(WorkflowUnit("work", output=Ok), [text("")] * 3)
    assert error.reason == "empty-reply"
    assert len(model.requests) == 3
