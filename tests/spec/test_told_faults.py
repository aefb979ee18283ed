"""What a file says wrongly is told once, in the words of the file; what it says rightly counts everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plait import Workflow, WorkflowUnit
from plait import tool as declared
from plait.core.errors import DefinitionError
from plait.testing import ScriptedModel
from plait.workflow_file import check_workflow, load_workflow, workflow_from_text, workflow_to_yaml

from . import things

HEAD = "apiVersion: plait/v1\nkind: Workflow\nspec:\n"
JUDGED = """\
  units:
    - {id: j, output: {type: object, properties: {f: SCHEMA}, required: [f]}}
    - {id: a, answer: text, when: "CONDITION"}
  flow: [j, a]
  mock: {j: [call: {resolve: {f: VALUE}}], a: [text: A]}
"""


def faults(text: str) -> list[str]:
    try:
        workflow_from_text(HEAD + text)
    except DefinitionError as error:
        return [fault.message for fault in error.faults]
    return []


def judged(condition: str, schema: str, value: str) -> str:
    return JUDGED.replace("CONDITION", condition).replace("SCHEMA", schema).replace("VALUE", value)


@pytest.mark.parametrize(
    ("condition", "schema", "value"),
    [
        ("f >= 0.1", "{type: string, format: decimal}", "'0.1'"),
        ("f == 2026-05-05", "{type: string, format: date}", "'2026-05-05'"),
        ("f == null", "{type: [string, 'null']}", "null"),
        ("f == 'it''s'", "{type: string}", '"it\'s"'),
        ("f == in progress", "{type: string}", "in progress"),
    ],
)
def test_a_condition_compares_with_the_type_of_the_field(condition, schema, value):
    assert workflow_from_text(HEAD + judged(condition, schema, value)).run_sync("go").output == "A"


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("f == good and done == true", "no single value"),
        ("f == good or f == ok", "no single value"),
        ("f == good # really", "no single value"),
        ("f == good; f", "no single value"),
        ("f == 'good' or 'ok'", "no single value"),
        ("f ==", "no single value"),
        ("f == goood", "it is one of: 'good', 'ok'"),
    ],
)
def test_a_condition_that_says_too_much_or_never_holds_is_told(condition, why):
    (told,) = faults(judged(condition, "{enum: [good, ok]}", "good"))
    assert why in told


def test_the_seconds_of_a_unit_count_for_variants_and_units_by_import_path():
    text = f"""\
  policy: {{timeout: {{unit_s: 0.5}}}}
  units: [{{id: a, limits: {{seconds: 9}}}}, {{id: b}}]
  flow: [a, b, {{unit: a, id: v, limits: {{tokens: 9}}}}, {{unit: a, id: w}}, "{__package__}.things:PART"]
"""
    flow: Any = workflow_from_text(HEAD + text, model=ScriptedModel({})).bound.flow
    assert [step.limits.seconds for step in flow.steps] == [9, 0.5, 0.5, 9, 0.5]


@pytest.mark.parametrize("adapter", ["text_react", "{llm: {method: json_schema}}"])
def test_a_mock_plays_plain_values_without_tools(adapter):
    text = f"""\
  adapter: {adapter}
  units: [{{id: a, output: int}}]
  flow: a
  mock: {{a: [otherwise: {{call: {{resolve: {{value: 3}}}}}}]}}
"""
    assert workflow_from_text(HEAD + text).run_sync("go").output == 3


def test_why_to_ask_may_hold_a_colon(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    tool = declared(things.pay, approval="Delete: are you sure?")
    made = Workflow(WorkflowUnit("a", answer="text", tools=[tool]), model="openai:gpt-5-mini")
    written = workflow_to_yaml(made)
    assert workflow_to_yaml(workflow_from_text(written, model=ScriptedModel({}))) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "  units: [{id: a}]\n  flow: a\n  mock: {a: [{when: {matches: '['}, text: z}]}\n",
            "the pattern '['",
        ),
        ("  units: {include: nope.yaml}\n  flow: [a, b]\n  mock: {a: [text: x]}\n", "'nope.yaml' cannot be"),
        (
            "  units: [{id: a}]\n  flow: {steps: [a]}\n  mock: {a: [text: x]}\n",
            "the types are: sequence, loop",
        ),
        ("\tunits: []\n", "there is a tab here"),
    ],
)
def test_one_fault_is_told_once(text, why, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (told,) = faults(text)
    assert why in told


@pytest.mark.parametrize("name", ["calendar", "sys"])
def test_a_module_beside_the_file_that_another_hides_is_told(tmp_path: Path, name):
    (tmp_path / f"{name}.py").write_text(
        "def mine(x: str) -> str:\n    'Mine.'\n    return x\n", encoding="utf-8"
    )
    path = tmp_path / "w.yaml"
    path.write_text(f"{HEAD}  units: [{{id: a, tools: ['{name}:mine']}}]\n  flow: a\n", encoding="utf-8")

    (told,) = (fault.message for fault in check_workflow(path))

    assert "hides" in told
    assert str(tmp_path / f"{name}.py") in told
    with pytest.raises(DefinitionError):
        load_workflow(path)
