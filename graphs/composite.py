"""A sequence of flows drawn as a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, overload

from ..core.conditions import Predicate
from ..core.part import Out, PartLike, T
from ..core.usage import Limits
from .sequential import SequentialFlow


@dataclass(frozen=True, init=False)
class CompositeFlow(SequentialFlow[Out]):
    """Runs flows in order, as a sequence does, and stays a group of its own in paths and drawings."""

    type: ClassVar[str] = "composite"

    @overload
    def __init__(
        self: CompositeFlow[T],
        *flows: *tuple[*tuple[Any, ...], PartLike[T]],
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: CompositeFlow[dict[str, Any]],
        *flows: *tuple[*tuple[Any, ...], list[Any]],
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: CompositeFlow[Any],
        *flows: Any,
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    def __init__(  # type: ignore[misc]  # mypy does not see that any parts end with a last one
        self, *flows: Any, id: str | None = None, when: Any = None, limits: Any = None
    ) -> None:
        super().__init__(*flows, id=id or self.type, when=when, limits=limits)

    @overload
    def with_(
        self, *, id: str | None = ..., when: Predicate | None = ..., limits: Limits | None = ...
    ) -> Self: ...
    @overload
    def with_(self, **changes: Any) -> Any: ...
    def with_(self, **changes: Any) -> Any:
        given = {"id": self.id, "when": self.when, "limits": self.limits, **changes}
        return CompositeFlow(*given.pop("steps", self.steps), **given)

    def __repr__(self) -> str:
        return f"CompositeFlow({', '.join(map(repr, self.steps))})"
