"""The example files are clean, equal to their Python twins, and run without a key on their own replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import plait
from plait import Workflow
from plait.examples.accounting.ledger import Ledger
from plait.examples.accounting.scripted import scripted_model
from plait.examples.accounting.units import SAVED, Books, accounting, accounting_workflow
from plait.examples.accounting_router import DEMO_DAY, DEMO_MESSAGES
from plait.examples.chat import DEMO, chat
from plait.examples.code_review import DEMO_DIFF, DEMO_REPOSITORY, unpack
from plait.examples.project.folder import Folder
from plait.examples.review import scripted as reviewing
from plait.examples.review.diff import numbered, read_diff
from plait.examples.review.repository import Repository
from plait.examples.review.units import code_review, review_workflow
from plait.spec.source import read_text
from plait.spec.tree import plain
from plait.workflow_file import check_workflow, load_workflow, workflow_from_text, workflow_to_yaml

FOLDER = Path(plait.__file__).parent / "examples"
FILES = sorted(FOLDER.glob("*.yaml"))
NAMES = ["accounting-router", "chat", "code-review", "map-reduce", "project-qa"]
REVIEWS = "Great shop, thanks.\nMy parcel was late again.\n\nThe cup broke at once\nRather expensive"

every = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("PROTOCOL", raising=False)


def loaded(name: str, **changes: Any) -> Any:
    return load_workflow(FOLDER / f"{name}.yaml", **changes)


def test_all_examples_are_there():
    assert {file.stem for file in FILES} >= set(NAMES)


@every
def test_an_example_names_its_schema_and_says_what_it_is(file):
    first, second, third = file.read_text(encoding="utf-8").splitlines()[:3]

    assert first == "# yaml-language-server: $schema=../spec/plait.schema.json"
    assert second.startswith("# ")
    assert third == "apiVersion: plait/v1"


@every
def test_an_example_is_clean(file):
    assert check_workflow(file) == ()


@every
def test_an_example_fits_the_published_schema(file):
    schema = json.loads((FOLDER.parent / "spec" / "plait.schema.json").read_text(encoding="utf-8"))
    root = read_text(file.read_text(encoding="utf-8"), str(file), {}).root

    assert root is not None
    assert [error.message for error in Draft202012Validator(schema).iter_errors(plain(root))] == []


@every
def test_an_example_plays_its_own_replies_and_says_so(file):
    assert "scripted replies" in load_workflow(file).notice


@every
def test_an_example_comes_back_equal_from_its_own_text(file):
    workflow = load_workflow(file)
    text = workflow_to_yaml(workflow)
    again = workflow_from_text(text)

    assert again.bound.flow == workflow.bound.flow
    assert again.origin.document.mock == workflow.origin.document.mock
    assert workflow_to_yaml(again) == text


TWINS = {"accounting-router": accounting, "code-review": code_review, "chat": chat}


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_has_the_flow_of_the_python_example(name):
    assert loaded(name).bound.flow == TWINS[name]


async def replies(workflow: Workflow, books: Books) -> list[Any]:
    said: list[Any] = []
    async with workflow:
        for number, message in enumerate(DEMO_MESSAGES.read_text(encoding="utf-8").split("\n")):
            if message.strip():
                task = {"thread_id": str(number), "context": books, "state": {SAVED: None}}
                result = await workflow.run(message.strip(), **task)
                said.append((result.output, [step.path for step in result.steps]))
    return said


async def test_the_accounting_file_answers_the_demo_messages_as_the_python_example_does(tmp_path):
    ledgers = [Ledger(tmp_path / name) for name in ("python.db", "yaml.db")]
    workflows = [accounting_workflow(scripted_model()), loaded("accounting-router")]

    pairs = zip(workflows, ledgers, strict=True)
    first, second = [await replies(one, Books(str(kept.path), DEMO_DAY)) for one, kept in pairs]

    assert len(first) == 30
    assert second == first
    assert ledgers[0].entries() == ledgers[1].entries() != []


async def test_the_review_file_finds_what_the_python_example_finds(tmp_path):
    unpack(DEMO_REPOSITORY.read_text(encoding="utf-8"), tmp_path)
    task = numbered(read_diff(DEMO_DIFF.read_text(encoding="utf-8")))
    here = Repository(tmp_path)

    ours = await review_workflow(reviewing.scripted_model()).run(task, context=here)
    theirs = await loaded("code-review").run(task, context=here)

    assert theirs.output == ours.output
    assert len(theirs.output.findings) == 11
    assert {step.path for step in theirs.steps} == {step.path for step in ours.steps}


async def test_ten_turns_of_the_chat_keep_what_was_said(tmp_path):
    said = []
    for line in DEMO.read_text(encoding="utf-8").splitlines():
        async with loaded("chat", checkpointer=f"sqlite:///{tmp_path}/chat.db") as workflow:
            said.append((await workflow.run(line, thread_id="mei")).output)

    assert len(said) == 10
    assert said[1] == "Kept as note 1. I will remember it."
    assert said[4] == "You told me:\nthe meeting is on Tuesday.\n午饭 32 元"
    assert said[7] == "You told me:\nthe meeting is on Tuesday.\n午饭 32 元\nMei likes green tea."
    assert said[3] == "You said “How are you?”."


async def test_reviews_are_judged_one_by_one_and_reported_together():
    result = await loaded("map-reduce").run(REVIEWS)
    judged = [(step.path, step.output.mood, step.output.topic) for step in result.steps[:-1]]

    assert sorted(judged) == [
        ("judge{0}", "good", "other"),
        ("judge{1}", "bad", "delivery"),
        ("judge{2}", "bad", "quality"),
        ("judge{3}", "mixed", "price"),
    ]
    assert result.output.urgent == "quality"
    assert (await loaded("map-reduce").run("Nice!\nLovely.")).output.urgent == "nothing"


@pytest.fixture
def project(tmp_path: Path) -> Folder:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "license.md").write_text("# Licence\n\nKite is free under the MIT licence.\n")
    (tmp_path / "Makefile").write_text("lint:\n\teslint .\n")
    return Folder(tmp_path)


@pytest.mark.parametrize("protocol", ["react", "text_react"])
async def test_questions_are_answered_from_a_real_folder(project, monkeypatch, protocol):
    monkeypatch.setenv("PROTOCOL", protocol)
    workflow = loaded("project-qa")

    about_text = await workflow.run("Which licence has it?", context=project)
    about_script = await workflow.run("What does the lint script run?", context=project)

    assert about_text.output.sources == ["docs/license.md"]
    assert [made.name for made in about_text.steps[0].tool_calls] == ["search_docs", "read_doc"]
    assert "eslint ." in about_script.output.answer


@pytest.mark.parametrize("found", [lambda folder: folder, lambda folder: None], ids=["given", "current"])
async def test_without_a_context_the_current_folder_is_asked(
    project, monkeypatch, found: Callable[[Folder], Folder | None]
):
    monkeypatch.chdir(project.root)

    result = await loaded("project-qa").run("Which licence has it?", context=found(project))

    assert "MIT" in result.output.answer
