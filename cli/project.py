"""The files of a new project; `PROJECT` in them is its name."""

from __future__ import annotations

WORKFLOW = """\
apiVersion: plait/v1
kind: Workflow
metadata:
  id: PROJECT
  description: Converts lengths, and says so kindly.
spec:
  # model: openai:gpt-5-mini    # without one OPENAI_API_KEY's; without a key `mock` plays
  units:
    - id: convert
      prompt: Find out what is to be converted, and convert it with your tool.
      output:
        type: object
        properties:
          value: {type: number}
          unit: {type: string}
        required: [value, unit]
      tools: [tools:km_to_miles]
    - id: answer
      prompt: Tell the user the result in one friendly sentence.
      answer: text
  flow: [convert, answer]
  mock:
    convert:
      - when: {after: km_to_miles, result: '(?P<miles>[0-9.]+)'}
        call: {resolve: {value: "{miles:number}", unit: miles}}
      - when: {matches: '(?P<km>[0-9.]+) *km'}
        call: {km_to_miles: {km: "{km:number}"}}
      - otherwise: {fail: there is no length in the task}
    answer:
      - when: {matches: '"value": ?(?P<value>[0-9.]+)'}
        text: That is {value} miles. Safe travels!
"""

TOOLS = '''\
"""The tools of the workflow."""

import plait


@plait.tool(effect="read")
def km_to_miles(km: float) -> float:
    """Convert kilometres to miles."""
    return round(km * 0.621371, 2)
'''

CASES = """\
cases:
  - name: a length is converted
    input: 12 km in miles
    expect:
      route: [convert, answer]
      calls: [{km_to_miles: {km: 12}}]
      contains: 7.46 miles
  - name: a model that forgets its tool is noticed
    input: 12 km in miles
    mock:
      convert: [{call: {resolve: {value: 19, unit: miles}}}]
      answer: [{text: That is 19 miles.}]
    expect:
      route: [convert, answer]
      calls: []
      equals: That is 19 miles.
"""

TEST = '''\
"""`plait test workflow.yaml` runs the cases in workflow.cases.yaml; this is a test in Python."""

from pathlib import Path

from plait import Workflow

HERE = Path(__file__).parent


def test_the_output_of_a_unit_can_be_asked_for():
    workflow = Workflow.from_yaml(HERE / "workflow.yaml")

    result = workflow.run_sync("5 km in miles")

    assert result.outcome == "done"
    assert result.steps[0].output.value == 3.11
'''

README = """\
# PROJECT

    plait run workflow.yaml "12 km in miles"
    plait check workflow.yaml
    plait test workflow.yaml
    plait draw workflow.yaml -o workflow.svg
    plait dev workflow.yaml            # LangGraph's server, and Studio on it

`workflow.yaml` says what runs, `tools.py` holds the tools, `workflow.cases.yaml` the test cases. Without a
key the scripted replies under `mock` play. For a real model set `OPENAI_API_KEY`, or name one in the file.
"""

PYPROJECT = """\
[project]
name = "PROJECT"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["plait[cli]"]

[project.optional-dependencies]
dev = ["plait[server]", "pytest>=9"]

[tool.setuptools]
py-modules = ["tools"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""

IGNORED = """\
.plait/
.langgraph_api/
__pycache__/
"""

FILES = {
    "workflow.yaml": WORKFLOW,
    "tools.py": TOOLS,
    "workflow.cases.yaml": CASES,
    "test_workflow.py": TEST,
    "README.md": README,
    "pyproject.toml": PYPROJECT,
    ".gitignore": IGNORED,
}
