"""Adapters: one of the forms handed in (`react`, `llm`, …), or an import path of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .compound import Forms
from .kinds import Reading, Schema, Schemas, Writing
from .references import Import
from .tree import Node

_OWN = Import("an adapter", lambda value: callable(value) and not isinstance(value, type))
_FORMS = Forms(lambda registry: registry.adapters, "an adapter")


@dataclass(frozen=True)
class Adapter:
    """How a role is executed."""

    what: str = "an adapter: react, llm and so on, or an import path"

    def fits(self, node: Node) -> bool:
        return _OWN.fits(node) or _FORMS.fits(node)

    def holds(self, value: Any) -> bool:
        return callable(value)

    def read(self, node: Node, at: Reading) -> Any:
        return (_OWN if _OWN.fits(node) else _FORMS).read(node, at)

    def write(self, value: Any, at: Writing) -> Any:
        if any(kind.holds(value) for kind in at.registry.adapters.values()):
            path = at.namer.path_of(value)
            return path if path else _FORMS.write(value, at)
        return _OWN.write(value, at)

    def schema(self, to: Schemas) -> Schema:
        return to.named("adapter", lambda: {"anyOf": [_OWN.schema(to), _FORMS.schema(to)]})


ADAPTER = Adapter()
