"""A second turn in a new process sees of the first what it should, and nothing of its result."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def first(program: Any, folder: Path) -> Any:
    return program("turns", folder, "first")


@pytest.fixture(scope="module")
def second(program: Any, folder: Path, first: Any) -> Any:
    return program("turns", folder, "second")


@pytest.fixture(scope="module")
def recalled(second: Any) -> Any:
    return json.loads(second["recalled"][0])


def test_state_keys_are_there_with_their_types(recalled: Any) -> None:
    assert recalled["price"] == "Price(amount=Decimal('3.20'), currency='EUR')"
    assert recalled["tags"] == ["a", "b"]


def test_the_session_and_the_units_own_scope_are_there(recalled: Any) -> None:
    assert (recalled["seen"], recalled["own"]) == ("pen", "mine")


def test_outputs_and_steps_of_the_first_turn_are_not(recalled: Any) -> None:
    assert (recalled["outputs"], recalled["steps"]) == ([], [])


def test_a_unit_with_conversation_sees_what_was_said_and_no_tool_traffic(second: Any) -> None:
    assert second["request"] == [
        ["system", "Write."],
        ["human", "the first task"],
        ["ai", "bye"],
        ["human", "the second task"],
    ]


def test_the_result_is_this_turns_alone(second: Any) -> None:
    assert (second["outcome"], second["output"]) == ("done", "bye again")
    assert second["steps"] == ["writer", "last"]
    assert second["model_calls"] == 3
    assert second["bus"].count("unit-output") == 2
    assert "state-update" not in second["bus"]


def test_the_conversation_holds_both_turns(second: Any) -> None:
    assert second["said"] == [
        ["human", "the first task"],
        ["ai", "bye"],
        ["human", "the second task"],
        ["ai", "bye again"],
    ]


def test_a_failing_turn_does_not_pass_off_the_former_result_as_its_own(program: Any, tmp_path: Path) -> None:
    program("turns", tmp_path, "first")
    failed = program("turns", tmp_path, "failing")
    assert failed["outcome"] == "failed"
    assert "no connection" in failed["raised"]
    assert (failed["stored_output"], failed["steps"]) == (None, ["writer"])
    assert failed["said"][-1] == ["human", "the failing task"]
    assert failed["state"] == ["price", "tags"]


def test_a_unit_without_conversation_sees_its_task_alone(program: Any, tmp_path: Path) -> None:
    program("turns", tmp_path, "first")
    second = program("turns", tmp_path, "second-alone")
    assert second["request"] == [["system", "Write."], ["human", "the second-alone task"]]
