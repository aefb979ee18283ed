"""Options of a unit: JSON in text, a forced last round, salvage, and what it remembers."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from plait import Limits, LoopFlow, Workflow, WorkflowUnit, field
from plait.testing import call, fail, text

from ..support import answers, failure, run, run_failing, scripted


class Score(BaseModel):
    score: int


class Partly(BaseModel):
    known: str


def look() -> str:
    """Look."""
    return "seen"


unit = WorkflowUnit("work", output=Score, tools=[look])
LOOK, DONE = call("look"), call("resolve", score=7)


@pytest.mark.parametrize("said", ['{"score": 7}', '```json\n{"score": 7}\n```', 'Here it is: {"score": 7}.'])
async def test_json_text_that_satisfies_the_schema_ends_the_unit_when_allowed(said):
    result, model = await run(unit.with_(accept_json_text=True), [text(said)])
    assert result.output == Score(score=7)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "said", ['{"score": "high"}', "[7]", '{"points": 7}', "7", '<think>{"score": 7}</think> Hm.']
)
async def test_json_text_that_does_not_satisfy_it_draws_a_reminder(said):
    result, model = await run(unit.with_(accept_json_text=True), [text(said), DONE])
    assert result.output == Score(score=7)
    assert len(model.requests) == 2


async def test_by_default_json_text_is_text():
    _, model = await run(unit, [text('{"score": 7}'), DONE])
    assert len(model.requests) == 2


async def test_the_last_round_is_forced_when_asked_for():
    result, model = await run(unit.with_(force_last_round=True, max_rounds=3), [LOOK, LOOK, DONE])
    assert result.output == Score(score=7)
    assert [request.kwargs.get("tool_choice") for request in model.requests] == [None, None, "resolve"]


async def test_the_last_round_is_not_forced_by_default():
    _, model = await run(unit.with_(max_rounds=2), [LOOK, DONE])
    assert not any("tool_choice" in request.kwargs for request in model.requests)


async def test_salvage_makes_a_partial_result_of_what_is_known():
    script = [LOOK, LOOK, text('{"known": "half of it"}')]
    result, model = await run(unit.with_(salvage=Partly, max_rounds=2), script)
    assert (result.outcome, result.reason) == ("partial", "limit")
    assert result.output == Partly(known="half of it")
    assert model.requests[2].tools == ()
    assert result.usage.model_calls == 3


@pytest.mark.parametrize("last", [text("Nothing."), text('{"unknown": 1}'), fail(RuntimeError("gone"))])
async def test_salvage_that_finds_nothing_leaves_the_failure(last):
    error, _ = await run_failing(unit.with_(salvage=Partly, max_rounds=1), [LOOK, last])
    assert error.reason == "limit"
    assert "max_rounds=1" in str(error)


async def test_without_salvage_a_limit_fails_with_the_transcript():
    error, _ = await run_failing(unit.with_(max_rounds=1), [LOOK])
    assert [made.output for made in error.result.steps[0].tool_calls] == ["seen"]


async def test_salvage_also_serves_a_limit_of_the_run():
    model = scripted([LOOK, text('{"known": "a bit"}')])
    result = await Workflow(unit.with_(salvage=Partly), model=model, limits=Limits(model_calls=1)).run("Go.")
    assert result.output == Partly(known="a bit")


def loop_of(memory):
    """Two passes of one unit, each with a look; the second is good enough."""
    script = [LOOK, call("resolve", score=3), LOOK, call("resolve", score=9)]
    model = scripted(script)
    body = unit.with_(memory=memory)
    return Workflow(LoopFlow(body, max_iterations=3, until=field("score") >= 8), model=model), model


async def test_memory_of_a_run_goes_on_through_the_passes():
    workflow, model = loop_of("run")
    result = await workflow.run("Go.")
    assert result.output == Score(score=9)
    assert [len(answers(request)) for request in model.requests] == [0, 1, 2, 3]
    assert sum(message.content == "Go." for message in model.requests[2].messages) == 1


async def test_without_memory_each_pass_begins_anew():
    workflow, model = loop_of("none")
    result = await workflow.run("Go.")
    assert result.output == Score(score=9)
    assert [len(answers(request)) for request in model.requests] == [0, 1, 0, 1]
    assert "Go." in model.requests[2].first_user


async def test_each_pass_records_only_its_own_calls():
    workflow, _ = loop_of("run")
    result = await workflow.run("Go.")
    assert [len(step.tool_calls) for step in result.steps] == [1, 1]
    assert [step.path for step in result.steps] == ["work[1]", "work[2]"]


async def test_memory_of_a_run_ends_with_the_turn():
    model = scripted([LOOK, DONE, DONE])
    workflow = Workflow(unit, model=model)
    await workflow.run("One.", thread_id="t")
    await workflow.run("Two.", thread_id="t")
    assert [message.content for message in model.requests[2].messages] == ["Two."]


@pytest.mark.parametrize("flow", [lambda part: part, LoopFlow])
async def test_memory_of_a_thread_goes_on_in_the_next_turn(flow):
    model = scripted([LOOK, DONE, DONE])
    workflow = Workflow(flow(unit.with_(memory="thread")), model=model)
    await workflow.run("One.", thread_id="t")
    await workflow.run("Two.", thread_id="t")
    assert model.requests[2].first_user == "One."
    assert model.requests[2].user == "Two."
    assert len(answers(model.requests[2])) == 2


async def test_conversation_shows_what_was_said_and_not_the_tool_traffic():
    chat = WorkflowUnit("chat", answer="text", conversation=True, tools=[look])
    first, second = scripted([LOOK, text("Hello Mei.")]), scripted([text("You are Mei.")])
    workflow = Workflow(chat, model=first, checkpointer=InMemorySaver())
    await workflow.run("I am Mei.", thread_id="t")
    await workflow.replace(model=second).run("Who am I?", thread_id="t")
    assert [message.content for message in second.requests[0].messages] == [
        "I am Mei.",
        "Hello Mei.",
        "Who am I?",
    ]


async def test_a_failed_turn_leaves_nothing_that_the_next_one_takes_for_its_own():
    model = scripted([text("Hm."), DONE])
    workflow = Workflow(unit.with_(reminders=0), model=model)
    await failure(workflow, "One.", thread_id="t")
    result = await workflow.run("Two.", thread_id="t")
    assert [step.status for step in result.steps] == ["done"]
    assert model.requests[1].user == "Two."
