"""The published JSON Schema is what the tables make, and takes what the writer writes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from plait.spec.flows import FLOWS
from plait.spec.source import read_text
from plait.spec.tree import plain
from plait.spec.units import UNIT
from plait.workflow_file import workflow_schema
from plait.workflow_schema import PUBLISHED, schema_text

from .test_round_trip import documents, text_of

VALIDATOR = Draft202012Validator(workflow_schema())
WHOLE = """
apiVersion: plait/v1
kind: Workflow
spec:
  units:
    - {id: a, prompt: "Do it.", max_rounds: "${ROUNDS:-3}"}
    - {include: more.yaml}
  flow: {type: router, router: a, routes: {x: a, y: [a, a]}}
"""


def test_the_published_schema_is_what_the_tables_make():
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), "write it anew: make schema"


def test_the_schema_is_one():
    Draft202012Validator.check_schema(workflow_schema())


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(documents())
def test_what_is_written_fits_the_schema(document):
    root = read_text(text_of(document), "w.yaml", {}).root

    assert root is not None
    assert [error.message for error in VALIDATOR.iter_errors(plain(root))] == []


def test_variables_includes_and_other_words_fit_the_schema():
    root = read_text(WHOLE.replace("${", "$${"), "w.yaml", {}).root

    assert root is not None
    assert [error.message for error in VALIDATOR.iter_errors(plain(root))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prompt:", "promt:"),
        ("type: router", "type: ruter"),
        ("plait/v1", "plait/v2"),
        ("kind: Workflow", "x: 1"),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(old, new):
    root = read_text(WHOLE.replace(old, new).replace("${", "$${"), "w.yaml", {}).root

    assert root is not None
    assert not VALIDATOR.is_valid(plain(root))


@pytest.mark.parametrize("record", [UNIT, *FLOWS.values()], ids=lambda record: record.name)
def test_every_field_has_a_row(record):
    from dataclasses import fields

    given = {f.name for f in fields(record.cls)}

    assert {row.key for row in record.rows} == given
