"""The default adapter: the ReAct loop on a chat model with tool calling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ..core.roles import RoleFn
from ..nodes.labels import Labels
from ..nodes.react import ReactRole
from ..nodes.unit import WorkflowUnit
from .models import resolve_model

T = TypeVar("T")


@dataclass(frozen=True)
class ReactAdapter:
    """Made by `react_adapter`. Given a whole unit it uses its tools, budgets and own model."""

    model: Any

    def __call__(self, prompt: str, schema: type[T], /) -> RoleFn[T]:
        return ReactRole(WorkflowUnit("role", prompt=prompt, output=schema), self.model)

    def for_unit(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> ReactRole:
        model = resolve_model(self.model if unit.model is None else unit.model, unit.thinking_level)
        return ReactRole(unit, model, labels)


def react_adapter(*, model: Any) -> ReactAdapter:
    """Execute roles as ReAct loops on `model`: a chat model, or `"provider:model"`."""
    return ReactAdapter(resolve_model(model))
