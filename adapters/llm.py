"""A role as one structured model call, by what the model can do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from langchain_core.language_models import BaseChatModel

from ..core.roles import RoleFn
from ..nodes.labels import Labels
from ..nodes.react import ReactRole
from ..nodes.schema import output_schema
from ..nodes.unit import WorkflowUnit
from .models import resolve_model
from .prompts import extended

T = TypeVar("T")
Method = Literal["auto", "tool", "json_schema", "parse"]


@dataclass(frozen=True)
class LlmAdapter:
    """Made by `llm_adapter`. A unit's tools are not used: there is no second call to use them in."""

    model: Any
    method: Method = "auto"
    attempts: int = 1

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> ReactRole:
        model = resolve_model(self.model if unit.model is None else unit.model, unit.thinking_level)
        method = best_method(model) if self.method == "auto" else self.method
        once = unit.with_(
            tools=(),
            resolve_attempts=self.attempts,
            reply_attempts=self.attempts,
            reminders=self.attempts - 1,
            accept_json_text=True,
        )
        if unit.answer == "text" or method == "tool":
            return ReactRole(once, model, labels)
        if method == "json_schema":
            return ReactRole(once, model, labels, offer="json_schema")
        return ReactRole(_told_the_schema(once), model, labels, offer="nothing")


def llm_adapter(*, model: Any, method: Method = "auto", attempts: int = 1) -> LlmAdapter:
    """Execute roles as single structured calls on `model`.

    `method` is how the output is asked for: the `resolve` tool, the provider's JSON schema mode, or
    by describing the schema in the prompt and parsing the text; `auto` takes what the model's
    profile says it can do. `attempts` is how many replies may be asked for when one is not valid.
    """
    return LlmAdapter(resolve_model(model), method, attempts)


def best_method(model: Any) -> Method:
    """What a model can do, by its profile; without one, whether it can bind tools at all."""
    profile = getattr(model, "profile", None) or {}
    if profile.get("tool_calling", _binds_tools(model)):
        return "tool"
    return "json_schema" if profile.get("structured_output") else "parse"


def _binds_tools(model: Any) -> bool:
    """Whether `model`, or what it wraps for fallbacks or bound options, can be given tools."""
    own = getattr(model, "bind_tools", None)
    return own is not None and getattr(own, "__func__", own) is not BaseChatModel.bind_tools


def _told_the_schema(unit: WorkflowUnit[Any]) -> WorkflowUnit[Any]:
    schema = output_schema(unit.output)
    if schema.wrapped and unit.output is str:
        return unit.with_(answer="text")
    wanted = json.dumps(schema.parameters(), ensure_ascii=False)
    return unit.with_(
        prompt=extended(
            unit.prompt, f"Answer with one JSON object that fits this schema, and nothing else:\n{wanted}"
        )
    )
