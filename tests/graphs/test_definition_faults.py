"""A definition that cannot run is refused before anything runs, with every fault and its place."""

from __future__ import annotations

from typing import Any

import pytest

from plait import (
    DefinitionError,
    Limits,
    LoopFlow,
    MaxRounds,
    RouterFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    step,
)
from plait.testing import ScriptedModel

a, b = WorkflowUnit("a"), WorkflowUnit("b")


def faults(flow: Any, **options: Any) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        Workflow(flow, **{"model": ScriptedModel([]), **options})
    return [str(fault) for fault in refused.value.faults]


def test_units_need_a_model_and_each_that_has_none_is_named() -> None:
    with pytest.raises(DefinitionError) as refused:
        Workflow(a >> RouterFlow(b, {"x": a}))
    assert {fault.path for fault in refused.value.faults} == {"a", "router/b", "router/x"}
    assert all("no model" in fault.message for fault in refused.value.faults)


def test_two_different_units_may_not_share_an_id() -> None:
    (told,) = faults(a >> LoopFlow(a.with_(prompt="other"), id="loop"))
    assert told.startswith("loop: two different units have the id 'a'; rename one")


def test_one_unit_value_may_stand_at_several_places() -> None:
    same = WorkflowUnit("a")
    assert Workflow(a >> a >> same, model=ScriptedModel([])).bound.units.keys() == {"a", "a~2", "a~3"}


@pytest.mark.parametrize("key", ["a/b", "x[1]", "_own", "a~2", ""])
def test_handler_keys_are_ids(key: str) -> None:
    assert faults(RouterFlow(a, {key: b, "fine": b}))


@pytest.mark.parametrize("name", ["a/b", "_a", "", "a:b", "a|b", "a*"])
def test_unit_ids_are_refused_where_they_are_made(name: str) -> None:
    with pytest.raises(DefinitionError):
        WorkflowUnit(name)


def test_all_faults_of_a_unit_come_together() -> None:
    with pytest.raises(DefinitionError) as refused:
        WorkflowUnit("a/b", prompt=3, max_rounds=0, reminders=-1, output_cap=1)  # type: ignore[arg-type]
    assert len(refused.value.faults) == 5


def test_faults_of_several_kinds_come_together_with_their_paths() -> None:
    flow = SequentialFlow(a, RouterFlow(b, {"x/y": a.with_(prompt="other")}))
    told = "\n".join(faults(flow))
    assert "router/x/y" in told
    assert "two different units" in told


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"checkpointer": "mysql://x"}, "sqlite:///"),
        ({"checkpointer": 3}, "checkpointer"),
        ({"store": "nowhere"}, "store"),
        ({"model": "gpt-5"}, "provider:model"),
        ({"model": "unknown:gpt-5"}, "known provider"),
    ],
)
def test_options_that_lead_nowhere_are_refused_by_name(option: dict[str, Any], match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        Workflow(a, **{"model": ScriptedModel([]), **option})


def test_a_state_that_is_no_type_is_refused_at_once() -> None:
    with pytest.raises(Exception, match="state="):
        Workflow(a, model=ScriptedModel([]), state=3)


def test_tools_that_cannot_be_told_apart_or_are_none_are_refused() -> None:
    def look(x: int) -> int:
        """Look."""
        return x

    with pytest.raises(DefinitionError, match="look"):
        Workflow(a.with_(tools=[look, look]), model=ScriptedModel([]))
    with pytest.raises(DefinitionError, match="no tool"):
        Workflow(a.with_(tools=[3]), model=ScriptedModel([]))


def test_a_tool_named_resolve_is_refused() -> None:
    def resolve(x: int) -> int:
        """Mine."""
        return x

    with pytest.raises(DefinitionError, match="framework uses"):
        Workflow(a.with_(tools=[resolve]), model=ScriptedModel([]))


def test_nothing_at_all_is_a_flow_that_does_nothing() -> None:
    assert Workflow(SequentialFlow()).run_sync("go").outcome == "done"


def test_unknown_fields_are_refused_by_name() -> None:
    with pytest.raises(DefinitionError, match="a unit has no promt"):
        a.with_(promt="x")
    with pytest.raises(DefinitionError, match="a workflow has no modle"):
        Workflow(a, model=ScriptedModel([])).replace(modle=None)


def test_a_definition_hash_follows_from_content_and_not_from_identity() -> None:
    def flow() -> Any:
        return WorkflowUnit("a", termination=MaxRounds(3)) >> step(lambda s: 1, id="one")

    first, second = (Workflow(flow(), model=ScriptedModel([])) for _ in range(2))
    assert first.bound.bundle == second.bound.bundle
    changed = Workflow(
        a.with_(limits=Limits(tokens=3)) >> step(lambda s: 2, id="one"), model=ScriptedModel([])
    )
    assert changed.bound.bundle != first.bound.bundle
