"""F29: a process killed in mid-run repeats nothing that was finished, and ends as if nothing had happened."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ENDS = {"sequence": "C done", "parallel": {"A": "A done", "B": "B done"}}


@pytest.mark.parametrize("effect", ["idempotent", "undeclared"])
@pytest.mark.parametrize("shape", ENDS)
def test_f29_a_process_killed_in_mid_run(
    program: Any, tmp_path: Path, lasting_url: str, shape: str, effect: str
) -> None:
    assert program("letters", tmp_path, lasting_url, shape, effect, "run") == {"killed": True}
    told = program("letters", tmp_path, lasting_url, shape, effect, "resume")
    assert told["output"] == ENDS[shape]
    times = Counter(told["letters"])
    finished, cut = ("A", "B") if shape == "parallel" else ("AB", "C")
    assert all(times[letter] == 1 for letter in finished)
    assert times[cut] == (2 if effect == "idempotent" else 1)
