"""Types are carried from a unit to the result of its workflow: mypy reads the modules beside this one.

A line that must be an error carries `# type: ignore[code]`, and one that is not needed is an error itself.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULES = sorted(path.name for path in HERE.glob("*.py") if not path.name.startswith("test_"))


def checked(folder: Path) -> list[str]:
    """What mypy says of the modules in a folder, with the project's settings. The package is a link beside
    them, since mypy refuses a checkout whose name is no identifier."""
    (folder / "plait").symlink_to(ROOT, target_is_directory=True)
    settings = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", folder / "cache"]
    shown = ["--follow-imports=silent", "--no-error-summary", "--no-pretty"]
    command = [sys.executable, "-m", "mypy", *settings, *shown, *sorted(folder.glob("*.py"))]
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("types")
    for name in MODULES:
        shutil.copy(HERE / name, folder / name)
    (folder / "wrong.py").write_text(
        "from plait import Workflow, WorkflowUnit\n"
        'output: int = Workflow(WorkflowUnit("a") >> WorkflowUnit("b")).run_sync("x").output\n'
    )
    return checked(folder)


@pytest.mark.parametrize("name", MODULES)
def test_a_type_checker_sees_what_a_module_claims(report, name):
    assert [line for line in report if f"{name}:" in line] == []


def test_a_wrong_claim_is_an_error(report):
    assert [line.partition("error: ")[2] for line in report] == [
        'Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]'
    ]
