"""A process killed inside a tool: what was finished before stays done in the next process."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def killed_in(program: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    def run(shape: str) -> Path:
        folder = tmp_path_factory.mktemp(shape)
        assert program("kills", folder, shape, "run") == {"killed": True}
        return folder

    return run


@pytest.fixture(scope="module", params=["flat", "nested"])
def resumed(program: Any, killed_in: Any, request: pytest.FixtureRequest) -> Any:
    return program("kills", killed_in(request.param), request.param, "resume")


def test_earlier_units_and_earlier_rounds_are_not_repeated(resumed: Any) -> None:
    assert resumed["effects"] == ["a", "b", "c", "last"]


def test_only_the_unit_under_way_asks_its_model_again(resumed: Any) -> None:
    assert len(resumed["asked"]) == 1
    assert resumed["asked"][0].endswith("c")


def test_the_resumed_run_ends_as_if_nothing_had_happened(resumed: Any) -> None:
    assert (resumed["outcome"], resumed["output"]) == ("done", "c is done")
    assert [path.rpartition("/")[2][0] for path in resumed["steps"] if "pick" not in path] == ["a", "b", "c"]


def test_finished_calls_of_a_reply_are_not_repeated(program: Any, killed_in: Any) -> None:
    resumed = program("kills", killed_in("calls"), "calls", "resume")
    assert sorted(resumed["effects"]) == ["last", "one", "two"]
    assert resumed["tool_calls"] == [["effect", "did one"], ["effect", "did two"], ["deadly", "did last"]]


def test_new_input_after_a_crash_starts_a_clean_turn(program: Any, killed_in: Any) -> None:
    turn = program("kills", killed_in("flat"), "flat", "new-turn")
    assert (turn["outcome"], turn["output"]) == ("done", "c again")
    assert turn["steps"] == turn["asked"] == ["a", "b", "c"]
    assert turn["held"] == [["human", "new-turn"]]
    assert turn["messages"] == [["human", "run"], ["human", "new-turn"], ["ai", "c again"]]
