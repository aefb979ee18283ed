"""What is shipped: the wheel's content, how it installs and imports, and the floors it declares."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Below these, an advisory applies, or something Plait leans on is missing.
FLOORS = {
    "cryptography": "48.0.1",
    "langchain-core": "1.4.9",
    "langchain-openai": "1.1.14",
    "langgraph": "1.2.24",
    "langgraph-checkpoint": "4.1.1",
    "langgraph-checkpoint-postgres": "3.1.1",
    "langgraph-checkpoint-sqlite": "3.1.1",
    "langgraph-sdk": "0.3.15",
    "mcp": "1.28.1",
}
NEEDED = set(FLOORS) - {"cryptography", "langgraph-checkpoint-postgres", "mcp"}

# Folders of the repository that are not part of the package.
OUTSIDE = {"benchmarks", "build", "dist", "docs", "notebooks", "tests"}


def run(*command: str | Path, cwd: Path) -> str:
    """The command's standard output. It sees neither the checkout nor the outer environment's paths."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def package_folders() -> list[Path]:
    """Each folder of the repository with an `__init__.py`, the root first."""
    tops = [top for top in ROOT.iterdir() if top.name not in OUTSIDE and not top.name.startswith(".")]
    inits = [path for top in tops for path in top.glob("**/__init__.py")]
    return [Path(), *sorted(path.parent.relative_to(ROOT) for path in inits)]


def shipped_files() -> set[str]:
    code = [path for folder in package_folders() for path in (ROOT / folder).glob("*.py")]
    data = [ROOT / "py.typed", ROOT / "spec" / "plait.schema.json"]
    data += [*(ROOT / "examples" / "data").glob("*"), *(ROOT / "examples").glob("*.yaml")]
    return {f"plait/{path.relative_to(ROOT).as_posix()}" for path in (*code, *data)}


def requirements() -> list[Requirement]:
    project = SETTINGS["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(line) for lines in lists for line in lines]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without network from a copy, so that the build leaves nothing in the checkout."""
    source = tmp_path_factory.mktemp("source") / "plait-main"
    out = tmp_path_factory.mktemp("wheel")
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "node_modules")
    shutil.copytree(ROOT, source, ignore=unwanted)
    for stray in (".venv/lib/stray.py", "notebooks/stray.py", "node_modules/stray.py"):
        (source / stray).parent.mkdir(parents=True, exist_ok=True)
        (source / stray).write_text("")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", out, source, cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The Python of a new environment that holds the wheel and nothing else of Plait.

    Its dependencies come from the environment of the tests by a path file. Path files of that environment
    are not read in turn, so an editable install there does not show here.
    """
    home = tmp_path_factory.mktemp("home") / "env"
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    outer = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    Path(where, "outer.pth").write_text("\n".join(outer), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--ignore-installed", wheel, cwd=home)
    return python


def test_the_package_list_names_every_package_folder():
    named = [".".join(("plait", *folder.parts)) for folder in package_folders()]

    assert SETTINGS["tool"]["setuptools"]["packages"] == named


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert names == shipped_files()


def test_the_wheel_carries_the_licence_and_the_type_marker(wheel):
    names = zipfile.ZipFile(wheel).namelist()

    assert "plait/py.typed" in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_an_installed_wheel_serves_every_public_name_from_another_folder(installed, tmp_path):
    code = "import plait; [getattr(plait, name) for name in plait.__all__]; print(plait.__file__)"

    assert Path(run(installed, "-c", code, cwd=tmp_path).strip()).is_relative_to(installed.parents[1])


def test_every_module_of_an_installed_wheel_imports(installed, tmp_path):
    code = """
import importlib, pkgutil, plait
for module in pkgutil.walk_packages(plait.__path__, "plait."):
    if not module.name.endswith("__main__"):
        print(importlib.import_module(module.name).__file__)
"""
    files = run(installed, "-c", code, cwd=tmp_path).splitlines()

    assert files
    assert [name for name in files if not Path(name).is_relative_to(installed.parents[1])] == []


def test_the_example_runs_from_an_installed_wheel(installed, tmp_path):
    find = "import plait.examples; print(plait.examples.__path__[0])"
    data = Path(run(installed, "-c", find, cwd=tmp_path).strip(), "data", "messages.txt")

    assert run(installed, "-m", "plait.examples.accounting_router", "--file", data, cwd=tmp_path)


def test_core_dependencies_name_every_floor():
    core = {canonicalize_name(Requirement(line).name) for line in SETTINGS["project"]["dependencies"]}

    assert core >= NEEDED


FLOORED = [one for one in requirements() if canonicalize_name(one.name) in FLOORS]


@pytest.mark.parametrize("one", FLOORED, ids=str)
def test_a_declared_floor_is_not_below_what_advisories_set(one):
    floor = Version(FLOORS[canonicalize_name(one.name)])
    declared = [Version(part.version) for part in one.specifier if part.operator in {">=", "==", "~="}]

    assert declared
    assert min(declared) >= floor


@pytest.mark.parametrize(("name", "floor"), FLOORS.items())
def test_what_is_installed_is_at_or_above_its_floor(name, floor):
    try:
        there = Version(version(name))
    except PackageNotFoundError:
        assert name not in NEEDED
    else:
        assert there >= Version(floor)


def test_what_is_installed_satisfies_the_declared_ranges():
    core = [Requirement(line) for line in SETTINGS["project"]["dependencies"]]

    assert [str(one) for one in core if version(one.name) not in one.specifier] == []


def modules_after(statement: str, python: Path) -> set[str]:
    """The modules that one statement adds to a fresh interpreter."""
    code = f"import sys; old = {{*sys.modules}}; {statement}; print(*sys.modules.keys() - old)"
    return set(run(python, "-c", code, cwd=python.parent).split())


def test_importing_plait_costs_a_small_part_of_importing_langgraph(installed):
    """Counted in modules, since seconds depend on what else the machine does."""
    engine = modules_after("import langgraph.graph", installed)

    assert len(modules_after("import plait", installed)) <= len(engine) / 10


def test_importing_plait_reads_only_the_standard_library(installed):
    tops = {name.split(".")[0] for name in modules_after("import plait", installed)}

    assert tops - {"plait"} <= set(sys.stdlib_module_names)


def test_the_tests_run_with_strict_serialisation():
    """`tests/conftest.py` sets the variable; this fails when something imported LangGraph before it."""
    from langgraph.checkpoint.serde import _msgpack

    assert _msgpack.STRICT_MSGPACK_ENABLED
