"""A file is put together from others; each fault keeps the place of its own file."""

from __future__ import annotations

import pytest

from plait.spec.tree import plain
from plait.workflow_file import check_workflow, load_workflow
from plait.workflow_source import read_source

WHOLE = """\
apiVersion: plait/v1
kind: Workflow
spec:
  units: {include: parts/units.yaml}
  flow: [a, b]
"""
UNITS = "- {id: a, prompt: First.}\n- {id: b, prompt: Second.}\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "w.yaml").write_text(WHOLE)
    (tmp_path / "parts" / "units.yaml").write_text(UNITS)
    return tmp_path


def test_a_list_can_come_from_another_file(folder):
    assert check_workflow(folder / "w.yaml") == ()


def test_a_fault_stands_in_its_own_file(folder):
    (folder / "parts" / "units.yaml").write_text(UNITS.replace("prompt: Second", "promt: Second"))

    told = check_workflow(folder / "w.yaml")

    assert [(one.file, one.line, one.column) for one in told] == [
        (str(folder / "parts" / "units.yaml"), 2, 11)
    ]


def test_keys_beside_an_include_win(folder):
    (folder / "base.yaml").write_text("x: 1\ny: 2\n")
    (folder / "own.yaml").write_text("a: {include: base.yaml, y: 3}\n")

    root = read_source(folder / "own.yaml").root

    assert root is not None
    assert plain(root) == {"a": {"y": 3, "x": 1}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: {include: none.yaml}", "1:14: include 'none.yaml' cannot be read: No such file"),
        (
            "a: {include: own.yaml}",
            "1:14: include files include each other in a circle: own.yaml -> own.yaml",
        ),
        ("a: {include: parts.yaml}", "1:14: include 'parts.yaml' cannot be read: it is no regular file"),
        ("a: {include: list.yaml, b: 1}", "1:14: include beside other keys only a mapping"),
        ("a: {include: bad.yaml}", "2:1: syntax"),
    ],
)
def test_an_include_that_cannot_be_is_a_diagnostic(folder, text, told):
    (folder / "parts.yaml").mkdir()
    (folder / "list.yaml").write_text("[1]")
    (folder / "bad.yaml").write_text("[1")
    (folder / "own.yaml").write_text(text)

    assert told in str(read_source(folder / "own.yaml").faults[0])


def test_includes_cannot_multiply_without_bound(folder):
    for number in range(30):
        twice = f"[{{include: f{number + 1}.yaml}}, {{include: f{number + 1}.yaml}}]"
        (folder / f"f{number}.yaml").write_text(twice)
    (folder / "f30.yaml").write_text("x")

    source = read_source(folder / "f0.yaml")

    assert "more than 100 includes" in str(source.faults[0])


def test_a_file_that_is_not_there_is_a_diagnostic(tmp_path):
    told = check_workflow(tmp_path / "none.yaml")

    assert [one.code for one in told] == ["file"]


def test_code_beside_the_file_is_found(folder):
    (folder / "beside_the_file.py").write_text(
        "def shout(snapshot):\n    return str(snapshot.task).upper()\n"
    )
    (folder / "own.yaml").write_text(
        "apiVersion: plait/v1\nkind: Workflow\nspec: {flow: 'beside_the_file:shout'}\n"
    )

    assert load_workflow(folder / "own.yaml").run_sync("hello").output == "HELLO"


def test_code_that_another_module_hides_is_a_diagnostic(folder):
    (folder / "json.py").write_text("def dumps(snapshot):\n    return 1\n")
    (folder / "own.yaml").write_text("apiVersion: plait/v1\nkind: Workflow\nspec: {flow: 'json:dumps'}\n")

    told = check_workflow(folder / "own.yaml")

    assert [one.code for one in told] == ["import-failed"]
    assert "rename" in told[0].message
