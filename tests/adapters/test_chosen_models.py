"""Which model a unit runs on: its own, the workflow's, one chosen by the run, a fallback."""

from dataclasses import dataclass
from typing import Any

import pytest

from plait import DefinitionError, RunError, SequentialFlow, Snapshot, Workflow, WorkflowUnit
from plait.testing import ScriptedModel, call, fail

first, second = WorkflowUnit("first"), WorkflowUnit("second")


@dataclass
class Tenant:
    model: Any


def saying(value: str) -> ScriptedModel:
    return ScriptedModel(lambda request: call("resolve", value=value))


def of_the_tenant(snapshot: Snapshot) -> Any:
    return snapshot.context.model


async def test_a_unit_runs_on_its_own_model_before_the_workflows():
    flow = SequentialFlow(first.with_(model=saying("own")), second)
    result = await Workflow(flow, model=saying("shared")).run("Go.")
    assert [step.output for step in result.steps] == ["own", "shared"]


async def test_a_function_chooses_the_model_of_each_run_from_its_context():
    workflow = Workflow(first, model=of_the_tenant, context_schema=Tenant)
    results = [await workflow.run("Go.", context=Tenant(saying(name))) for name in ("mei", "tom")]
    assert [result.output for result in results] == ["mei", "tom"]


async def test_a_function_that_cannot_choose_fails_the_unit():
    with pytest.raises(RunError, match="model= raised AttributeError") as raised:
        await Workflow(first, model=of_the_tenant).run("Go.")
    assert (raised.value.path, raised.value.reason) == ("first", "error")


async def test_a_model_with_fallbacks_falls_back():
    model = ScriptedModel([fail(ConnectionError("down"))]).with_fallbacks([saying("spare")])
    assert (await Workflow(first, model=model).run("Go.")).output == "spare"


def test_a_unit_without_any_model_is_a_fault():
    with pytest.raises(DefinitionError, match="first: no model"):
        Workflow(first)
