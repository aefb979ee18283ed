"""Runs the programs beside these tests, each in a process of its own that ends before the next begins."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
Program = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("threads")


@pytest.fixture(scope="module")
def program() -> Program:
    """Runs `programs/NAME.py FOLDER ARGUMENTS` and gives what it printed, as JSON; `killed` if it was."""

    def run(name: str, folder: Path, *arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), str(folder), *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if ended.returncode == -9:
            return {"killed": True}
        assert ended.returncode == 0, ended.stderr
        told: dict[str, Any] = json.loads(ended.stdout)
        return told

    return run
