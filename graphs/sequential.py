"""One part after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self, overload

from ..core.conditions import Predicate
from ..core.part import Out, PartLike, T
from ..core.snapshot import Input, Snapshot
from ..core.stored import NOTHING, Stored
from ..core.usage import Limits
from .flow import END, START, Edge, Flow, FlowEnd, Visit, as_input, end_of, keyed, path_of
from .parallel import ParallelFlow
from .step import as_part


@dataclass(frozen=True, init=False)
class SequentialFlow(Flow[object, Out]):
    """Runs its parts in order; each sees the output of the one before it.

    It stops at a part that failed and ends early at `Finish`. A `partial` part makes it partial.
    Sequences inside are flattened, so `(a >> b) >> c` equals `a >> (b >> c)`.
    """

    steps: tuple[Any, ...] = ()
    type: ClassVar[str] = "sequence"

    @overload
    def __init__(
        self: SequentialFlow[T],
        *parts: *tuple[*tuple[Any, ...], PartLike[T]],
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: SequentialFlow[dict[str, Any]],
        *parts: *tuple[*tuple[Any, ...], list[Any]],
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: SequentialFlow[Any],
        *parts: Any,
        id: str | None = ...,
        when: Predicate | None = ...,
        limits: Limits | None = ...,
    ) -> None: ...
    def __init__(  # type: ignore[misc]  # mypy does not see that any parts end with a last one
        self, *parts: Any, id: str | None = None, when: Any = None, limits: Any = None
    ) -> None:
        flat: list[Any] = []
        for part in parts:
            flat.extend(_flattened(part))
        for name, value in {"steps": tuple(flat), "id": id, "when": when, "limits": limits}.items():
            object.__setattr__(self, name, value)

    @overload
    def with_(
        self, *, id: str | None = ..., when: Predicate | None = ..., limits: Limits | None = ...
    ) -> Self: ...
    @overload
    def with_(self, **changes: Any) -> Any: ...
    def with_(self, **changes: Any) -> Any:
        given = {"id": self.id, "when": self.when, "limits": self.limits, **changes}
        return SequentialFlow(*given.pop("steps", self.steps), **given)

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return keyed(self.steps)

    @property
    def edges(self) -> tuple[Edge, ...]:
        names = [START, *self.parts, END]
        return tuple(Edge(source, target) for source, target in pairwise(names))

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        inputs = snapshot.inputs
        for key in self.parts:
            path = path_of(snapshot, key)
            record = snapshot.record(path)
            if record is None:
                return (Visit(key, path, inputs),)
            if record.status in ("failed", "cancelled") or record.ends:
                return ()
            if record.status != "skipped":
                inputs = (as_input(record),)
        return ()

    def end(self, snapshot: Snapshot) -> FlowEnd:
        found = (snapshot.record(path_of(snapshot, key)) for key in self.parts)
        ran = [record for record in found if record is not None and record.status != "skipped"]
        if not ran:
            return FlowEnd(stored=_passed_on(snapshot.inputs))
        last = end_of(ran[-1])
        partial = next((record for record in ran if record.status == "partial"), None)
        if partial is None or last.status != "done":
            return last
        where = end_of(partial)
        return replace(
            last, status="partial", reason=where.reason, message=where.message, path=where.path, accepted=None
        )

    def __repr__(self) -> str:
        return f"SequentialFlow({', '.join(map(repr, self.steps))})"


def _flattened(part: Any) -> tuple[Any, ...]:
    made: Any = ParallelFlow(*part) if isinstance(part, list) else as_part(part)
    bare = isinstance(made, SequentialFlow) and made.id is None and made.when is None and made.limits is None
    return tuple(made.steps) if bare else (made,)


def _passed_on(inputs: tuple[Input, ...]) -> Stored:
    return Stored.of(inputs[-1].output, "input") if inputs else NOTHING
