"""ParallelFlow.map: one part over many items, read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from plait import (
    Failure,
    LoopFlow,
    ParallelFlow,
    RunError,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    field,
    step,
)
from plait.testing import ScriptedModel

from .support import Log, given, noted, outputs, resolving, run, seen, statuses

BOTH = pytest.mark.parametrize("scheduling", ["eager", "superstep"])
double = step(lambda s: s.output * 2, id="double")


class Found(BaseModel):
    files: list[str]


class Box(BaseModel):
    items: Annotated[list[int], lambda old, new: old + new] = []


@BOTH
async def test_items_come_from_a_function_a_field_or_the_state(scheduling: Any) -> None:
    options = {"scheduling": scheduling}
    found = given("find", Found(files=["x", "y"]))
    by_field = found >> ParallelFlow.map(double, over=field("files"), **options)
    assert (await run(by_field)).output == ["xx", "yy"]
    by_function = ParallelFlow.map(double, over=lambda s: [1, 2], **options)
    assert (await run(by_function)).output == [2, 4]
    by_key = ParallelFlow.map(double, over="numbers", **options)
    assert (await run(by_key, state={"numbers": [3]})).output == [6]


@BOTH
async def test_item_n_runs_at_its_own_path(scheduling: Any) -> None:
    result = await run(given("go") >> ParallelFlow.map(double, over=lambda s: [1, 2], scheduling=scheduling))
    assert list(outputs(result)) == ["go", "double{0}", "double{1}"]


async def test_a_map_of_flows_addresses_their_parts() -> None:
    body = SequentialFlow(double, seen())
    result = await run(ParallelFlow.map(body, over=lambda s: [1], id="files"))
    assert outputs(result) == {"files{0}/double": 2, "files{0}/seen": {"double": 2}}


async def test_a_map_in_a_loop_at_the_root_has_readable_paths() -> None:
    result = await run(LoopFlow(ParallelFlow.map(double, over=lambda s: [1]), 2, until=lambda s: False))
    assert list(outputs(result)) == ["double[1]{0}", "double[2]{0}"]
    body = SequentialFlow(double, seen(), id="body")
    result = await run(LoopFlow(ParallelFlow.map(body, over=lambda s: [1]), 2, until=lambda s: False))
    assert list(outputs(result))[::2] == ["map[1]{0}/double", "map[2]{0}/double"]


async def test_a_map_in_a_map_has_both_marks() -> None:
    inner = ParallelFlow.map(double, over=lambda s: s.output)
    assert (await run(ParallelFlow.map(inner, over=lambda s: [[1, 2], [3]]))).output == [[2, 4], [6]]


@BOTH
async def test_failed_items_stand_in_their_place(scheduling: Any) -> None:
    half = step(lambda s: 12 // s.output, id="half")
    flow = ParallelFlow.map(half, over=lambda s: [1, 0, 3], reducer=seen(), scheduling=scheduling)
    result = await run(flow)
    assert result.outcome == "partial"
    assert isinstance(result.output["half{1}"], Failure)
    assert (result.output["half{0}"], result.output["half{2}"]) == (12, 4)


@BOTH
async def test_no_items_give_an_empty_list_or_what_the_reducer_makes_of_it(scheduling: Any) -> None:
    flow = ParallelFlow.map(double, over=lambda s: [], scheduling=scheduling)
    assert (await run(flow)).output == []
    assert (await run(flow.with_(reducer=given("none")))).output == "none"


@pytest.mark.parametrize(
    ("over", "match"),
    [
        (lambda s: "text", "not a list of items"),
        ("missing", "gave NoneType"),
        (lambda s: 1 // 0, "ZeroDivisionError"),
        (lambda s: [lambda: 1], "cannot be kept"),
    ],
)
@BOTH
async def test_what_gives_no_items_fails_the_flow(over: Any, match: str, scheduling: Any) -> None:
    with pytest.raises(RunError, match=match) as raised:
        await Workflow(ParallelFlow.map(double, over=over, scheduling=scheduling)).run("go")
    assert raised.value.result.outcome == "failed"


@BOTH
async def test_items_are_read_once_though_the_parts_change_where_they_came_from(scheduling: Any) -> None:
    def grow(item: Any) -> dict[str, Any]:
        return {"items": [9]}

    unit = WorkflowUnit("grow", output_adapter=grow)
    flow = ParallelFlow.map(unit, over="items", scheduling=scheduling)
    result = await run(flow, state={"items": [1, 2]}, script=resolving)
    assert result.reason == "state-conflict"
    assert list(statuses(result)) == ["grow{0}", "grow{1}"]


async def test_items_are_the_same_after_a_pause_in_another_process(tmp_path: Path) -> None:
    reads: Iterator[list[int]] = iter([[1, 2], [7, 8, 9]])
    from .support import ask, asker

    unit = WorkflowUnit("u", tools=[ask])
    flow = ParallelFlow.map(unit, over=lambda s: next(reads))
    made = {"model": ScriptedModel(asker), "checkpointer": f"sqlite:///{tmp_path}/runs.db"}
    paused = await Workflow(flow, **made).run("go", thread_id="t")
    told = {question.id: "yes" for question in paused.interrupts}
    result = await Workflow(flow, **made).resume("t", told)
    assert (result.outcome, len(result.output)) == ("done", 2)


async def test_a_reducer_and_conditions_see_the_items() -> None:
    log = Log()
    some = step(lambda s: s.output, id="some", when=lambda s: s.output > 1)
    result = await run(ParallelFlow.map(some, over=lambda s: [1, 2, 3], reducer=noted(log, "sum")))
    assert statuses(result) == {"some{0}": "skipped", "some{1}": "done", "some{2}": "done", "sum": "done"}


async def test_a_quorum_of_items_is_enough() -> None:
    result = await run(ParallelFlow.map(double, over=lambda s: range(300), quorum=1, max_concurrency=1))
    assert result.outcome == "done"
    assert len(result.output) >= 1
    assert {record.status for record in result.steps} <= {"done", "cancelled"}
