"""The rules that every request keeps, as checks; and what messages say and weigh."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from .blocks import call_block_ids
from .content import block_text

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)
_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_MEDIUM = 85  # an image at low detail; what other media cost is unknown here


def history_faults(messages: Sequence[BaseMessage]) -> list[str]:
    """What breaks the History rule in one request; empty when it holds.

    The rule: each call id is answered by exactly one tool message before the next other message; ids are
    unique and not blank; what goes back of a call is JSON; no assistant message is empty; one system
    message at most, and first.
    """
    return [
        *_system_faults(messages),
        *_assistant_faults(messages),
        *_id_faults(messages),
        *_answer_faults(messages),
    ]


def prefix_faults(requests: Sequence[Sequence[BaseMessage]]) -> list[str]:
    """What breaks the Prefix rule: where the messages of one request are no exact prefix of the next one's.

    Role, content, calls and call ids are compared as they would be written on the wire.
    """
    faults: list[str] = []
    for number, (earlier, later) in enumerate(pairwise(requests)):
        if len(later) < len(earlier):
            faults.append(
                f"request {number + 1} has only {len(later)} of the {len(earlier)} messages before it"
            )
        for place, (before, after) in enumerate(zip(earlier, later, strict=False)):
            if _as_sent(before) != _as_sent(after):
                faults.append(f"request {number + 1}: message {place} differs from request {number}")
                break
    return faults


def message_text(message: BaseMessage | str | Sequence[Any]) -> str:
    """The text of a message or of its content; reasoning, calls and media are left out."""
    content = message.content if isinstance(message, BaseMessage) else message
    if isinstance(content, str):
        return content
    return "".join(text for text in map(block_text, content) if text)


def estimate_tokens(what: str | BaseMessage | Sequence[BaseMessage]) -> int:
    """About how many tokens a text or messages cost: one per CJK character, one per four others, rounded up.

    For replies whose provider reports no usage. Calls and their arguments count; an image counts a flat rate.
    """
    if isinstance(what, str):
        return _text_tokens(what)
    if isinstance(what, BaseMessage):
        return _message_tokens(what)
    return sum(map(_message_tokens, what))


def _text_tokens(text: str) -> int:
    wide = len(_CJK.findall(text))
    return wide - (wide - len(text)) // _CHARACTERS_PER_TOKEN


def _message_tokens(message: BaseMessage) -> int:
    texts = [message_text(message), *map(_call_text, _calls(message))]
    blocks = [block for block in message.content if isinstance(block, dict) and block_text(block) is None]
    thoughts = [text for text in map(_thought, blocks) if text is not None]
    media = len(blocks) - len(thoughts) - len(call_block_ids(message.content))
    return sum(map(_text_tokens, texts + thoughts)) + media * _TOKENS_PER_MEDIUM


def _thought(block: dict[Any, Any]) -> str | None:
    """A reasoning block's text; None for any other block."""
    if block.get("type") not in {"reasoning", "thinking", "reasoning_content"}:
        return None
    return str(block.get("reasoning") or block.get("thinking") or block.get("text") or "")


def _call_text(call: dict[str, Any]) -> str:
    args = call["args"]
    return str(call["name"] or "") + (args if isinstance(args, str) else _json(args))


def _calls(message: BaseMessage) -> list[dict[str, Any]]:
    """Every call in a message, unparsed ones too: both are sent back."""
    if not isinstance(message, AIMessage):
        return []
    return [dict(call) for call in (*message.tool_calls, *message.invalid_tool_calls)]


def _call_ids(message: BaseMessage) -> list[str]:
    return [call["id"] or "" for call in _calls(message)]


def _system_faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    places = [place for place, message in enumerate(messages) if isinstance(message, SystemMessage)]
    for place in places:
        if place:
            yield f"message {place}: a system message that is not the first message"


def _assistant_faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        for call in message.invalid_tool_calls:
            yield f"message {place}: the arguments of call {call['id']!r} are not JSON"
        if not _calls(message) and _is_blank(message.content):
            yield f"message {place}: an empty assistant message"
        for stray in sorted(set(call_block_ids(message.content)) - set(_call_ids(message))):
            yield f"message {place}: a content block holds call {stray!r}, which is not among its calls"


def _is_blank(content: str | Sequence[Any]) -> bool:
    if isinstance(content, str):
        return not content.strip()
    return all((text := block_text(block)) is not None and not text.strip() for block in content)


def _id_faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    ids = [(place, call_id) for place, message in enumerate(messages) for call_id in _call_ids(message)]
    for place, call_id in ids:
        if not call_id.strip():
            yield f"message {place}: a call without an id"
    for call_id, count in Counter(call_id for _, call_id in ids if call_id.strip()).items():
        if count > 1:
            yield f"call id {call_id!r} is used {count} times"


def _answer_faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    waiting: dict[str, int] = {}
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            yield from _answer(message.tool_call_id, waiting, place)
        else:
            yield from _unanswered(waiting, place)
            waiting = dict.fromkeys(_call_ids(message), 0)
    yield from _unanswered(waiting, len(messages))


def _answer(call_id: str, waiting: dict[str, int], place: int) -> Iterator[str]:
    if call_id not in waiting:
        yield f"message {place}: a tool message for {call_id!r}, which no call before it waits for"
        return
    waiting[call_id] += 1
    if waiting[call_id] == 2:
        yield f"message {place}: call {call_id!r} is answered twice"


def _unanswered(waiting: dict[str, int], place: int) -> Iterator[str]:
    for call_id, answers in waiting.items():
        if not answers:
            yield f"message {place}: call {call_id!r} was not answered before it"


def _as_sent(message: BaseMessage) -> str:
    calls = [(call["id"], call["name"], call["args"]) for call in _calls(message)]
    role = message.type.removesuffix("MessageChunk").lower()
    return _json([role, message.name, message.content, calls, getattr(message, "tool_call_id", None)])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def sound(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages` mended to keep the history rule: system texts folded into one that comes first,
    open calls answered as never made, answers without a call and removals left out."""
    system = [message_text(m) for m in messages if m.type == "system" and message_text(m)]
    kept: list[BaseMessage] = [SystemMessage("\n\n".join(system))] if system else []
    waiting: dict[str, str] = {}
    for message in messages:
        if message.type in ("system", "remove"):
            continue
        if isinstance(message, ToolMessage):
            if waiting.pop(message.tool_call_id, None) is not None:
                kept.append(message)
            continue
        kept.extend(_closed(waiting))
        kept.append(message)
        waiting = {str(call["id"]): call["name"] for call in _calls(message)}
    kept.extend(_closed(waiting))
    return kept


def _closed(waiting: dict[str, str]) -> list[BaseMessage]:
    told = "not run: the conversation went on without it"
    return [ToolMessage(told, tool_call_id=key, name=name, status="error") for key, name in waiting.items()]
