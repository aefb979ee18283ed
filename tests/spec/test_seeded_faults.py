"""Faults seeded into a good file, each found at its line with its code, and told what was meant."""

from __future__ import annotations

import pytest

from plait.workflow_file import check_text

GOOD = """\
apiVersion: plait/v1
kind: Workflow
metadata: {id: review, description: Reviews a change.}
spec:
  model: openai:gpt-5-mini
  limits: {tokens: 100000, seconds: 600}
  checkpointer: sqlite:///runs.db
  units:
    - id: plan
      prompt: Plan it.
      max_rounds: 5
    - id: security
      prompt: Look for holes.
      output: plait.tests.spec.things:Verdict
      tools: [plait.tests.spec.things:search]
    - id: style
      prompt: Look at the style.
      memory: thread
      termination: {any: [resolved, {max_rounds: 4}]}
    - id: judge
      prompt: Judge.
      output: plait.tests.spec.things:Verdict
      retry: {max_attempts: 2}
    - id: report
      prompt: Report.
      when: score >= 2
  flow:
    - type: dag
      planner: plan
      executors:
        security:
          type: reflexion
          actor: security
          evaluator: judge
          accept: score >= 8
        style: style
      dependencies:
        style: [security]
    - type: loop
      body: judge
      until: {field: score, op: ">=", value: 5}
    - report
  adapter: react
"""
GOOD = GOOD.replace("plait.tests.spec.things", f"{__package__}.things")

FAULTS = [
    # what, old, new, line, code, hint
    ("a key with a slip", "max_rounds: 5", "max_round: 5", 11, "unknown-key", "max_rounds"),
    ("a key at the top", "metadata:", "metdata:", 3, "unknown-key", "metadata"),
    ("a key of the spec", "  adapter: react", "  adaptor: react", 43, "unknown-key", "adapter"),
    ("a key of a flow", "until: {", "untill: {", 41, "unknown-key", "until"),
    ("a key of limits", "{tokens: 100000", "{token: 100000", 6, "unknown-key", "tokens"),
    ("a key of a condition", 'op: ">="', 'opp: ">="', 41, "unknown-key", ""),
    ("another version", "plait/v1", "plait/v2", 1, "bad-value", "plait/v1"),
    ("another kind", "kind: Workflow", "kind: workflow", 2, "bad-value", "Workflow"),
    ("no version", "apiVersion: plait/v1\n", "# nothing\n", 2, "missing-key", ""),
    ("no id", "- id: style\n      prompt", "- prompt", 16, "missing-key", ""),
    ("no accept", "          accept: score >= 8\n", "", 32, "missing-key", ""),
    ("an unknown unit", "body: judge", "body: jugde", 40, "unknown-name", "judge"),
    ("an unknown unit in a list", "    - report\n", "    - reprot\n", 42, "unknown-name", "report"),
    ("an unknown flow", "type: loop", "type: lop", 39, "bad-value", "loop"),
    ("an unknown choice", "memory: thread", "memory: threads", 18, "bad-value", "thread"),
    ("an unknown adapter", "adapter: react", "adapter: reakt", 43, "bad-value", "react"),
    ("an unknown policy", "{max_rounds: 4}", "{max_round: 4}", 19, "unknown-key", "max_rounds"),
    ("an unknown provider", "openai:gpt", "opnai:gpt", 5, "model", "openai:gpt-5-mini"),
    ("a model without a provider", "openai:gpt-5-mini", "gpt-5-mini", 5, "model", ""),
    ("text for a number", "max_rounds: 5", "max_rounds: five", 11, "wrong-type", ""),
    ("a number for text", "prompt: Plan it.", "prompt: 12", 10, "wrong-type", ""),
    ("a number out of range", "{max_attempts: 2}", "{max_attempts: 0}", 23, "bad-value", ""),
    ("a text for a list", "style: [security]", "style: 7", 38, "wrong-type", ""),
    ("a list for a unit", "planner: plan", "planner: 1.5", 29, "wrong-type", ""),
    ("a path without a name", "things:search", "things", 15, "bad-path", ""),
    ("a name that is not there", "things:search", "things:serch", 15, "import-failed", "things:search"),
    ("a module that is not there", "things:search", "thinks:search", 15, "import-failed", ""),
    ("a class for a tool", "things:search", "things:Verdict", 15, "wrong-type", ""),
    ("no such type", "output: ", "output: strr # ", 14, "bad-value", "str"),
    ("no type in a schema", "output: ", "output: {type: strng} # ", 14, "bad-value", "string"),
    ("no condition", "when: score >= 2", "when: score", 26, "bad-value", ""),
    ("a bad URL", "sqlite:///runs.db", "sqlit:///runs.db", 7, "bad-value", ""),
    ("a unit twice", "- id: style", "- id: plan", 16, "duplicate-id", ""),
    ("a unit that nothing uses", "    - report\n", "", 24, "unused-unit", ""),
    ("a key twice", "      max_rounds: 5", "      prompt: Again.", 11, "duplicate-key", ""),
    ("a tag", "prompt: Plan it.", "prompt: !!python/name:os.system Plan", 10, "tag", ""),
    ("no variable", "prompt: Plan it.", "prompt: ${PLAIT_NOT_SET}", 10, "environment", ""),
    ("a circle", "style: [security]", "style: [style]", 37, "definition", ""),
    ("a need that is no executor", "style: [security]", "style: [sekurity]", 38, "definition", ""),
    ("a field that no output has", "accept: score >= 8", "accept: scor >= 8", 35, "definition", ""),
    ("no passes", "body: judge", "max_iterations: 0\n      body: judge", 40, "bad-value", ""),
    ("an override of no unit", "adapter: react", "overrides: {plam: react}", 43, "definition", ""),
    ("no type of state", "  adapter: react", "  state: int", 43, "bad-value", ""),
    ("a reserved id", "- id: plan", "- id: pl/an", 9, "definition", ""),
    ("bad indentation", "  units:", " units:", 8, "syntax", ""),
    ("an open bracket", "tools: [", "tools: [[", 16, "syntax", ""),
]


def test_the_good_file_has_no_fault():
    assert check_text(GOOD) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "hint"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_found_at_its_line(old, new, line, code, hint):
    assert GOOD.count(old) >= 1
    found = check_text(GOOD.replace(old, new, 1), name="w.yaml")

    assert [(one.line, one.code) for one in found if (one.line, one.code) == (line, code)], told(found)
    assert hint in {one.hint.rpartition("spec.")[2] for one in found if one.line == line}, told(found)


def told(found):
    return "\n".join(str(one) for one in found)


ALONE = [fault for fault in FAULTS if fault[0] not in ("no id", "a unit twice", "a reserved id")]
"""Those that leave no name behind which is then unknown."""


@pytest.mark.parametrize(("old", "new"), [fault[1:3] for fault in ALONE], ids=[fault[0] for fault in ALONE])
def test_a_fault_is_told_once(old, new):
    found = check_text(GOOD.replace(old, new, 1))

    assert len(found) == 1, told(found)


def test_all_faults_are_told_at_once():
    spoiled = GOOD
    for name in ("a key with a slip", "an unknown choice", "an unknown provider", "a circle", "no condition"):
        old, new = next(fault[1:3] for fault in FAULTS if fault[0] == name)
        spoiled = spoiled.replace(old, new, 1)

    assert [one.line for one in check_text(spoiled)] == [5, 11, 18, 26, 37]


def test_a_diagnostic_reads_as_one_line():
    found = check_text(GOOD.replace("max_rounds: 5", "max_round: 5"), name="w.yaml")

    assert str(found[0]) == (
        "w.yaml:11:7: unknown-key a unit has no key 'max_round' (did you mean max_rounds?)"
    )
    assert found[0].path == "spec.units[0].max_round"
