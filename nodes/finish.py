"""Why the model stopped: the words of many providers, read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import AIMessage

from ..core.outcome import StopReason

Cut = Literal["length", "broken"]

_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_LENGTH = frozenset(
    {"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_context_window_exceeded"}
)
_TORN = frozenset({"error", "failed", "incomplete", "malformed_function_call", "unexpected_tool_call"})
_FILTERED = frozenset(
    {
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "refusal",
        "guardrail_intervened",
    }
)
_ABORTED = frozenset({"aborted", "abort", "cancelled", "canceled"})
_ASKED = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})


def finish_words(metadata: Mapping[Any, Any]) -> frozenset[str]:
    """Every finish reason in a reply's response metadata, in lower case."""
    words = [metadata.get(key) for key in _KEYS]
    details = metadata.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    words.append(reason or metadata.get("status"))  # the Responses API
    if metadata.get("done") is True:  # Ollama, in older versions its only word
        words.append("done")
    return frozenset(_word(word) for word in words if word)


def cut_of(message: AIMessage, *, calls: int, torn: bool, blank: bool, streamed: bool) -> Cut | None:
    """Whether a reply ended early: at the output limit, or torn on its way.

    `calls`: how many calls arrived whole; `torn`: a piece of a call without a name arrived; `blank`: no text.
    """
    words = finish_words(message.response_metadata)
    if words & _LENGTH:
        return "length"
    if torn or words & _TORN or words & _ABORTED or (calls and words & _FILTERED):
        return "broken"
    if words & _ASKED and not calls and (streamed or blank):
        return "broken"  # calls were announced and none came through
    return "broken" if streamed and not words and _real_provider(message.response_metadata) else None


def stop_reason(message: AIMessage) -> StopReason:
    """Why the model stopped writing this reply, before or after it was normalised."""
    words = finish_words(message.response_metadata)
    if words & _LENGTH:
        return "length"
    if words & _ABORTED:
        return "aborted"
    if words & (_TORN | _FILTERED):
        return "error"
    return "tool_use" if message.tool_calls or message.invalid_tool_calls else "stop"


def _real_provider(metadata: Mapping[Any, Any]) -> bool:
    """A provider that names itself also says how it finished; a scripted model says neither."""
    return bool(metadata.get("model_provider") or metadata.get("model_name"))


def _word(value: Any) -> str:
    """One word in lower case; merged stream chunks may have repeated it (`stopstop`)."""
    text = str(getattr(value, "name", value)).lower()
    return text[: (text + text).find(text, 1)]
