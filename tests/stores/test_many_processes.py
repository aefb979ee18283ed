"""Field case F75: many processes on one store; and programs that end with something still open."""

import json
import subprocess
from typing import Any

import pytest

from .conftest import command

PIPES: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.mark.parametrize(("lasting_url", "count"), [("sqlite", 8), ("postgres", 3)], indirect=["lasting_url"])
def test_f75_many_processes_with_two_runs_each_share_a_store(lasting_url: str, count: int) -> None:
    started = [subprocess.Popen(command("two_runs", lasting_url, str(n)), **PIPES) for n in range(count)]
    ended = [process.communicate(timeout=60) for process in started]
    assert [told for _, told in ended] == [""] * count
    assert [json.loads(said) for said, _ in ended] == [{"outcomes": ["done", "done"]}] * count


@pytest.mark.parametrize(
    ("way", "lasting_url"),
    [
        ("sync", "sqlite"),
        ("cancelled", "sqlite"),
        ("abandoned", "sqlite"),
        ("kept-open", "sqlite"),
        ("abandoned", "postgres"),
    ],
    indirect=["lasting_url"],
)
def test_the_interpreter_exits_and_nothing_stays_open(program: Any, lasting_url: str, way: str) -> None:
    assert program("exits", lasting_url, way, timeout=20) == {"threads": ["MainThread"]}
