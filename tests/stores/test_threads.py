"""What a thread promises, over every kind of saver: the same with a new Workflow object for each step."""

from typing import Any

import pytest

from plait import (
    LoopFlow,
    NothingToResume,
    RouterFlow,
    RunError,
    ThreadPaused,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
)
from plait.testing import ScriptedModel, call, fail, text

effects: list[str] = []


def effect(name: str, runtime: ToolRuntime) -> str:
    """Do something that must not be done twice."""
    effects.append(name)
    runtime.shared.set(name, True)
    return f"did {name}"


def ask(question: str, runtime: ToolRuntime) -> str:
    """Ask the user."""
    return f"the user says {runtime.ask(question)}"


a, b = (WorkflowUnit(name, tools=[effect, ask]) for name in "ab")
chat = WorkflowUnit("chat", answer="text", conversation=True)
A = [call("effect", name="a"), call("resolve", value="a is done")]
B = [call("effect", name="b"), call("resolve", value="b is done")]
PICK = [call("resolve", value="work")]
flows = {
    "flat": a >> b,
    "nested": LoopFlow(RouterFlow(WorkflowUnit("pick"), {"work": a >> b, "rest": WorkflowUnit("rest")})),
}


@pytest.fixture(autouse=True)
def _no_effects_yet() -> None:
    effects.clear()


@pytest.fixture(params=["flat", "nested"])
def flow(request: pytest.FixtureRequest) -> Any:
    return flows[request.param]


def workflow(flow: Any, saver: Any, **replies: Any) -> Workflow:
    return Workflow(flow, model=ScriptedModel({"pick": PICK, **replies}), checkpointer=saver)


async def test_the_main_flow_runs_and_is_found_again(flow: Any, saver_url: Any) -> None:
    result = await workflow(flow, saver_url, a=A, b=B).run("go", thread_id="t")
    found = await workflow(flow, saver_url).thread("t").result()
    assert (result.outcome, found.outcome, found.output) == ("done", "done", "b is done")
    assert [step.path for step in found.steps] == [step.path for step in result.steps]
    assert found.state == {"a": True, "b": True}


async def test_a_second_turn_sees_what_was_said_and_no_result_of_the_first(saver_url: Any) -> None:
    await workflow(chat, saver_url, chat=[text("hello")]).run("one", thread_id="t")
    model = ScriptedModel({"chat": [text("hello again")]})
    result = await Workflow(chat, model=model, checkpointer=saver_url).run("two", thread_id="t")
    assert [message.text for message in model.requests[0].messages] == ["one", "hello", "two"]
    assert [step.output for step in result.steps] == ["hello again"]
    assert [message.text for message in result.messages] == ["one", "hello", "two", "hello again"]


async def test_threads_do_not_see_each_other(saver_url: Any) -> None:
    made = workflow(chat, saver_url, chat=[text("hello"), text("hi")])
    await made.run("one", thread_id="t")
    other = await made.run("two", thread_id="u")
    assert [message.text for message in other.messages] == ["two", "hi"]


async def test_a_failed_thread_goes_on_from_the_unit_that_failed(flow: Any, saver_url: Any) -> None:
    with pytest.raises(RunError, match="the line is dead"):
        await workflow(flow, saver_url, a=A, b=[B[0], fail(ConnectionError("the line is dead"))]).run(
            "go", thread_id="t"
        )
    result = await workflow(flow, saver_url, b=B).resume("t")
    assert (result.outcome, result.output, effects) == ("done", "b is done", ["a", "b"])


async def test_a_paused_thread_goes_on_with_its_answer(flow: Any, saver_url: Any) -> None:
    replies = [call("ask", question="how much?"), call("resolve", value="booked")]
    paused = await workflow(flow, saver_url, a=A, b=replies).run("go", thread_id="t")
    assert [question.question for question in paused.interrupts] == ["how much?"]
    with pytest.raises(ThreadPaused, match="1 open question"):
        await workflow(flow, saver_url).run("something else", thread_id="t")
    result = await workflow(flow, saver_url, b=replies).resume("t", 32)
    assert (result.output, effects) == ("booked", ["a"])
    assert result.steps[-1].tool_calls[0].output == "the user says 32"


async def test_two_questions_are_answered_one_by_one(saver_url: Any) -> None:
    replies = [
        [call("ask", question="how much?"), call("ask", question="when?")],
        call("resolve", value="booked"),
    ]
    first = await workflow(a, saver_url, a=replies).run("go", thread_id="t")
    asked = {question.question: question.id for question in first.interrupts}
    second = await workflow(a, saver_url, a=replies).resume("t", {asked["when?"]: "today"})
    done = await workflow(a, saver_url, a=replies).resume("t", {second.interrupts[0].id: 3})
    assert [made.output for made in done.steps[-1].tool_calls] == ["the user says 3", "the user says today"]


async def test_a_cancelled_thread_can_be_resumed(saver_url: Any) -> None:
    slow = ScriptedModel({"a": A, "b": B}, delay_s=lambda request: 30 if request.unit == "b" else 0)
    run = Workflow(a >> b, model=slow, checkpointer=saver_url).start("go", thread_id="t")
    async for event in run.events():
        if (event.type, event.path) == ("message_start", "b"):
            break
    await run.cancel()
    result = await workflow(a >> b, saver_url, b=B).resume("t")
    assert (result.output, effects) == ("b is done", ["a", "b"])


async def test_a_finished_or_unknown_thread_has_nothing_to_resume(saver_url: Any) -> None:
    made = workflow(a, saver_url, a=A)
    await made.run("go", thread_id="t")
    with pytest.raises(NothingToResume, match="ended 'done'"):
        await made.resume("t")
    with pytest.raises(NothingToResume, match="has not run"):
        await made.resume("unknown")


async def test_history_is_listed_newest_first(saver_url: Any) -> None:
    made = workflow(a, saver_url, a=A)
    await made.run("go", thread_id="t")
    history = await made.thread("t").history()
    assert history[0].snapshot.values["outcome"] == "done"
    assert [point.time for point in history] == sorted((point.time for point in history), reverse=True)
    assert len(await made.thread("t").history(2)) == 2
