"""A role made by a plain AdapterFn: its prompt is made for each run, what it returns is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.roles import AdapterFn, RoleFn, ThreadContext
from .execution import GraphRole
from .labels import Labels
from .outputs import typed
from .schema import output_schema
from .unit import WorkflowUnit


@dataclass(frozen=True)
class PlainRole:
    """The role that `adapter` makes of the unit's prompt; `role` is set where the prompt is fixed."""

    adapter: AdapterFn
    unit: WorkflowUnit[Any]
    labels: Labels | None
    role: RoleFn[Any] | None

    async def __call__(self, context: ThreadContext) -> Any:
        """Raises RunError with reason `invalid-resolve` when what comes back is no output."""
        prompt = self.unit.prompt
        role = self.role
        if role is None:
            made = prompt if isinstance(prompt, str) else prompt(context.snapshot)
            output: Any = self.unit.output
            role = self.adapter(made, output)
        return typed(output_schema(self.unit.output), await role(context), self.labels)


def role_of(adapter: AdapterFn, unit: WorkflowUnit[Any], labels: Labels | None) -> Any:
    """What `adapter` makes of the unit; a role with a graph of Plait's kind stays as it is."""
    output: Any = unit.output
    role = adapter(unit.prompt, output) if isinstance(unit.prompt, str) else None
    return role if isinstance(role, GraphRole) else PlainRole(adapter, unit, labels, role)
