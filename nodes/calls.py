"""The model's reply, normalised: a message that is safe to keep and to send back, and its calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, ToolCall

from .arguments import Arguments, read_arguments
from .blocks import call_places, settled
from .content import Content, cap, clean_content
from .finish import Cut, cut_of, stop_reason
from .history import message_text
from .plain import clean_text, plain
from .wire import wire_name
from .written import lift_text_calls

__all__ = ["TEXT_LIMIT", "Call", "Cut", "Reply", "lift_text_calls", "normalise_reply", "stop_reason"]

TEXT_LIMIT = 200_000
"""How many characters of a reply's text are kept."""

_THOUGHT = re.compile(r"(?is)\A\s*<(think|thinking)>.*?(?:</\1>\s*|\Z)")
_CUT_ERRORS = {
    "length": "not run, because the reply was cut at the output limit",
    "broken": "not run, because the reply did not arrive whole",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a reply. `error` says why it cannot run; its `args` are then empty."""

    id: str
    name: str
    args: dict[str, Any]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    `calls` are those of `message`, one to one; `text` leaves reasoning out and is "" when blank; `cut` says
    that the reply ended early, and then every call carries an error; `repaired` that text or arguments
    were mended. A reply without calls and text has a `message` that must not enter the history.
    """

    message: AIMessage
    calls: tuple[Call, ...]
    text: str
    cut: Cut | None
    repaired: bool


def normalise_reply(
    message: AIMessage, *, taken: Container[str], new_id: Callable[[int], str], streamed: bool
) -> Reply:
    """A reply that can be kept in state and sent back to any provider.

    `taken`: call ids that this transcript has used; `new_id(index)` names a call whose own id is blank or
    taken. A merged `AIMessageChunk` is read from its pieces, since LangChain completes unfinished arguments.
    """
    wanted = _wanted(message)
    named = _in_order([call for call in wanted if call.name.strip()], message.content)
    ids = unique_ids([call.id for call in named], taken, new_id)
    read = [read_arguments(call.args) for call in named]
    sent = [_sent(call, call_id, args) for call, call_id, args in zip(named, ids, read, strict=True)]
    content, mended = _content(message.content, named, sent)
    text = spoken(message_text(content))
    cut = cut_of(
        message, calls=len(named), torn=len(named) < len(wanted), blank=not text.strip(), streamed=streamed
    )
    return Reply(
        message=_message(message, content, sent),
        calls=tuple(_call(*one, cut) for one in zip(named, ids, read, strict=True)),
        text=text if text.strip() else "",
        cut=cut,
        repaired=mended or any(call.repaired for call in named) or any(args.repaired for args in read),
    )


def spoken(text: str) -> str:
    """Text without the thoughts that some models write in `<think>` tags before they answer."""
    return _THOUGHT.sub("", text)


def unique_ids(given: Sequence[str], taken: Container[str], new_id: Callable[[int], str]) -> list[str]:
    """The given ids, where blank, repeated or taken ones are replaced."""
    first = {call_id: index for index, call_id in reversed(list(enumerate(given)))}
    kept = {call_id for call_id in given if call_id.strip() and call_id not in taken}
    ids: list[str] = []
    for index, call_id in enumerate(given):
        if call_id not in kept or first[call_id] != index:
            call_id = _fresh(new_id(index), index, taken, kept.union(ids))
        ids.append(call_id)
    return ids


def _fresh(proposal: str, index: int, taken: Container[str], used: Container[str]) -> str:
    base = proposal if proposal.strip() else f"call_{index}"
    candidate, number = base, 1
    while candidate in taken or candidate in used:
        number += 1
        candidate = f"{base}_{number}"
    return candidate


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A call as the model wrote it: `args` may be text still, `id` and `name` may be blank."""

    id: str
    name: str
    args: Any
    index: Any
    repaired: bool


def _wanted(message: AIMessage) -> list[_Wanted]:
    """The calls of a message, unparsed ones too."""
    pieces = message.tool_call_chunks if isinstance(message, AIMessageChunk) else []
    raw = pieces or [*(message.tool_calls or ()), *(message.invalid_tool_calls or ())]
    return [_read(dict(call)) for call in raw]


def _in_order(calls: list[_Wanted], content: Any) -> list[_Wanted]:
    """The calls in the order in which the model wrote them, as far as that is known."""
    indexes = [call.index for call in calls]
    if not all(isinstance(index, int) for index in indexes):
        indexes = call_places(content, [call.id for call in calls])
    if len(set(indexes)) < len(calls):
        return calls
    return [call for _, call in sorted(zip(indexes, calls, strict=True), key=_first)]


def _first(pair: tuple[int, _Wanted]) -> int:
    return pair[0]


def _read(call: dict[str, Any]) -> _Wanted:
    call_id, mended_id = clean_text(str(call.get("id") or ""))
    name, mended_name = clean_text(str(call.get("name") or ""))
    return _Wanted(call_id, name, call.get("args"), call.get("index"), mended_id or mended_name)


def _sent(call: _Wanted, call_id: str, args: Arguments) -> ToolCall:
    """A call as it goes back: an invented name that no provider would take is made fit."""
    return ToolCall(name=wire_name(call.name), args=args.value, id=call_id, type="tool_call")


def _call(call: _Wanted, call_id: str, args: Arguments, cut: Cut | None) -> Call:
    error = _CUT_ERRORS[cut] if cut else args.error
    return Call(call_id, call.name, {} if error else args.value, error)


def _content(given: Any, named: Sequence[_Wanted], sent: Sequence[ToolCall]) -> tuple[Content, bool]:
    content, repaired = clean_content(given)
    if isinstance(content, list):
        content = settled(content, [call.id for call in named], sent)
    elif not isinstance(content, str) or not content.strip():
        content = ""
    return cap(content, TEXT_LIMIT)[0], repaired


def _message(message: AIMessage, content: Content, calls: list[ToolCall]) -> AIMessage:
    extra = {key: value for key, value in message.additional_kwargs.items() if key not in _RAW_CALLS}
    return AIMessage(
        content=content,
        id=message.id and clean_text(message.id)[0],
        name=message.name and clean_text(message.name)[0],
        tool_calls=calls,
        additional_kwargs=plain(extra).value if extra else {},
        response_metadata=plain(message.response_metadata).value if message.response_metadata else {},
        usage_metadata=_usage(message),
    )


_RAW_CALLS = frozenset({"tool_calls", "function_call"})


def _usage(message: AIMessage) -> Any:
    if not message.usage_metadata:
        return None
    usage = plain(message.usage_metadata).value
    counted = all(isinstance(usage.get(key), int) for key in _COUNTS)
    return usage if counted else None


_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
