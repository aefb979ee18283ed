"""One call of the model: streamed when somebody watches, with its failures named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import RetryPolicy
from pydantic import ValidationError

from ..core.errors import PlaitError
from ..core.usage import Usage
from .echo import Echo, handlers_of
from .history import estimate_tokens
from .retries import is_transient, pause_s
from .shown import Shown

OnDelta = Callable[..., None]
"""Told each piece as it comes: `on_delta(text)`, or `on_delta("", piece)` for a piece of a call."""

OnRetry = Callable[["ModelFailure"], None]

DEAD_CONNECTIONS = 20
"""A client that is used by one event loop after another, as with `asyncio.run` twice, has kept connections of
the first, which take a request and never give the reply. Each try finds one of them out and drops it."""

_OTHER_LOOP = ("Event loop is closed", "bound to a different event loop")


class ModelFailure(Exception):
    """The model gave no usable reply. `kind` says whose fault, `excerpt` what was seen."""

    def __init__(
        self, kind: Literal["provider", "bad-model-reply"], excerpt: str, status: int | None = None
    ) -> None:
        self.kind: Literal["provider", "bad-model-reply"] = kind
        self.excerpt = excerpt
        self.status = status
        super().__init__(excerpt)


@dataclass(frozen=True)
class ModelCall:
    """A bound model and how it is to be called. `text_key` is where `resolve` holds plain text."""

    runnable: Any
    retry: RetryPolicy | None = None
    text_key: str | None = None

    async def __call__(
        self,
        messages: Sequence[BaseMessage],
        config: RunnableConfig,
        on_delta: OnDelta | None,
        on_retry: OnRetry | None = None,
    ) -> AIMessage:
        """One reply, a chunk when it was streamed. Raises ModelFailure after the retries allowed.

        `on_retry` is told each failure that is tried again, before the pause.
        """
        attempt = 1
        while True:
            try:
                return await self._once(messages, config, on_delta)
            except ModelFailure as failure:
                if not self._tries_again(failure, attempt):
                    raise
                if on_retry is not None:
                    on_retry(failure)
                await asyncio.sleep(pause_s(failure.__cause__, self.retry or RetryPolicy(), attempt))
            attempt += 1

    def _tries_again(self, failure: ModelFailure, attempt: int) -> bool:
        if self.retry is None or failure.kind != "provider" or failure.__cause__ is None:
            return False
        return attempt < self.retry.max_attempts and is_transient(
            failure.__cause__, failure.status, self.retry
        )

    async def _once(
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta | None
    ) -> AIMessage:
        left = DEAD_CONNECTIONS
        while True:
            try:
                return await self._asked(messages, config, on_delta)
            except (PlaitError, GraphBubbleUp, ModelFailure):
                raise
            except Exception as error:
                left -= 1
                if not left or not str(error).endswith(_OTHER_LOOP):
                    raise as_failure(error) from error

    async def _asked(
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta | None
    ) -> AIMessage:
        if on_delta is None and not is_streamed(self.runnable, config):
            before = cancellations()
            reply = await self.runnable.ainvoke(list(messages), config)
            heed_cancellation(before)
            return _as_reply(reply)
        return await self._streamed(messages, config, on_delta or _ignore)

    async def _streamed(
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta
    ) -> AIMessage:
        before = cancellations()
        shown, echo, pieces = Shown(self.text_key), Echo(config, tags_of(self.runnable)), []
        try:
            async for piece in self.runnable.astream(list(messages), config):
                pieces.append(piece)
                heed_cancellation(before)
                if delta := shown.feed(piece):
                    on_delta(delta)
                for written in shown.written:
                    on_delta("", written)
                if shown.given:
                    echo.add(shown.given, piece.id)
        finally:
            echo.end()
        reply = _as_reply(pieces[0] + pieces[1:] if len(pieces) > 1 else next(iter(pieces), None))
        if _is_nothing(reply):
            raise ModelFailure("provider", "the stream ended without any part of a reply")
        return reply


def _is_nothing(reply: AIMessage) -> bool:
    """Whether a stream held no choice at all: no word, no call, and no reason why it ended."""
    calls = getattr(reply, "tool_call_chunks", ()) or reply.tool_calls
    return not (reply.content or calls or reply.response_metadata or reply.additional_kwargs)


def is_streamed(runnable: Any, config: RunnableConfig) -> bool:
    """Whether the reply would be streamed anyway: by the model's own setting, or because one of
    the callbacks, as LangGraph's for its `messages` stream, makes `ainvoke` stream inside.

    Streamed here, its pieces stay readable, and a call that broke off is seen as such.
    """
    wanted = any(hasattr(handler, "tap_output_aiter") for handler in handlers_of(config))
    return wanted or bool(getattr(getattr(runnable, "bound", runnable), "streaming", False))


def cancellations() -> int:
    """How often the running task has been asked to stop."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def heed_cancellation(before: int) -> None:
    """Raise a cancellation that was swallowed since `before`.

    `asyncio.wait_for` of Python 3.11, which clients use, loses one that comes together with a result.
    """
    if cancellations() > before:
        raise asyncio.CancelledError


def tags_of(runnable: Any) -> list[str]:
    """The tags of a model and of what it is bound with."""
    own = [
        *(getattr(runnable, "tags", None) or ()),
        *((getattr(runnable, "config", None) or {}).get("tags") or ()),
    ]
    bound = getattr(runnable, "bound", None)
    return own if bound is None else [*own, *tags_of(bound)]


def _ignore(*_: Any) -> None:
    """Nobody watches."""


def _as_reply(message: Any) -> AIMessage:
    if isinstance(message, AIMessage):
        return message
    if message is None:
        raise ModelFailure("provider", "the stream ended without any part of a reply")
    raise ModelFailure("bad-model-reply", f"the model returned {type(message).__name__}, not an AIMessage")


def as_failure(error: Exception) -> ModelFailure:
    """Name what a model client raised: a reply that cannot be read, or the provider's failure."""
    if isinstance(error, ValidationError):
        return ModelFailure("bad-model-reply", _brief(error))
    if isinstance(error, json.JSONDecodeError):
        return ModelFailure("provider", f"the reply was no JSON: {error.doc[:200]!r}")
    status = getattr(error, "status_code", None)
    if isinstance(error, IndexError):
        return ModelFailure("provider", "the reply held no choices", status)
    told = str(error)[:600] or "no details given"
    is_python = type(error).__module__ == "builtins"  # its name says nothing about the provider
    return ModelFailure("provider", told if is_python else f"{type(error).__name__}: {told}", status)


def _brief(error: ValidationError) -> str:
    return "; ".join(
        f"{_place(p['loc'])}: {p['msg']} (got {str(p['input'])[:200]!r})" for p in error.errors()[:3]
    )


def _place(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location) or "reply"


def usage_of(reply: AIMessage, sent: Sequence[BaseMessage]) -> Usage:
    """What one reply cost; estimated from the text when the provider does not say."""
    reported: Mapping[str, Any] = reply.usage_metadata or {}
    counted_in, counted_out = reported.get("input_tokens") or 0, reported.get("output_tokens") or 0
    if not counted_in and not counted_out:
        written = estimate_tokens([reply])
        return Usage(estimate_tokens(sent), written, model_calls=1, estimated=True)
    cached = (reported.get("input_token_details") or {}).get("cache_read") or 0
    reasoning = (reported.get("output_token_details") or {}).get("reasoning") or 0
    return Usage(counted_in, counted_out, cached, reasoning, model_calls=1)


def refuses_tool_choice(failure: ModelFailure) -> bool:
    """Whether a server refused the request because a tool was forced."""
    return failure.status in (400, 422) and "tool_choice" in failure.excerpt
