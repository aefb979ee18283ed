"""Crash sweeps over workflows and foreign graphs: what is counted, compared and asked."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from plait import DefinitionError, ToolRuntime, Workflow, WorkflowUnit, step, tool
from plait.examples.chat import DEMO, chat_workflow
from plait.examples.chat import scripted_model as chat_model
from plait.testing import Effects, ScriptedModel, SweepError, call, crash_sweep, text

effects = Effects()


@tool(effect="unsafe")
def mail(to: str) -> str:
    """Write to somebody."""
    return str(effects.happen("mail", f"wrote to {to}", to=to))


def mailing() -> Workflow:
    model = ScriptedModel([call("mail", to="ann"), call("resolve", value="done")])
    return Workflow(WorkflowUnit("clerk", tools=[mail]), model=model)


def agent(*tools: Any, **options: Any) -> Any:
    """A plain LangGraph agent that mails twice at once, then once more."""
    script = [
        [call("mail", to="ann"), call("mail", to="bob")],
        text("Both."),
        call("mail", to="cy"),
        text("It."),
    ]
    model = ScriptedModel(script).bind_tools(tools)

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState).add_node("agent", ask).add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent").add_conditional_edges("agent", tools_condition)
    return builder.add_edge("tools", "agent").compile(**options)


def said(words: str) -> dict[str, Any]:
    return {"messages": [("user", words)]}


def test_a_report_reads_in_four_lines() -> None:
    report = crash_sweep(mailing(), "Go.", every=2)
    told = str(report).splitlines()
    assert told[:3] == [f"points: {report.points}", "differing: 0", "repeated probe/unsafe effects: 0"]
    assert told[3:] == [f"in doubt: {report.in_doubt}"]
    assert report.points > 20
    assert report.in_doubt > 0


def test_a_person_who_is_wrong_makes_an_effect_happen_twice_or_never() -> None:
    again = crash_sweep(mailing(), "Go.", in_doubt=lambda question, log: "run_again", every=3)
    assert {(each.tool, each.effect) for each in again.repeated} == {("mail", "unsafe")}
    assert "mail (unsafe) repeated" in str(again)
    never = crash_sweep(mailing(), "Go.", in_doubt=lambda question, log: "skip", every=3)
    assert not never.repeated
    assert any("did not happen" in each.told for each in never.differing)


def test_effects_of_a_plain_langgraph_agent_are_seen_to_repeat() -> None:
    report = crash_sweep(agent(mail), said("Write."))
    assert report.differing == ()
    assert [(each.tool, each.effect) for each in report.repeated] == [("mail", "unsafe")]
    assert report.repeated_once_only == report.repeated[0].times > 0


def test_a_graph_may_have_several_turns_and_a_store() -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore

    graph = agent(mail, checkpointer=InMemorySaver(), store=InMemoryStore())
    report = crash_sweep(graph, tasks=[said("Write."), said("One more.")], every=4)
    assert report.differing == ()
    assert report.points > 10


def test_a_graph_that_asks_is_answered_in_each_life() -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", interrupt("may I?"))]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile()
    assert crash_sweep(graph, said("Go."), answer=lambda question: f"{question} yes").is_safe
    with pytest.raises(SweepError, match="say what is answered"):
        crash_sweep(graph, said("Go."))


def test_a_workflow_that_asks_is_answered_in_each_life() -> None:
    def ask(runtime: ToolRuntime) -> str:
        """Ask somebody."""
        return str(runtime.ask("may I?"))

    model = ScriptedModel([call("ask"), call("resolve", value="done")])
    workflow = Workflow(WorkflowUnit("clerk", tools=[tool(effect="read")(ask)]), model=model)
    report = crash_sweep(workflow, "Go.", answer=lambda question: "yes", every=7)
    assert report.is_safe, report
    assert report.in_doubt == 0


def test_a_run_that_fails_fails_alike_wherever_it_dies() -> None:
    def broken(snapshot: object) -> None:
        raise ValueError("broken")

    report = crash_sweep(Workflow(step(broken)), "Go.", every=2, may_fail=True)
    assert report.is_safe, report


def test_a_run_that_only_fails_says_nothing_of_crashes() -> None:
    def broken(snapshot: object) -> None:
        raise ValueError("broken")

    with pytest.raises(SweepError, match=r"the unbroken run fails.*broken"):
        crash_sweep(Workflow(step(broken)), "Go.", every=2)


def test_what_is_made_for_a_folder_may_keep_files_there() -> None:
    def make(folder: Path) -> Workflow:
        assert folder.is_dir()
        return mailing()

    assert crash_sweep(make, "Go.", every=9).is_safe


def test_a_state_that_depends_on_the_crash_is_found() -> None:
    def count(snapshot: object) -> str:
        before = len(effects.all())
        effects.happen("count")
        return "again" if before else "first"

    report = crash_sweep(Workflow(step(count)), "Go.")
    assert "'again'" in report.differing[0].told
    assert "'first'" in report.differing[0].told
    assert "killed after the effect of count" in str(report)


def test_two_unbroken_runs_that_differ_are_refused() -> None:
    async def chance(snapshot: object) -> float:
        return random.SystemRandom().random()

    with pytest.raises(SweepError, match=r"two unbroken runs differ.*output"):
        crash_sweep(Workflow(step(chance)), "Go.")


def test_a_run_that_hangs_is_ended() -> None:
    async def hang(snapshot: object) -> None:
        await asyncio.sleep(60)

    with pytest.raises(SweepError, match="did not end within 1 s"):
        crash_sweep(Workflow(step(hang)), "Go.", timeout_s=1)


@pytest.mark.parametrize(
    ("given", "options", "told"),
    [
        (mailing, {}, "give a task"),
        (mailing, {"task": "Go.", "tasks": ["Go."]}, "give a task"),
        (lambda: lambda folder: "nothing", {"task": "Go."}, "str cannot be swept"),
        (lambda: StateGraph(dict), {"task": "Go."}, "the graph is not compiled"),
    ],
)
def test_what_cannot_be_swept_is_refused(given: Any, options: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        crash_sweep(given(), **options)


def test_a_chat_of_several_turns_loses_no_message_and_no_answer() -> None:
    turns = DEMO.read_text(encoding="utf-8").splitlines()[:3]
    report = crash_sweep(chat_workflow(chat_model()), tasks=turns, every=9)
    assert report.differing == ()
    assert report.points > 10


def test_a_log_of_effects_is_one_for_all_who_name_its_file(tmp_path: Path) -> None:
    Effects(tmp_path / "log").happen("mail", {"sent": 1}, to="ann")
    other = Effects(tmp_path / "log")
    assert other.result("mail", to="ann") == {"sent": 1}
    assert other.result("mail", to="bob") is None
    assert [(each.tool, each.args) for each in other.all()] == [("mail", {"to": "ann"})]


async def test_a_sweep_may_be_called_where_a_loop_is_running() -> None:
    assert crash_sweep(mailing(), "Go.", every=9).is_safe
