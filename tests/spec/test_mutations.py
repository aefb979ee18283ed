"""Mutated files end in diagnostics or in a workflow: never in another error, never after long."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import plait
from plait.spec.diagnostics import CODES
from plait.spec.imports import limited
from plait.workflow_file import check_text, workflow_from_text, workflow_to_yaml
from plait.workflow_models import StandIn

from .mutations import mutated
from .test_seeded_faults import GOOD

MANY = 20_000 if os.environ.get("PLAIT_SOAK") else 400
CHUNK = 100
SLOWEST_S = 2.0

EVERYTHING = f"""\
apiVersion: plait/v1
kind: Workflow
metadata: {{id: everything}}
spec:
  model: anthropic:claude
  state: {__package__}.things:Shared
  units:
    - id: a
      prompt: {{function: "{__package__}.things:prompted"}}
      output: "list[{__package__}.things:Entry] | None"
      tools:
        - {{tool: "{__package__}.things:pay", effect: idempotent, approval: it costs money}}
        - {__package__}.things:stock
      termination: {{all: [resolved, {{condition: "{__package__}.things:is_full"}}]}}
      retry: {{max_attempts: 2, retry_on: ["decimal:DecimalException"]}}
      adapter: {{llm: {{method: parse, attempts: 2}}}}
      thinking_level: high
    - id: b
      writes: [notes, count]
    - id: c
  flow:
    - type: map
      part: {{unit: a, id: other, max_rounds: 3}}
      over: {{field: rows}}
      reducer: {__package__}.things:counted
      quorum: 1
    - [a, b]
    - type: router
      router: c
      routes:
        x: [a, b]
        y: {{type: step, function: "{__package__}.things:noted", id: noting, when: kind == "z"}}
      default: x
    - type: delegation
      orchestrator: b
      specialists: {{one: a, two: {__package__}.things:PART}}
    - type: broadcast
      peers: [a, b]
      until: {__package__}.things:holds
    - type: composite
      steps: [{{type: parallel, members: [a, b], on_failure: fail_fast}}]
"""
TEXTS = [
    GOOD,
    EVERYTHING,
    *(p.read_text("utf-8") for p in sorted((Path(plait.__file__).parent / "examples").glob("*.yaml"))),
]


def test_the_texts_are_good_before_they_are_mutated():
    assert [told for text in TEXTS for told in check_text(text, importer=SAFE)] == []


SAFE = limited(f"{__package__}.things", "plait.examples", "decimal")
"""A mutated path may name any module there is, and importing one runs it; these are known to do nothing."""


@pytest.mark.parametrize("first", range(0, MANY, CHUNK))
def test_a_mutated_file_ends_in_diagnostics_or_in_a_workflow(first):
    for seed in range(first, first + CHUNK):
        text = mutated(TEXTS, seed)
        began = time.perf_counter()
        found = check_text(text, importer=SAFE)
        assert time.perf_counter() - began < SLOWEST_S, f"seed {seed} took too long"
        assert all(one.code in CODES and one.line >= 1 and one.message for one in found), seed
        if not found:
            workflow = workflow_from_text(text, model=StandIn({}), importer=SAFE)
            assert workflow_to_yaml(workflow), seed


HEAD = "apiVersion: plait/v1\nkind: Workflow\nspec:\n"
LARGE = {
    "one unit": f"{HEAD}  units: [{{id: a}}]\n  flow: [{', '.join(['a'] * 15_000)}]\n",
    "parallel": f"{HEAD}  units: [{{id: a}}]\n  flow: [[{', '.join(['a'] * 15_000)}]]\n",
    "many units": f"{HEAD}  units: [{', '.join(f'{{id: u{n}}}' for n in range(9_000))}]\n  flow: [u0]\n",
    "unknown units": f"{HEAD}  flow: [{', '.join(f'u{n}' for n in range(15_000))}]\n",
    "unknown keys": f"{HEAD}  flow: {{id: a, {', '.join(f'k{n}: 1' for n in range(15_000))}}}\n",
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_what_is_large_without_need_is_refused_quickly(text):
    began = time.perf_counter()
    found = check_text(text, importer=SAFE)

    assert time.perf_counter() - began < SLOWEST_S
    assert 1 <= len(found) <= 200
