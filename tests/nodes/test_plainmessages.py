"""Messages that were written out as JSON come back as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from plait.nodes.plainmessages import as_messages
from plait.nodes.unitstate import add_messages

CALL: Any = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
BROKEN: Any = {"name": "f", "args": "{", "id": "b", "error": "cut", "type": "invalid_tool_call"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
MESSAGES = [
    HumanMessage("hi", id="1"),
    HumanMessage([{"type": "text", "text": "hi"}], id="2"),
    SystemMessage("be kind", id="3"),
    AIMessage("", id="4", tool_calls=[CALL], invalid_tool_calls=[BROKEN], usage_metadata=USAGE),
    ToolMessage("no", id="5", tool_call_id="c", name="f", status="error"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message.type))
def test_a_message_survives_its_plain_form(message: Any) -> None:
    assert as_messages([json.loads(json.dumps(message.model_dump()))]) == [message]


def test_messages_are_left_alone_and_short_forms_are_read() -> None:
    given = as_messages([MESSAGES[0], ("user", "hi"), {"role": "user", "content": "hi"}, "hi"])
    assert given[0] is MESSAGES[0]
    assert [message.content for message in given] == ["hi"] * 4


def test_a_units_transcript_takes_plain_messages_by_their_ids() -> None:
    edited = {"type": "human", "content": "edited", "id": "1"}
    held = add_messages(list(MESSAGES), [[edited]])
    assert held == [HumanMessage("edited", id="1"), *MESSAGES[1:]]
