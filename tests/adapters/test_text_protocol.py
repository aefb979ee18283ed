"""Tool calling in plain text: what is read of a reply, and whole units on a model without tools."""

import json
from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from plait import RouterFlow, Workflow, WorkflowUnit, text_react_adapter
from plait.adapters.text_protocol import NEXT, Written, read
from plait.testing import ScriptedModel, text

from ..support import failure, scripted


class Route(BaseModel):
    route: Literal["sales", "billing"]
    why: str = ""


class Answer(BaseModel):
    answer: str


CALL = "Need: look it up.\nAction: search\nAction Input: "
SEARCHES = [
    CALL + '{"q": "x"}',
    CALL + '```json\n{"q": "x"}\n```',
    CALL + '\n```\n{\n  "q": "x"\n}\n```\n',
    CALL + '{\n  "q":\n    "x"\n}',
    CALL.replace(":", "：") + '{"q": "x"}',
    '**Action:** `search`\n**Action Input:** {"q": "x"}',
    '### Action: **search**\n### Action Input: {"q": "x"}',
    '- Action: "search"\n- Action Input: {"q": "x"}',
    '> Action: search\n> Action Input: {"q": "x"}',
    'action : search\naction input : {"q": "x"}',
    'Action: search\nAction_Input: {"q": "x"}',
    CALL + '{"q": "x"}\nObservation: found 3\nNeed: no more\nFinal Answer: 3',
    CALL + '{"q": "x"}\nFinal Answer: {"q": "y"}',
    '<think>Action: other\nAction Input: {"q": "no"}</think>\n' + CALL + '{"q": "x"}',
    "thinking aloud</think>" + CALL + '{"q": "x"}',
]


@pytest.mark.parametrize("said", SEARCHES)
def test_an_action_is_read_however_it_is_written(said):
    written = read(said)
    assert (written.name, written.args) == ("search", {"q": "x"})


@pytest.mark.parametrize("said", SEARCHES)
def test_nothing_after_an_action_stays_in_the_history(said):
    kept = read(said).text
    assert "Observation" not in kept
    assert "Final Answer" not in kept
    assert "think" not in kept


FINALS = [
    ('Final Answer: {"route": "billing"}', {"route": "billing"}),
    ('Final Answer：\n```json\n{"route": "billing"}\n```', {"route": "billing"}),
    ('**Final Answer:**\n{\n "route":\n "billing"\n}', {"route": "billing"}),
    (
        '<think>maybe Final Answer: {"route":"sales"}… no</think> Final Answer: {"route":"billing"}',
        {"route": "billing"},
    ),
    (
        'Final Answer: {"route":"billing","why":"tag <think> seen"}',
        {"route": "billing", "why": "tag <think> seen"},
    ),
    ('Final Answer: {"route":"billing"}\nAction: search\nAction Input: {}', {"route": "billing"}),
    ('Action: none\nFinal Answer: {"route":"billing"}', {"route": "billing"}),
    ('Action: Final Answer\nAction Input: {"route":"billing"}', {"route": "billing"}),
    ('Final Answer: {"route": "billing",', None),
]


@pytest.mark.parametrize(("said", "args"), FINALS)
def test_a_final_answer_is_a_call_of_resolve(said, args):
    written = read(said)
    assert (written.name, written.args) == ("resolve", args)


def test_the_first_of_two_forms_counts():
    both = 'Action: search\nAction Input: {"q": "x"}\nFinal Answer: {"answer": "y"}'
    assert read(both).name == "search"
    turned = 'Final Answer: {"answer": "y"}\nAction: search\nAction Input: {"q": "x"}'
    assert read(turned).name == "resolve"


@pytest.mark.parametrize(
    "said", ["", "  \n", "<think>Action: search", "I would search.", "Action:", "Action: none"]
)
def test_a_reply_without_a_form_names_no_tool(said):
    assert read(said).name is None
    assert "<think>" not in read(said).text


@pytest.mark.parametrize("raw", ['{"q": "x"', "{q: x}", "just words", '"x"', "[1]", ""])
def test_arguments_that_are_no_json_object_are_told_apart_from_none(raw):
    written = read(f"Action: search\nAction Input: {raw}")
    assert written.name == "search"
    assert written.args is None
    assert written.raw == raw.strip()


def test_an_action_without_an_input_has_no_arguments():
    assert read("Action: now") == Written("now", {}, "{}", "Action: now")


def test_json_may_hold_lines_that_look_like_a_form():
    said = 'Action: save\nAction Input: {"note": "a\nFinal Answer: b\nObservation: c"}\nObservation: saved'
    written = read(said)
    assert written.args == {"note": "a\nFinal Answer: b\nObservation: c"}
    assert written.text.endswith('c"}')


def test_an_observation_inside_a_final_answer_stays():
    said = "Final Answer: Two notes.\nObservation: it rains."
    assert read(said, answer="text").args == {"value": "Two notes.\nObservation: it rains."}


@pytest.mark.parametrize(
    ("said", "value"),
    [("7", 7), ('"billing"', "billing"), ('{"value": 3}', 3), ("[1, 2]", [1, 2])],
)
def test_a_plain_value_may_stand_alone(said, value):
    assert read(f"Final Answer: {said}", answer="value").args == {"value": value}


FORMS = [
    "Action:",
    "Action Input:",
    "Final Answer:",
    "Observation:",
    "<think>",
    "</think>",
    "```json\n",
    "```",
]
CHARACTERS = [
    "\n",
    "{",
    "}",
    "[",
    '"',
    '{"q": "x"}',
    "：",
    "**",
    "search",
    "\\",
    "\ud800",
    "\x00",
    "{" * 2000,
]
pieces = st.sampled_from([*FORMS, *CHARACTERS])


@given(st.lists(pieces | st.text(max_size=8)).map("".join), st.sampled_from(["object", "value", "text"]))
def test_reading_never_raises(said, answer):
    written = read(said, answer=answer)
    assert written.name is None or written.args is None or json.dumps(written.args)


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_what_is_written_by_the_rules_is_read_back(need, args):
    need = need.replace("<", "")
    if NEXT.search(need):
        return
    written = json.dumps(args, ensure_ascii=False)
    said = f"Need: {' '.join(need.split())}\nAction: search\nAction Input: {written}"
    assert read(said).args == args


def unit(output=Answer, **options):
    def search(q: str) -> str:
        """Search for q."""
        return f"about {q}"

    return WorkflowUnit("work", prompt="Find out.", output=output, tools=[search], **options)


def on_text(unit, script, **options):
    model = scripted([text(said) for said in script])
    return Workflow(unit, adapter=text_react_adapter(model=model), **options), model


async def test_several_rounds_with_a_tool():
    script = [CALL + '{"q": "cats"}', CALL + '{"q": "dogs"}', 'Final Answer: {"answer": "both"}']
    workflow, model = on_text(unit(), script)
    result = await workflow.run("Cats or dogs?")
    assert result.output == Answer(answer="both")
    assert [(c.name, c.args, c.output) for c in result.steps[0].tool_calls] == [
        ("search", {"q": "cats"}, "about cats"),
        ("search", {"q": "dogs"}, "about dogs"),
    ]
    last = model.requests[-1]
    assert [m.type for m in last.messages] == ["system", "human", "ai", "human", "ai", "human"]
    assert last.user == "Observation from search:\nabout dogs"
    assert last.tools == ()
    assert result.usage.model_calls == 3
    assert result.usage.tool_calls == 2


async def test_the_model_is_told_the_forms_the_tools_and_the_schema():
    workflow, model = on_text(unit(), ['Final Answer: {"answer": "x"}'])
    await workflow.run("Go.")
    system = model.requests[0].system
    assert system.startswith("Find out.\n\n")
    assert "Action Input:" in system
    assert "- search: Search for q." in system
    assert '"answer"' in system


async def test_f08_the_draft_in_a_think_block_is_not_the_answer():
    reply = '<think>maybe Final Answer: {"route":"sales"}… no</think> Final Answer: {"route":"billing"}'
    workflow, _ = on_text(WorkflowUnit("work", output=Route), [reply])
    assert (await workflow.run("Go.")).output.route == "billing"


async def test_f08_an_unclosed_think_block_is_asked_again_and_then_fails():
    draft = '<think>Final Answer: {"route":"sales"}'
    workflow, model = on_text(WorkflowUnit("work", output=Route, reminders=1), [draft, draft])
    error = await failure(workflow)
    assert error.reason == "empty-reply"
    assert "resolve" in model.requests[1].user


async def test_f08_json_without_the_form_counts_when_the_unit_allows_it():
    reply = '<think>maybe {"route":"sales"}… no</think> {"route":"billing","why":"tag <think> seen"}'
    workflow, _ = on_text(WorkflowUnit("work", output=Route, accept_json_text=True), [reply])
    assert (await workflow.run("Go.")).output == Route(route="billing", why="tag <think> seen")


async def test_an_invented_observation_is_not_believed():
    invented = CALL + '{"q": "x"}\nObservation: all is well\nFinal Answer: {"answer": "invented"}'
    workflow, model = on_text(unit(), [invented, 'Final Answer: {"answer": "about x"}'])
    assert (await workflow.run("Go.")).output == Answer(answer="about x")
    assert "invented" not in "".join(str(message.text) for message in model.requests[1].messages)


async def test_broken_arguments_are_answered_by_the_tool_s_name():
    workflow, model = on_text(unit(), [CALL + '{"q": "x', 'Final Answer: {"answer": "x"}'])
    result = await workflow.run("Go.")
    assert result.output == Answer(answer="x")
    assert model.requests[1].user.startswith("Observation from search (error):")
    assert "search" in model.requests[1].user.splitlines()[1]


async def test_an_unknown_tool_is_answered_with_the_tools_there_are():
    workflow, model = on_text(unit(), ["Action: find\nAction Input: {}", 'Final Answer: {"answer": "x"}'])
    await workflow.run("Go.")
    assert "search" in model.requests[1].user


async def test_an_invalid_final_answer_names_the_field():
    workflow, model = on_text(
        unit(Route), ['Final Answer: {"route": "lunch"}', 'Final Answer: {"route": "sales"}']
    )
    assert (await workflow.run("Go.")).output == Route(route="sales")
    assert "route" in model.requests[1].user


async def test_chinese_tools_and_arguments_are_shown_and_called_as_they_are():
    async def 查询(城市: str) -> str:
        """查询城市的天气。"""
        return f"{城市}：晴"

    work = WorkflowUnit("work", tools=[查询])
    workflow, model = on_text(work, ['Action：查询\nAction Input：{"城市": "北京"}', "Final Answer：晴"])
    result = await workflow.run("北京天气？")
    assert result.output == "晴"
    assert "- 查询: 查询城市的天气。" in model.requests[0].system
    assert model.requests[1].user == "Observation from 查询:\n北京：晴"
    assert result.steps[0].tool_calls[0].name == "查询"


@pytest.mark.parametrize(
    "said", ["Final Answer: **Billing**", 'Final Answer: {"value": "billing"}', "billing", "Billing."]
)
async def test_a_router_s_label_comes_through_text(said):
    flow = RouterFlow(
        WorkflowUnit("route"), {"billing": WorkflowUnit("billing"), "tech": WorkflowUnit("tech")}
    )
    workflow, _ = on_text(flow, [said, "Final Answer: paid"])
    result = await workflow.run("Go.")
    assert result.output == "paid"
    assert [step.path for step in result.steps if step.kind == "unit"] == ["route", "billing"]


async def test_a_decimal_keeps_its_digits():
    workflow, _ = on_text(WorkflowUnit("work", output=Decimal), ["Final Answer: 12345678901234567890.12"])
    assert (await workflow.run("Go.")).output == Decimal("12345678901234567890.12")


@pytest.mark.parametrize("said", ["It rains.", "Final Answer: It rains.", "<think>hm</think>It rains."])
async def test_answer_text_takes_a_plain_reply(said):
    workflow, _ = on_text(unit(str, answer="text"), [said])
    assert (await workflow.run("Go.")).output == "It rains."


async def test_answer_text_may_use_tools_before():
    workflow, _ = on_text(unit(str, answer="text"), [CALL + '{"q": "x"}', "Final Answer: about x"])
    assert (await workflow.run("Go.")).output == "about x"


async def test_with_strict_alternation_observations_and_reminders_are_one_message():
    script = [text(CALL + '{"q": "x"}'), text(""), text('Final Answer: {"answer": "x"}')]
    model = ScriptedModel(script)  # the merged message grows, so the prefix rule cannot hold
    await Workflow(unit(strict_alternation=True), adapter=text_react_adapter(model=model)).run("Go.")
    last = model.requests[-1]
    assert [message.type for message in last.messages] == ["system", "human", "ai", "human"]
    assert "about x" in last.user
    assert "resolve" in last.user
