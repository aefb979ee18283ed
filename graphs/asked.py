"""Fields that conditions name, held against the outputs they are asked about where those are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from ..core.conditions import Comparison, field
from ..core.errors import Fault
from ..nodes.unit import WorkflowUnit
from .dag import DAGFlow
from .delegation import DelegationFlow
from .fields import may_have, nearest
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
    """The fields in `when=`, `until=`, `accept=` and the like that no output there can have."""
    return list(_faults(flow, "", None))


def _faults(part: Any, path: str, before: Given | None) -> Iterator[Fault]:
    """The faults of a part and what is in it; `before` is what flows into it, when that is known."""
    for name, asked, given in _asked(part, before):
        wanted = asked.name if isinstance(asked, Comparison | field) else None
        if wanted and given and not may_have(given.output, wanted.split(".")):
            told = f"the output of {given.unit!r} has no field {wanted!r}; {nearest(wanted, given.output)}"
            yield Fault(path or str(getattr(part, "id", None) or part.type), f"{name}=: {told}")
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
    elif isinstance(part, DAGFlow):
        yield "replan_when", part.replan_when, _given_by(part.aggregator)
    elif isinstance(part, MapFlow):
        yield "over", part.over, before


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
