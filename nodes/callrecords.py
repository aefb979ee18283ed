"""The record of a unit's tool calls, read from its transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..core.records import ToolCallRecord
from ..core.snapshot import Snapshot
from .approvals import DECISION
from .history import message_text
from .tools import RESOLVE

FULL_TEXT, RERUN = "plait_full_text", "plait_rerun"
"""What a tool message keeps beside its content until the unit ends: the text that had to be cut, and
that the call ran a second time."""

_NOTES = frozenset((FULL_TEXT, RERUN, DECISION))


def noted(message: ToolMessage, text: str | None, rerun: bool) -> ToolMessage:
    """`message` with what its record will say, where it is never sent to a model."""
    told = {FULL_TEXT: text} if text is not None else {}
    told |= {RERUN: "yes"} if rerun else {}
    if not told:
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **told}})


_KEPT = ("tool_call_id", "content", "name", "id", "status", "artifact", "additional_kwargs")


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
            yield ToolCallRecord(
                answer.tool_call_id,
                name,
                call["args"],
                text,
                answer.status != "error",
                rerun=RERUN in answer.additional_kwargs,
                decision=answer.additional_kwargs.get(DECISION),
            )


def without_notes(messages: Sequence[BaseMessage]) -> tuple[BaseMessage, ...]:
    """The transcript as it travels on: what is noted beside a message stays in the records only."""
    return tuple(_plain(message) for message in messages)


def _plain(message: BaseMessage) -> BaseMessage:
    if _NOTES.isdisjoint(message.additional_kwargs):
        return message
    rest = {key: value for key, value in message.additional_kwargs.items() if key not in _NOTES}
    return message.model_copy(update={"additional_kwargs": rest})


def answer_to_plain(message: ToolMessage) -> dict[str, Any]:
    """A call's answer with what it says and no more: there are many of them, and a class takes its place."""
    held = {name: getattr(message, name) for name in _KEPT}
    unsaid = {"status": message.status == "success", "additional_kwargs": not message.additional_kwargs}
    return {name: value for name, value in held.items() if value is not None and not unsaid.get(name)}


def answer_from_plain(plain: Mapping[str, Any]) -> ToolMessage:
    """The answer that `answer_to_plain` wrote."""
    return ToolMessage(**plain)


def is_kept(artifact: Any) -> bool:
    """Whether a checkpoint can hold a tool's artifact; one that it cannot hold is left out."""
    if artifact is None:
        return True
    try:
        _SERIALIZER.dumps_typed(artifact)
    except Exception:  # each kind of value fails in a way of its own
        return False
    return True


_SERIALIZER = JsonPlusSerializer()
