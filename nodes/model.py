"""One call of the model: streamed when somebody watches, with its failures named."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.json import parse_partial_json
from langgraph.errors import GraphBubbleUp
from langgraph.types import RetryPolicy
from pydantic import ValidationError

from ..core.errors import PlaitError
from ..core.usage import Usage
from .history import estimate_tokens, message_text
from .tools import RESOLVE

OnDelta = Callable[[str], None]


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
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta | None
    ) -> AIMessage:
        """One reply, a chunk when it was streamed. Raises ModelFailure after the retries allowed."""
        attempts = self.retry.max_attempts if self.retry else 1
        for attempt in range(1, attempts):
            try:
                return await self._once(messages, config, on_delta)
            except ModelFailure as failure:
                if not _is_transient(failure, self.retry):
                    raise
                await asyncio.sleep(_pause_s(self.retry, attempt))
        return await self._once(messages, config, on_delta)

    async def _once(
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta | None
    ) -> AIMessage:
        try:
            if on_delta is None and not is_streamed(self.runnable, config):
                return _as_reply(await self.runnable.ainvoke(list(messages), config))
            return await self._streamed(messages, config, on_delta or _ignore)
        except (PlaitError, GraphBubbleUp, ModelFailure):
            raise
        except Exception as error:
            raise as_failure(error) from error

    async def _streamed(
        self, messages: Sequence[BaseMessage], config: RunnableConfig, on_delta: OnDelta
    ) -> AIMessage:
        whole: AIMessageChunk | None = None
        shown = ""
        async for chunk in self.runnable.astream(list(messages), config):
            whole = chunk if whole is None else whole + chunk
            text = readable(whole, self.text_key)
            if len(text) > len(shown):
                on_delta(text[len(shown) :])
                shown = text
        if whole is None:
            raise ModelFailure("provider", "the stream held no reply")
        return _as_reply(whole)


def readable(message: AIMessageChunk, text_key: str | None) -> str:
    """The text a reader may see of a reply in the making: its own, or `resolve`'s text argument."""
    text = message_text(message)
    if text or text_key is None:
        return text
    raw = "".join(piece["args"] or "" for piece in _resolve_pieces(message))
    if not raw:
        return ""
    try:
        found = parse_partial_json(raw)
    except ValueError:
        return ""
    value = found.get(text_key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def _resolve_pieces(message: AIMessageChunk) -> list[Any]:
    return [piece for piece in message.tool_call_chunks if piece["name"] == RESOLVE]


def is_streamed(runnable: Any, config: RunnableConfig) -> bool:
    """Whether the reply would be streamed anyway: by the model's own setting, or because one of
    the callbacks, as LangGraph's for its `messages` stream, makes `ainvoke` stream inside.

    Streamed here, its pieces stay readable, and a call that broke off is seen as such.
    """
    callbacks = config.get("callbacks")
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
    wanted = any(hasattr(handler, "tap_output_aiter") for handler in handlers)
    return wanted or bool(getattr(getattr(runnable, "bound", runnable), "streaming", False))


def _ignore(_: str) -> None:
    """Nobody watches."""


def _as_reply(message: Any) -> AIMessage:
    if isinstance(message, AIMessage):
        return message
    raise ModelFailure("bad-model-reply", f"the model returned {type(message).__name__}, not an AIMessage")


def as_failure(error: Exception) -> ModelFailure:
    """Name what a model client raised: a reply that cannot be read, or the provider's failure."""
    if isinstance(error, ValidationError):
        return ModelFailure("bad-model-reply", _brief(error))
    if isinstance(error, json.JSONDecodeError):
        return ModelFailure("provider", f"the reply was no JSON: {error.doc[:200]!r}")
    status = getattr(error, "status_code", None)
    told = str(error)[:600] or "no details given"
    if isinstance(error, IndexError):
        told = "the reply held no choices"
    return ModelFailure("provider", f"{type(error).__name__}: {told}", status)


def _brief(error: ValidationError) -> str:
    return "; ".join(
        f"{_place(p['loc'])}: {p['msg']} (got {str(p['input'])[:200]!r})" for p in error.errors()[:3]
    )


def _place(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location) or "reply"


def _is_transient(failure: ModelFailure, retry: RetryPolicy | None) -> bool:
    if retry is None or failure.kind != "provider" or failure.__cause__ is None:
        return False
    wanted = retry.retry_on
    if isinstance(wanted, type):
        return isinstance(failure.__cause__, wanted)
    if callable(wanted):
        return bool(wanted(failure.__cause__))  # type: ignore[arg-type]
    return isinstance(failure.__cause__, tuple(wanted))


def _pause_s(retry: RetryPolicy | None, attempt: int) -> float:
    if retry is None:
        return 0.0
    pause = min(retry.max_interval, retry.initial_interval * retry.backoff_factor ** (attempt - 1))
    return pause + (random.uniform(0, 1) if retry.jitter else 0.0)


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
