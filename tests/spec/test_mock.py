"""Scripted replies as data: read with the place of each fault, chosen by the request, played by the model."""

from __future__ import annotations

import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from plait import RunError, Workflow, WorkflowUnit, text_react_adapter, tool
from plait.spec.mock import Call, Mock, MockFault, Reply, Rule, Seen, When, chosen, data_of, mock_of
from plait.spec.mockpattern import BadPattern, pattern_of
from plait.testing import Request, ScriptedModel
from plait.testing.mock import script_of, seen_in

RULES: dict[str, Any] = {
    "book": [
        {
            "when": {"matches": r"(?P<item>[a-z]+) (?P<amount>[0-9]+)", "round": 1},
            "call": {"save": {"item": "{item}", "rows": [{"amount": "{amount:number}"}], "as": "{amount}"}},
        },
        {
            "when": {"after": "save", "result": "^saved (?P<n>[0-9]+)"},
            "call": {"resolve": {"value": "{result} for {input}, {n}"}},
        },
        {"when": {"contains": "break"}, "fail": "no {input}"},
        {"otherwise": {"text": "I do not {understand}."}},
    ]
}
LISTED = {
    "a": [
        {"text": "one"},
        {"text": "two", "call": [{"x": {"n": 1}}, {"x": {"n": 2}}]},
        {"call": {"y": {}}},
        {"fail": "down"},
    ]
}


def reply_to(**seen: Any) -> Reply | None:
    rules: Any = mock_of(RULES).units["book"]
    return chosen(rules, Seen(**seen))


def test_the_first_rule_that_fits_answers_with_its_names_filled_in():
    first = reply_to(user="lunch 32")
    assert first == Reply(calls=(Call("save", {"item": "lunch", "rows": [{"amount": 32}], "as": "32"}),))
    after = reply_to(user="lunch 32", round=2, tool="save", result="saved 7")
    assert after == Reply(calls=(Call("resolve", {"value": "saved 7 for lunch 32, 7"}),))
    assert reply_to(user="break it") == Reply(fail="no break it")
    assert reply_to(user="hm") == Reply("I do not {understand}.")


def test_no_rule_may_fit():
    rules: Any = mock_of({"a": [{"when": {"contains": "x"}, "text": "y"}]}).units["a"]
    assert chosen(rules, Seen("z")) is None


@pytest.mark.parametrize("data", [RULES, LISTED, {}, {"a": [{"text": ""}]}])
def test_a_mock_is_written_as_it_was_read(data):
    assert data_of(mock_of(data)) == data
    assert mock_of(data_of(mock_of(data))) == mock_of(data)


def test_a_mock_is_a_value():
    assert mock_of({"a": [{"otherwise": {"text": "x"}}]}) == Mock({"a": (Rule(When(), Reply("x")),)})


FAULTS = [
    ([], (), ""),
    ({"a": "x"}, ("a",), ""),
    ({"a": [{"text": "x"}, {"when": {"contains": "y"}, "text": "z"}]}, ("a", 0), ""),
    ({"a": [{"when": {"contain": "y"}, "text": "z"}]}, ("a", 0, "when", "contain"), "contains"),
    ({"a": [{"when": {}, "text": "z"}]}, ("a", 0, "when"), ""),
    ({"a": [{"when": {"round": 0}, "text": "z"}]}, ("a", 0, "when", "round"), ""),
    ({"a": [{"when": {"contains": 3}, "text": "z"}]}, ("a", 0, "when", "contains"), ""),
    ({"a": [{"when": {"matches": "("}, "text": "z"}]}, ("a", 0, "when", "matches"), ""),
    ({"a": [{"when": {"contains": "y"}}]}, ("a", 0), ""),
    ({"a": [{"otherwise": {"text": "x"}, "text": "y"}]}, ("a", 0), ""),
    ({"a": [{"otherwise": {"txt": "x"}}]}, ("a", 0, "otherwise", "txt"), "text"),
    ({"a": [{"text": 3}]}, ("a", 0, "text"), ""),
    ({"a": [{"fail": "x", "text": "y"}]}, ("a", 0, "fail"), ""),
    ({"a": [{"call": {}}]}, ("a", 0, "call"), ""),
    ({"a": [{"call": [{"x": 3}]}]}, ("a", 0, "call", 0, "x"), ""),
    ({"a": [{"call": "x"}]}, ("a", 0, "call"), ""),
]


@pytest.mark.parametrize(("data", "path", "near"), FAULTS)
def test_a_fault_is_told_with_its_place(data, path, near):
    with pytest.raises(MockFault) as caught:
        mock_of(data)

    assert (caught.value.path, caught.value.nearest) == (path, near)


HANGING = [
    "(a+)+$",
    "(?:a|a)*$",
    "(?P<x>(a*))*b",
    "((ab?c*)d)+",
    "(a{2,}){3,}",
    "(?=a)",
    r"(a)\1",
    "[",
    "a" * 600,
    r"\w*\w*\w*\w*=x",
    r"(?P<a>\w+)\w+\w+\w+\w+!",
    r"(?P<a>\w+)\s*(?P<b>\w*)\s*(?P<c>\w*)\s*=",
    ".*.*.*=.*z$",
    r"\w*(?:=)?\w*(?P<x>-|\w)*\w*",
    "(a?){25}a{25}",
]


@pytest.mark.parametrize("pattern", HANGING)
def test_a_pattern_that_may_hang_is_refused(pattern):
    with pytest.raises(BadPattern):
        pattern_of(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<a>\S+) (?P<b>[0-9]{1,3}(?:\.[0-9]{2})?)",
        "[(+]+",
        r"\(a+\)+",
        "(?i:ab)+",
        "a|b+",
        "",
        r"[:：]\s*(?P<note>.+)",
    ],
)
def test_a_harmless_pattern_is_taken(pattern):
    assert pattern_of(pattern).text == pattern


@pytest.mark.parametrize("pattern", [".*.*x", r"(?P<a>\w+)\s*\w+!", "a?" * 60 + "a" * 60])
def test_a_pattern_is_tried_in_little_time(pattern):
    began = time.monotonic()
    pattern_of(pattern).groups_in("a" * 1_000_000)
    assert time.monotonic() - began < 20


def save(item: str, amount: int) -> str:
    "Save an item."
    return f"saved {amount}"


PLAYED = {
    "book": [
        {"when": {"after": "save"}, "call": {"resolve": {"value": "{result}"}}},
        {
            "when": {"matches": "(?P<item>[a-z]+) (?P<amount>[0-9]+)"},
            "call": {"save": {"item": "{item}", "amount": "{amount:number}"}},
        },
        {"otherwise": {"fail": "cannot read {input}"}},
    ]
}


@pytest.mark.parametrize("text_protocol", [False, True])
async def test_the_model_plays_a_mock(text_protocol):
    unit = WorkflowUnit("book", tools=[tool(save, effect="read")])
    model = ScriptedModel(script_of(mock_of(PLAYED)))
    how = {"adapter": text_react_adapter(model=model)} if text_protocol else {"model": model}

    result = await Workflow(unit, **how).run("lunch 32")

    assert result.output == "saved 32"
    assert [made.name for made in result.steps[0].tool_calls] == ["save"]


async def test_a_mock_can_fail():
    model = ScriptedModel(script_of(mock_of(PLAYED)))

    with pytest.raises(RunError, match="cannot read hm"):
        await Workflow(WorkflowUnit("book"), model=model).run("hm")


async def test_replies_in_order_are_played():
    model = ScriptedModel(
        script_of(mock_of({"a": [{"text": "one"}, {"call": {"resolve": {"value": "two"}}}]}))
    )

    with model:
        assert (await Workflow(WorkflowUnit("a"), model=model).run("x")).output == "two"


def test_a_steer_after_a_tool_does_not_hide_the_tool():
    seen = seen_in(
        Request(
            "a",
            "a",
            (
                HumanMessage("look"),
                AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}]),
                ToolMessage("found", tool_call_id="1", name="look_up"),
                HumanMessage("in EUR"),
            ),
        )
    )
    assert seen == Seen("look\nin EUR", 2, "look_up", "found")
