"""The rules of the house: who may import whom, and how large things may grow.

    core <- nodes <- graphs      adapters -> nodes, core      plane -> core      view -> graphs, core
    spec -> graphs, nodes, core

Only the face, the workflow modules at the root, cli, testing and examples may import adapters and plane.
"""

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# A layer may always import itself. `root` is the face and the workflow modules, `beside` what else is there.
MAY_IMPORT = {
    "core": set(),
    "nodes": {"core"},
    "graphs": {"nodes", "core"},
    "adapters": {"nodes", "core"},
    "plane": {"core"},
    "spec": {"graphs", "nodes", "core"},
    "view": {"graphs", "core"},
    "beside": {"root", "graphs", "nodes", "core"},
}
MAY_IMPORT_ALL = {"root", "cli", "testing", "examples"}

LONGEST_FUNCTION = 50
LONGEST_FILE = 320
MEDIAN_FUNCTION = 10


class Source(NamedTuple):
    """One module of the package: its dotted name, its layer and its text."""

    module: str
    layer: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


class Import(NamedTuple):
    """One imported module of the package, as `plait.…`; `relative` tells how it was written."""

    target: str
    relative: bool
    line: int

    @property
    def layer(self) -> str:
        return layer_of(self.target)


def layer_of(module: str) -> str:
    _, _, inner = module.partition(".")
    top = inner.split(".")[0]
    if f"plait.{top}" in SETTINGS["tool"]["setuptools"]["packages"]:
        return top
    return "root" if top in {"", "__init__"} or top.startswith("workflow") else "beside"


def package_files() -> Iterator[Path]:
    for package in SETTINGS["tool"]["setuptools"]["packages"]:
        folder = ROOT.joinpath(*package.split(".")[1:])
        yield from sorted(folder.glob("*.py"))


def read_sources() -> dict[str, Source]:
    found = {}
    for path in package_files():
        name = path.relative_to(ROOT).as_posix()
        module = ".".join(("plait", *path.relative_to(ROOT).with_suffix("").parts))
        found[name] = Source(module, layer_of(module), path.read_text(encoding="utf-8"))
    return found


SOURCES = read_sources()


def imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    """Every import of the package in one module, those for type checkers included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            targets = resolved(module, node)
        elif isinstance(node, ast.ImportFrom):
            targets = [node.module or ""]
        else:
            continue
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        for target in targets:
            if target.split(".")[0] == "plait":
                yield Import(target, relative, node.lineno)


def resolved(module: str, node: ast.ImportFrom) -> list[str]:
    """What a relative import names. `from .. import core` names plait.core, not only plait."""
    base = module.split(".")[: -node.level]
    if node.module:
        return [".".join([*base, node.module])]
    return [".".join([*base, alias.name]) for alias in node.names]


def misplaced(source: Source) -> list[str]:
    """The imports that run against the layers."""
    if source.layer in MAY_IMPORT_ALL:
        return []
    allowed = MAY_IMPORT[source.layer] | {source.layer}
    found = imports_of(source.module, source.tree)
    return [f"line {one.line}: {one.target}" for one in found if one.layer not in allowed]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def swallows(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(node, ast.Pass) for node in handler.body)


every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


def test_every_package_folder_has_a_layer():
    assert {source.layer for source in SOURCES.values()} <= set(MAY_IMPORT) | MAY_IMPORT_ALL


@every_source
def test_imports_run_one_way(source):
    assert misplaced(source) == []


@every_source
def test_imports_inside_the_package_are_relative(source):
    absolute = [one for one in imports_of(source.module, source.tree) if not one.relative]

    assert source.layer == "examples" or absolute == []


def test_examples_import_plait_as_users_do():
    examples = [source for source in SOURCES.values() if source.layer == "examples"]
    relative = [one for source in examples for one in imports_of(source.module, source.tree) if one.relative]

    assert relative == []


@every_source
def test_a_function_fits_on_a_page(source):
    long = [f"{one.name}: {length(one)}" for one in functions(source.tree) if length(one) > LONGEST_FUNCTION]

    assert long == []


def test_half_of_all_functions_are_short():
    lengths = [length(one) for source in SOURCES.values() for one in functions(source.tree)]

    assert statistics.median(lengths) < MEDIAN_FUNCTION


@every_source
def test_a_file_holds_one_idea(source):
    assert len(source.text.splitlines()) <= LONGEST_FILE


@every_source
def test_a_module_says_its_idea(source):
    private = source.module.rsplit(".", 1)[1].startswith("_") and not source.module.endswith("__init__")

    assert private or ast.get_docstring(source.tree)


@every_source
def test_nothing_is_left_open(source):
    assert re.findall(r"\b(?:TODO|FIXME)\b.*", source.text) == []


@every_source
def test_no_error_is_swallowed(source):
    handlers = (node for node in ast.walk(source.tree) if isinstance(node, ast.ExceptHandler))

    assert [f"line {handler.lineno}" for handler in handlers if swallows(handler)] == []


@pytest.mark.parametrize(
    ("module", "line", "found"),
    [
        ("plait.core.delta", "from ..nodes import unit", ["line 1: plait.nodes"]),
        ("plait.core.delta", "from .. import nodes", ["line 1: plait.nodes"]),
        ("plait.core.delta", "from .. import Workflow", ["line 1: plait.Workflow"]),
        (
            "plait.nodes.unit",
            "if TYPE_CHECKING:\n    from ..graphs.flow import Flow",
            ["line 2: plait.graphs.flow"],
        ),
        ("plait.graphs.__init__", "from ..adapters.react import f", ["line 1: plait.adapters.react"]),
        ("plait.graphs.loop", "import plait.adapters", ["line 1: plait.adapters"]),
        ("plait.graphs.loop", "from ..core.delta import Delta\nfrom .flow import Flow\nimport json", []),
        ("plait.workflow", "from .adapters.react import react_adapter", []),
        ("plait.thread", "from .adapters.react import react_adapter", ["line 1: plait.adapters.react"]),
        ("plait.thread", "from .workflow import Workflow\nfrom .core.ports import Question", []),
    ],
)
def test_the_import_rule_sees_each_way_to_write_an_import(module, line, found):
    assert misplaced(Source(module, layer_of(module), line)) == found
