"""Fields that conditions name, held against the outputs they are asked about where those are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from ..core.conditions import Comparison, as_type, field
from ..core.errors import Fault
from ..nodes.unit import WorkflowUnit
from .dag import DAGFlow
from .delegation import DelegationFlow
from .fields import may_have, nearest, types_at
from .flow import Flow
from .loop import LoopFlow
from .parallel import MapFlow, ParallelFlow
from .reflexion import ReflexionFlow
from .router import RouterFlow
from .sequential import SequentialFlow


@dataclass(frozen=True, slots=True)
class Given:
    """A unit's output and its type."""

    unit: str
    output: Any


def field_faults(flow: Any) -> list[Fault]:
    """The fields in `when=`, `until=`, `accept=` and the like that no output there can have, and values that
    no such field can equal."""
    return list(_faults(flow, "", None))


def _faults(part: Any, path: str, before: Given | None) -> Iterator[Fault]:
    """The faults of a part and what is in it; `before` is what flows into it, when that is known."""
    for name, asked, given in _asked(part, before):
        wanted = asked.name if isinstance(asked, Comparison | field) else None
        if wanted and given and not may_have(given.output, wanted.split(".")):
            told = f"the output of {given.unit!r} has no field {wanted!r}; {nearest(wanted, given.output)}"
            yield Fault(path or str(getattr(part, "id", None) or part.type), f"{name}=: {told}")
        elif given and isinstance(asked, Comparison) and (why := _value_fault(asked, given)):
            yield Fault(path or str(getattr(part, "id", None) or part.type), f"{name}=: {why}")
    for key, child, into in _children(part, before):
        yield from _faults(child, part.place_of(key, path), into)


def _asked(part: Any, before: Given | None) -> Iterator[tuple[str, Any, Given | None]]:
    """The conditions of one part, each with the output that it is asked about."""
    yield "when", getattr(part, "when", None), before
    if isinstance(part, LoopFlow):
        yield "until", part.until, _given_by(part.body)
        yield "best", part.best, _given_by(part.body)
    elif isinstance(part, ReflexionFlow):
        yield "accept", part.accept, _given_by(part.evaluator)
        score = (
            field(part.score) if isinstance(part.score, str) and part.score != ReflexionFlow.score else None
        )
        yield "score", score, _given_by(part.evaluator)
    elif isinstance(part, DAGFlow):
        yield "replan_when", part.replan_when, _given_by(part.aggregator)
    elif isinstance(part, MapFlow):
        yield "over", part.over, before


_READ = (Decimal, date, time, timedelta, UUID)
"""Types of which a text in a condition is read."""


def _value_fault(asked: Comparison, given: Given) -> str | None:
    """Why a field can never have the value that it is compared with, or None."""
    kinds = types_at(given.output, asked.name.split("."))
    if asked.value is None or not kinds or any(_can_be(kind, asked) for kind in kinds):
        return None
    options = [repr(option) for kind in kinds for option in _options(kind)]
    whose = f"the field {asked.name!r} of {given.unit!r}"
    if options:
        return f"{whose} is never {asked.value!r:.60}; it is one of: {', '.join(options)}"
    named = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    return f"{whose} is of the type {named}, with which {asked.value!r:.60} cannot be compared"


def _can_be(kind: Any, asked: Comparison) -> bool:
    value = asked.value
    if options := _options(kind):
        plain = value.value if isinstance(value, Enum) else value
        return asked.operator not in ("==", "!=") or plain in options
    if kind is NoneType:
        return False
    if kind is str:
        return isinstance(value, str | Enum)
    if kind in (int, float):
        return isinstance(value, int | float | Decimal | Enum)
    if isinstance(kind, type) and issubclass(kind, _READ) and isinstance(value, str):
        return as_type(kind, value) is not value
    return True


def _options(kind: Any) -> list[Any]:
    """The values of a closed type as a file writes them."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    literals = get_args(kind) if get_origin(kind) is Literal else ()
    return [one.value if isinstance(one, Enum) else one for one in literals]


def _children(part: Any, before: Given | None) -> Iterator[tuple[str, Any, Given | None]]:
    """The parts in a part, each with what flows into it where that is always the same output."""
    if not isinstance(part, Flow):
        return
    for key, child in part.parts.items():
        if isinstance(part, SequentialFlow):
            yield key, child, before
            before = None if child.when is not None else _given_by(child)
        else:
            is_first = isinstance(part, RouterFlow) and key == part.router_key
            yield key, child, before if is_first else None


def _given_by(part: Any) -> Given | None:
    """What a part gives when it runs to its end, where one unit decides that."""
    if isinstance(part, WorkflowUnit):
        output = part.output if part.salvage is None else Union[part.output, part.salvage]  # noqa: UP007
        return Given(part.id, output)
    if isinstance(part, SequentialFlow):
        last = part.steps[-1] if part.steps else None
        return None if last is None or last.when is not None else _given_by(last)
    for kind, name in _DECIDES:
        if isinstance(part, kind):
            return _given_by(getattr(part, name))
    return None


_DECIDES: tuple[tuple[type, str], ...] = (
    (LoopFlow, "body"),
    (ParallelFlow, "reducer"),
    (MapFlow, "reducer"),
    (DAGFlow, "aggregator"),
    (DelegationFlow, "orchestrator"),
    (ReflexionFlow, "actor"),
)
