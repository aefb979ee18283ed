"""What units, functions and `>>` give, as a type checker sees it. Checked, never run."""

from collections.abc import Sequence
from typing import Any, Literal, assert_type

from pydantic import BaseModel

from plait import Finish, Flow, SequentialFlow, Skip, Snapshot, WorkflowUnit, step
from plait.graphs.step import FunctionStep


class Draft(BaseModel):
    text: str


class Report(BaseModel):
    title: str


draft = WorkflowUnit("draft", output=Draft)
report = WorkflowUnit("report", output=Report)
talk = WorkflowUnit("talk", prompt="Answer kindly.")

assert_type(draft, WorkflowUnit[Draft])
assert_type(talk, WorkflowUnit[str])
assert_type(WorkflowUnit("label", output=Literal["x", "y"]), WorkflowUnit[Literal["x", "y"]])
assert_type(WorkflowUnit("either", output=Draft | Report), WorkflowUnit[Draft | Report])
assert_type(WorkflowUnit("many", output=list[int]), WorkflowUnit[list[int]])
assert_type(draft.with_(id="again"), WorkflowUnit[Draft])
assert_type(draft.with_(output=Report), WorkflowUnit[Report])


def count(snapshot: Snapshot) -> int:
    return len(snapshot.steps)


async def count_later(snapshot: Snapshot) -> int | Skip:
    return len(snapshot.steps) or Skip()


def check(snapshot: Snapshot) -> Report | Finish | Skip:
    return Report(title=snapshot.path) if snapshot.steps else Finish()


assert_type(step(count), FunctionStep[int])
assert_type(step(count_later), FunctionStep[int])
assert_type(step(check), FunctionStep[Report])
assert_type(step(lambda snapshot: snapshot.path, id="where"), FunctionStep[str])

assert_type(draft >> report, Flow[object, Report])
assert_type(draft >> report >> talk, Flow[object, str])
assert_type(draft >> (report >> talk), Flow[object, str])
assert_type(draft >> [report, talk] >> report, Flow[object, Report])
assert_type(draft >> [report, talk], Flow[object, dict[str, Any]])
assert_type([draft, talk] >> report, Flow[object, Report])
assert_type(draft >> count, Flow[object, int])
assert_type(draft >> count_later, Flow[object, int])
assert_type(draft >> check >> draft, Flow[object, Draft])
assert_type(count >> report, Flow[object, Report])
assert_type((draft >> report).with_(id="whole"), Flow[object, Report])


def reviewed(flow: Flow[Draft, Report]) -> Flow[Any, Report]:
    """A flow that declares what the part before it must give."""
    assert_type(flow >> talk, Flow[Draft, str])
    return draft >> flow


def misplaced(flow: Flow[Draft, Report]) -> None:
    report >> flow  # type: ignore[operator]


def chained(parts: Sequence[WorkflowUnit[Draft]]) -> SequentialFlow[Report]:
    assert_type(SequentialFlow(*parts), SequentialFlow[Any])
    return SequentialFlow(*parts, report)


class Longer(Draft):
    pages: int


wider: WorkflowUnit[Draft] = WorkflowUnit("longer", output=Longer)
narrower: WorkflowUnit[Longer] = draft  # type: ignore[assignment]
other: Flow[Any, Draft] = draft >> report  # type: ignore[operator]
draft >> "report"  # type: ignore[operator]
draft >> 3  # type: ignore[operator]
"draft" >> report  # type: ignore[operator]
step(3)  # type: ignore[call-overload]
