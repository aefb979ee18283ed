"""The tree of a live run: folded from the events of real runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from plait import (
    Event,
    LoopFlow,
    ParallelFlow,
    RouterFlow,
    RunResult,
    Workflow,
    WorkflowUnit,
    ask,
    field,
    step,
    tool,
)
from plait.examples.code_review import DEMO_DIFF, DEMO_REPOSITORY, unpack
from plait.examples.plan_execute import DEMO, answering_workflow, plan_and_execute
from plait.examples.plan_execute import scripted_model as plays_plans
from plait.examples.review.diff import numbered, read_diff
from plait.examples.review.repository import Repository
from plait.examples.review.scripted import scripted_model
from plait.examples.review.units import code_review, review_workflow
from plait.testing import ScriptedModel, call, fail, text
from plait.view import Drawing, LiveTree
from plait.view.marks import standing

one, two = (WorkflowUnit(name, answer="text") for name in ("one", "two"))


async def events_of(workflow: Workflow, task: str = "go", **options: Any) -> list[Event]:
    return [event async for event in workflow.stream(task, **options)]


async def ended(flow: Any, script: Any, **options: Any) -> LiveTree:
    """The tree of a run that has ended."""
    events = await events_of(Workflow(flow, model=ScriptedModel(script)), **options)
    return LiveTree.of(flow).after(*events)


def lines(tree: LiveTree) -> list[str]:
    return [f"{'  ' * row.depth}{row.node.name} {row.node.status}" for row in tree.rows]


def trees(flow: Any, events: Sequence[Event]) -> list[LiveTree]:
    """The tree after each event."""
    found = [LiveTree.of(flow)]
    for event in events:
        found.append(found[-1].after(event))
    return found


@pytest.fixture
async def review(tmp_path: Path) -> list[Event]:
    unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), tmp_path)
    task = numbered(read_diff(DEMO_DIFF.read_text(encoding="utf-8")))
    workflow = review_workflow(scripted_model())
    return await events_of(workflow, task, context=Repository(tmp_path))


async def test_a_code_review_ends_as_its_result_says(review: list[Event]) -> None:
    tree = LiveTree.of(code_review).after(*review)
    result: RunResult = review[-1].result
    assert lines(tree) == [
        "triage done",
        "quick skipped",
        "deep done",
        "  plan done",
        "  security[1] done",
        "    actor done",
        "    evaluator done",
        "  security[2] done",
        "    actor done",
        "    evaluator done",
        "  performance done",
        "  architecture done",
        "  bugs done",
        "  report done",
    ]
    assert (tree.tokens, tree.model_calls) == (result.usage.tokens, result.usage.model_calls)
    assert tree.run.status == "done"
    assert tree.is_over
    assert not tree.running


async def test_what_events_say_is_what_the_result_says(review: list[Event]) -> None:
    before_the_last = LiveTree.of(code_review).after(*review[:-1])
    assert {n.path: (n.model_calls, n.tool_calls, n.tokens) for n in before_the_last.leaves} == {
        s.path: (s.usage.model_calls, s.usage.tool_calls, s.usage.tokens) for s in review[-1].result.steps
    }


async def test_many_events_at_once_are_as_many_one_by_one(review: list[Event]) -> None:
    assert trees(code_review, review)[-1] == LiveTree.of(code_review).after(*review)


async def test_at_each_moment_the_tree_is_whole(review: list[Event]) -> None:
    for tree in trees(code_review, review)[::7]:
        rows = [row.node for row in tree.rows]
        assert {node.path for node in tree.leaves} <= {node.path for node in rows}
        assert {code_place for code_place in tree.places if code_place.startswith("deep/")} <= {
            tree.place_of(node) for node in rows if tree.place_of(node)
        } | {tree.place_of(node) for node in tree.leaves}
        assert len({node.path for node in rows}) == len(rows)
        assert sum(node.tokens for node in rows if node.kind != "flow") == tree.tokens


async def test_running_units_show_their_tool_and_text(review: list[Event]) -> None:
    found = trees(code_review, review)
    seen = {(node.path, node.tool) for tree in found for node in tree.running if node.tool}
    assert ("deep/security[2]/actor", "read_file") in seen
    assert ("deep/bugs", "search") in seen
    written = {(node.path, node.writing) for tree in found for node in tree.running if node.writing}
    assert {("deep/bugs", "search"), ("deep/report", "resolve")} <= written
    together = max(len(tree.running) for tree in found)
    assert together == 3


async def test_reflexion_waits_in_the_pass_that_runs(review: list[Event]) -> None:
    number = next(n for n, e in enumerate(review) if e.path == "deep/security[1]/actor")
    tree = LiveTree.of(code_review).after(*review[: number + 1])
    assert lines(tree)[4:7] == ["  security[1] running", "    actor running", "    evaluator waiting"]


async def test_a_picture_shows_how_each_part_stands(review: list[Event]) -> None:
    number = next(n for n, e in enumerate(review) if e.path == "deep/security[2]/actor")
    drawing = Drawing(code_review)
    found = standing(drawing._picture, LiveTree.of(code_review).after(*review[: number + 1]))
    assert found["deep/security/actor"] == "running"
    assert found["deep/security/evaluator"] == "done"
    assert (found["deep/security"], found["deep"], found[""]) == ("running", "running", "running")
    assert (found["deep/bugs"], found["quick"]) == ("waiting", "waiting")


async def test_text_is_kept_as_it_is_written() -> None:
    flow = WorkflowUnit("writer", answer="text")
    events = await events_of(Workflow(flow, model=ScriptedModel([text("word " * 200)])))
    tails = [tree.at("writer").text for tree in trees(flow, events)]
    assert max(map(len, tails)) == 400
    assert tails[-1].endswith("word word ")


async def test_planned_steps_stand_at_their_executor() -> None:
    workflow = answering_workflow(plays_plans())
    tree = LiveTree.of(plan_and_execute).after(*await events_of(workflow, DEMO))
    assert tree.at("large/calculator").status == "done"
    assert {tree.place_of(node) for node in tree.leaves} <= {*tree.places}
    assert any(node.path.startswith("large/s") for node in tree.leaves)


async def test_items_of_a_map_are_rows_of_their_own() -> None:
    words = step(lambda snapshot: str(snapshot.task).split(), id="words")
    flow = words >> ParallelFlow.map(one, over=lambda snapshot: snapshot.output)
    tree = await ended(flow, lambda request: text("x"), task="a b")
    assert lines(tree) == ["words done", "one{0} done", "one{1} done"]
    assert tree.rows[0].node.kind == "step"


async def test_passes_of_a_root_loop_are_rows() -> None:
    flow = LoopFlow(
        WorkflowUnit("try", output=int), max_iterations=3, until=lambda snapshot: snapshot.output > 1
    )
    tree = await ended(flow, [call("resolve", value=1), call("resolve", value=2)])
    assert lines(tree) == ["try[1] done", "try[2] done"]


async def test_a_unit_alone_is_a_tree_too() -> None:
    waiting = LiveTree.of(one)
    assert lines(waiting) == ["one waiting"]
    assert lines(await ended(one, [text("x")])) == ["one done"]


async def test_a_paused_run_is_paused_where_it_asks() -> None:
    def sign() -> str:
        """Sign."""
        return str(ask("May I?"))

    asks = WorkflowUnit("asks", answer="text", tools=[tool(sign, effect="read")])
    tree = await ended(one >> asks >> two, {"one": [text("x")], "asks": [call("sign")]})
    assert lines(tree) == ["one done", "asks paused", "two waiting"]
    assert tree.run.status == "paused"


async def test_a_resumed_run_knows_what_ran_before() -> None:
    flow = one >> two
    workflow = Workflow(flow, model=ScriptedModel({"one": [text("x")], "two": [fail(OSError("down"))]}))
    first = (await events_of(workflow, thread_id="t"))[-1].result
    tree = LiveTree.of(flow).knowing(first.steps)
    assert lines(tree) == ["one done", "two failed"]
    assert not tree.is_over
    assert tree.at("two").error == "down"


async def test_a_failed_run_says_where_and_why() -> None:
    tree = await ended(RouterFlow(one, {"a": two}), {"one": [call("resolve", value="zzz")] * 3})
    assert lines(tree) == ["one failed", "a waiting"]
    assert tree.run.status == "failed"
    assert tree.at("one").reason == "invalid-resolve"


async def test_a_cancelled_run_leaves_nothing_running() -> None:
    workflow = Workflow(one >> two, model=ScriptedModel(lambda request: text("x"), delay_s=30))
    run = workflow.start("go")
    tree = LiveTree.of(one >> two)
    async for event in run.events():
        tree = tree.after(event)
        if event.type == "message_start":
            break
    assert [node.path for node in tree.running] == ["one"]
    await run.cancel()
    tree = tree.after(*[event async for event in run.events(after=event.sequence)])
    assert lines(tree) == ["one cancelled", "two waiting"]


async def test_skipped_parts_and_steps_are_told_by_the_result() -> None:
    flow = one >> two.with_(when=field("go") == 1) >> step(lambda snapshot: 3, id="last")
    tree = await ended(flow, {"one": [text("x")]}, state={"go": 0})
    assert lines(tree) == ["one done", "two skipped", "last done"]


async def test_a_tree_that_knows_no_flow_shows_what_has_begun() -> None:
    events = await events_of(Workflow(one >> two, model=ScriptedModel(lambda request: text("x"))))
    assert lines(LiveTree().after(*events[:2])) == ["one running"]
    assert lines(LiveTree().after(*events)) == ["one done", "two done"]


async def test_time_runs_until_the_end() -> None:
    events = await events_of(Workflow(one, model=ScriptedModel([text("x")])))
    begun = LiveTree.of(one).after(*events[:2])
    assert begun.at("one").elapsed_s(events[1].time + 5) == 5
    over = LiveTree.of(one).after(*events)
    assert over.at("one").elapsed_s(events[1].time + 500) < 400
    assert LiveTree.of(one).at("one").elapsed_s(9.0) == 0
