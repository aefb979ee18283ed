"""An orchestrator that hands tasks to specialists and has the last word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from ..core.bookkeeping import Role
from ..core.errors import DefinitionError, Fault
from ..core.part import Out
from ..core.paths import join
from ..core.snapshot import Snapshot
from ..nodes.unit import WorkflowUnit
from .flow import END, START, Edge, Flow, FlowEnd, Visit, end_of, free_key, keyed, path_of
from .step import as_part


@dataclass(frozen=True)
class DelegationFlow(Flow[object, Out]):
    """Runs `orchestrator`, a unit that gets one `delegate_to_<key>` tool for each specialist.

    A specialist is any part; what it gives is the answer to that tool call, and what it failed with
    is an answer too. Several delegations of one reply run in parallel. The n-th task of a specialist
    runs at `…/specialist[n]`. After `max_delegations` further ones are refused, and delegating on
    ends the orchestrator with `delegation-limit`. With `max_depth` above 1 specialists that are units
    may delegate to every other member themselves, that many levels deep; going deeper ends the flow
    with `delegation-limit` and the chain of who delegated to whom.
    """

    orchestrator: WorkflowUnit[Out]
    specialists: Any
    max_delegations: int = 20
    max_depth: int = 1
    type: ClassVar[str] = "delegation"

    def __post_init__(self) -> None:
        given = self.specialists
        named = dict(given) if isinstance(given, Mapping) else keyed(as_part(part) for part in given)
        object.__setattr__(self, "specialists", {key: as_part(part) for key, part in named.items()})
        if faults := self._faults():
            raise DefinitionError(faults)

    def __hash__(self) -> int:
        return hash((self.orchestrator, tuple(self.specialists)))

    @cached_property
    def orchestrator_key(self) -> str:
        return free_key(self.orchestrator, self.specialists)

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {self.orchestrator_key: self.orchestrator, **self.specialists}

    @property
    def edges(self) -> tuple[Edge, ...]:
        first = self.orchestrator_key
        asked = [Edge(first, key, "delegates") for key in self.specialists]
        answered = [Edge(key, first) for key in self.specialists]
        return (Edge(START, first), *asked, *answered, Edge(first, END))

    def role_of(self, key: str) -> Role | None:
        return "orchestrator" if key == self.orchestrator_key else None

    def delegates_of(self, key: str) -> tuple[str, ...]:
        """The members that the member `key` may delegate to."""
        if key == self.orchestrator_key:
            return tuple(self.specialists)
        is_deep = self.max_depth > 1 and isinstance(self.parts[key], WorkflowUnit)
        return tuple(other for other in self.parts if other != key) if is_deep else ()

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        path = path_of(snapshot, self.orchestrator_key)
        done = snapshot.record(path) is not None
        return () if done else (Visit(self.orchestrator_key, path, snapshot.inputs),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        record = snapshot.record(path_of(snapshot, self.orchestrator_key))
        if record is None:
            return FlowEnd()
        return replace(end_of(record), path=join(snapshot.path, self.orchestrator_key))

    def _faults(self) -> list[Fault]:
        where = self.id or self.type
        faults = []
        given: Any = self.orchestrator
        if not isinstance(given, WorkflowUnit):
            faults.append(Fault(where, "the orchestrator must be a unit, since it calls tools"))
        if not self.specialists:
            faults.append(Fault(where, "a DelegationFlow needs at least one specialist"))
        for name in ("max_delegations", "max_depth"):
            if getattr(self, name) < 1:
                faults.append(Fault(where, f"{name} must be at least 1, got {getattr(self, name)}"))
        return faults
