"""The questions about a folder: on the scripted model in three ways, and what the tools refuse to read."""

import json
import os

import pytest

from plait.examples import project_questions
from plait.examples.models import NO_KEY
from plait.examples.project.folder import MOST_CHARACTERS, Folder
from plait.examples.project.scripted import scripted_model
from plait.examples.project_questions import Answer, main, project_workflow


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text("# Kite\n\nA small tool that flies.\n", encoding="utf-8")
    (root / "docs" / "license.md").write_text(
        "# Licence\n\nKite is free under the MIT licence.\n", encoding="utf-8"
    )
    (root / "docs" / "安装.md").write_text("安装很简单：下载即可。\n", encoding="utf-8")
    (root / "package.json").write_text(json.dumps({"scripts": {"lint": "eslint .", "fly": "node fly.js"}}))
    (root / "Makefile").write_text("check: lint\n\tnpm test\n\tnpm run lint\nVAR := x\n")
    (tmp_path / "secret.md").write_text("the licence key is 42")
    os.symlink(tmp_path / "secret.md", root / "docs" / "link.md")
    return root


WAYS = [("tools", "typed"), ("text", "typed"), ("tools", "text"), ("text", "text")]


@pytest.mark.parametrize(("protocol", "answer"), WAYS)
async def test_a_question_is_answered_from_the_documents(folder, protocol, answer):
    workflow = project_workflow(folder, scripted_model(), protocol=protocol, answer=answer)
    result = await workflow.run("Which licence has it?")
    said = result.output if answer == "text" else result.output.answer
    assert said.startswith("docs/license.md says:")
    assert "MIT" in said
    assert [made.name for made in result.steps[0].tool_calls] == ["search_docs", "read_doc"]
    if answer == "typed":
        assert result.output.sources == ["docs/license.md"]


@pytest.mark.parametrize(("protocol", "answer"), WAYS)
async def test_a_question_about_a_script_reads_it(folder, protocol, answer):
    workflow = project_workflow(folder, scripted_model(), protocol=protocol, answer=answer)
    result = await workflow.run("What does the lint script run?")
    said = result.output if answer == "text" else result.output.answer
    assert "eslint ." in said


@pytest.mark.parametrize(("protocol", "answer"), WAYS)
async def test_a_question_the_folder_does_not_answer_is_not_made_up(folder, protocol, answer):
    workflow = project_workflow(folder, scripted_model(), protocol=protocol, answer=answer)
    result = await workflow.run("Who wrote zygomorphic?")
    said = result.output if answer == "text" else result.output.answer
    assert "say nothing" in said


async def test_the_answer_depends_on_the_folder(folder):
    (folder / "docs" / "license.md").write_text("Kite is under the Apache licence.\n")
    result = await project_workflow(folder, scripted_model()).run("Which licence has it?")
    assert result.output == Answer(
        answer="docs/license.md says: Kite is under the Apache licence.", sources=["docs/license.md"]
    )


def test_chinese_documents_are_found(folder):
    assert Folder(folder).search_docs("安装很简单").startswith("docs/安装.md:1:")


@pytest.mark.parametrize(
    "path", ["../secret.md", "docs/link.md", "/etc/passwd", "docs/../../secret.md", "\0", "docs"]
)
def test_nothing_outside_the_folder_is_read(folder, path):
    with pytest.raises(ValueError, match=r"outside the project|no path|no file"):
        Folder(folder).read_doc(path)
    assert "42" not in Folder(folder).search_docs("licence key")


def test_a_long_document_comes_in_pieces(folder):
    (folder / "long.md").write_text("\n".join(f"line {n}" for n in range(1, 3001)))
    first = Folder(folder).read_doc("long.md")
    assert len(first) <= MOST_CHARACTERS + 40
    start = int(first.rpartition("line ")[2].split()[0])
    assert Folder(folder).read_doc("long.md", start).startswith(f"line {start}\n")


def test_scripts_of_every_kind_are_listed(folder):
    assert Folder(folder).read_package_script().splitlines() == ["lint", "fly", "check"]
    assert Folder(folder).read_package_script("check") == "check: npm test ; npm run lint"
    with pytest.raises(ValueError, match="there are: lint, fly, check"):
        Folder(folder).read_package_script("deploy")


@pytest.mark.parametrize("flags", [[], ["--protocol", "text"], ["--answer", "text"]])
def test_the_command_says_what_it_runs_on_and_answers(folder, capsys, flags):
    assert main([str(folder), "Which licence has it?", *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == NO_KEY
    assert "MIT" in lines[1]


def test_the_command_refuses_what_is_no_folder(tmp_path, capsys):
    with pytest.raises(SystemExit) as raised:
        main([str(tmp_path / "none"), "Why?"])
    assert raised.value.code == 2
    assert "is no folder" in capsys.readouterr().err


def test_a_failed_run_is_told_and_is_status_one(folder, capsys, monkeypatch):
    from plait.testing import ScriptedModel, fail

    broken = ScriptedModel(lambda _: fail(ValueError("down")))
    monkeypatch.setattr(project_questions, "scripted_model", lambda: broken)
    assert main([str(folder), "Why?"]) == 1
    assert "down" in capsys.readouterr().err
