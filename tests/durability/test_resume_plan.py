"""What a resume would do, told before it is done."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from plait import LoopFlow, NothingToResume, RouterFlow, RunError, ToolRuntime, Workflow, WorkflowUnit, step
from plait.testing import ScriptedModel, call, text


def boom(snapshot: Any) -> str:
    raise ValueError("boom")


def ask(runtime: ToolRuntime) -> Any:
    """Ask."""
    return runtime.ask("sure?")


async def test_what_is_reused_and_what_runs_again() -> None:
    workflow = Workflow(step(lambda s: 1, id="a") >> step(boom, id="b") >> step(lambda s: 3, id="c"))
    with pytest.raises(RunError):
        await workflow.run("go", thread_id="t")
    plan = await workflow.thread("t").resume_plan()
    assert (plan.reused, plan.rerun, plan.in_doubt, plan.incompatible) == (("a",), ("b",), (), ())
    assert str(plan) == "thread t\n  reused: a\n  rerun: b"


@pytest.mark.parametrize("granularity", ["round", "unit"])
async def test_deep_down_with_its_question(granularity: Any) -> None:
    asker = WorkflowUnit("asker", tools=[ask])
    inner = step(lambda s: 1, id="x") >> asker
    flow = step(lambda s: 0, id="a") >> LoopFlow(
        RouterFlow(step(lambda s: "work", id="pick"), {"work": inner})
    )
    model = ScriptedModel({"asker": [call("ask"), call("resolve", value="done")]})
    workflow = Workflow(flow, model=model, granularity=granularity)
    await workflow.run("go", thread_id="t")
    plan = await workflow.thread("t").resume_plan()
    assert set(plan.reused) == {"a", "loop[1]/pick", "loop[1]/work/x"}
    assert [path.rpartition("/")[2] for path in plan.rerun] == ["asker"]
    assert [question.question for question in plan.questions] == ["sure?"]


async def test_a_definition_that_changed_is_told() -> None:
    saver = InMemorySaver()
    first = WorkflowUnit("a", answer="text")
    model = ScriptedModel({"a": [text("1")]})
    with pytest.raises(RunError):
        await Workflow(first >> step(boom, id="b"), model=model, checkpointer=saver).run("go", thread_id="t")
    changed = Workflow(
        first.with_(prompt="Other.") >> step(boom, id="b"), model=ScriptedModel({}), checkpointer=saver
    )
    plan = await changed.thread("t").resume_plan()
    assert plan.incompatible == ("a is defined differently now",)


async def test_a_thread_that_has_ended_well_has_no_plan() -> None:
    workflow = Workflow(step(lambda s: 1, id="a"))
    await workflow.run("go", thread_id="t")
    with pytest.raises(NothingToResume, match="ended 'done'"):
        await workflow.thread("t").resume_plan()
    with pytest.raises(NothingToResume, match="has not run anything yet"):
        await workflow.thread("other").resume_plan()
