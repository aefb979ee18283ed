"""Router and plan-and-execute: short questions go one way, long ones by the planner's plan."""

import pytest

from plait.examples.arithmetic import evaluate, written
from plait.examples.models import NO_KEY
from plait.examples.plan_execute import DEMO, answering_workflow, convert, main, scripted_model


@pytest.mark.parametrize(
    ("question", "answer", "tool"),
    [
        ("What is 17 * 23?", "391", "calculate"),
        ("convert 10 kg to pounds", "22.046226", "convert"),
        ("days from 2026-02-01 to 2026-03-01", "28", "days_between"),
    ],
)
async def test_a_short_question_is_answered_by_one_unit(question, answer, tool):
    result = await answering_workflow(scripted_model()).run(question)
    assert result.output == answer
    assert [step.path for step in result.steps] == ["triage", "quick"]
    assert [made.name for made in result.steps[1].tool_calls] == [tool]


async def test_a_long_question_is_planned_and_each_step_goes_to_its_executor():
    result = await answering_workflow(scripted_model()).run(DEMO)
    assert [line.rpartition(": ")[2] for line in result.output.splitlines()] == ["45", "26.09759", "0.579946"]
    paths = [step.path for step in result.steps]
    assert paths[:2] == ["triage", "large/planner"]
    assert set(paths[2:4]) == {"large/s1", "large/s2"}
    assert paths[4:] == ["large/s3", "large/writer"]
    by_path = {step.path: step.unit for step in result.steps}
    assert [by_path[f"large/s{n}"] for n in (1, 2, 3)] == ["calendar", "converter", "calculator"]
    assert result.usage.model_calls == 1 + 1 + 3 * 2 + 1
    assert result.usage.tool_calls == 3


async def test_the_plan_says_what_waits_for_what():
    result = await answering_workflow(scripted_model()).run(DEMO)
    plan = result.steps[1].output
    assert [(step.id, step.depends_on) for step in plan.steps] == [
        ("s1", []),
        ("s2", []),
        ("s3", ["s1", "s2"]),
    ]
    assert plan.steps[2].task == "divide s2 by s1"


async def test_the_same_executor_may_serve_several_steps():
    result = await answering_workflow(scripted_model()).run("add 2 and 3; multiply the result by 4")
    assert [step.path for step in result.steps if step.unit == "calculator"] == ["large/s1", "large/s2"]
    assert result.output.endswith(": 20")


async def test_what_cannot_be_done_is_said_where_it_belongs():
    result = await answering_workflow(scripted_model()).run("convert 5 km to kg; add 1 and 2")
    first, second = result.output.splitlines()
    assert "cannot convert km to kg" in first
    assert second == "add 1 and 2: 3"


async def test_a_run_streams_its_steps():
    events = [event async for event in answering_workflow(scripted_model()).stream(DEMO)]
    assert {"large/planner", "large/s3", "large/writer"} <= {e.path for e in events if e.type == "agent_end"}
    said = "".join(e.delta or "" for e in events if e.type == "message_update" and e.path == "large/writer")
    assert said == events[-1].result.output


SUMS = {"1 + 2 * 3": 7, "-(2 ** 3)": -8, "max(1, sqrt(16))": 4, "1 / 4": 0.25, "((((1))))": 1}


@pytest.mark.parametrize(("formula", "value"), SUMS.items())
def test_arithmetic_is_computed(formula, value):
    assert evaluate(formula) == value


REFUSED = [
    *("", "1 +", "x", "True", "1j", "'a' * 9", "1 if 1 else 2", "open('x')", "().__class__"),
    *("1 / 0", "9 ** 9 ** 9", "10 ** 99 * 10 ** 64", "(-8) ** 0.5", "1e999", "1" * 300),
    *("max()", "sqrt(-1)", "round(1, 'a')"),
]


@pytest.mark.parametrize("formula", REFUSED)
def test_what_is_no_arithmetic_is_refused(formula):
    with pytest.raises(ValueError, match=r"\w"):
        evaluate(formula)


def test_numbers_are_written_short():
    assert [written(number) for number in (391.0, 1 / 3, 0.0, 1e20)] == [
        "391",
        "0.333333",
        "0",
        "100000000000000000000",
    ]
    assert convert(1, "miles", "m") == "1609.344"


def test_the_command_prints_which_model_runs_the_steps_and_the_answer(monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main([]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == NO_KEY
    assert "  done     large/s3  calculate {'formula': '26.09759 / 45'}" in shown
    assert shown[-1].endswith(": 0.579946")
