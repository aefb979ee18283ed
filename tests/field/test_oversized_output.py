"""Field cases: oversized tool output, awkward tool values, braces in text."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from plait import SequentialFlow, Workflow, WorkflowUnit
from plait.testing import call, text

from ..support import answers, run, scripted


class Ok(BaseModel):
    ok: bool


DONE = call("resolve", ok=True)
BIG = "START" + "x" * 399_992 + "END"


def read() -> str:
    """Read it all."""
    return BIG


async def test_f13_an_oversized_result_is_cut_and_kept_in_the_record():
    unit = WorkflowUnit("work", output=Ok, tools=[read], output_cap=10_000)
    result, model = await run(unit, [call("read"), DONE])
    (answer,) = answers(model.requests[1])
    assert len(answer.content) <= 10_300
    assert "400000" in answer.content
    assert "cut" in answer.content
    assert answer.content.startswith("START")
    assert answer.content.endswith("END")
    assert result.steps[0].tool_calls[0].output == BIG


async def test_f13_each_of_three_oversized_results_is_cut():
    unit = WorkflowUnit("work", output=Ok, tools=[read], output_cap=10_000)
    result, model = await run(unit, [[call("read")] * 3, DONE])
    assert result.outcome == "done"
    assert [len(answer.content) <= 10_300 for answer in answers(model.requests[1])] == [True] * 3
    assert [made.output for made in result.steps[0].tool_calls] == [BIG] * 3


async def test_f13_the_default_cap_holds_too():
    result, model = await run(WorkflowUnit("work", output=Ok, tools=[read]), [call("read"), DONE])
    assert len(answers(model.requests[1])[0].content) <= 20_300
    assert result.steps[0].tool_calls[0].output == BIG


async def test_f13_an_oversized_error_is_cut():
    def fail_long() -> str:
        """Fail."""
        raise ValueError(BIG)

    unit = WorkflowUnit("work", output=Ok, tools=[fail_long], output_cap=10_000)
    _, model = await run(unit, [call("fail_long"), DONE])
    (answer,) = answers(model.requests[1])
    assert answer.status == "error"
    assert len(answer.content) <= 10_300


def giving(value):
    def give():
        """Give a value."""
        return value

    return give


def awaiting(value):
    async def give():
        """Give a value."""
        return value

    return give


SHOWN = [
    (None, "(no output)"),
    ({1, 2}, "[1, 2]"),
    ({"d": datetime(2026, 11, 30, 12, 0, tzinfo=UTC)}, "2026-11-30T12:00:00"),
    ({"城市": "北京"}, "北京"),
    ((1, "two"), '[1, "two"]'),
    (Ok(ok=True), '"ok"'),
    ([], "[]"),
    (0, "0"),
    (False, "false"),
    ("", ""),
    ({"path": Path("a/b")}, "a/b"),
]


@pytest.mark.parametrize("made", [giving, awaiting])
@pytest.mark.parametrize(("value", "shown"), SHOWN)
async def test_f47_a_tool_value_is_shown_as_text(value, shown, made):
    result, model = await run(WorkflowUnit("work", output=Ok, tools=[made(value)]), [call("give"), DONE])
    (answer,) = answers(model.requests[1])
    assert result.outcome == "done"
    assert answer.status == "success"
    assert isinstance(answer.content, str)
    assert shown in answer.content
    assert not any(noise in answer.content for noise in ("\\u", "0x", "datetime.datetime", "NaN"))


@pytest.mark.parametrize("made", [giving, awaiting])
@pytest.mark.parametrize("value", [{"v": float("nan")}, [float("inf")], {"v": [float("-inf")]}])
async def test_f47_no_bare_nan_reaches_the_model(value, made):
    _, model = await run(WorkflowUnit("work", output=Ok, tools=[made(value)]), [call("give"), DONE])
    (answer,) = answers(model.requests[1])
    bare: list[str] = []
    json.loads(answer.content, parse_constant=bare.append)
    assert bare == []


class Opaque:
    pass


@pytest.mark.parametrize("made", [giving, awaiting])
@pytest.mark.parametrize(
    ("value", "type_name"), [((n for n in "ab"), "generator"), (Opaque(), "Opaque"), (object(), "object")]
)
async def test_f47_what_cannot_be_shown_is_an_error_of_that_call(value, type_name, made):
    result, model = await run(WorkflowUnit("work", output=Ok, tools=[made(value)]), [call("give"), DONE])
    (answer,) = answers(model.requests[1])
    if answer.status == "error":
        assert "give" in answer.content
        assert type_name in answer.content
    assert "0x" not in answer.content
    assert result.outcome == "done"


@pytest.mark.parametrize("value", [b"\xff", Opaque, b"plain", lambda: 1])
async def test_f47_bytes_classes_and_functions_leave_no_noise(value):
    result, model = await run(WorkflowUnit("work", output=Ok, tools=[giving(value)]), [call("give"), DONE])
    (answer,) = answers(model.requests[1])
    assert isinstance(answer.content, str)
    assert "0x" not in answer.content
    assert result.outcome == "done"


async def test_f47_an_unshowable_value_does_not_stop_its_sibling():
    async def other() -> str:
        """Other."""
        return "fine"

    unit = WorkflowUnit("work", output=Ok, tools=[giving(object()), other])
    _, model = await run(unit, [[call("give"), call("other")], DONE])
    assert [answer.status for answer in answers(model.requests[1])] == ["error", "success"]


BRACES = '{"a": {x}} {{y}} {} %s %(name)s $name ${name} {0!r}'


async def test_f31_prompt_and_task_reach_the_model_character_for_character():
    _, model = await run(WorkflowUnit("work", prompt=BRACES, output=Ok), [DONE], task=BRACES)
    assert model.requests[0].system == BRACES
    assert model.requests[0].user == BRACES


async def test_f31_an_upstream_result_reaches_the_next_unit_character_for_character():
    first, second = WorkflowUnit("first", output=str), WorkflowUnit("second", answer="text")
    model = scripted({"first": [call("resolve", value=BRACES)], "second": [text(BRACES)]})
    result = await Workflow(SequentialFlow(first, second), model=model).run("Go.")
    assert BRACES in model.requests[1].user
    assert result.output == BRACES


async def test_f31_state_and_tool_texts_are_no_templates():
    unit = WorkflowUnit(
        "work",
        prompt=lambda snapshot: snapshot.state["rules"],
        output=Ok,
        tools=[giving(BRACES)],
        input_adapter=lambda snapshot: f"Rules: {snapshot.state['rules']}",
    )
    model = scripted([call("give"), DONE])
    await Workflow(unit, model=model).run("Go.", state={"rules": BRACES})
    assert model.requests[0].system == BRACES
    assert model.requests[0].user == f"Rules: {BRACES}"
    assert answers(model.requests[1])[0].content == BRACES


async def test_f31_names_and_results_in_braces_do_not_break_reminders():
    _, model = await run(WorkflowUnit("work", output=Ok), [text(BRACES), call("resolve", ok=BRACES), DONE])
    assert model.requests[1].messages[1].content == BRACES
    assert len(model.requests) == 3


def test_f47_values_are_shown_in_a_plain_script_too():
    result, _ = asyncio.run(run(WorkflowUnit("work", output=Ok, tools=[giving({3})]), [call("give"), DONE]))
    assert result.steps[0].tool_calls[0].output == "[3]"
