"""Chat models: `provider:model`, or a model object or a function by import path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .diagnostics import nearest
from .imports import is_path
from .kinds import Reading, Schema, Schemas, Writing, is_text, wrong
from .references import Import
from .simple import Text
from .tree import Node, Scalar


def _is_model(value: Any) -> bool:
    return not isinstance(value, str | int | float | list | dict | type | None)


_OBJECT = Import("a chat model, or a function of the Snapshot that chooses one", _is_model)


@dataclass(frozen=True)
class Model:
    """A model by its provider's name, else what an import path names."""

    what: str = "a model: `provider:model`, or an import path"

    def fits(self, node: Node) -> bool:
        return is_text(node)

    def holds(self, value: Any) -> bool:
        return True

    def read(self, node: Node, at: Reading) -> Any:
        if not (isinstance(node, Scalar) and isinstance(node.value, str)):
            return wrong(self, node, at)
        provider, colon, name = node.value.partition(":")
        if provider in at.book.registry.providers and name:
            return at.book.play(node.value) if at.book.play else node.value
        if is_path(node.value) and "." in provider:
            return _OBJECT.read(node, at)
        near = nearest(provider, at.book.registry.providers)
        if near or not is_path(node.value):
            known = ", ".join(sorted(at.book.registry.providers))
            told = f"{node.value!r:.80} is no model; write provider:model, where provider is one of {known}"
            return at.fault("model", told, node, near and f"{near}:{name or 'MODEL'}" if colon else near)
        return _OBJECT.read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        name = at.names.get(id(value), value)
        if isinstance(name, str) and name:
            if name.partition(":")[0] not in at.registry.providers:
                return at.fault(f"the model {name!r:.80} has no provider that is known")
            return Text().write(name, at)
        return _OBJECT.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return {"type": "string", "pattern": "^[^:]+:.+$"}


MODEL = Model()
