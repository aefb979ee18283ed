"""Messages from a second process, which find the unit even when its own process is killed in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Begin, told, wait_for


@pytest.fixture
def steered(begin: Begin, lasting_url: str, tmp_path: Path) -> Any:
    """Runs the program `steered` on one store."""
    return lambda *arguments: begin("steered", lasting_url, str(tmp_path), *arguments)


def held_at(steered: Any, folder: Path, number: int) -> Any:
    """A process that runs the unit and waits in its call with that number."""
    process = steered("run", str(number))
    wait_for(folder / "waiting", process)
    return process


def resumed(steered: Any, folder: Path, process: Any) -> Any:
    process.kill()
    process.communicate()
    (folder / "go").touch()
    return told(steered("resume"))


def test_a_steer_in_the_third_call_arrives_before_the_next_model_call(steered: Any, tmp_path: Path) -> None:
    process = held_at(steered, tmp_path, 3)
    told(steered("steer", "u", "in EUR"))
    (tmp_path / "go").touch()

    found = told(process)

    assert found["asked"][3][-2:] == ["worked 3", "in EUR"]
    assert found["asked"][4][-4:] == ["worked 3", "in EUR", "", "worked 4"]
    assert (found["outcome"], found["bus"], found["undelivered"]) == ("done", ["in EUR"], [])


def test_a_steer_arrives_once_when_the_process_is_killed_after_it_was_sent(
    steered: Any, tmp_path: Path
) -> None:
    process = held_at(steered, tmp_path, 3)
    told(steered("steer", "u", "in EUR"))

    found = resumed(steered, tmp_path, process)

    assert found["asked"][0][-2:] == ["worked 3", "in EUR"]
    assert [request.count("in EUR") for request in found["asked"]] == [1, 1]
    assert (found["outcome"], found["bus"], found["undelivered"]) == ("done", ["in EUR"], [])


def test_a_steer_sent_while_no_process_lives_arrives(steered: Any, tmp_path: Path) -> None:
    process = held_at(steered, tmp_path, 3)
    process.kill()
    process.communicate()
    told(steered("steer", "*", "in EUR"))

    found = resumed(steered, tmp_path, process)

    assert [request.count("in EUR") for request in found["asked"]] == [1, 1]


def test_what_was_delivered_before_the_kill_is_not_delivered_again(steered: Any, tmp_path: Path) -> None:
    told(steered("steer", "u", "in EUR"))
    process = held_at(steered, tmp_path, 2)

    found = resumed(steered, tmp_path, process)

    assert found["asked"][0] == ["Go.", "in EUR", "", "worked 1", "", "worked 2"]
    assert (found["bus"], found["undelivered"]) == (["in EUR"], [])


def test_a_follow_up_from_another_process_waits_for_the_result(steered: Any, tmp_path: Path) -> None:
    process = held_at(steered, tmp_path, 3)
    told(steered("follow_up", "u", "and in French"))

    found = resumed(steered, tmp_path, process)

    assert found["asked"][-1][-3:] == ["", "accepted", "and in French"]
    assert [request.count("and in French") for request in found["asked"]] == [0, 0, 1]
