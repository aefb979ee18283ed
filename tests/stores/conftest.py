"""Runs the programs beside these tests, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
Program = Callable[..., dict[str, Any]]


@pytest.fixture
def program() -> Program:
    """Runs `programs/NAME.py ARGUMENTS` in a process of its own and gives what it printed, as JSON."""

    def run(name: str, *arguments: str, timeout: float = 60) -> dict[str, Any]:
        ended = subprocess.run(
            command(name, *arguments), capture_output=True, text=True, timeout=timeout, check=False
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == ""
        told: dict[str, Any] = json.loads(ended.stdout)
        return told

    return run


def command(name: str, *arguments: str) -> list[str]:
    """The command line of a program, with warnings as errors."""
    return [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), *arguments]
