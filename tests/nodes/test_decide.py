"""The pure decisions after a reply: what is kept, what is answered, and how the unit ends."""

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel, Field

from plait import WorkflowUnit
from plait.core.codec import registry_of
from plait.nodes.calls import normalise_reply
from plait.nodes.decide import Rules, after_calls, after_reply, answer, judge
from plait.nodes.labels import Labels
from plait.nodes.schema import output_schema
from plait.nodes.unitstate import Counters


class Score(BaseModel):
    score: int = Field(ge=0, le=10)


unit = WorkflowUnit("rate", output=Score)
text_unit = WorkflowUnit("chat", output=str, answer="text")


def rules(unit=unit, names=("search", "resolve"), **options):
    return Rules(unit, output_schema(unit.output), names, registry_of(unit.output), **options)


def called(name, /, call_id="c1", **args):
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def reply(content="", *calls, finish=None):
    message = AIMessage(
        content, tool_calls=list(calls), response_metadata={"finish_reason": finish or "stop"}
    )
    return normalise_reply(message, taken=(), new_id=lambda n: f"new_{n}", streamed=False)


GOOD, BAD = called("resolve", score=7), called("resolve", score="high")
SEARCH, NOPE = called("search", "s1", q="x"), called("nope", "n1")

TABLE = [
    # what the model replied, the counters before, what is next, the ending's reason, what is added
    (reply("", GOOD), {}, "end", None, ["ai", "tool"]),
    (reply("Here.", GOOD), {}, "end", None, ["ai", "tool"]),
    (reply("", SEARCH), {}, "act", ..., ["ai"]),
    (reply("", SEARCH, GOOD), {}, "act", ..., ["ai"]),
    (reply("", NOPE), {}, "think", ..., ["ai", "tool"]),
    (reply("", NOPE, GOOD), {}, "think", ..., ["ai", "tool", "tool"]),
    (reply("", BAD), {}, "think", ..., ["ai", "tool"]),
    (reply("", BAD), {"invalid": 1}, "think", ..., ["ai", "tool"]),
    (reply("", BAD), {"invalid": 2}, "end", "invalid-resolve", ["ai", "tool"]),
    (reply("Prose."), {}, "think", ..., ["ai", "human"]),
    (reply("Prose."), {"reminders": 1}, "think", ..., ["ai", "human"]),
    (reply("Prose."), {"reminders": 2}, "end", "no-resolve", ["ai"]),
    (reply(""), {}, "think", ..., ["human"]),
    (reply(" \n"), {}, "think", ..., ["human"]),
    (reply(""), {"reminders": 2}, "end", "empty-reply", []),
    (reply("Half a", finish="length"), {}, "think", ..., ["ai", "human"]),
    (reply("", SEARCH, finish="length"), {}, "think", ..., ["ai", "tool"]),
    (reply("", GOOD, finish="length"), {}, "think", ..., ["ai", "tool"]),
    (reply("", finish="length"), {}, "think", ..., ["human"]),
    (reply("", SEARCH, finish="length"), {"bad": 2}, "end", "output-limit", ["ai", "tool"]),
]


@pytest.mark.parametrize(("said", "before", "following", "reason", "added"), TABLE)
def test_what_follows_a_reply(said, before, following, reason, added):
    step = after_reply(rules(), Counters(**before), said)
    assert step.counters.next == following
    assert [message.type for message in step.messages] == added
    assert (... if step.ending is None else step.ending.reason) == reason


@pytest.mark.parametrize(
    ("before", "said", "changed"),
    [
        ({"bad": 2}, reply("Prose."), {"bad": 0, "reminders": 1}),
        ({"reminders": 1}, reply("", GOOD), {"reminders": 1}),
        ({"bad": 1}, reply("x", finish="length"), {"bad": 2, "reminders": 0}),
        ({}, reply("", BAD), {"invalid": 1}),
        ({}, reply("", NOPE), {"invalid": 0}),
    ],
)
def test_each_budget_counts_for_itself(before, said, changed):
    counters = after_reply(rules(), Counters(**before), said).counters
    assert {name: getattr(counters, name) for name in changed} == changed


def test_a_valid_resolve_ends_with_the_plain_output():
    step = after_reply(rules(), Counters(), reply("", GOOD))
    assert (step.ending.status, step.ending.has_value) == ("done", True)
    assert step.messages[1].content == "accepted"


def test_a_text_unit_ends_with_its_text():
    step = after_reply(rules(text_unit, ()), Counters(), reply("Hello."))
    assert (step.ending.value, step.counters.next) == ("Hello.", "end")


def test_a_blank_reply_of_a_text_unit_is_reminded_of_its_answer():
    step = after_reply(rules(text_unit, ()), Counters(), reply(""))
    assert [message.type for message in step.messages] == ["human"]
    assert "resolve" not in step.messages[0].content


def test_json_text_is_accepted_only_when_the_unit_says_so():
    said = reply('{"score": 7}')
    assert after_reply(rules(), Counters(), said).ending is None
    assert after_reply(rules(unit.with_(accept_json_text=True)), Counters(), said).ending.status == "done"


def test_the_further_check_may_refuse_a_valid_output():
    checked = rules(check=lambda value: "too high" if value.score > 5 else None)
    step = after_reply(checked, Counters(), reply("", GOOD))
    assert step.ending is None
    assert "too high" in step.messages[1].content


LABELS = Labels(("billing", "tech"), "value", from_text=True)


@pytest.mark.parametrize("said", ["Billing", "**billing**", '{"route": "billing"}', "billing."])
def test_a_label_in_text_ends_a_router(said):
    routing = rules(WorkflowUnit("route", output=str), labels=LABELS)
    assert after_reply(routing, Counters(), reply(said)).ending.value == "billing"


def test_a_label_that_is_none_is_no_valid_resolve():
    routing = rules(WorkflowUnit("route", output=str), labels=LABELS)
    step = after_reply(routing, Counters(), reply("", called("resolve", value="refunds")))
    assert step.ending is None
    assert all(word in step.messages[1].content for word in ("refunds", "billing", "tech"))


def test_a_text_router_is_asked_again_with_the_labels():
    routing = rules(WorkflowUnit("route", output=str, answer="text"), (), labels=LABELS)
    step = after_reply(routing, Counters(), reply("refunds"))
    assert step.ending is None
    assert "billing" in step.messages[-1].content


def settle(calls, failing=()):
    """`after_calls` for a reply with these calls, whose ordinary ones ran; those in `failing` failed."""
    said = reply("", *calls)
    ran = {c.id: answer(c, "out", error=c.id in failing) for c in said.calls if c.name == "search"}
    return after_calls(rules(), Counters(), said.calls, ran)


SECOND = called("resolve", "c2", score=3)


@pytest.mark.parametrize(
    ("calls", "failing", "statuses", "score"),
    [
        ([SEARCH, GOOD], (), ["success", "success"], 7),
        ([GOOD, SEARCH], (), ["success", "success"], 7),
        ([SEARCH, GOOD], ("s1",), ["error", "error"], None),
        ([GOOD, SEARCH], ("s1",), ["error", "error"], None),
        ([GOOD, SECOND], (), ["success", "success"], 7),
        ([SECOND, GOOD], (), ["success", "success"], 3),
        ([called("resolve", "c0", score=99), SECOND, GOOD], (), ["error", "success", "success"], 3),
        ([SEARCH, BAD], (), ["success", "error"], None),
        ([SEARCH, called("nope", "n1"), GOOD], (), ["success", "error", "error"], None),
    ],
)
def test_how_the_calls_of_one_reply_are_settled(calls, failing, statuses, score):
    step = settle(calls, failing)
    assert [message.status for message in step.messages] == statuses
    assert [message.tool_call_id for message in step.messages] == [made["id"] for made in calls]
    assert (step.ending is None) == (score is None)


def test_a_resolve_held_back_names_what_failed_and_spends_nothing():
    step = settle([GOOD, SEARCH], ("s1",))
    assert "not accepted, search failed" in step.messages[0].content
    assert step.counters.invalid == 0


def test_an_unknown_tool_is_answered_with_the_names():
    step = settle([NOPE])
    assert "search, resolve" in step.messages[0].content


@pytest.mark.parametrize("value", ["high", "7", 7.5, 11, None, [7]])
def test_a_problem_names_the_field(value):
    (made,) = reply("", called("resolve", score=value)).calls
    assert "score" in judge(rules(), made).problem


def test_answers_have_ids_that_follow_from_the_call():
    (made,) = reply("", SEARCH).calls
    told = answer(made, "out")
    assert isinstance(told, ToolMessage)
    assert (told.id, told.tool_call_id, told.name, told.status) == ("s1:answer", "s1", "search", "success")
