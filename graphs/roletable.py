"""A workflow as a table of roles: after each role, the first condition that holds names the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ..core.errors import DefinitionError, Fault, RunError
from ..core.paths import join, pass_of
from ..core.records import StepRecord
from ..core.roles import ThreadContext
from ..core.snapshot import Input, Snapshot
from ..nodes.executor import thread_context
from ..nodes.unit import WorkflowUnit
from .flow import END as FLOW_END
from .flow import START, Edge, Flow, FlowEnd, Visit, as_input, end_of
from .step import as_part

END = "END"
FALLBACK = "FALLBACK"
"""As a condition: always true. Stands last, for what no other condition takes."""

MAX_DEPTH = 3
When = Callable[[ThreadContext], bool] | str
Ran = list[tuple[str, StepRecord]]
"""The roles that ran, in order, with their records."""


@dataclass(frozen=True, slots=True)
class Role:
    """A prompt and the type of its output; everything else is up to the adapter bound to it."""

    prompt: str
    output: Any = str
    tools: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Transition:
    """Go on with role `to` (or END) when `when` holds: a function of the ThreadContext, or FALLBACK."""

    when: When
    to: str


@dataclass(frozen=True)
class WorkflowDefinition:
    """Roles by name, the one to start with, and where each goes on; a role may be a definition too.

    A role without transitions ends the workflow. `max_steps` bounds the roles run in all.
    """

    start: str
    roles: Mapping[str, Any]
    transitions: Mapping[str, Sequence[Transition | tuple[When, str]]] = field(default_factory=dict)
    max_steps: int = 50


@dataclass(frozen=True)
class RoleTableFlow(Flow):
    """The flow of a role table. Each run of a role is a pass of it, so its path ends in `[n]`.

    `depth` is 0 for a table of its own and counts up for child workflows. What the roles before a
    child gave is its context, which every role of the child sees.
    """

    definition: WorkflowDefinition = field(default_factory=lambda: WorkflowDefinition("", {}))
    depth: int = 0
    type: ClassVar[str] = "roles"

    def __hash__(self) -> int:
        return hash((self.definition.start, tuple(self.definition.roles)))

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {name: _part(name, role, self.depth + 1) for name, role in self.definition.roles.items()}

    @property
    def edges(self) -> tuple[Edge, ...]:
        chosen = [
            Edge(source, FLOW_END if to == END else to, when if isinstance(when, str) else "")
            for source in self.parts
            for when, to in self._transitions(source)
        ]
        ends = [Edge(source, FLOW_END) for source in self.parts if not self._transitions(source)]
        return (Edge(START, self.definition.start), *chosen, *ends)

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        ran = self._ran(snapshot)
        if not ran:
            return (self._visit(snapshot, self.definition.start, [], snapshot.inputs),)
        last_name, last = ran[-1]
        if last.status in ("failed", "cancelled") or last.ends or len(ran) >= self.definition.max_steps:
            return ()
        to = self._chosen(snapshot, last_name, last)
        return (
            ()
            if to in (END, None)
            else (self._visit(snapshot, str(to), ran, self._inputs(snapshot, to, ran)),)
        )

    def _inputs(self, snapshot: Snapshot, to: str | None, ran: Ran) -> tuple[Input, ...]:
        """What the next role is given: the role before it, or all of them where it is a child."""
        is_child = isinstance(self.parts[str(to)], RoleTableFlow)
        parents = snapshot.inputs if self.depth else ()
        return (*parents, *(as_input(record) for _, record in (ran if is_child else ran[-1:])))

    def end(self, snapshot: Snapshot) -> FlowEnd:
        ran = self._ran(snapshot)
        if not ran:
            return FlowEnd()
        name, last = ran[-1]
        end = end_of(last)
        if last.status in ("failed", "cancelled") or last.ends:
            return end
        to = self._chosen(snapshot, name, last)
        if to is None:
            told = f"no condition of role {name!r} holds; add a FALLBACK transition"
            return FlowEnd("failed", "unknown-route", told, last.path)
        if to != END:
            told = f"limit max_steps={self.definition.max_steps} is used up"
            return FlowEnd("failed", "limit", told, last.path)
        return end

    def _ran(self, snapshot: Snapshot) -> Ran:
        """The roles that ran, in order: their records stand in the order in which they were made."""
        places = {
            self._path(snapshot, name, number): name
            for name in self.parts
            for number in range(1, self._count(snapshot, name) + 1)
        }
        finished = [step for step in snapshot.steps if step.is_final and step.path in places]
        return [(places[step.path], step) for step in finished]

    def _count(self, snapshot: Snapshot, name: str) -> int:
        number = 0
        while snapshot.record(self._path(snapshot, name, number + 1)) is not None:
            number += 1
        return number

    def _path(self, snapshot: Snapshot, name: str, number: int) -> str:
        return pass_of(join(snapshot.path, name), number)

    def _visit(self, snapshot: Snapshot, name: str, ran: Ran, inputs: tuple[Input, ...]) -> Visit:
        passed = sum(1 for ran_name, _ in ran if ran_name == name)
        return Visit(name, self._path(snapshot, name, passed + 1), inputs)

    def _chosen(self, snapshot: Snapshot, name: str, last: StepRecord) -> str | None:
        transitions = self._transitions(name)
        if not transitions:
            return END
        context = thread_context(snapshot.at(snapshot.path, (as_input(last),)))
        where = self._path(snapshot, name, 1).partition("[")[0]
        return next((to for when, to in transitions if _holds(when, context, where)), None)

    def _transitions(self, name: str) -> list[tuple[When, str]]:
        given = self.definition.transitions.get(name, ())
        return [(t.when, t.to) if isinstance(t, Transition) else t for t in given]


def _holds(when: When, context: ThreadContext, path: str) -> bool:
    if isinstance(when, str):
        return when == FALLBACK
    try:
        return bool(when(context))
    except Exception as error:
        told = f"its condition {_named(when)} raised {type(error).__name__}: {error}"
        raise RunError(told, path=path) from error


def _named(when: When) -> str:
    return when if isinstance(when, str) else getattr(when, "__name__", type(when).__name__)


def _part(name: str, role: Any, depth: int) -> Any:
    if isinstance(role, WorkflowDefinition):
        return RoleTableFlow(id=name, definition=role, depth=depth)
    if isinstance(role, Role):
        return WorkflowUnit(name, prompt=role.prompt, output=role.output, tools=role.tools)
    return as_part(role)


def role_table(definition: WorkflowDefinition) -> RoleTableFlow:
    """The flow of a definition. Raises DefinitionError with every fault: unknown names, a start
    that is missing, a FALLBACK that is not last, children nested deeper than three."""
    faults = list(_faults(definition, "", 0))
    if faults:
        raise DefinitionError(faults)
    return RoleTableFlow(definition=definition)


def _faults(definition: WorkflowDefinition, path: str, depth: int) -> list[Fault]:
    names = set(definition.roles)
    faults = [] if definition.start in names else [Fault(path, f"start {definition.start!r} is no role")]
    if END in names:
        faults.append(Fault(path, f"a role cannot be called {END!r}, which ends the workflow"))
    if definition.max_steps < 1:
        faults.append(Fault(path, f"max_steps must be at least 1, got {definition.max_steps}"))
    if depth > MAX_DEPTH:
        faults.append(Fault(path, f"child workflows are nested deeper than {MAX_DEPTH}"))
    for source, given in definition.transitions.items():
        if source not in names:
            faults.append(Fault(path, f"transitions of {source!r}, which is no role"))
        pairs = [(t.when, t.to) if isinstance(t, Transition) else t for t in given]
        faults += [
            Fault(join(path, source), f"{to!r} is no role") for _, to in pairs if to not in names | {END}
        ]
        faults += [
            Fault(join(path, source), f"condition {when!r} is text; only FALLBACK may be")
            for when, _ in pairs
            if isinstance(when, str) and when != FALLBACK
        ]
        if FALLBACK in [when for when, _ in pairs[:-1]]:
            faults.append(Fault(join(path, source), "FALLBACK must be the last transition"))
    for name, role in definition.roles.items():
        if isinstance(role, WorkflowDefinition) and depth <= MAX_DEPTH:
            faults += _faults(role, join(path, name), depth + 1)
    return faults
