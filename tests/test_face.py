"""The public face: which names there are, that each one resolves, and that tools see the same ones."""

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plait

ROOT = Path(__file__).parents[1]

# Adding a name is a decision: it stays. Removing one is a break, and goes into the changelog.
PUBLIC = [
    "AdapterBinding",
    "AdapterFn",
    "BroadcastFlow",
    "BusMessage",
    "ClassChanged",
    "Comparison",
    "CompositeFlow",
    "Condition",
    "ControlFlow",
    "DAGFlow",
    "DefinitionChanged",
    "DefinitionError",
    "Delegated",
    "DelegationFlow",
    "Delta",
    "Diagnostic",
    "DurabilityWarning",
    "END",
    "EncryptionMismatch",
    "Event",
    "FALLBACK",
    "Failure",
    "Finish",
    "Flow",
    "Limit",
    "Limits",
    "Lingering",
    "LoopFlow",
    "MaxRounds",
    "MessageBus",
    "MissingExtra",
    "NothingToResume",
    "Observation",
    "ParallelFlow",
    "PlaitError",
    "Plan",
    "PlanStep",
    "ReflexionFlow",
    "Rerun",
    "Resolved",
    "Role",
    "RoleFn",
    "RouterFlow",
    "Run",
    "RunError",
    "RunResult",
    "SequentialFlow",
    "SharedState",
    "Skip",
    "Snapshot",
    "SpecError",
    "StateConflict",
    "StepRecord",
    "StopReason",
    "Thread",
    "ThreadContext",
    "ThreadBusy",
    "ThreadPaused",
    "ThreadPoint",
    "ToolCallRecord",
    "ToolDefinition",
    "ToolRegistry",
    "ToolResult",
    "ToolRuntime",
    "Transition",
    "Usage",
    "ValueRefused",
    "Workflow",
    "WorkflowDefinition",
    "WorkflowUnit",
    "agent_adapter",
    "approve",
    "ask",
    "compare",
    "create_workflow",
    "draining",
    "edit",
    "field",
    "journaled",
    "langchain_adapter",
    "langgraph_adapter",
    "llm_adapter",
    "react_adapter",
    "reject",
    "respond",
    "step",
    "text_react_adapter",
    "tool",
    "watch",
]


def names_for_tools() -> dict[str, str]:
    """Name to module, as the `if TYPE_CHECKING` block of the face tells a type checker."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_public_names_are_pinned():
    assert sorted(plait.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_resolves_to_what_its_module_holds(name):
    home = importlib.import_module(f"plait.{names_for_tools()[name]}")

    assert getattr(plait, name) is getattr(home, name)


def test_tools_and_the_running_program_see_the_same_names():
    assert names_for_tools() == plait._HOMES
    assert sorted(plait._HOMES) == sorted(PUBLIC)


def test_a_misspelt_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'plait' has no attribute 'Workflw'"):
        plait.Workflw  # noqa: B018


def test_dir_lists_names_that_were_not_asked_for_yet():
    assert set(PUBLIC) <= set(dir(plait))


def test_importing_the_face_runs_no_relative_import():
    """pytest imports the root `__init__.py` under another name in a folder that is not called plait."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    running = [node for node in tree.body if isinstance(node, ast.ImportFrom)]

    assert [node.module for node in running if node.level] == []


@pytest.fixture(params=["plait", "plait_main", "plait-main", "a folder"])
def checkout(request, tmp_path) -> Path:
    """A checkout cut down to the face, the settings and one test, in a folder of some name."""
    root = tmp_path / request.param
    (root / "tests" / "core").mkdir(parents=True)
    for name in ("__init__.py", "pyproject.toml", "tests/conftest.py", "tests/databases.py"):
        shutil.copy(ROOT / name, root / name)
    probe = "import plait\n\n\ndef test_probe():\n    assert plait.DefinitionError\n"
    (root / "tests" / "core" / "test_probe.py").write_text(probe)
    return root


def test_pytest_runs_from_the_root_and_from_inside_the_tests(checkout):
    few_plugins = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider"]
    for folder, arguments in ((checkout, []), (checkout, ["tests"]), (checkout / "tests", [])):
        done = subprocess.run(
            [*command, *arguments], cwd=folder, env=few_plugins, capture_output=True, text=True
        )

        assert "1 passed" in done.stdout, done.stdout + done.stderr
