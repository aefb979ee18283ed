"""The ReAct loop for models without tool calling."""

from __future__ import annotations

from typing import Any

from ..core.roles import RoleFn
from ..nodes.labels import Labels
from ..nodes.react import ReactRole
from ..nodes.tools import toolset
from ..nodes.unit import WorkflowUnit
from .models import resolve_model
from .react import ReactAdapter, T
from .text_protocol import TextProtocol


class TextReactAdapter(ReactAdapter):
    """Made by `text_react_adapter`: the same loop, on a model seen through the text protocol."""

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return self.for_unit(WorkflowUnit("role", prompt=prompt, output=schema))

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> ReactRole:
        model = resolve_model(self.model if unit.model is None else unit.model, unit.thinking_level)
        seen = TextProtocol(model, names=_own_names(unit), strict_alternation=unit.strict_alternation)
        return ReactRole(unit, seen, labels)


def text_react_adapter(*, model: Any) -> TextReactAdapter:
    """Execute roles as ReAct loops in plain text on `model`.

    Replies may be fenced, thought aloud in `<think>` blocks, marked with full-width colons, and
    hold JSON over several lines.
    """
    return TextReactAdapter(resolve_model(model))


def _own_names(unit: WorkflowUnit[Any]) -> dict[str, str]:
    """The tools' own names, which text can show as they are; those of a tool function are not known yet."""
    return {} if callable(unit.tools) else toolset(unit.id, unit.tools, None).given_names
