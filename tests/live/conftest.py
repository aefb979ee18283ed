"""Programs in processes of their own, which can be waited for at a place of the test's choice, and killed."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"


def begun(name: str, *arguments: str) -> "subprocess.Popen[str]":
    """`programs/NAME.py ARGUMENTS`, under way."""
    command = [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """What a program printed as JSON, once it has ended well."""
    printed, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    found: dict[str, Any] = json.loads(printed)
    return found


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    """Until the program has made the file."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"{path} was not made"
        time.sleep(0.01)


Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Starts programs; what still runs when the test ends is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: str) -> "subprocess.Popen[str]":
        started.append(begun(name, *arguments))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
