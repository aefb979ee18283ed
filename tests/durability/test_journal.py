"""A process killed inside an effect: nothing that happened happens again unless somebody says so."""

from pathlib import Path
from typing import Any

import pytest

IN_DOUBT = "pay was under way when the run stopped; it is not known whether it happened"
ALL_PAID = {"outcome": "done", "output": "all paid", "questions": [], "open": 0}


@pytest.fixture
def step(program: Any, tmp_path: Path, lasting_url: str) -> Any:
    def run(effect: str, name: str, *answer: str) -> Any:
        return program("journal", tmp_path, lasting_url, effect, name, *answer)

    return run


def known(told: Any) -> Any:
    return {key: told[key] for key in ALL_PAID}


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_what_may_run_again_runs_again(step: Any, effect: str) -> None:
    assert step(effect, "run") == {"killed": True}
    told = step(effect, "resume")
    assert known(told) == ALL_PAID
    assert told["effects"] == ["pay 10", "pay 10", "pay 20"]


def test_a_tool_that_can_tell_is_asked(step: Any) -> None:
    assert step("probe", "run") == {"killed": True}
    told = step("probe", "resume")
    assert known(told) == ALL_PAID
    assert told["effects"] == ["pay 10", "pay 20"]
    assert told["calls"][0] == ["pay", "the bank says: paid 10", True, False]


def test_a_tool_that_says_it_had_not_happened_runs(step: Any) -> None:
    assert step("before", "run") == {"killed": True}
    told = step("before", "resume")
    assert known(told) == ALL_PAID
    assert told["effects"] == ["pay 10", "pay 20"]


def test_a_tool_that_declares_nothing_is_never_run_again_unasked(step: Any) -> None:
    assert step("unsafe", "run") == {"killed": True}
    paused = step("unsafe", "resume")
    ((path, question),) = paused["questions"]
    assert (paused["outcome"], paused["open"], path) == ("paused", 1, "payer")
    assert (question["tool"], question["args"], question["message"]) == ("pay", {"amount": 10}, IN_DOUBT)
    assert paused["effects"] == ["pay 10"]


ANSWERS = {
    '{"happened": "yes, paid"}': ([], ["pay", "yes, paid", True, False]),
    '"run_again"': (["pay 10"], ["pay", "paid 10", True, True]),
    '"skip"': ([], ["pay", "not run again", False, False]),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_answer_decides(step: Any, answer: str) -> None:
    assert step("unsafe", "run") == {"killed": True}
    assert step("unsafe", "resume")["outcome"] == "paused"
    told = step("unsafe", "resume", answer)
    again, (name, output, ok, rerun) = ANSWERS[answer]
    assert known(told) == ALL_PAID
    assert told["effects"] == ["pay 10", *again, "pay 20"]
    first = told["calls"][0]
    assert (first[0], first[2], first[3]) == (name, ok, rerun)
    assert first[1].startswith(output)
    assert told["asked"] == 2  # the reply that asked for the call is not asked for again


def test_siblings_of_a_call_in_doubt_end(step: Any) -> None:
    assert step("unsafe", "several-run") == {"killed": True}
    paused = step("unsafe", "several-resume")
    assert (paused["outcome"], paused["effects"].count("pay 10")) == ("paused", 1)
    looks = paused["effects"].count("look a")
    assert looks >= 1
    told = step("unsafe", "several-resume", '"skip"')
    assert known(told) == ALL_PAID
    assert told["effects"].count("look a") == looks
    assert told["effects"].count("pay 10") == 1


@pytest.mark.parametrize("effect", ["unsafe", "probe"])
def test_the_plan_of_a_resume_tells_what_is_in_doubt(step: Any, effect: str) -> None:
    assert step(effect, "run") == {"killed": True}
    told = step(effect, "plan")
    assert told == {"in_doubt": [["payer", "pay", {"amount": 10}, effect]], "rerun": ["payer"]}


@pytest.mark.parametrize("granularity", ["round", "unit"])
@pytest.mark.parametrize("name", ["Mei", "skip"])
def test_an_answer_to_the_calls_own_question_is_no_word_on_its_doubt(
    program: Any, tmp_path: Path, granularity: str, name: str
) -> None:
    answer, effects = f'"{name}"', f"10 to {name}\n"
    assert program("asking", tmp_path, granularity, "null")["kinds"] == ["question"]
    assert program("asking", tmp_path, granularity, answer) == {"killed": True}
    again = program("asking", tmp_path, granularity, answer)
    assert again == {"outcome": "paused", "kinds": ["in-doubt"], "effects": effects}
    told = program("asking", tmp_path, granularity, '{"happened": "paid"}')
    assert told == {"outcome": "done", "kinds": [], "effects": effects}


APPROVALS = {
    ("approve", "skip"): (["pay 10"], "not run again", "accept"),
    ("edit", "run_again"): (["pay 7", "pay 7"], "paid 7", "edit"),
    ("edit", "happened"): (["pay 7"], "it was paid", "edit"),
}


@pytest.mark.parametrize("granularity", ["round", "unit"])
@pytest.mark.parametrize("answers", APPROVALS, ids="-".join)
def test_what_was_approved_and_began_is_not_approved_again(
    program: Any, tmp_path: Path, lasting_url: str, granularity: str, answers: tuple[str, str]
) -> None:
    effects, output, decided = APPROVALS[answers]
    approval, word = answers
    assert program("approved", tmp_path, lasting_url, granularity)["kinds"] == ["approval"]
    assert program("approved", tmp_path, lasting_url, granularity, approval) == {"killed": True}
    refused = program("approved", tmp_path, lasting_url, granularity, "reject")
    assert "does not say what became of the call" in refused["refused"]
    told = program("approved", tmp_path, lasting_url, granularity, word)
    assert (told["outcome"], told["effects"], told["decided"]) == ("done", effects, decided)
    assert output in told["said"]


@pytest.mark.parametrize("granularity", ["round", "unit"])
def test_what_was_approved_and_ended_is_not_asked_about(
    program: Any, tmp_path: Path, lasting_url: str, granularity: str
) -> None:
    assert program("approved", tmp_path, lasting_url, granularity)["kinds"] == ["approval"]
    assert program("approved", tmp_path, lasting_url, granularity, "edit", "later") == {"killed": True}
    told = program("approved", tmp_path, lasting_url, granularity, "nothing")
    assert (told["outcome"], told["effects"]) == ("done", ["pay 7"])
    assert "paid 7" in told["said"]
