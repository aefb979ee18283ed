"""A thread that goes on in another process, through the sync entry points; each process exits by itself."""

import json
from typing import Any


def test_a_second_turn_in_another_process_finds_state_session_and_global_keys(
    program: Any, lasting_url: str
) -> None:
    program("threads", lasting_url, "first")
    second = program("threads", lasting_url, "second")
    assert json.loads(second["told"][0]) == {"blob": True, "seen": ["ink", "pen"], "price": 3}
    assert second["said"] == ["the first task", "It is noted.", "the second task", "I know."]


def test_a_failed_thread_goes_on_in_another_process(program: Any, lasting_url: str) -> None:
    assert "the line is dead" in program("threads", lasting_url, "fail")["raised"]
    mended = program("threads", lasting_url, "mend")
    assert (mended["outcome"], mended["output"], mended["asked"]) == ("done", "mended", ["work"])


def test_a_paused_thread_is_answered_in_another_process(program: Any, lasting_url: str) -> None:
    paused = program("threads", lasting_url, "pause")
    assert (paused["outcome"], paused["questions"]) == ("paused", ["how much?"])
    answered = program("threads", lasting_url, "answer")
    assert (answered["output"], answered["told"]) == ("booked", ["the user says 32"])
