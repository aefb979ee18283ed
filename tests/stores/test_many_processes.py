"""Field case F75: many processes on one store; and programs that end with something still open."""

import json
import subprocess
from typing import Any

import pytest

from .conftest import command


def test_f75_eight_processes_with_two_runs_each_share_a_store(lasting_url: str) -> None:
    started = [
        subprocess.Popen(command("two_runs", lasting_url, str(n)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(8)
    ]
    ended = [process.communicate(timeout=60) for process in started]
    assert [told for _, told in ended] == [""] * 8
    assert [json.loads(said) for said, _ in ended] == [{"outcomes": ["done", "done"]}] * 8


@pytest.mark.parametrize("way", ["sync", "cancelled", "abandoned", "kept-open"])
def test_the_interpreter_exits_and_nothing_stays_open(program: Any, lasting_url: str, way: str) -> None:
    assert program("exits", lasting_url, way, timeout=20) == {"threads": ["MainThread"]}
