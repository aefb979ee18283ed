"""What a script is made of: the replies, and the chat messages they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall

from ..core.errors import PlaitError
from .jsonlike import as_json, copied, plain

Usage: TypeAlias = tuple[int, int] | Literal["estimate"] | None
"""(input tokens, output tokens); a guess from the lengths; or nothing reported at all."""

_AUTO = "auto"


class ScriptError(PlaitError, AssertionError):
    """The script and what really happened do not agree: a step too many, or one too few."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a reply. Made by `call`."""

    tool: str
    args: Mapping[str, Any]
    id: str | None = None

    def with_id(self, call_id: str) -> Call:
        """The same call under an id of your own choice, which may be blank or taken."""
        return replace(self, id=call_id)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model: text, calls, or both. Made by `text` and `reply`."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = "estimate"
    finish: str | None = _AUTO


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception raised where a reply is due. Made by `fail`."""

    error: BaseException


Entry: TypeAlias = Reply | AIMessage | Failure
"""One step of a script, in its plain form."""

ReplyLike: TypeAlias = Entry | Call | BaseException | Sequence[Reply | Call]
"""All that may stand for one reply; a sequence is one reply with several calls."""


def text(content: str, *, usage: Usage = "estimate", finish: str | None = _AUTO) -> Reply:
    """A reply of plain text; `text("")` is a blank one.

    `usage` is (input, output) in tokens, or None for a provider that reports nothing.
    `finish` is the finish reason; None stands for a stream that broke off.
    """
    return Reply(content, (), usage, finish)


def call(tool: str, args: Mapping[str, Any] | None = None, /, **named: Any) -> Call:
    """A reply that calls one tool. Arguments by name, or as a mapping where names clash.

    Raises ScriptError for a value that no model could send, since it is not JSON.

    >>> call("save", {"tool": "pen"}, amount=2).args
    {'tool': 'pen', 'amount': 2}
    """
    try:
        return Call(tool, plain({**(args or {}), **named}))
    except (TypeError, ValueError) as error:
        raise ScriptError(f"call({tool!r}): a model can only send JSON: {error}") from error


def reply(*parts: Reply | Call | str, usage: Usage = "estimate", finish: str | None = _AUTO) -> Reply:
    """One reply made of several parts, for text beside calls or calls with a given usage.

    `usage` and `finish` as in `text`; where they are not given, the parts' own count.
    """
    written: list[str] = []
    calls: list[Call] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        elif isinstance(part, Call):
            calls.append(part)
        else:
            written.append(part.text)
            calls.extend(part.calls)
            usage = part.usage if usage == "estimate" else usage
            finish = part.finish if finish == _AUTO else finish
    return Reply("".join(written), tuple(calls), usage, finish)


def fail(error: BaseException | type[BaseException]) -> Failure:
    """A step at which the model raises `error` instead of answering."""
    return Failure(error() if isinstance(error, type) else error)


def entry(step: ReplyLike, where: str) -> Entry:
    """The plain form of one step. Raises ScriptError, naming `where`, for anything else."""
    if isinstance(step, (Reply, AIMessage, Failure)):
        return step
    if isinstance(step, BaseException):
        return Failure(step)
    if isinstance(step, Call):
        return Reply(calls=(step,))
    if isinstance(step, (list, tuple)) and all(isinstance(part, (Reply, Call)) for part in step):
        return reply(*step)
    raise ScriptError(
        f"{where}: {type(step).__name__} is no reply; "
        f"use text(...), call(...), a list of calls, fail(...) or an AIMessage"
    )


def message_of(step: Reply | AIMessage, call_prefix: str = "", sent_chars: int = 0) -> AIMessage:
    """A fresh message for one step; tool calls without an id get `<call_prefix>_<index>`."""
    if isinstance(step, AIMessage):
        calls = [ToolCall({**held, "args": copied(held["args"])}) for held in step.tool_calls]
        return step.model_copy(update={"content": copied(step.content), "tool_calls": calls})
    message = AIMessage(
        step.text,
        tool_calls=[
            ToolCall(
                name=made.tool,
                args=copied(made.args),
                id=f"{call_prefix}_{index}" if made.id is None else made.id,
                type="tool_call",
            )
            for index, made in enumerate(step.calls)
        ],
        response_metadata={"finish_reason": _finish(step), "model_name": "scripted"},
    )
    message.usage_metadata = _usage(step.usage, sent_chars, message)
    return message


def _finish(step: Reply) -> str | None:
    if step.finish == _AUTO:
        return "tool_calls" if step.calls else "stop"
    return step.finish


def _usage(usage: Usage, sent_chars: int, message: AIMessage) -> UsageMetadata | None:
    if usage is None:
        return None
    sent, answered = (-(-sent_chars // 4), -(-size(message) // 4)) if usage == "estimate" else usage
    return UsageMetadata(input_tokens=sent, output_tokens=answered, total_tokens=sent + answered)


def size(message: BaseMessage) -> int:
    """Characters of a message's content and tool calls."""
    return len(content_of(message)) + len(calls_of(message))


def content_of(message: BaseMessage) -> str:
    """The whole content as one string."""
    return message.content if isinstance(message.content, str) else as_json(message.content)


def calls_of(message: BaseMessage) -> str:
    """Names and arguments of the tool calls as one string, blank when there are none."""
    if not isinstance(message, AIMessage):
        return ""
    asked = [[each["name"], each["args"]] for each in (*message.tool_calls, *message.invalid_tool_calls)]
    return as_json(asked, sort_keys=True) if asked else ""
