"""What people say to a run through LangGraph's server: answers, approvals, steers."""

from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

from plait.nodes.inbox import inbox_namespace

from .cases import CASES, Case, on_each

QUESTION = "Which order is this about? My desk is scratched."


async def asked(client: Any, task: str) -> tuple[str, Any]:
    """A thread on which the refunds ask something, and what they ask."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "approvals", input={"task": task})
    (question,) = (await client.threads.get_state(thread))["interrupts"]
    return str(thread), question


async def steer(client: Any, thread: str, address: str, text: str) -> None:
    told = {"address": address, "text": text}
    await client.store.put_item(inbox_namespace(thread), str(uuid6()), told)


async def test_a_question_is_answered(client: Any) -> None:
    thread, question = await asked(client, "My desk is scratched.")
    assert question["value"]["question"] == QUESTION
    values = await client.runs.wait(thread, "approvals", command={"resume": "It is B99."})
    assert "cannot refund B99" in values["output"]


RESPONSES = [
    ({"type": "accept", "args": None}, "240 is on its way for A18"),
    (
        {"type": "edit", "args": {"action": "refund", "args": {"order": "A17", "amount": "30"}}},
        "30 is on its",
    ),
    ({"type": "ignore", "args": None}, "a person rejected it"),
    ({"type": "response", "args": "He was refunded in cash."}, "refunded in cash"),
]


@pytest.mark.parametrize(("response", "told"), RESPONSES, ids=["accept", "edit", "ignore", "response"])
async def test_an_approval_is_answered_as_the_agent_inbox_does(client: Any, response: Any, told: str) -> None:
    thread, question = await asked(client, "Refund order A18.")
    request = question["value"]["action_request"]
    assert request == {"action": "refund", "args": {"order": "A18", "amount": 240}}
    assert "240 is more than" in question["value"]["description"]
    values = await client.runs.wait(thread, "approvals", command={"resume": [response]})
    assert told in values["output"]


async def test_a_steer_arrives_before_the_next_call_of_the_model(client: Any) -> None:
    thread, _ = await asked(client, "The chair wobbles.")
    await steer(client, thread, "clerk", "Refund only 20.")
    values = await client.runs.wait(thread, "approvals", command={"resume": "It is A19."})
    assert "20 is on its way for A19" in values["output"]
    said = (await client.threads.get_state(thread))["values"]["transcripts"]["clerk"]
    assert [message["type"] for message in said[:4]] == ["human", "ai", "tool", "human"]
    assert said[3]["content"] == "Refund only 20."


async def test_each_example_hears_what_its_first_unit_is_told(client: Any, contexts: Any) -> None:
    async def told(case: Case) -> Any:
        thread = (await client.threads.create())["thread_id"]
        given = {"context": contexts.get(case.name)}
        task = {"task": case.task}
        await client.runs.wait(thread, case.name, input=task, interrupt_before=[case.next], **given)
        await steer(client, thread, case.unit, "Please take care.")
        values = await client.runs.wait(thread, case.name, input=None, **given)
        assert case.is_right(values), values
        held = (await client.threads.get_state(thread))["values"]["transcripts"]
        said = next(messages for path, messages in held.items() if path.startswith(case.unit))
        return [message["content"] for message in said[:3] if message["type"] == "human"][-1]

    assert await on_each(told) == {case.name: "Please take care." for case in CASES}
