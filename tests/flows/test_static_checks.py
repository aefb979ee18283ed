"""A flow that cannot run is refused before it does, with every fault at once and where it is."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from plait import (
    BroadcastFlow,
    DAGFlow,
    DefinitionError,
    DelegationFlow,
    LoopFlow,
    ParallelFlow,
    ReflexionFlow,
    RouterFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    field,
)
from plait.testing import ScriptedModel

a, b, c = WorkflowUnit("a"), WorkflowUnit("b"), WorkflowUnit("c")
wa, wb = (WorkflowUnit(name, writes=("k",)) for name in ("wa", "wb"))
reader = WorkflowUnit("reader", reads=("k",))


class Route(BaseModel):
    route: Literal["x", "typo"]


class Size(Enum):
    BIG = "big"
    SMALL = "small"


class Merged(BaseModel):
    k: Annotated[list[str], lambda old, new: old + new] = []
    items: list[str] = []


class Plain(BaseModel):
    k: str = ""


def faults(flow: Any, **options: Any) -> dict[str, str]:
    with pytest.raises(DefinitionError) as refused:
        Workflow(flow, model=ScriptedModel([]), **options)
    return {fault.path: fault.message for fault in refused.value.faults}


def accepted(flow: Any, **options: Any) -> bool:
    return Workflow(flow, model=ScriptedModel([]), **options) is not None


def test_faults_of_every_kind_come_at_once_with_their_paths() -> None:
    def delegate_to_me(task: str) -> str:
        """Mine."""
        return task

    pick = WorkflowUnit("pick", output=Route)
    flow = SequentialFlow(
        RouterFlow(pick, {"x": a, "y": b}),
        ParallelFlow(wa, wb),
        WorkflowUnit("r", reads=("nothing",)),
        c.with_(tools=[delegate_to_me]),
        LoopFlow(c.with_(prompt="other"), id="loop"),
    )
    told = faults(flow)
    assert set(told) == {"router/pick", "parallel/wa", "r", "c", "loop"}


def test_labels_and_handlers_must_agree() -> None:
    with pytest.raises(DefinitionError) as refused:
        Workflow(RouterFlow(WorkflowUnit("pick", output=Route), {"x": a, "y": b}), model=ScriptedModel([]))
    told = [str(fault) for fault in refused.value.faults]
    assert told == [
        "pick: routes without a handler: typo; add handlers or default=",
        "pick: handlers that no route names: y",
    ]
    assert accepted(RouterFlow(WorkflowUnit("pick", output=Size), {"big": a, "small": b}))
    assert (
        "other"
        in faults(RouterFlow(WorkflowUnit("pick", output=Size), {"big": a, "small": b, "other": c}))["pick"]
    )
    assert accepted(RouterFlow(WorkflowUnit("pick", output=Route), {"x": a, "d": b}, default="d"))


@pytest.mark.parametrize(
    "flow",
    [
        ParallelFlow(wa, wb),
        ParallelFlow(a, SequentialFlow(b, wa), LoopFlow(wb)),
        DAGFlow(None, {"x": wa, "y": wb, "z": c}, None, {"z": ["x", "y"]}),
        BroadcastFlow(wa, wb),
        ParallelFlow.map(wa, over="items"),
        SequentialFlow(a, RouterFlow(b, {"go": ParallelFlow(wa, a.with_(id="o", output_adapter="k"))})),
    ],
)
def test_two_that_may_run_at_once_must_not_write_one_key(flow: Any) -> None:
    told = faults(flow)
    assert len(told) == 1
    assert "'k'" in next(iter(told.values()))
    assert accepted(flow, state=Merged)


@pytest.mark.parametrize(
    "flow",
    [
        SequentialFlow(wa, wb),
        DAGFlow(None, {"x": wa, "y": wb}, None, {"y": ["x"]}),
        DAGFlow(None, {"x": wa, "m": a, "y": wb}, None, {"m": ["x"], "y": ["m"]}),
        RouterFlow(a, {"x": wa, "y": wb}),
        ParallelFlow(wa, b, reducer=wb),
        LoopFlow(SequentialFlow(wa, wb)),
    ],
)
def test_those_that_are_ordered_or_alternatives_may_write_it(flow: Any) -> None:
    assert accepted(flow)


@pytest.mark.parametrize(
    "flow",
    [
        reader,
        SequentialFlow(reader, wa),
        ParallelFlow(reader, wa),
        DAGFlow(None, {"x": wa, "y": reader}, None, {}),
        RouterFlow(a, {"x": wa, "y": reader}),
    ],
)
def test_a_key_must_be_written_before_it_is_read(flow: Any) -> None:
    (told,) = faults(flow).values()
    assert "reads the state key 'k'" in told
    assert accepted(flow, state=Plain)


@pytest.mark.parametrize(
    "flow",
    [
        SequentialFlow(wa, b, reader),
        SequentialFlow(ParallelFlow(a, wa), RouterFlow(b, {"x": reader})),
        DAGFlow(None, {"x": wa, "y": b, "z": reader}, None, {"y": ["x"], "z": ["y"]}),
        ParallelFlow(wa, b, reducer=reader),
        LoopFlow(SequentialFlow(reader, wa)),
        ReflexionFlow(wa, reader, field("score") >= 8),
        DelegationFlow(reader, [wa]),
    ],
)
def test_what_may_have_been_written_before_may_be_read(flow: Any) -> None:
    assert accepted(flow)


@pytest.mark.parametrize("bound", [None, 0, float("inf"), -1])
def test_a_loop_needs_a_bound(bound: Any) -> None:
    for make in (
        lambda: LoopFlow(a, max_iterations=bound),
        lambda: ReflexionFlow(a, b, field("score") >= 8, max_iterations=bound),
    ):
        with pytest.raises(DefinitionError, match="max_iterations"):
            make()


def test_unknown_executors_specialists_and_routes_are_named() -> None:
    with pytest.raises(DefinitionError, match="'nobody', which is no executor"):
        DAGFlow(None, [a], dependencies={"a": ["nobody"]})
    with pytest.raises(DefinitionError, match="'nobody' is no handler"):
        RouterFlow(a, {"x": b}, default="nobody")
    with pytest.raises(DefinitionError, match="cannot stand in a flow"):
        DelegationFlow(a, ["nobody"])
    with pytest.raises(DefinitionError, match=r"a -> b -> a"):
        DAGFlow(None, [a, b], dependencies={"a": ["b"], "b": ["a"]})


def test_keys_of_parts_are_ids_everywhere() -> None:
    for flow in (
        ParallelFlow({"a/b": a}),
        DAGFlow(None, {"x[1]": a}, dependencies={}),
        DelegationFlow(a, {"_s": b}),
    ):
        assert faults(flow)


def test_one_key_may_be_given_as_text() -> None:
    assert WorkflowUnit("u", writes="k", reads="j") == WorkflowUnit("u", writes=("k",), reads=("j",))  # type: ignore[arg-type]
