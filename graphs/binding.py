"""From a flow and what executes it to something that can be compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from ..core.codec import registry_of
from ..core.errors import DefinitionError, Fault
from ..core.failure import Failure
from ..core.paths import definition_key
from ..core.ports import ModelResolver
from ..core.roles import AdapterBinding
from ..core.stateschema import StateSchema, state_schema
from ..core.stored import Types
from ..core.usage import Limits
from ..nodes.declared import Effect
from ..nodes.labels import Labels
from ..nodes.plainrole import role_of
from ..nodes.react import ReactRole
from ..nodes.unit import WorkflowUnit
from .checks import definition_faults
from .definition import bundle_hash, part_hashes
from .enclosed import Enclosed
from .flow import Flow, walk
from .region import Region, Scheduling
from .sequential import SequentialFlow

Granularity = Literal["round", "unit"]
"""What a superstep of a unit is: each half of a round, visible and editable, or the unit as a whole."""


def no_names(model: Any, level: str | None = None) -> Any:
    """Takes model instances only; names are resolved where a Workflow is composed."""
    if isinstance(model, str):
        raise DefinitionError(f"model {model!r} is a name; give a model instance here, or use Workflow(…)")
    if level is not None:
        raise DefinitionError("thinking_level is set where a Workflow is composed; use Workflow(…)")
    return model


@dataclass(frozen=True)
class Binding:
    """What turns units into roles: a model for the ReAct loop, or adapters; and the typed state."""

    adapters: AdapterBinding = field(default_factory=AdapterBinding)
    model: Any = None
    state: Any = None
    limits: Limits | None = None
    resolve: ModelResolver = no_names
    scheduling: Scheduling = "eager"
    max_concurrency: int | None = None
    default_effect: Effect = "unsafe"
    granularity: Granularity = "round"

    def __post_init__(self) -> None:
        if self.max_concurrency is not None and self.max_concurrency < 1:
            raise DefinitionError(f"max_concurrency must be at least 1, got {self.max_concurrency}")
        if self.scheduling not in get_args(Scheduling):
            known = ", ".join(get_args(Scheduling))
            raise DefinitionError(f"scheduling={self.scheduling!r} is unknown; there are: {known}")
        if self.granularity not in get_args(Granularity):
            raise DefinitionError(f"granularity={self.granularity!r} is unknown; there are: round, unit")
        if self.default_effect not in ("read", "idempotent", "unsafe"):
            told = f"default_effect={self.default_effect!r}: give 'read', 'idempotent' or 'unsafe'"
            raise DefinitionError(told)

    def role(self, unit: WorkflowUnit[Any], labels: Labels | None = None) -> Any:
        """How `unit` is executed: an override by its id, its own adapter, the default, else the ReAct
        loop on its own model or the workflow's."""
        adapter = self.adapters.overrides.get(unit.id) or unit.adapter or self.adapters.default
        if adapter is not None:
            whole = getattr(adapter, "for_unit", None)
            return whole(unit, labels) if whole else role_of(adapter, unit, labels)
        model = self.model if unit.model is None else unit.model
        if model is None:
            raise DefinitionError(
                [Fault(unit.id, "no model: give Workflow(model=…), an adapter, or the unit's own")]
            )
        return ReactRole(unit, self.resolve(model, unit.thinking_level), labels)


@dataclass(frozen=True)
class Bound:
    """A checked flow with its binding; what the compiler works on."""

    flow: Any
    binding: Binding

    @cached_property
    def root(self) -> Any:
        """The flow as the root of a run: a single part, a region, and a flow with a condition or limits
        stand in a flow of their own."""
        if not isinstance(self.flow, Flow):
            return SequentialFlow(self.flow)
        is_plain = self.flow.when is None and self.flow.limits is None and not isinstance(self.flow, Region)
        return self.flow if is_plain else Enclosed(self.flow)

    @cached_property
    def types(self) -> Types:
        """Every class that the definition's values may have."""
        outputs = [u.output for u in self.units.values()] + [
            u.salvage for u in self.units.values() if u.salvage
        ]
        return registry_of(*outputs)

    @property
    def importable(self) -> list[tuple[str, str]]:
        """Module and name of the definition's classes that can be found by import, so that they may
        come back from checkpoints as objects."""
        named = (name.split(":") for name in self.schema.types if "<locals>" not in name)
        found = [(module, name) for module, name in named if "." not in name]
        return [*found, (Failure.__module__, Failure.__name__)]

    @cached_property
    def schema(self) -> StateSchema:
        return state_schema(self.binding.state, self.types)

    @cached_property
    def units(self) -> Mapping[str, WorkflowUnit[Any]]:
        """The units by path; one that is the whole workflow stands at its id."""
        return {path or part.id: part for path, part in walk(self.root) if isinstance(part, WorkflowUnit)}

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        return part_hashes(self.root)

    def definition_of(self, part: Any, path: str) -> str:
        """The hash of the part that runs at `path`; a step of a plan stands at no path of the definition."""
        found = self.hashes.get(definition_key(path))
        return found if found is not None else next(iter(part_hashes(part).values()))

    @cached_property
    def bundle(self) -> str:
        return bundle_hash(self.hashes)


def bind(flow: Any, binding: Binding) -> Bound:
    """Check the definition. Raises DefinitionError with every fault, before anything runs."""
    if faults := definition_faults(flow, binding):
        raise DefinitionError(faults)
    return Bound(flow, binding)
