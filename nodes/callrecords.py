"""The record of a unit's tool calls, read from its transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ..core.records import ToolCallRecord
from ..core.snapshot import Snapshot
from .history import message_text
from .tools import RESOLVE

FULL_TEXT = "plait_full_text"
"""Where a tool message keeps the text that its content had to cut, until the unit ends."""


def keep_full_text(message: ToolMessage, text: str | None) -> ToolMessage:
    """`message` with the uncut text beside it, where it is never sent to a model."""
    if text is None:
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, FULL_TEXT: text}})


def call_records(
    messages: Sequence[BaseMessage], snapshot: Snapshot, names: Mapping[str, str] | None = None
) -> tuple[ToolCallRecord, ...]:
    """One record for each ordinary call of this pass, in order; `names`: wire name -> given name."""
    held = {message.id for message in snapshot.transcript(snapshot.path)}
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    made = (m for m in messages if isinstance(m, AIMessage) and m.id not in held)
    return tuple(_records(made, answers, names or {}))


def _records(
    made: Iterator[AIMessage], answers: Mapping[str, ToolMessage], names: Mapping[str, str]
) -> Iterator[ToolCallRecord]:
    for message in made:
        for call in message.tool_calls:
            answer = answers.get(call["id"] or "")
            if call["name"] == RESOLVE or answer is None:
                continue
            full = answer.additional_kwargs.get(FULL_TEXT)
            text = full if full is not None else message_text(answer)
            name = names.get(call["name"], call["name"])
            yield ToolCallRecord(answer.tool_call_id, name, call["args"], text, answer.status != "error")


def without_full_texts(messages: Sequence[BaseMessage]) -> tuple[BaseMessage, ...]:
    """The transcript as it travels on: the uncut texts stay in the records only."""
    return tuple(_plain(message) for message in messages)


def _plain(message: BaseMessage) -> BaseMessage:
    if FULL_TEXT not in message.additional_kwargs:
        return message
    rest = {key: value for key, value in message.additional_kwargs.items() if key != FULL_TEXT}
    return message.model_copy(update={"additional_kwargs": rest})
