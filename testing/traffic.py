"""What a recording is made of: calls of models and tools, in a file with one fact on each line.

A model call is a head, its messages, one line each, and the reply; what a request repeats of the one before
it on the same path is only counted (`held`). A tool call is one line. Nothing of a client's settings is
written, so no key and no header.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..core.errors import PlaitError
from .jsonlike import as_json
from .seen import Seen

KEPT_METADATA = ("finish_reason", "model_name")


class RecordingError(PlaitError):
    """Something that cannot be recorded, or a file that is no recording."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request and its reply, or what was raised. `lines` are those of the messages, from 1."""

    path: str
    about: Mapping[str, Any]
    messages: Sequence[Seen]
    reply: Mapping[str, Any] | None = None
    raised: Mapping[str, Any] | None = None
    line: int = 0
    lines: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool and what it gave, or what was raised."""

    tool: str
    args: Any
    gave: Any = None
    raised: Mapping[str, Any] | None = None
    line: int = 0

    @property
    def key(self) -> str:
        return as_json([self.tool, self.args], sort_keys=True)


Exchange = ModelCall | ToolCall


def digests(tools: Iterable[Any]) -> list[tuple[str, str]]:
    """Each tool's name, and a digest of all that a model is told of it."""
    schemas = [convert_to_openai_tool(each)["function"] for each in tools]
    hashed = (hashlib.blake2b(as_json(each, sort_keys=True).encode(), digest_size=4) for each in schemas)
    return [(schema["name"], digest.hexdigest()) for schema, digest in zip(schemas, hashed, strict=True)]


def seen_of_message(message: BaseMessage) -> Seen:
    """A message as its line tells it, by its role: `{"human": "…"}`."""
    seen: Seen = {message.type: message.content}
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        if calls:
            seen["calls"] = [{key: call.get(key) for key in ("id", "name", "args")} for call in calls]
    if isinstance(message, ToolMessage):
        seen["id"] = message.tool_call_id
        if message.status == "error":
            seen["status"] = "error"
    copied: Seen = json.loads(as_json(seen))
    return copied


def plain_reply(message: AIMessage) -> Seen:
    """A reply in full but for its id and the provider's other words."""
    metadata = {key: message.response_metadata.get(key) for key in KEPT_METADATA}
    plain: Seen = {
        "content": message.content,
        "tool_calls": [dict(call) for call in message.tool_calls],
        "invalid_tool_calls": [dict(call) for call in message.invalid_tool_calls],
        "usage_metadata": message.usage_metadata,
        "response_metadata": {key: value for key, value in metadata.items() if value is not None},
    }
    copied: Seen = json.loads(as_json({key: value for key, value in plain.items() if value}))
    return copied


def reply_of(plain: Mapping[str, Any]) -> AIMessage:
    """The message that `plain_reply` wrote."""
    return AIMessage(**{"content": "", **plain})


def plain_error(error: BaseException) -> Seen:
    """What was raised; what a server says of a refused key is left out, since it may show the key."""
    status = getattr(error, "status_code", None)
    told = "the key was refused" if status in (401, 403) else str(error)
    named = {"type": type(error).__name__, "message": told}
    return named if status is None else {**named, "status_code": status}


def error_of(plain: Mapping[str, Any]) -> Exception:
    """An error of the same name that says the same."""
    named: type[Exception] = type(plain["type"], (Exception,), {"status_code": plain.get("status_code")})
    return named(plain["message"])


@dataclass
class Writer:
    """Turns calls into lines; remembers what was said last on each path."""

    before: dict[str, Sequence[Seen]] = field(default_factory=dict)

    def lines(self, exchange: Exchange) -> Iterator[str]:
        """The lines of one call."""
        if isinstance(exchange, ToolCall):
            ended = {"raised": exchange.raised} if exchange.raised else {"gave": exchange.gave}
            yield as_json({"call of": exchange.tool, "args": exchange.args, **ended})
            return
        held = _shared(self.before.get(exchange.path, ()), exchange.messages)
        self.before[exchange.path] = exchange.messages
        yield as_json({"request by": exchange.path, **exchange.about, **({"held": held} if held else {})})
        yield from (f"  {as_json(message)}" for message in exchange.messages[held:])
        yield "  " + as_json({"raised": exchange.raised} if exchange.raised else {"reply": exchange.reply})


def _shared(before: Sequence[Seen], now: Sequence[Seen]) -> int:
    """How many messages two requests begin with alike."""
    pairs = zip(before, now, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))


@dataclass
class _Reader:
    """Reads a file line by line; `open` is the model call whose lines come now."""

    path: Path
    found: list[Exchange] = field(default_factory=list)
    before: dict[str, ModelCall] = field(default_factory=dict)
    head: Seen | None = None
    messages: list[Seen] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    began: int = 0

    def take(self, number: int, text: str) -> None:
        line: Seen = json.loads(text)
        if "call of" in line:
            made = ToolCall(line["call of"], line["args"], line.get("gave"), line.get("raised"), number)
            self.found.append(made)
        elif "request by" in line:
            self._open(number, line)
        elif "reply" in line or "raised" in line:
            self._close(line)
        else:
            self.messages.append(line)
            self.lines.append(number)

    def _open(self, number: int, line: Seen) -> None:
        held = line.pop("held", 0)
        former = self.before.get(line["request by"])
        self.messages = list(former.messages[:held]) if former else []
        self.lines = list(former.lines[:held]) if former else []
        self.head, self.began = line, number

    def _close(self, line: Seen) -> None:
        if self.head is None:
            raise ValueError("a reply without its request")
        path = self.head.pop("request by")
        made = ModelCall(
            path, self.head, self.messages, line.get("reply"), line.get("raised"), self.began, self.lines
        )
        self.before[path] = made
        self.found.append(made)
        self.head = None


def read_traffic(path: Path) -> list[Exchange]:
    """The calls in a file. Raises RecordingError, naming the line, for what cannot be read."""
    reader = _Reader(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path} cannot be read: {error}; record a run into it first") from error
    for number, text in enumerate(lines, start=1):
        try:
            if text.strip():
                reader.take(number, text)
        except (ValueError, KeyError, TypeError) as error:
            told = f"{path}, line {number} cannot be read: {type(error).__name__}: {error}"
            raise RecordingError(f"{told}; record the run again") from error
    if not reader.found:
        raise RecordingError(f"{path} holds no recorded call; record a run into it first")
    return reader.found
