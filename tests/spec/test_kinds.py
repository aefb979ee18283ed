"""The kinds that have a form of their own: conditions, types, tools, policies, models."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from plait import Delegated, Limits, MaxRounds, Resolved, SequentialFlow, field
from plait.adapters.react import ReactAdapter
from plait.core.conditions import Comparison
from plait.graphs.definition import part_hashes
from plait.nodes.declared import effect_of
from plait.spec.adapters import ADAPTER
from plait.spec.condition import Condition
from plait.spec.imports import imported
from plait.spec.kinds import BAD, Book, Reading, Writing
from plait.spec.models import MODEL
from plait.spec.parts import PART
from plait.spec.policies import TERMINATION
from plait.spec.source import read_text
from plait.spec.tools import Tools
from plait.spec.types import Type
from plait.spec.units import UNIT
from plait.workflow_forms import REGISTRY

from . import things

THINGS = things.__name__


def read(kind: Any, text: str) -> tuple[Any, list[str]]:
    """What a kind reads of a YAML text, and its faults without their places."""
    root = read_text(text, "w.yaml", {}).root
    assert root is not None
    book = Book(REGISTRY, imported)
    value = kind.read(root, Reading(book))
    return value, [f"{one.code}: {one.message}" for one in book.faults]


def write(kind: Any, value: Any) -> tuple[Any, list[str]]:
    at = Writing(REGISTRY, [], {})
    return kind.write(value, at), [fault.message for fault in at.faults]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("score >= 8", field("score") >= 8),
        ("a.b.c != 'x y'", field("a.b.c") != "x y"),
        ('kind == "8"', field("kind") == "8"),
        ("kind==eight", field("kind") == "eight"),
        ("ok == true", field("ok") == True),  # noqa: E712  (it makes a condition)
        ("n < -1.5", field("n") < -1.5),
        ("{field: score, op: '<=', value: 3}", field("score") <= 3),
        ("{field: tags, op: '==', value: [a, {b: 1}]}", Comparison("tags", "==", ["a", {"b": 1}])),
        (f"{THINGS}:holds", things.holds),
    ],
)
def test_a_condition_is_data_or_a_function(text, condition):
    assert read(Condition(), text) == (condition, [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("score", "bad-value: 'score' is no condition"),
        ("score = 8", "bad-value: 'score = 8' is no condition"),
        ("__import__('os')", "bad-value:"),
        ("8", "wrong-type: a condition such as `score >= 8`"),
        ("{field: a, op: '=>', value: 1}", "bad-value: '=>' is none of"),
        ("{field: a, op: '>'}", "missing-key: a condition needs the key 'value'"),
        ("{field: a, op: '>', valeu: 1}", "unknown-key: a condition has no key 'valeu'"),
    ],
)
def test_what_is_no_condition_is_told(text, told):
    value, faults = read(Condition(), text)

    assert value is BAD
    assert faults[0].startswith(told)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("str", str),
        ("None", type(None)),
        ("any", Any),
        (f"{THINGS}:Entry", things.Entry),
        (f"{THINGS}:Entry | None", things.Entry | None),
        (f"list[{THINGS}:Entry | str]", list[things.Entry | str]),
        ("dict[str, list[int]]", dict[str, list[int]]),
        ('Literal["a, b", 3, True, None]', Literal["a, b", 3, True, None]),
        ("decimal:Decimal", imported("decimal:Decimal")),
    ],
)
def test_a_type_is_read_and_written_as_text(text, output):
    assert read(Type(), f"'{text}'") == (output, [])
    assert write(Type(), output) == (text, [])


def test_a_fault_in_a_schema_stands_at_its_place():
    root = read_text("type: object\nproperties:\n  a: {type: integr}\n", "w.yaml", {}).root
    assert root is not None
    book = Book(REGISTRY, imported)

    assert Type().read(root, Reading(book)) is BAD
    assert [(one.line, one.column, one.hint) for one in book.faults] == [(3, 13, "integer")]


@pytest.mark.parametrize(
    "text",
    [
        "strr",
        "list[",
        "list[str",
        "str]",
        "| str",
        "str |",
        "Literal[]",
        "Literal[x]",
        "a b",
        "list[str]]",
        "()",
        "list[" * 300,
        "__import__('os').system('ls')",
        "lambda: 1",
        "x" * 3000,
        "Literal[[1]]",
        "...",
        "tuple[...]",
    ],
)
def test_what_is_no_type_is_told(text):
    value, faults = read(Type(), f'"{text}"')

    assert value is BAD
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("resolved", Resolved()),
        ("{max_rounds: 3}", MaxRounds(3)),
        ("delegated", Delegated()),
        ("{any: [resolved, {all: [resolved, {delegated: a}]}]}", Resolved() | (Resolved() & Delegated("a"))),
        (f"{THINGS}:POLICY", things.POLICY),
    ],
)
def test_termination_policies(text, policy):
    assert read(TERMINATION, text) == (policy, [])


def test_a_policy_that_is_none_is_told():
    assert "there are: resolved, stop_reason" in read(TERMINATION, "resolve")[1][0]


def test_tools_declare_their_effect_in_the_file():
    (tool,), faults = read(Tools(), f"[{{tool: '{THINGS}:pay', effect: probe, probe: '{THINGS}:paid'}}]")

    assert faults == []
    assert (tool.name, effect_of(tool)) == ("pay", "probe")


def test_a_declared_tool_is_written_as_it_was_read():
    text = f"- {{tool: '{THINGS}:pay', effect: idempotent, approval: it costs money}}"
    unit, faults = read(UNIT, f"id: a\ntools:\n  {text}")
    written, refused = write(UNIT, unit)

    assert (faults, refused) == ([], [])
    assert written["tools"] == [
        {"tool": f"{THINGS}:pay", "effect": "idempotent", "approval": "it costs money"}
    ]


def test_units_with_the_same_declared_tools_are_equal():
    text = f"{{id: a, tools: [{{tool: '{THINGS}:pay', effect: idempotent}}]}}"

    assert read(UNIT, text)[0] == read(UNIT, text)[0]


def test_a_registry_and_raw_definitions_are_tools():
    unit, faults = read(
        UNIT,
        f"""
id: a
tool_handler: {THINGS}:handle
tools:
  - definition: {{name: look, description: Look., parameters: {{type: object, properties: {{}}}}}}
""",
    )
    again, _ = read(UNIT, str(write(UNIT, unit)[0]))

    assert faults == []
    assert part_hashes(again) == part_hashes(unit)
    assert read(Tools(), f"{THINGS}:REGISTRY") == ((things.LOOK_UP,), [])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (lambda snapshot: [], "a lambda has no import path; define it by name at the top level of a module"),
        ([lambda: 1], "a lambda has no import path"),
    ],
)
def test_a_lambda_is_refused(value, told):
    _, faults = write(Tools(), value)

    assert faults[0].startswith(told)


def test_a_model_is_a_name_or_an_object():
    assert read(MODEL, "openai:gpt-5-mini") == ("openai:gpt-5-mini", [])
    assert read(MODEL, f"{THINGS}:MODEL") == (things.MODEL, [])
    assert write(MODEL, things.MODEL) == (f"{THINGS}:MODEL", [])


def test_an_adapter_takes_the_models_it_is_given():
    assert read(ADAPTER, "{react: {model: openai:x}}") == (ReactAdapter("openai:x"), [])
    assert write(ADAPTER, ReactAdapter("openai:x")) == ({"react": {"model": "openai:x"}}, [])


def test_a_flow_of_ones_own_stands_by_import_path():
    flow, faults = read(PART, f"[{THINGS}:OWN, {THINGS}:PART, {THINGS}:counted]")

    assert faults == []
    assert flow == SequentialFlow(things.OWN, things.PART, things.counted)
    assert write(PART, flow) == ([f"{THINGS}:OWN", "imported", f"{THINGS}:counted"], [])


def test_data_that_would_be_an_include_is_refused():
    condition = Comparison("tags", "==", {"include": "other.yaml"})

    assert "would stand for the file" in write(Condition(), condition)[1][0]
    assert write(Condition(), Comparison("tags", "==", {"include": "all"}))[1] == []


def test_limits_have_the_names_of_policies_too():
    unit, faults = read(UNIT, "{id: a, limits: {max_tokens: 5, seconds: 1.5}}")

    assert faults == []
    assert unit.limits == Limits(tokens=5, seconds=1.5)


def test_one_key_said_in_two_words_is_told():
    _, faults = read(UNIT, "{id: a, limits: {max_tokens: 5, tokens: 6}}")

    assert faults == ["duplicate-key: 'tokens' says again what 'max_tokens' says; keep one"]
