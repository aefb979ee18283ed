"""SequentialFlow: order, what flows on, early ends, skipped parts, failures, and flattening."""

from __future__ import annotations

from typing import Any

import pytest

from plait import (
    DefinitionError,
    Finish,
    LoopFlow,
    RunError,
    SequentialFlow,
    Skip,
    Snapshot,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel, call, fail, text

a, b, c = (WorkflowUnit(name, prompt=f"Do {name}.", answer="text") for name in "abc")
SAYS = {name: [text(f"{name} said")] for name in "abc"}


def one(snapshot: Snapshot) -> int:
    return 1


def add_one(snapshot: Snapshot) -> int:
    return int(snapshot.output or 0) + 1


def nothing(snapshot: Snapshot) -> Skip:
    return Skip("not today")


def stop(snapshot: Snapshot) -> Finish:
    return Finish("stopped")


def broken(snapshot: Snapshot) -> None:
    raise ValueError("broken")


def never(snapshot: Snapshot) -> bool:
    return False


async def test_parts_run_in_order_and_the_last_output_is_the_result() -> None:
    model = ScriptedModel(SAYS)
    result = await Workflow(a >> b >> c, model=model).run("go")
    assert [record.path for record in result.steps] == ["a", "b", "c"]
    assert (result.outcome, result.output, result.completed_units) == ("done", "c said", ("a", "b", "c"))
    model.check()


async def test_a_unit_sees_the_task_and_its_direct_predecessor_alone() -> None:
    model = ScriptedModel(SAYS)
    await Workflow(a >> b >> c, model=model).run("go")
    assert [request.user for request in model.requests] == [
        "go",
        "go\n\nOutput of a:\na said",
        "go\n\nOutput of b:\nb said",
    ]


async def test_a_unit_may_ask_to_see_all_steps() -> None:
    model = ScriptedModel(SAYS)
    await Workflow(a >> b >> c.with_(sees="all-steps"), model=model).run("go")
    assert "a said" in model.requests[-1].user
    assert "b said" in model.requests[-1].user


async def test_a_skipped_part_lets_through_what_flowed_into_it() -> None:
    result = await Workflow(step(one) >> nothing >> step(add_one)).run("go")
    assert (result.output, [record.status for record in result.steps]) == (2, ["done", "skipped", "done"])


async def test_a_part_whose_condition_does_not_hold_is_skipped_without_running() -> None:
    model = ScriptedModel({"a": [text("a said")], "c": [text("c said")]})
    result = await Workflow(a >> b.with_(when=never) >> c, model=model).run("go")
    assert [record.status for record in result.steps] == ["done", "skipped", "done"]
    assert result.completed_units == ("a", "c")


async def test_a_sequence_whose_parts_were_all_skipped_is_done_with_nothing() -> None:
    result = await Workflow(step(nothing) >> nothing).run("go")
    assert (result.outcome, result.output) == ("done", None)


async def test_finish_ends_the_workflow_with_its_output() -> None:
    result = await Workflow(step(one) >> stop >> a, model=ScriptedModel([])).run("go")
    assert (result.outcome, result.output) == ("done", "stopped")


async def test_finish_in_a_nested_sequence_ends_the_outer_one_too() -> None:
    inner = SequentialFlow(one, stop, id="inner")
    result = await Workflow(inner >> step(add_one)).run("go")
    assert (result.output, [record.path for record in result.steps]) == (
        "stopped",
        ["inner/one", "inner/stop"],
    )


async def test_a_failed_part_stops_the_sequence_and_is_named() -> None:
    model = ScriptedModel({"a": [text("a said")], "b": [fail(ConnectionError("no line"))]})
    with pytest.raises(RunError, match="no line") as failed:
        await Workflow(a >> b >> c, model=model).run("go")
    result = failed.value.result
    assert (failed.value.path, failed.value.reason) == ("b", "provider")
    assert [(record.path, record.status) for record in result.steps] == [("a", "done"), ("b", "failed")]


async def test_a_failed_step_of_a_nested_flow_is_named_by_its_whole_path() -> None:
    inner = SequentialFlow(one, broken, id="inner")
    with pytest.raises(RunError, match="ValueError: broken") as failed:
        await Workflow(inner >> step(one)).run("go")
    assert (failed.value.path, failed.value.reason) == ("inner/broken", "error")


async def test_a_partial_part_makes_the_sequence_partial_and_later_parts_still_run() -> None:
    loop = LoopFlow(step(one), max_iterations=2, until=never, id="loop")
    result = await Workflow(loop >> step(add_one)).run("go")
    assert (result.outcome, result.reason, result.output) == ("partial", "exhausted", 2)


async def test_a_part_may_stand_twice() -> None:
    model = ScriptedModel({"a": [text("first"), text("second")]})
    result = await Workflow(a.with_(memory="none") >> a.with_(memory="none"), model=model).run("go")
    assert [(record.path, record.output) for record in result.steps] == [("a", "first"), ("a~2", "second")]


async def test_the_second_standing_of_a_unit_does_not_see_the_transcript_of_the_first() -> None:
    model = ScriptedModel({"a": [text("first"), text("second")]})
    await Workflow(a >> a, model=model).run("go")
    assert [message.type for message in model.requests[1].messages] == ["system", "human"]


def test_sequences_flatten_but_for_those_that_have_something_of_their_own() -> None:
    assert (a >> b) >> c == a >> (b >> c) == SequentialFlow(a, b, c)
    named = SequentialFlow(b, c, id="named")
    assert (a >> named).steps == (a, named)
    assert (a >> SequentialFlow(b, when=never)).steps[1].when is never


def test_sequences_are_values_with_a_readable_form() -> None:
    assert repr(a >> b) == "SequentialFlow(WorkflowUnit('a'), WorkflowUnit('b'))"
    assert len({a >> b, SequentialFlow(a, b)}) == 1
    assert (a >> b).with_(id="s") == SequentialFlow(a, b, id="s")


@pytest.mark.parametrize("part", [3, "a", WorkflowUnit, None])
def test_what_is_no_part_is_refused(part: Any) -> None:
    with pytest.raises(DefinitionError, match="cannot stand in a flow"):
        a >> part


async def test_a_step_alone_is_a_workflow_and_needs_no_model() -> None:
    assert (await Workflow(step(one)).run("go")).output == 1
    assert (await Workflow(one).run("go")).output == 1


async def test_a_resolved_output_flows_on_as_compact_json() -> None:
    typed = WorkflowUnit("typed", output=dict[str, int])
    model = ScriptedModel({"typed": [call("resolve", {"value": {"x": 1}})], "b": [text("ok")]})
    result = await Workflow(typed >> b, model=model).run("go")
    assert result.steps[0].output == {"x": 1}
    assert '{"x":1}' in model.requests[1].user.replace(" ", "")
