"""`journaled` in somebody else's ToolNode: its effects happen once, though the graph is not Plait's."""

import json
from pathlib import Path
from typing import Any

import pytest

WAYS = [("async", "url"), ("async", "store"), ("sync", "url")]


@pytest.fixture(params=WAYS, ids=["async", "async, over the store", "sync"])
def agent(program: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    way, journal = request.param

    def run(shape: str, *answers: Any) -> Any:
        return program("journaled", tmp_path, shape, way, journal, json.dumps(answers))

    return run


def test_a_call_under_way_is_asked_about(agent: Any) -> None:
    assert agent("one") == {"killed": True}
    told = agent("one", {"happened": "yes"})
    assert [result["asked"] for result in told["results"]] == [["deadly"], []]
    assert (told["results"][-1]["said"], told["results"][-1]["last"]) == (["yes"], "all done")
    assert told["effects"] == ["deadly"]


@pytest.mark.parametrize(("answer", "times"), [("run_again", 2), ("skip", 1)])
def test_the_answer_decides(agent: Any, answer: str, times: int) -> None:
    assert agent("one") == {"killed": True}
    told = agent("one", answer)
    assert told["effects"] == ["deadly"] * times
    assert told["results"][-1]["last"] == "all done"


def test_a_tool_that_can_tell_is_asked_instead(agent: Any) -> None:
    assert agent("probe") == {"killed": True}
    told = agent("probe")
    assert told["results"] == [{"asked": [], "said": ["found deadly"], "last": "all done"}]
    assert told["effects"] == ["deadly"]


def test_a_finished_sibling_is_not_run_again(agent: Any) -> None:
    assert agent("two") == {"killed": True}
    told = agent("two", "run_again")
    assert told["effects"] == ["quick", "deadly", "deadly"]
    assert told["results"][-1]["said"] == ["did quick", "did deadly"]


def test_two_in_doubt_get_each_its_own_answer(agent: Any) -> None:
    assert agent("doubts") == {"killed": True}
    told = agent("doubts", {"happened": "first"}, {"happened": "second"})
    assert [result["asked"] for result in told["results"]] == [["deadly-waits"], ["deadly"], []]
    assert told["results"][-1]["said"] == ["first", "second"]
    assert sorted(told["effects"]) == ["deadly", "deadly-waits"]
