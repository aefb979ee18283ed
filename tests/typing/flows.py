"""What each flow gives, as a type checker sees it. Checked, never run."""

from typing import Any, assert_type

from pydantic import BaseModel

from plait import (
    BroadcastFlow,
    CompositeFlow,
    DAGFlow,
    DelegationFlow,
    Failure,
    Flow,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    SequentialFlow,
    Snapshot,
    WorkflowUnit,
    field,
)
from plait.graphs.parallel import MapFlow


class Draft(BaseModel):
    text: str


class Report(BaseModel):
    title: str


def count(snapshot: Snapshot) -> int:
    return len(snapshot.steps)


draft = WorkflowUnit("draft", output=Draft)
second = draft.with_(id="second")
report = WorkflowUnit("report", output=Report)
talk = WorkflowUnit("talk")

assert_type(SequentialFlow(draft), SequentialFlow[Draft])
assert_type(SequentialFlow(draft, talk, count, report, id="four"), SequentialFlow[Report])
assert_type(SequentialFlow(draft, [talk, report]), SequentialFlow[dict[str, Any]])
assert_type(SequentialFlow(draft, [talk, report], count), SequentialFlow[int])
assert_type(SequentialFlow(draft, report).with_(id="two"), SequentialFlow[Report])
assert_type(CompositeFlow(draft >> talk, draft >> report), CompositeFlow[Report])

assert_type(LoopFlow(draft), LoopFlow[Draft])
assert_type(LoopFlow(draft >> report, until=field("title") == "x"), LoopFlow[Report])
assert_type(LoopFlow(count), LoopFlow[int])

assert_type(RouterFlow(talk, {"x": draft, "y": second >> draft}), RouterFlow[Draft])
either: Flow[Any, Draft | Report] = RouterFlow(talk, {"x": draft, "y": report})
assert_type(RouterFlow[Draft | str](talk, {"x": draft, "y": talk}), RouterFlow[Draft | str])

assert_type(ParallelFlow(draft, second), ParallelFlow[dict[str, Draft | Failure]])
assert_type(ParallelFlow({"x": draft, "y": second}), ParallelFlow[dict[str, Draft | Failure]])
assert_type(ParallelFlow(draft, second, on_failure="require_all"), ParallelFlow[dict[str, Draft]])
assert_type(ParallelFlow(draft, talk, reducer=report), ParallelFlow[Report])
assert_type(ParallelFlow(draft, talk, reducer=count, quorum=1), ParallelFlow[int])

assert_type(ParallelFlow.map(draft, over="items"), MapFlow[list[Draft | Failure]])
assert_type(ParallelFlow.map(draft, field("items"), on_failure="fail_fast"), MapFlow[list[Draft]])
assert_type(ParallelFlow.map(draft, over="items", reducer=report), MapFlow[Report])

assert_type(DAGFlow(talk, {"x": draft}, report), DAGFlow[Report])
assert_type(DAGFlow(talk, [draft, second]), DAGFlow[dict[str, Any]])
assert_type(DAGFlow(None, [draft, second], count, {"second": ["draft"]}), DAGFlow[int])

assert_type(DelegationFlow(report, [draft, talk]), DelegationFlow[Report])
assert_type(ReflexionFlow(draft, report, accept=field("title") == "x"), ReflexionFlow[Draft])
assert_type(BroadcastFlow(draft, second), BroadcastFlow[dict[str, Draft | Failure]])

nested = draft >> RouterFlow(talk, {"x": LoopFlow(draft >> report), "y": DAGFlow(talk, [draft], report)})
assert_type(nested, Flow[object, Report])

no_draft: Flow[Any, Draft] = RouterFlow(talk, {"x": draft, "y": report})  # type: ignore[dict-item]
LoopFlow(3)  # type: ignore[arg-type]
RouterFlow(talk, {"x": 3})  # type: ignore[dict-item]
DelegationFlow(draft >> report, [talk])  # type: ignore[arg-type]
ReflexionFlow("actor", report, accept=field("title") == "x")  # type: ignore[arg-type]
