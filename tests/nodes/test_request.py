"""Requests that strict servers take: one system message, first; user messages merged where asked for."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from plait import LoopFlow, SequentialFlow, Workflow, WorkflowUnit, langchain_adapter, langgraph_adapter
from plait.nodes.history import message_text
from plait.nodes.request import alternating
from plait.testing import ScriptedModel, call, text

from ..adapters.kinds import chain, talking_graph
from ..support import scripted


class Score(BaseModel):
    score: int
    feedback: str


def refused(messages, alternates=False):
    """What a strict server says against a request, or None."""
    kinds = [message.type for message in messages]
    if "system" in kinds[1:]:
        return "System message must be at the beginning."
    pairs = pairwise(kinds)
    if alternates and any(one == two == "human" for one, two in pairs):
        return "Conversation roles must alternate user/assistant"
    return None


def strict(script, alternates=False):
    """A rule that plays the strict server: a request it refuses fails the run."""
    left = list(script)

    def rule(request):
        why = refused(request.messages, alternates)
        return ValueError(f"400: {why}") if why else left.pop(0)

    return ScriptedModel(rule)


async def test_f23_reminders_and_feedback_never_are_a_system_message_in_the_middle():
    script = [
        text("Let me think."),
        call("resolve", value="first draft"),
        call("resolve", score=3, feedback="Too short."),
        call("resolve", value="second draft"),
        call("resolve", score=9, feedback="Good."),
    ]
    model = strict(script)
    actor = WorkflowUnit("actor", prompt="Write.")
    judge = WorkflowUnit("judge", prompt="Judge.", output=Score)
    flow = LoopFlow(SequentialFlow(actor, judge), max_iterations=3, until=lambda s: s.output.score >= 8)
    result = await Workflow(flow, model=model).run("A poem.")
    assert result.output.score == 9
    again = model.requests[3]
    assert "Too short." in "\n".join(message_text(m) for m in again.messages if m.type == "human")
    assert any("resolve" in message_text(m) for m in again.messages if m.type == "human")


async def test_f23_a_conversation_summary_goes_into_the_user_s_side():
    model = strict([text("hi"), text("still here")])
    unit = WorkflowUnit("work", prompt="Chat.", answer="text", conversation=True)
    workflow = Workflow(unit, model=model)
    await workflow.run("Hello.", thread_id="t")
    await workflow.run("Again.", thread_id="t")
    assert [m.type for m in model.requests[1].messages] == ["system", "human", "ai", "human"]


@pytest.mark.parametrize(
    "adapter", [lambda m: langgraph_adapter(talking_graph(m)), lambda m: langchain_adapter(chain(m))]
)
async def test_f23_foreign_runtimes_get_one_system_message_first(adapter):
    model = strict([text("one"), text("two")])
    unit = WorkflowUnit("work", prompt="Chat.", conversation=True)
    workflow = Workflow(unit, adapter=adapter(model))
    await workflow.run("Hello.", thread_id="t")
    await workflow.run("Again.", thread_id="t")
    assert [m.type for m in model.requests[1].messages] == ["system", "human", "ai", "human"]


async def test_f23_with_strict_alternation_adjacent_user_messages_are_one():
    script = [text(""), text(" "), call("resolve", value="done")]
    model = strict(script, alternates=True)
    unit = WorkflowUnit("work", prompt="Write.", strict_alternation=True)
    assert (await Workflow(unit, model=model).run("A poem.")).output == "done"
    (sent,) = [m for m in model.requests[-1].messages if m.type == "human"]
    assert message_text(sent).startswith("A poem.\n\n")
    assert message_text(sent).count("Your last reply was empty") == 2


async def test_f23_without_it_they_stay_apart():
    model = scripted([text(""), call("resolve", value="done")])
    await Workflow(WorkflowUnit("work"), model=model).run("A poem.")
    assert [m.type for m in model.requests[1].messages] == ["human", "human"]


def test_blocks_are_merged_after_text_and_nothing_is_lost():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    messages = [HumanMessage("look"), HumanMessage([image]), HumanMessage("well?")]
    (merged,) = alternating(messages)
    assert merged.content == [{"type": "text", "text": "look"}, image, {"type": "text", "text": "well?"}]


made = st.sampled_from([SystemMessage, HumanMessage, AIMessage, lambda t: ToolMessage(t, tool_call_id="c")])


@given(st.lists(st.tuples(made, st.text(min_size=1)), max_size=12))
def test_merging_keeps_every_text_in_order_and_leaves_no_two_users_adjacent(parts):
    messages = [make(said) for make, said in parts]
    merged = alternating(messages)
    kinds = [message.type for message in merged]
    assert ("human", "human") not in list(pairwise(kinds))
    assert "\n\n".join(str(m.content) for m in merged) == "\n\n".join(str(m.content) for m in messages)
    assert alternating(merged) == merged
