"""A router reads the task and names the one handler that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from ..core.bookkeeping import Role
from ..core.conditions import field as output_field
from ..core.errors import DefinitionError, Fault
from ..core.part import Out, PartLike
from ..core.records import StepRecord
from ..core.snapshot import Snapshot
from ..nodes.answers import match_label
from ..nodes.labels import Labels
from ..nodes.schema import output_schema
from ..nodes.unit import WorkflowUnit
from .fields import field_names, field_types
from .flow import END, START, Edge, Flow, FlowEnd, Visit, as_input, end_of, free_key, path_of
from .step import as_part

ROUTE_FIELDS = ("route", "label")


@dataclass(frozen=True)
class RouterFlow(Flow[object, Out]):
    """Runs `router`, then the handler whose key its output names.

    `route` says where the label is: a field of the output, or a function of it; by default the
    output itself when it is text, else its `route` field or its only one. A router unit without
    a schema of its own gets the handlers' keys as its output type. An unknown label goes to
    `default`, a key of `handlers`; without one the router is asked again as for an invalid
    `resolve`, and then the flow fails with `unknown-route` and no handler runs.
    """

    router: PartLike[Any]
    handlers: Mapping[str, PartLike[Out]]
    route: str | Callable[[Any], Any] | None = None
    default: str | None = None
    type: ClassVar[str] = "router"

    def __post_init__(self) -> None:
        made = {key: as_part(part) for key, part in dict(self.handlers).items()}
        object.__setattr__(self, "handlers", made)
        object.__setattr__(self, "router", as_part(self.router))
        if not made:
            raise DefinitionError([Fault(self.id or self.type, "a RouterFlow needs at least one handler")])
        if self.default is not None and self.default not in made:
            known = ", ".join(made)
            raise DefinitionError(
                [Fault(self.id or self.type, f"default={self.default!r} is no handler; there are: {known}")]
            )

    def __hash__(self) -> int:
        return hash((self.router, tuple(self.handlers), self.default))

    @cached_property
    def router_key(self) -> str:
        return free_key(self.router, self.handlers)

    @cached_property
    def parts(self) -> Mapping[str, Any]:
        return {self.router_key: self._routing_part, **self.handlers}

    @property
    def edges(self) -> tuple[Edge, ...]:
        chosen = [Edge(self.router_key, key, key) for key in self.handlers]
        ended = [Edge(key, END) for key in self.handlers]
        return (Edge(START, self.router_key), *chosen, *ended, Edge(self.router_key, END, "no route"))

    @cached_property
    def labels(self) -> Labels | None:
        """How the router unit's label is read while it may still be asked again."""
        part = self._routing_part
        if not isinstance(part, WorkflowUnit) or callable(self.route):
            return None
        if output_schema(part.output).wrapped:
            return Labels(tuple(self.handlers), "value", self.default, from_text=True)
        field = self.route or _route_field(part.output)
        return Labels(tuple(self.handlers), field, self.default) if field else None

    def role_of(self, key: str) -> Role | None:
        return "handler" if key in self.handlers else None

    def reading(self, key: str) -> Labels | None:
        return self.labels if key == self.router_key else None

    def label_of(self, output: Any) -> str | None:
        """The handler key that `output` names, `default` for an unknown label, or None."""
        given = self._given(output)
        found = match_label(given, self.handlers) if given is not None else None
        return found or self.default

    def next(self, snapshot: Snapshot) -> tuple[Visit, ...]:
        path = path_of(snapshot, self.router_key)
        routed = snapshot.record(path)
        if routed is None:
            return (Visit(self.router_key, path, snapshot.inputs),)
        label = self._label(routed)
        if label is None or routed.ends:
            return ()
        handler = path_of(snapshot, label)
        if snapshot.record(handler) is not None:
            return ()
        told = (as_input(routed),) if self._says_more(routed) else ()
        return (Visit(label, handler, (*snapshot.inputs, *told)),)

    def end(self, snapshot: Snapshot) -> FlowEnd:
        routed = snapshot.record(path_of(snapshot, self.router_key))
        if routed is None or routed.ends:
            return FlowEnd() if routed is None else end_of(routed)
        label = self._label(routed)
        if label is not None:
            handled = snapshot.record(path_of(snapshot, label))
            return end_of(handled) if handled is not None else FlowEnd()
        if routed.status == "failed" and routed.reason not in ("invalid-resolve", "no-resolve"):
            return end_of(routed)
        reply = routed.text or routed.message or repr(self._given(routed.output))
        known = ", ".join(self.handlers)
        told = f"the router named no handler; it said {reply!r}, the handlers are: {known}"
        return FlowEnd("failed", "unknown-route", told, routed.path, text=routed.text)

    def __repr__(self) -> str:
        tail = f", default={self.default!r}" if self.default else ""
        return f"RouterFlow({self.router!r}, {dict(self.handlers)!r}{tail})"

    @cached_property
    def _routing_part(self) -> Any:
        unit = self.router
        if isinstance(unit, WorkflowUnit) and unit.output is str and unit.answer != "text":
            return unit.with_(output=Literal[tuple(self.handlers)])
        return unit

    def _label(self, routed: StepRecord) -> str | None:
        if routed.status == "failed":
            unsaid = routed.reason in ("invalid-resolve", "no-resolve", "empty-reply")
            return self.default if unsaid else None
        return self.default if routed.status == "skipped" else self.label_of(routed.output)

    def _given(self, output: Any) -> str | None:
        if callable(self.route):
            output = self.route(output)
        elif not isinstance(output, str | Enum | int | float):
            field = self.route or _route_field(type(output))
            output = output_field(field).read(output) if field else None
        return _label(output)

    def _says_more(self, routed: StepRecord) -> bool:
        return not isinstance(routed.output, str | Enum) and len(field_names(type(routed.output))) > 1


def _route_field(output: Any) -> str | None:
    names = field_names(output)
    named = [name for name in ROUTE_FIELDS if name in names]
    candidates = named or (names if len(names) == 1 else [])
    return candidates[0] if candidates else None


def _label(given: Any) -> str | None:
    """What a router gave as the text of a label."""
    value = given.value if isinstance(given, Enum) else given
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def declared_labels(output: Any, field: str | None) -> tuple[str, ...] | None:
    """The labels that a router's schema allows, when its type says so."""
    if get_origin(output) is Annotated:
        output = get_args(output)[0]
    has_fields = isinstance(output, type) and not issubclass(output, Enum)
    hint = field_types(output).get(field) if field and has_fields else output
    if get_origin(hint) is Literal:
        return tuple(label for given in get_args(hint) if (label := _label(given)) is not None)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(label for member in hint if (label := _label(member)) is not None)
    return None
