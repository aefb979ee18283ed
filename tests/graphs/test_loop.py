"""LoopFlow: until it is good, a bound on passes, what is kept, and what a pass sees of the one before."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from plait import (
    DefinitionError,
    Finish,
    LoopFlow,
    RunError,
    Skip,
    Snapshot,
    Workflow,
    WorkflowUnit,
    field,
    step,
)
from plait.testing import ScriptedModel, call, text


class Draft(BaseModel):
    text: str
    score: int


writer = WorkflowUnit("writer", output=Draft, prompt="Write.")


def drafts(*scores: int) -> ScriptedModel:
    return ScriptedModel([call("resolve", text=f"draft {score}", score=score) for score in scores])


def passes(snapshot: Snapshot) -> int:
    return len([record for record in snapshot.steps if record.status == "done"])


def never(snapshot: Snapshot) -> bool:
    return False


async def test_it_stops_when_the_output_is_good_enough() -> None:
    model = drafts(3, 9, 5)
    result = await Workflow(LoopFlow(writer, until=field("score") >= 8), model=model).run("go")
    assert (result.outcome, result.accepted, result.output.score) == ("done", True, 9)
    assert [record.path for record in result.steps] == ["writer[1]", "writer[2]"]


async def test_without_a_condition_it_stops_at_the_first_pass_that_is_done() -> None:
    result = await Workflow(LoopFlow(writer), model=drafts(1)).run("go")
    assert [record.path for record in result.steps] == ["writer[1]"]


async def test_used_up_passes_are_partial_and_keep_the_last_output() -> None:
    result = await Workflow(
        LoopFlow(writer, max_iterations=3, until=field("score") >= 8), model=drafts(1, 5, 2)
    ).run("go")
    assert (result.outcome, result.reason, result.accepted) == ("partial", "exhausted", False)
    assert result.output.score == 2
    assert "3 passes" in result.message


@pytest.mark.parametrize("best", [field("score"), lambda draft: draft.score])
async def test_used_up_passes_keep_the_best_output_when_they_can_be_ranked(best: Any) -> None:
    loop = LoopFlow(writer, max_iterations=3, until=field("score") >= 8, best=best)
    assert (await Workflow(loop, model=drafts(1, 5, 2)).run("go")).output.score == 5


async def test_a_pass_sees_the_output_of_the_one_before_and_goes_on_with_its_transcript() -> None:
    model = drafts(1, 9)
    await Workflow(LoopFlow(writer, until=field("score") >= 8), model=model).run("go")
    assert [message.type for message in model.requests[1].messages] == [
        "system",
        "human",
        "ai",
        "tool",
        "human",
    ]
    assert "draft 1" in model.requests[1].user


async def test_a_unit_without_memory_starts_each_pass_afresh() -> None:
    model = drafts(1, 9)
    await Workflow(LoopFlow(writer.with_(memory="none"), until=field("score") >= 8), model=model).run("go")
    assert [message.type for message in model.requests[1].messages] == ["system", "human"]
    assert model.requests[1].user.startswith("go")


async def test_finish_ends_this_loop_only() -> None:
    def stop(snapshot: Snapshot) -> Finish:
        return Finish("enough")

    inner = LoopFlow(step(passes) >> stop, max_iterations=5, until=never, id="inner")
    result = await Workflow(inner >> step(lambda s: f"{s.output}, and on", id="after")).run("go")
    assert (result.outcome, result.output) == ("done", "enough, and on")


async def test_a_loop_in_a_loop_counts_its_own_passes() -> None:
    inner = LoopFlow(step(passes, id="one"), max_iterations=2, until=never)
    outer = LoopFlow(inner, max_iterations=2, until=never)
    result = await Workflow(outer).run("go")
    assert len({record.path for record in result.steps}) == 4
    assert [record.output for record in result.steps] == [0, 1, 2, 3]


async def test_a_loop_over_a_sequence_repeats_all_of_it() -> None:
    loop = LoopFlow(step(lambda s: 1, id="x") >> step(lambda s: 2, id="y"), max_iterations=2, until=never)
    result = await Workflow(loop).run("go")
    assert [record.path for record in result.steps] == ["x[1]", "y[1]", "x[2]", "y[2]"]


async def test_a_nested_loop_over_a_sequence_puts_its_passes_on_its_own_segment() -> None:
    loop = LoopFlow(
        step(lambda s: 1, id="x") >> step(lambda s: 2, id="y"), max_iterations=2, until=never, id="again"
    )
    result = await Workflow(step(lambda s: 0, id="first") >> loop).run("go")
    assert [record.path for record in result.steps] == [
        "first",
        "again[1]/x",
        "again[1]/y",
        "again[2]/x",
        "again[2]/y",
    ]


async def test_a_failed_pass_ends_the_loop_with_its_reason() -> None:
    model = ScriptedModel([call("resolve", text="d", score=1), ConnectionError("no line")])
    with pytest.raises(RunError) as failed:
        await Workflow(LoopFlow(writer, until=field("score") >= 8), model=model).run("go")
    assert (failed.value.path, failed.value.reason) == ("writer[2]", "provider")


async def test_a_condition_sees_state_and_output_of_the_pass_that_ended() -> None:
    seen: list[Any] = []

    def look(snapshot: Snapshot) -> bool:
        seen.append((snapshot.path, snapshot.output, dict(snapshot.state.snapshot())))
        return len(snapshot.steps) >= 2

    unit = WorkflowUnit("u", answer="text", output_adapter="last")
    await Workflow(LoopFlow(unit, until=look), model=ScriptedModel([text("a"), text("b")])).run("go")
    assert ("u[1]", "a", {"last": "a"}) in seen
    assert ("u[2]", "b", {"last": "b"}) in seen


async def test_a_pass_that_skips_ends_a_loop_without_a_condition() -> None:
    result = await Workflow(LoopFlow(step(lambda s: Skip(), id="none"))).run("go")
    assert (result.outcome, len(result.steps)) == ("done", 1)


async def test_many_passes_do_not_run_into_a_bound_of_the_engine() -> None:
    loop = LoopFlow(step(passes), max_iterations=60, until=lambda s: len(s.steps) >= 60)
    assert (await Workflow(loop).run("go", config={"recursion_limit": 10_000})).output == 59


def test_a_loop_makes_at_least_one_pass() -> None:
    with pytest.raises(DefinitionError, match="max_iterations must be at least 1, got 0"):
        LoopFlow(writer, max_iterations=0)


def test_loops_are_values() -> None:
    assert LoopFlow(writer, until=field("score") >= 8) == LoopFlow(writer, until=field("score") >= 8)
    assert LoopFlow(writer) != LoopFlow(writer, max_iterations=2)
