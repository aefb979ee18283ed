"""The History rule and the Prefix rule as checks; text and size of messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from plait.nodes.history import estimate_tokens, history_faults, message_text, prefix_faults


def asks(*ids, content=""):
    return AIMessage(content, tool_calls=[{"name": "look", "args": {}, "id": call_id} for call_id in ids])


def answer(call_id):
    return ToolMessage("found", tool_call_id=call_id)


USER = HumanMessage("hi")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [SystemMessage("be kind"), USER, AIMessage("hello")],
        [USER, asks("a", "b"), answer("b"), answer("a"), asks("c"), answer("c"), USER],
        [
            USER,
            asks("a", content=[{"type": "tool_use", "id": "a", "name": "look", "input": {}}]),
            answer("a"),
        ],
    ],
)
def test_a_sound_history_has_no_faults(messages):
    assert history_faults(messages) == []


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        ([USER, SystemMessage("late")], ["message 1: a system message that is not the first message"]),
        (
            [SystemMessage("one"), SystemMessage("two")],
            ["message 1: a system message that is not the first message"],
        ),
        ([USER, AIMessage(" \n")], ["message 1: an empty assistant message"]),
        ([AIMessage([{"type": "text", "text": ""}])], ["message 0: an empty assistant message"]),
        ([asks("a"), USER], ["message 1: call 'a' was not answered before it"]),
        ([asks("a", "b"), answer("b")], ["message 2: call 'a' was not answered before it"]),
        ([asks("a"), answer("a"), answer("a")], ["message 2: call 'a' is answered twice"]),
        ([USER, answer("x")], ["message 1: a tool message for 'x', which no call before it waits for"]),
        (
            [asks("a"), answer("a"), USER, answer("a")],
            ["message 3: a tool message for 'a', which no call before it waits for"],
        ),
        ([asks("a"), answer("a"), asks("a"), answer("a")], ["call id 'a' is used 2 times"]),
        ([asks("a", "a"), answer("a")], ["call id 'a' is used 2 times"]),
        ([asks(""), answer("")], ["message 0: a call without an id"]),
        ([asks(None), answer("")], ["message 0: a call without an id"]),
        (
            [AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "a"}]), answer("a")],
            ["message 0: the arguments of call 'a' are not JSON"],
        ),
        (
            [AIMessage([{"type": "tool_use", "id": "z", "name": "look", "input": {}}])],
            ["message 0: a content block holds call 'z', which is not among its calls"],
        ),
    ],
)
def test_each_broken_rule_is_named_with_its_place(messages, faults):
    assert history_faults(messages) == faults


def test_requests_that_only_grow_keep_the_prefix_rule():
    first = [SystemMessage("be kind"), USER]
    second = [*first, asks("a"), answer("a")]

    assert prefix_faults([first, second, [*second, AIMessage("done")]]) == []
    assert prefix_faults([]) == []


@pytest.mark.parametrize(
    ("later", "fault"),
    [
        ([USER], "request 1 has only 1 of the 3 messages before it"),
        ([USER, asks("b"), answer("b")], "request 1: message 1 differs from request 0"),
        ([SystemMessage("hi"), asks("a"), answer("a")], "request 1: message 0 differs from request 0"),
        ([USER, asks("a", content="so"), answer("a")], "request 1: message 1 differs from request 0"),
        (
            [USER, asks("a"), ToolMessage("lost", tool_call_id="a")],
            "request 1: message 2 differs from request 0",
        ),
    ],
)
def test_a_changed_prefix_is_named_with_its_place(later, fault):
    assert prefix_faults([[USER, asks("a"), answer("a")], later]) == [fault]


def test_the_prefix_is_compared_as_it_is_written():
    one = AIMessage("", tool_calls=[{"name": "look", "args": {"a": 1, "b": 2}, "id": "c"}])
    other = AIMessage("", tool_calls=[{"name": "look", "args": {"b": 2, "a": 1}, "id": "c"}])

    assert len(prefix_faults([[one], [other]])) == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        ([{"type": "text", "text": "a"}, "b", {"type": "reasoning", "reasoning": "hm"}], "ab"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "output_text", "text": "c"}], "c"),
        ([{"type": "image", "url": "https://example.org"}, {"type": "text"}], ""),
        ([], ""),
    ],
)
def test_the_text_of_a_message_leaves_out_what_is_not_said(content, text):
    assert message_text(content) == text
    assert message_text(AIMessage(content)) == text


@pytest.mark.parametrize(
    ("what", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("北京", 2),
        ("北京 is big", 4),
        (HumanMessage("abcdefgh"), 2),
        ([HumanMessage("abcd"), AIMessage("abcd")], 2),
        (asks("a"), 2),
        (AIMessage([{"type": "thinking", "thinking": "abcd"}, {"type": "text", "text": "abcd"}]), 2),
        (HumanMessage([{"type": "image", "base64": "x" * 10_000}]), 85),
        (AIMessage([{"type": "tool_use", "id": "a", "name": "look", "input": {}}]), 0),
    ],
)
def test_tokens_are_estimated_from_what_is_written(what, tokens):
    assert estimate_tokens(what) == tokens


@given(st.text(max_size=200))
def test_an_estimate_is_never_zero_for_text_and_never_above_one_per_character(text):
    assert (len(text) + 3) // 4 <= estimate_tokens(text) <= len(text)
