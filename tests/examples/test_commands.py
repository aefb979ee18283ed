"""Every example can be imported, and its command shows what it does without a key."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import plait.examples

MODULES = [found.name for found in pkgutil.walk_packages(plait.examples.__path__, "plait.examples.")]
SHOWN = {
    "accounting_router": "lunch",
    "approvals": "240 is on its way for A18",
    "chat": "You told me:",
    "code_review": "11 findings",
    "delegation": "body mass index = 22.857143",
    "plan_execute": "0.579946",
}


@pytest.mark.parametrize("module", MODULES)
def test_an_example_is_importable(module: str) -> None:
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("name", SHOWN)
def test_a_demo_runs_without_a_key(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", f"plait.examples.{name}", "--demo"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert SHOWN[name] in done.stdout
    assert not list(tmp_path.iterdir())
