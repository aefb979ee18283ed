"""The README, the notebooks and the examples in docstrings do what they say."""

import ast
import doctest
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "nodes", "graphs", "adapters", "testing")


async def run_code(source: str, namespace: dict[str, object], name: str) -> None:
    """Run a cell or block as a notebook does, with `await` at the top level."""
    code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, namespace)
    if inspect.isawaitable(result):
        await result


def blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.S)


@pytest.mark.parametrize(
    "document", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.stem
)
async def test_the_blocks_of_a_document_run_in_their_order(document: Path) -> None:
    namespace: dict[str, object] = {"__name__": document.stem}
    assert len(blocks(document)) >= 3
    for number, block in enumerate(blocks(document), start=1):
        await run_code(block, namespace, f"{document.name} block {number}")


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
async def test_a_notebook_runs_from_top_to_bottom(notebook: Path) -> None:
    namespace: dict[str, object] = {"__name__": notebook.stem}
    for source in cells(notebook):
        await run_code(source, namespace, notebook.name)
    assert len(namespace) > 5


def cells(notebook: Path) -> list[str]:
    found = json.loads(notebook.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).glob("*.py")):
            yield importlib.import_module(f"plait.{package}.{path.stem}")


def test_the_examples_in_docstrings_give_what_they_show() -> None:
    results = [doctest.testmod(module, verbose=False) for module in modules()]
    assert sum(result.attempted for result in results) >= 10
    assert sum(result.failed for result in results) == 0
