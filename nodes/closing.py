"""Closing a transcript that was cut within a round: every open call gets the answer that there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from .callrecords import answer_from_plain, without_notes
from .unitstate import add_messages

CANCELLED = "cancelled: the run was stopped before this call ended; it may have had an effect"


def closed(
    held: Sequence[BaseMessage], written: Iterable[Any], results: Iterable[Mapping[str, Any]]
) -> tuple[BaseMessage, ...]:
    """The transcript `held` with what was `written` after it, and an answer to each call of its last reply.

    `results` are calls of that reply that did end, in the form in which they wait for the others;
    a call without one is answered, as an error, that it was cancelled.
    """
    messages = add_messages(list(held), list(written))
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    ended = {result["message"]["tool_call_id"]: result for result in results}
    said: list[BaseMessage] = []
    for call in last.tool_calls if last is not None else ():
        if call["id"] in answered:
            continue
        result = ended.get(call["id"] or "", {})
        given = answer_from_plain(result["message"]) if result else None
        messages.append(given or _cancelled(call["id"] or "", call["name"]))
        said.extend(result.get("extra", ()))
    return without_notes([*messages, *said])


def _cancelled(call_id: str, name: str) -> ToolMessage:
    return ToolMessage(CANCELLED, tool_call_id=call_id, name=name, status="error", id=f"{call_id}:answer")
