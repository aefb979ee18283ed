"""A nested DAG whose process dies at random steps: nothing finished is repeated, and the end is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUNS = 200 if os.environ.get("PLAIT_SOAK") else 20
PROGRAM = Path(__file__).parent / "programs" / "kills.py"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    command = [sys.executable, "-W", "error", str(PROGRAM), str(tmp_path_factory.mktemp("kills")), str(RUNS)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60 * RUNS, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_every_run_died_at_least_once(told: Any) -> None:
    assert told["deaths"] >= RUNS


def test_a_finished_step_never_runs_again(told: Any) -> None:
    assert told["repeated"] == {}


def test_every_run_ends_in_the_same_state(told: Any) -> None:
    assert told["different"] == {}
    outcome, steps, state = json.loads(told["unbroken"])
    assert (outcome, len(steps)) == ("partial", 18)
    assert state == {"inner/y": "inner/y done"}
