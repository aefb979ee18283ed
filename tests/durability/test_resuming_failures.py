"""A failed thread goes on in a new process from the unit that failed, with transcript and fresh limits."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module", params=["flat", "nested"])
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def failed(program: Any, folder: Path, shape: str) -> Any:
    (folder / shape).mkdir()
    return program("failures", folder / shape, shape, "run")


@pytest.fixture(scope="module")
def resumed(program: Any, folder: Path, shape: str, failed: Any) -> Any:
    return program("failures", folder / shape, shape, "resume")


def test_the_failure_names_the_unit_and_the_cause(failed: Any, shape: str) -> None:
    path, reason, message = failed["raised"]
    assert path.endswith("c")
    assert reason == "provider"
    assert "the line is dead" in message


def test_resuming_runs_the_failed_unit_alone(resumed: Any, failed: Any) -> None:
    assert resumed["outcome"] == "done"
    assert resumed["output"] == "c is done"
    assert set(resumed["asked"]) == {failed["raised"][0]}


def test_effects_of_what_was_done_are_not_repeated(resumed: Any) -> None:
    assert resumed["effects"] == ["a", "b", "c"]


def test_the_failed_unit_goes_on_with_its_transcript(resumed: Any) -> None:
    assert resumed["held"][-1] == ["tool", "did c"]


def test_the_result_of_the_resumed_thread_is_whole(resumed: Any, failed: Any) -> None:
    assert [status for _, status in resumed["steps"]] == ["done"] * len(failed["steps"])
    assert [path for path, _ in resumed["steps"]] == [path for path, _ in failed["steps"]]
    assert resumed["state"] == ["a", "b", "c"]


def test_limits_begin_anew_and_usage_counts_all_calls(resumed: Any, failed: Any) -> None:
    assert resumed["model_calls"] == failed["model_calls"] + len(resumed["asked"])
