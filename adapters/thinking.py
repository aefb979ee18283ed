"""Thinking levels, as each provider calls them."""

from __future__ import annotations

from typing import Any

from ..core.errors import DefinitionError

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_768}
"""Thinking tokens where a provider wants a number. The steps are ours; the least is Anthropic's."""

LEVELS = ("off", *BUDGETS)


def with_thinking_level(model: Any, level: str) -> Any:
    """A copy of `model` that thinks at `level`. Raises DefinitionError where it cannot."""
    if level not in LEVELS:
        raise DefinitionError(f"there is no thinking level {level!r}; the levels are: {', '.join(LEVELS)}")
    if hasattr(model, "at_thinking_level"):  # one that stands in for others
        return model.at_thinking_level(level)
    settings = _settings(type(model).__name__, level, getattr(model, "max_tokens", None))
    fields = getattr(type(model), "model_fields", {})
    if settings is None or not set(settings) <= set(fields):
        raise DefinitionError(
            f"{type(model).__name__} has no thinking level {level!r}; leave thinking_level out"
        )
    return model.model_copy(update=settings)


def _settings(kind: str, level: str, max_tokens: int | None) -> dict[str, Any] | None:
    if kind in ("ChatOpenAI", "AzureChatOpenAI"):
        return {"reasoning_effort": "none" if level == "off" else level}
    if kind == "ChatAnthropic":
        return _anthropic(level, max_tokens)
    if kind in ("ChatGoogleGenerativeAI", "ChatVertexAI"):
        return {"thinking_budget": 0 if level == "off" else BUDGETS[level]}
    if kind == "ChatOllama":
        return {"reasoning": level != "off"}
    return None


def _anthropic(level: str, max_tokens: int | None) -> dict[str, Any]:
    """The budget counts within `max_tokens`, so that is raised by what thinking may use up."""
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": BUDGETS[level]}}
    return thinking if max_tokens is None else {**thinking, "max_tokens": max_tokens + BUDGETS[level]}
