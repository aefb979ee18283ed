"""Python -> YAML -> Python is equal, and YAML -> Python -> YAML is a fixed point."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plait.examples.accounting.units import accounting_workflow
from plait.examples.delegation import delegating_workflow
from plait.examples.plan_execute import answering_workflow
from plait.examples.review.units import review_workflow
from plait.spec.document import Document, read_document, written_document
from plait.spec.emit import emitted
from plait.spec.imports import Namer, imported
from plait.spec.kinds import Book, Reading, Writing
from plait.spec.source import read_text
from plait.workflow_file import workflow_from_text, workflow_to_yaml
from plait.workflow_forms import REGISTRY

from . import things
from .essence import essence
from .workflows import flows, models, options

NAMER = Namer()
SOAK = bool(os.environ.get("PLAIT_SOAK"))


def text_of(document: Document) -> str:
    at = Writing(REGISTRY, [], {}, document.options.get("model"), namer=NAMER)
    written = written_document(document, at)
    assert at.faults == []
    return emitted(written)


def document_of(text: str) -> Document:
    read = read_text(text, "w.yaml", {})
    assert [str(fault) for fault in read.faults] == []
    assert read.root is not None
    book = Book(REGISTRY, imported)
    document = read_document(read.root, Reading(book))
    assert [str(fault) for fault in book.faults] == []
    assert document is not None
    return document


@st.composite
def documents(draw: st.DrawFn) -> Document:
    flow = draw(flows)
    given_options = draw(options)
    description = given_options.pop("description", "")
    model = draw(st.none() | models)
    named = {} if model is None else {"model": model}
    return Document(flow, {**named, **given_options}, description=description)


@settings(max_examples=2_000 if SOAK else 500, suppress_health_check=list(HealthCheck))
@given(documents())
def test_a_workflow_comes_back_equal_from_its_file(document):
    text = text_of(document)
    back = document_of(text)

    assert essence(back.flow) == essence(document.flow)
    assert back.flow == document.flow
    kept = {key: value for key, value in document.options.items() if not is_default(key, value)}
    assert essence(dict(sorted(back.options.items()))) == essence(dict(sorted(kept.items())))
    assert (back.name, back.description) == (document.name, document.description)
    assert text_of(back) == text


def is_default(key: str, value: Any) -> bool:
    return (key, value) in (("scheduling", "eager"), ("default_effect", "unsafe"), ("granularity", "round"))


@pytest.mark.parametrize(
    "make", [accounting_workflow, delegating_workflow, answering_workflow, review_workflow]
)
def test_an_example_comes_back_equal_from_its_file(make):
    workflow = make(things.MODEL)

    text = workflow_to_yaml(workflow)
    back = workflow_from_text(text)

    assert back.bound.flow == workflow.bound.flow
    assert back.bound.bundle == workflow.bound.bundle
    assert essence(back._options) == essence(workflow._options)
    assert workflow_to_yaml(back) == text
