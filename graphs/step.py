"""A plain function as a part of a flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from ..core.conditions import Predicate
from ..core.control import Finish, Skip
from ..core.errors import DefinitionError, Fault
from ..core.part import Out, Part, T
from ..core.paths import id_fault
from ..core.snapshot import Snapshot

Function = Callable[[Snapshot], Any]


@dataclass(frozen=True)
class FunctionStep(Part[object, Out]):
    """A function of the Snapshot, sync or async, that returns a value, `Skip` or `Finish`."""

    function: Function
    id: str
    when: Predicate | None = None
    type: ClassVar[str] = "step"

    def __post_init__(self) -> None:
        if fault := id_fault(self.id):
            raise DefinitionError([Fault(str(self.id), fault)])


@overload
def step(
    function: Callable[[Snapshot], Awaitable[T | Skip | Finish]],
    *,
    id: str | None = ...,
    when: Predicate | None = ...,
) -> FunctionStep[T]: ...
@overload
def step(
    function: Callable[[Snapshot], T | Skip | Finish], *, id: str | None = ..., when: Predicate | None = ...
) -> FunctionStep[T]: ...
def step(function: Function, *, id: str | None = None, when: Predicate | None = None) -> Any:
    """A part that calls `function(snapshot)`; its id is the function's name unless given.

    >>> step(len, id="count").id
    'count'
    """
    name = str(id or getattr(function, "__name__", type(function).__name__))
    return FunctionStep(function, "function" if name == "<lambda>" else name, when)


def as_part(part: Any) -> Any:
    """A unit or flow as it is, a plain function as a step. Raises DefinitionError otherwise."""
    if isinstance(part, Part):
        return part
    if callable(part) and not isinstance(part, type):
        return step(part)
    shown = getattr(part, "__name__", repr(part))
    raise DefinitionError([Fault("", f"{shown} cannot stand in a flow; give a unit, a flow or a function")])
