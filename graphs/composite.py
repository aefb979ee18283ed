"""A sequence of flows drawn as a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .sequential import SequentialFlow


@dataclass(frozen=True, init=False)
class CompositeFlow(SequentialFlow):
    """Runs flows in order, as a sequence does, and stays a group of its own in paths and drawings."""

    type: ClassVar[str] = "composite"

    def __init__(self, *flows: Any, id: str | None = None, when: Any = None, limits: Any = None) -> None:
        super().__init__(*flows, id=id or self.type, when=when, limits=limits)

    def with_(self, **changes: Any) -> CompositeFlow:
        given = {"id": self.id, "when": self.when, "limits": self.limits, **changes}
        return CompositeFlow(*given.pop("steps", self.steps), **given)

    def __repr__(self) -> str:
        return f"CompositeFlow({', '.join(map(repr, self.steps))})"
