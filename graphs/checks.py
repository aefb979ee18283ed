"""What can be told of a definition before it runs: every fault at once, each with its path."""

from __future__ import annotations

from typing import Any

from ..core.codec import registry_of
from ..core.errors import DefinitionError, Fault
from ..core.paths import id_fault, join
from ..nodes.schema import output_schema
from ..nodes.tools import DELEGATE, toolset
from ..nodes.unit import WorkflowUnit
from ..nodes.usercode import async_fault
from .asked import field_faults
from .declared import key_faults
from .fields import field_names, nearest
from .flow import Flow, walk
from .router import RouterFlow, declared_labels


def definition_faults(flow: Any, binding: Any) -> list[Fault]:
    """Every fault of a flow as it would be run with `binding`."""
    return [
        *_override_faults(flow, binding),
        *_id_faults(flow),
        *_same_id_faults(flow),
        *_label_faults(flow),
        *_tool_faults(flow),
        *_model_faults(flow, binding),
        *key_faults(flow, binding.state),
        *_condition_faults(flow),
        *field_faults(flow),
        *_class_faults(flow),
    ]


CONDITIONS = ("until", "accept", "replan_when")
ASKED = (*CONDITIONS, "best", "score", "route", "over")
"""Fields of flows that may hold a function which is asked while the flow decides."""


def _condition_faults(flow: Any) -> list[Fault]:
    """Conditions that are no functions, and functions that would have to be awaited."""
    faults: list[Fault] = []
    for path, part in walk(flow):
        for name in ASKED:
            given = getattr(part, name, None)
            told = async_fault(f"{name}=", given)
            if name in CONDITIONS and given is not None and not callable(given):
                told = f"{name}={given!r} is no condition; give a function of the Snapshot or field(…) >= …"
            if told is not None:
                faults.append(Fault(path or part.type, told))
    return faults


def _class_faults(flow: Any) -> list[Fault]:
    """Two classes of one name: a checkpoint that holds a value of one would be read as the other."""
    seen: dict[str, tuple[type, str]] = {}
    faults: list[Fault] = []
    for path, part in walk(flow):
        outputs = [part.output, part.salvage] if isinstance(part, WorkflowUnit) else []
        for name, cls in registry_of(*(output for output in outputs if output is not None)).items():
            first, where = seen.setdefault(name, (cls, path))
            if first is not cls:
                told = f"its class {name} is another one than that of {where}; classes must differ in name"
                faults.append(Fault(path or part.id, told))
    return faults


def _override_faults(flow: Any, binding: Any) -> list[Fault]:
    ids = {part.id for _, part in walk(flow) if isinstance(part, WorkflowUnit)}
    unknown = sorted(set(binding.adapters.overrides) - ids)
    return [Fault("", f"overrides name {name!r}, which is no unit of the flow") for name in unknown]


def _id_faults(flow: Any) -> list[Fault]:
    keys = [(path, key) for path, part in walk(flow) if isinstance(part, Flow) for key in part.parts]
    bad = [(join(path, key), id_fault(key.partition("~")[0])) for path, key in keys]
    named = [
        (join(path, key), id_fault(key)) for path, part in walk(flow) for key in getattr(part, "handlers", ())
    ]
    return [Fault(path, fault) for path, fault in dict([*bad, *named]).items() if fault]


def _same_id_faults(flow: Any) -> list[Fault]:
    """One unit value may stand at several places; two different units may not share an id."""
    seen: dict[str, WorkflowUnit[Any]] = {}
    faults: list[Fault] = []
    for path, part in walk(flow):
        if not isinstance(part, WorkflowUnit):
            continue
        first = seen.setdefault(part.id, part)
        if first is not part and first != part:
            faults.append(
                Fault(
                    path, f"two different units have the id {part.id!r}; rename one, as with unit.with_(id=…)"
                )
            )
    return faults


def _label_faults(flow: Any) -> list[Fault]:
    faults: list[Fault] = []
    for path, part in walk(flow):
        if (
            not isinstance(part, RouterFlow)
            or callable(part.route)
            or not isinstance(part.router, WorkflowUnit)
        ):
            continue
        labels = declared_labels(part.router.output, part.labels.key if part.labels else None)
        unknown = sorted(set(labels or ()) - set(part.handlers)) if part.default is None else []
        unreachable = sorted(set(part.handlers) - set(labels) - {part.default}) if labels else []
        where = join(path, part.router_key)
        if told := _route_fault(part, part.router.output):
            faults.append(Fault(where, told))
        if unknown:
            faults.append(
                Fault(where, f"routes without a handler: {', '.join(unknown)}; add handlers or default=")
            )
        if unreachable:
            faults.append(Fault(where, f"handlers that no route names: {', '.join(unreachable)}"))
    return faults


def _route_fault(flow: RouterFlow, output: Any) -> str | None:
    """Why no field of the router's output is known to hold the label, or None."""
    names = field_names(output)
    if isinstance(flow.route, str) and names and flow.route not in names:
        return f"route={flow.route!r} is no field of its output; {nearest(flow.route, output)}"
    if len(names) > 1 and flow.labels is None:
        return f"none of {', '.join(names)} is called route; say which one holds the label, with route="
    return None


def _tool_faults(flow: Any) -> list[Fault]:
    """Tools that are none, two of one name, and names that the framework uses."""
    faults: list[Fault] = []
    for path, part in walk(flow):
        if isinstance(part, WorkflowUnit) and not callable(part.tools):
            try:
                names = toolset(path or part.id, part.tools, None).given_names.values()
            except DefinitionError as error:
                faults.extend(error.faults)
                continue
            taken = (name for name in names if name.startswith(DELEGATE))
            told = "tool {!r} has a name that the framework uses"
            faults += [Fault(path or part.id, told.format(name)) for name in taken]
    return faults


def _model_faults(flow: Any, binding: Any) -> list[Fault]:
    faults: list[Fault] = []
    for path, part in walk(flow):
        if isinstance(part, WorkflowUnit):
            try:
                binding.role(part)
                output_schema(part.output)
            except DefinitionError as error:
                faults.extend(Fault(path or fault.path, fault.message) for fault in error.faults)
    return faults
