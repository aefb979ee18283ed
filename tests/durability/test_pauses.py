"""A thread that waits for an answer: new input is refused, an answer goes on, abandoning starts anew."""

from pathlib import Path
from typing import Any

import pytest

from plait import NothingToResume, PlaitError, ThreadPaused, ToolRuntime, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, text


def ask(question: str, runtime: ToolRuntime) -> str:
    """Ask the user."""
    return f"the user says {runtime.ask(question)}"


asker = WorkflowUnit("asker", tools=[ask])
before = WorkflowUnit("before", answer="text")
ONE = [call("ask", question="how much?"), call("resolve", value="booked")]
TWO = [[call("ask", question="how much?"), call("ask", question="when?")], call("resolve", value="booked")]


def workflow(folder: Path, replies: list[Any]) -> Workflow:
    model = ScriptedModel({"before": [text("hello"), text("hello again")], "asker": replies})
    return Workflow(before >> asker, model=model, checkpointer=f"sqlite:///{folder}/runs.db")


async def test_a_pause_is_a_result_with_its_question(tmp_path: Path) -> None:
    result = await workflow(tmp_path, ONE).run("book it", thread_id="t")
    assert result.outcome == "paused"
    assert [(question.path, question.question) for question in result.interrupts] == [("asker", "how much?")]


async def test_the_answer_reaches_the_tool_in_a_later_workflow_object(tmp_path: Path) -> None:
    await workflow(tmp_path, ONE).run("book it", thread_id="t")
    later = workflow(tmp_path, ONE)
    result = await later.resume("t", 32)
    assert (result.outcome, result.output) == ("done", "booked")
    assert result.steps[-1].tool_calls[0].output == "the user says 32"


async def test_new_input_is_refused_with_the_open_questions(tmp_path: Path) -> None:
    await workflow(tmp_path, ONE).run("book it", thread_id="t")
    with pytest.raises(ThreadPaused) as refused:
        await workflow(tmp_path, ONE).run("something else", thread_id="t")
    assert [question.question for question in refused.value.questions] == ["how much?"]


async def test_a_refused_turn_leaves_the_thread_as_it_was(tmp_path: Path) -> None:
    await workflow(tmp_path, ONE).run("book it", thread_id="t")
    with pytest.raises(ThreadPaused):
        await workflow(tmp_path, ONE).run("something else", thread_id="t")
    result = await workflow(tmp_path, ONE).resume("t", 32)
    assert [message.text for message in result.messages] == ["book it", "booked"]


async def test_abandoning_starts_a_turn_that_knows_nothing_of_the_question(tmp_path: Path) -> None:
    await workflow(tmp_path, ONE).run("book it", thread_id="t")
    fresh = workflow(tmp_path, [call("resolve", value="fresh")])
    result = await fresh.run("something else", thread_id="t", abandon=True)
    assert (result.outcome, result.output, result.interrupts) == ("done", "fresh", ())
    assert list(await fresh.thread("t").interrupts()) == []
    assert [record.path for record in result.steps] == ["before", "asker"]


async def test_resuming_without_an_answer_names_the_questions(tmp_path: Path) -> None:
    await workflow(tmp_path, ONE).run("book it", thread_id="t")
    with pytest.raises(ThreadPaused, match="1 open question"):
        await workflow(tmp_path, ONE).resume("t")


async def test_two_questions_of_one_reply_are_both_shown_and_answered_by_id(tmp_path: Path) -> None:
    result = await workflow(tmp_path, TWO).run("book it", thread_id="t")
    asked = {question.question: question.id for question in result.interrupts}
    assert sorted(asked) == ["how much?", "when?"]
    done = await workflow(tmp_path, TWO).resume("t", {asked["when?"]: "today", asked["how much?"]: 3})
    assert [made.output for made in done.steps[-1].tool_calls] == ["the user says 3", "the user says today"]


async def test_two_questions_may_be_answered_one_by_one(tmp_path: Path) -> None:
    first = await workflow(tmp_path, TWO).run("book it", thread_id="t")
    asked = {question.question: question.id for question in first.interrupts}
    second = await workflow(tmp_path, TWO).resume("t", {asked["when?"]: "today"})
    assert [question.question for question in second.interrupts] == ["how much?"]
    done = await workflow(tmp_path, TWO).resume("t", {second.interrupts[0].id: 3})
    assert [made.output for made in done.steps[-1].tool_calls] == ["the user says 3", "the user says today"]


async def test_one_answer_for_two_questions_is_refused(tmp_path: Path) -> None:
    await workflow(tmp_path, TWO).run("book it", thread_id="t")
    with pytest.raises(PlaitError, match="answer by id"):
        await workflow(tmp_path, TWO).resume("t", 3)


async def test_a_finished_or_unknown_thread_has_nothing_to_resume(tmp_path: Path) -> None:
    made = workflow(tmp_path, [call("resolve", value="done")])
    await made.run("go", thread_id="t")
    with pytest.raises(NothingToResume, match="ended 'done'"):
        await made.resume("t")
    with pytest.raises(NothingToResume, match="has not run"):
        await made.resume("unknown")
