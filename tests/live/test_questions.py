"""Questions from tools, steps, stages and foreign graphs: each with its id and path, answered anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from plait import (
    ParallelFlow,
    PlaitError,
    Snapshot,
    ThreadPaused,
    ToolRuntime,
    Workflow,
    WorkflowUnit,
    ask,
    langgraph_adapter,
    step,
)
from plait.core.ports import Plane, Question
from plait.nodes.approvals import check_answer
from plait.testing import ScriptedModel, call, text

PROGRAM = Path(__file__).parent / "programs" / "questions.py"


def in_another_process(url: str, *arguments: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), url, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.parametrize("together", [True, False])
def test_a_thread_that_one_process_paused_is_answered_in_others(lasting_url: str, together: bool) -> None:
    told = in_another_process(lasting_url, "ask")
    assert [(path.split("/")[-1], kind) for _, path, kind in told["asked"]] == [
        ("check", "question"),
        ("clerk", "approval"),
        ("clerk", "question"),
    ]
    replies = {key: "mei" if kind == "approval" else "yes" for key, _, kind in told["asked"]}
    given = [f"{key}={reply}" for key, reply in replies.items()]
    for answers in [given] if together else [[answer] for answer in reversed(given)]:
        told = in_another_process(lasting_url, *answers)
    assert told["asked"] == []
    assert told["output"]["parallel"] == {"clerk": "booked", "check": "checked: yes"}


def asks(snapshot: Snapshot) -> str:
    return f"heard {ask('a step?')}"


def asks_langgraph(snapshot: Snapshot) -> str:
    return f"heard {interrupt('LangGraph?')}"


@pytest.mark.parametrize("function", [asks, asks_langgraph])
async def test_a_step_asks_with_its_path(saver_url: Any, function: Any) -> None:
    workflow = Workflow(ParallelFlow(step(function, id="one"), step(asks, id="two")), checkpointer=saver_url)
    paused = await workflow.run("go", thread_id="t")
    assert [question.path for question in paused.interrupts] == ["one", "two"]
    assert paused.interrupts[1].question == "a step?"
    still = await workflow.resume("t", {paused.interrupts[1].id: "two"})
    assert [question.path for question in still.interrupts] == ["one"]
    done = await workflow.resume("t", "one")
    assert done.output == {"one": "heard one", "two": "heard two"}


async def test_a_step_cannot_swallow_its_pause() -> None:
    def careless(snapshot: Snapshot) -> str:
        try:
            return f"heard {ask('really?')}"
        except Exception:
            return "never mind"

    workflow = Workflow(step(careless))
    assert (await workflow.run("go", thread_id="t")).outcome == "paused"
    done = await workflow.resume("t", "yes")
    assert done.output == "heard yes"
    kept = [(m.type, m.path) for m in done.bus if m.type.startswith("hitl")]
    assert kept == [("hitl-request", "careless"), ("hitl-response", "careless")]


def foreign(ask_with: Any) -> Any:
    """A graph by somebody else, whose second node asks."""

    async def one(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "one")]}

    def two(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"two {ask_with('two?')}")]}

    builder: Any = StateGraph(MessagesState).add_node("one", one).add_node("two", two)
    builder.add_edge(START, "one").add_edge("one", "two").add_edge("two", END)
    return builder.compile()


@pytest.mark.parametrize("ask_with", [ask, interrupt])
async def test_nodes_of_a_foreign_graph_ask_with_the_path_of_their_unit(
    saver_url: Any, ask_with: Any
) -> None:
    units = [WorkflowUnit(name, adapter=langgraph_adapter(foreign(ask_with))) for name in ("left", "right")]
    workflow = Workflow(ParallelFlow(ParallelFlow(*units, id="both")), checkpointer=saver_url)
    paused = await workflow.run("go", thread_id="t")
    assert [q.path.split("/")[-1] for q in paused.interrupts] == ["left", "right"]
    assert [q.question for q in paused.interrupts] == ["two?", "two?"]
    done = await workflow.resume("t", {q.id: q.path[-1] for q in paused.interrupts})
    assert done.output == {"both": {"left": "two t", "right": "two t"}}


async def test_a_stage_of_the_plane_asks(saver_url: Any) -> None:
    async def only_after_asking(snapshot: Snapshot) -> Snapshot:
        return replace(snapshot, task=f"{snapshot.task}, {ask('may it?')}")

    unit = WorkflowUnit("unit", output=str, answer="text")
    model = ScriptedModel([text("done")])
    workflow = Workflow(unit, model=model, plane=Plane(pre_hooks=only_after_asking), checkpointer=saver_url)
    paused = await workflow.run("go", thread_id="t")
    assert [(q.path, q.question) for q in paused.interrupts] == [("unit", "may it?")]
    assert model.requests == []
    assert (await workflow.resume("t", "it may")).output == "done"
    assert "go, it may" in model.requests[0].user


async def test_a_question_in_agent_inbox_form_stays_in_it() -> None:
    request = {
        "action_request": {"action": "Read this", "args": {}},
        "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": False, "allow_accept": False},
        "description": "A letter.",
    }

    def read(runtime: ToolRuntime) -> str:
        """Have it read."""
        return str(runtime.ask([request]))

    model = ScriptedModel([call("read"), call("resolve", value="ended")])
    workflow = Workflow(WorkflowUnit("unit", output=str, tools=[read]), model=model)
    paused = await workflow.run("go", thread_id="t")
    assert paused.interrupts[0].question == [request]
    assert paused.interrupts[0].path == "unit"
    raw = (await workflow.thread("t").history())[0].snapshot.interrupts[0].value
    assert raw[0]["action_request"] == request["action_request"]
    await workflow.resume("t", [{"type": "response", "args": "read"}])
    assert "read" in model.requests[-1].messages[-1].content


async def test_new_input_and_missing_answers_are_refused() -> None:
    workflow = Workflow(step(asks))
    await workflow.run("go", thread_id="t")
    with pytest.raises(ThreadPaused):
        await workflow.resume("t")
    with pytest.raises(PlaitError, match="no id of an open question"):
        await workflow.resume("t", {"nonsense": "yes"})
    assert (await workflow.resume("t", "yes")).output == "heard yes"


@pytest.mark.parametrize(
    ("answer", "fits"),
    [("run_again", True), ("skip", True), ({"happened": 3}, True), ("yes", False), ({"happend": 3}, False)],
)
def test_what_became_of_a_call_has_three_answers(answer: Any, fits: bool) -> None:
    question = Question("id", "unit", {}, "in-doubt")
    if fits:
        check_answer(question, answer)
    else:
        with pytest.raises(PlaitError, match="run_again"):
            check_answer(question, answer)


def test_asking_where_nobody_can_answer_says_so() -> None:
    with pytest.raises(PlaitError, match="outside a run"):
        ask("hello?")
