"""The README, the documents and the examples in docstrings do what they say."""

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from plait.workflow_file import check_text, workflow_from_text

ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "nodes", "graphs", "adapters", "testing")


async def run_code(source: str, namespace: dict[str, object], name: str) -> None:
    """Run a cell or block as a notebook does, with `await` at the top level."""
    code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, namespace)
    if inspect.isawaitable(result):
        await result


DOCUMENTS = [
    *sorted(ROOT.glob("README*.md")),
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)


def blocks(document: Path, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.S)


@every_document
async def test_the_blocks_of_a_document_run_in_their_order(document: Path) -> None:
    namespace: dict[str, object] = {"__name__": document.stem}
    for number, block in enumerate(blocks(document), start=1):
        await run_code(block, namespace, f"{document.name} block {number}")


@every_document
async def test_a_workflow_in_a_document_is_valid_and_runs(document: Path) -> None:
    for number, block in enumerate(blocks(document, "yaml"), start=1):
        if "kind: Workflow" in block:
            name = f"{document.name} block {number}"
            assert check_text(block, name=name) == ()
            if "mock:" in block:
                assert (await workflow_from_text(block, name=name).run("lunch 32")).outcome == "done"


@every_document
def test_a_document_names_what_is_there(document: Path) -> None:
    """Links to files and headings of the repository lead somewhere."""
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        path, _, heading = target.partition("#")
        if "://" in path:
            continue
        found = document if not path else document.parent / path
        assert found.exists(), f"{document.name}: {target}"
        if heading:
            assert heading in slugs(found), f"{document.name}: {target}"


def slugs(document: Path) -> list[str]:
    """The headings of a document as links name them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), flags=re.M)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_the_documents_hold_code() -> None:
    assert sum(len(blocks(document)) for document in DOCUMENTS) >= 20


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).glob("*.py")):
            yield importlib.import_module(f"plait.{package}.{path.stem}")


def test_the_examples_in_docstrings_give_what_they_show() -> None:
    results = [doctest.testmod(module, verbose=False) for module in modules()]
    assert sum(result.attempted for result in results) >= 10
    assert sum(result.failed for result in results) == 0
