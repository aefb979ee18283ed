"""Files are loaded, run, checked and written."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait import (
    DefinitionError,
    Limits,
    LoopFlow,
    ParallelFlow,
    RouterFlow,
    SequentialFlow,
    Workflow,
    WorkflowUnit,
    field,
)
from plait.spec.diagnostics import SpecError
from plait.spec.imports import limited
from plait.testing import ScriptedModel, call
from plait.workflow_file import (
    LoadedWorkflow,
    check_workflow,
    load_workflow,
    workflow_from_text,
    workflow_to_yaml,
)

from . import things

DESIGN = """\
apiVersion: plait/v1
kind: Workflow
metadata: {id: accounting-router, description: "Books expenses."}
spec:
  policy: {timeout: {unit_s: 120, workflow_s: 600}, limits: {max_tokens: 100000}}
  units:
    - {id: classify, prompt: "Decide."}
    - {id: record, prompt: "Book.", limits: {seconds: 9}}
    - {id: general, prompt: "Answer.", answer: text}
  flow: {type: router, router: classify, routes: {record: record, general: general}}
"""
SCRIPT = {"classify": [call("resolve", value="record")], "record": [call("resolve", value="booked")]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(DESIGN)
    return path


async def test_a_file_runs(file):
    workflow = load_workflow(file, model=ScriptedModel(SCRIPT))

    result = await workflow.run("lunch 32")

    assert result.output == "booked"
    assert [step.path for step in result.steps] == ["classify", "record"]


def test_a_file_is_the_workflow_that_it_says(file):
    workflow = load_workflow(file, model=ScriptedModel({}))
    units = {
        "classify": WorkflowUnit("classify", prompt="Decide.", limits=Limits(seconds=120)),
        "record": WorkflowUnit("record", prompt="Book.", limits=Limits(seconds=9)),
        "general": WorkflowUnit("general", prompt="Answer.", answer="text", limits=Limits(seconds=120)),
    }
    classify = units.pop("classify")

    assert workflow.bound.flow == RouterFlow(classify, units)
    assert workflow.bound.binding.limits == Limits(tokens=100_000, seconds=600)
    assert workflow.name == "accounting-router"


def test_changes_count_instead_of_the_file(file):
    workflow = load_workflow(file, model=ScriptedModel({}), limits=Limits(tokens=1), granularity="unit")

    assert workflow.bound.binding.limits == Limits(tokens=1)
    assert workflow.bound.binding.granularity == "unit"


def test_an_unknown_change_is_an_error(file):
    with pytest.raises(DefinitionError, match="checkpoint"):
        load_workflow(file, model=ScriptedModel({}), checkpoint="memory")


def test_without_a_model_the_file_cannot_run_but_is_right(file):
    with pytest.raises(SpecError) as caught:
        load_workflow(file)

    assert [(one.line, one.code) for one in caught.value.diagnostics] == [(5, "model")]
    assert check_workflow(file) == ()


def test_an_error_shows_every_fault_with_its_place(file):
    file.write_text(DESIGN.replace("prompt", "promt"))

    with pytest.raises(SpecError) as caught:
        load_workflow(file, model=ScriptedModel({}))

    assert str(caught.value).count("unknown-key") == 3
    assert str(caught.value).startswith(f"{file}:7:22: unknown-key a unit has no key 'promt'")


@pytest.mark.parametrize("key", [None, "secret"])
def test_a_model_that_cannot_be_made_is_told(file, monkeypatch, key):
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    file.write_text(DESIGN.replace("  policy", "  model: openai:gpt-5-mini\n  policy"))

    if key:
        assert load_workflow(file).bound.binding.model.model_name == "gpt-5-mini"
        return
    with pytest.raises(SpecError) as caught:
        load_workflow(file)
    assert (caught.value.diagnostics[0].line, caught.value.diagnostics[0].code) == (5, "model")


def test_a_loaded_workflow_is_written_as_its_file_says(file):
    workflow = load_workflow(file, model=ScriptedModel({}))

    text = workflow_to_yaml(workflow)
    again = workflow_from_text(text, model=ScriptedModel({}))

    assert "description: Books expenses." in text
    assert "model" not in text
    assert again.bound.flow == workflow.bound.flow
    assert workflow_to_yaml(again) == text


def test_a_replaced_workflow_keeps_what_its_file_says(file):
    workflow = load_workflow(file, model=ScriptedModel({})).replace(max_concurrency=2)

    assert isinstance(workflow, LoadedWorkflow)
    assert "description: Books expenses." in workflow_to_yaml(workflow)
    assert "max_concurrency: 2" in workflow_to_yaml(workflow)


def test_what_no_file_can_hold_is_refused_with_all_its_places():
    def inner(snapshot):
        return "x"

    unit = WorkflowUnit(
        "a", prompt=lambda snapshot: "x", input_adapter=inner, when=field("x") == things.Colour.RED
    )
    workflow = Workflow(unit, model=ScriptedModel({}), encryption_key=b"0" * 16)

    with pytest.raises(DefinitionError) as caught:
        workflow_to_yaml(workflow)

    assert {fault.path for fault in caught.value.faults} == {
        "spec.model",
        "spec.encryption_key",
        "spec.units[0].prompt.function",
        "spec.units[0].input_adapter",
        "spec.units[0].when.value",
    }


def test_a_flow_nested_too_deep_is_refused():
    flow = WorkflowUnit("a")
    for _ in range(40):
        flow = RouterFlow(WorkflowUnit("r"), {"x": flow})

    with pytest.raises(DefinitionError, match="nested deeper"):
        workflow_to_yaml(Workflow(flow, model=things.MODEL))


def test_a_variant_of_a_unit_stands_where_it_is_used():
    text = DESIGN.replace("record: record", "record: {unit: record, id: again, max_rounds: 3}")
    text = text.replace('    - {id: classify, prompt: "Decide."}\n', "").replace(
        "router: classify", "router: record"
    )

    workflow = workflow_from_text(text, model=ScriptedModel({}))

    assert workflow.bound.flow.handlers["record"] == workflow.bound.flow.router.with_(
        id="again", max_rounds=3
    )


def test_files_of_others_import_only_what_they_may(tmp_path):
    (tmp_path / "harm.py").write_text(f"open({str(tmp_path / 'done')!r}, 'w')\n")
    (tmp_path / "w.yaml").write_text(
        "apiVersion: plait/v1\nkind: Workflow\nspec: {flow: ['harm:x', 'os.path:join']}\n"
    )

    told = check_workflow(tmp_path / "w.yaml", importer=limited("os"))

    assert [(one.code, one.line) for one in told] == [("import-failed", 3)]
    assert "may not be imported here; allowed are: os" in told[0].message
    assert not (tmp_path / "done").exists()


def test_a_list_is_a_sequence_and_a_list_inside_it_is_parallel():
    text = DESIGN.replace(
        "{type: router, router: classify, routes: {record: record, general: general}}",
        "[classify, [record, [general, classify]], {type: loop, body: [classify]}]",
    )
    flow = workflow_from_text(text, model=ScriptedModel({})).bound.flow
    classify, (record, general) = (
        flow.steps[0],
        (flow.steps[1].members[0][1], flow.steps[1].members[1][1].steps[0]),
    )

    assert flow == SequentialFlow(
        classify, ParallelFlow(record, SequentialFlow(general, classify)), LoopFlow(SequentialFlow(classify))
    )
