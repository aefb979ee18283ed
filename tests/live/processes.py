"""Programs beside these tests, each started in a process of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE_S = 60.0


def started(name: str, *arguments: object) -> subprocess.Popen[str]:
    """`programs/NAME.py ARGUMENTS`, under way, with warnings as errors."""
    command = [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> Any:
    """What a program said at its end, as JSON."""
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert complained == ""
    return json.loads(said)


def until(condition: Callable[[], Any]) -> Any:
    """Wait for what `condition` gives when it is true at last."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found
