"""Plait: agent workflows as expressions over typed units, compiled to plain LangGraph graphs.

This is the public face. It is lazy: a name is imported from its module when it is first asked for, so
`import plait` costs next to nothing, and nothing here imports a neighbour while the file itself runs
(pytest runs it under another name when the folder of the checkout is called something else).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.react import react_adapter
    from .core.bus import BusMessage
    from .core.conditions import field
    from .core.control import Finish, Skip
    from .core.delta import Delta
    from .core.errors import (
        ClassChanged,
        DefinitionChanged,
        DefinitionError,
        MissingExtra,
        NothingToResume,
        PlaitError,
        RunError,
        StateConflict,
        ThreadPaused,
        ValueRefused,
    )
    from .core.events import Event
    from .core.records import StepRecord, ToolCallRecord
    from .core.roles import AdapterBinding, AdapterFn, RoleFn, ThreadContext
    from .core.snapshot import Snapshot
    from .core.state import SharedState
    from .core.usage import Limits, Usage
    from .graphs.bus import MessageBus
    from .graphs.flow import ControlFlow, Flow
    from .graphs.loop import LoopFlow
    from .graphs.router import RouterFlow
    from .graphs.sequential import SequentialFlow
    from .graphs.step import step
    from .nodes.termination import Condition, Delegated, Limit, MaxRounds, Resolved, StopReason
    from .nodes.tools import ToolRuntime
    from .nodes.unit import WorkflowUnit
    from .workflow import RunResult, Workflow

__all__ = [
    "AdapterBinding",
    "AdapterFn",
    "BusMessage",
    "ClassChanged",
    "Condition",
    "ControlFlow",
    "DefinitionChanged",
    "DefinitionError",
    "Delegated",
    "Delta",
    "Event",
    "Finish",
    "Flow",
    "Limit",
    "Limits",
    "LoopFlow",
    "MaxRounds",
    "MessageBus",
    "MissingExtra",
    "NothingToResume",
    "PlaitError",
    "Resolved",
    "RoleFn",
    "RouterFlow",
    "RunError",
    "RunResult",
    "SequentialFlow",
    "SharedState",
    "Skip",
    "Snapshot",
    "StateConflict",
    "StepRecord",
    "StopReason",
    "ThreadContext",
    "ThreadPaused",
    "ToolCallRecord",
    "ToolRuntime",
    "Usage",
    "ValueRefused",
    "Workflow",
    "WorkflowUnit",
    "field",
    "react_adapter",
    "step",
]

# Where each name lives. Tools read the imports above; the running program reads this.
_HOMES = {
    "PlaitError": "core.errors",
    "DefinitionError": "core.errors",
    "RunError": "core.errors",
    "StateConflict": "core.errors",
    "ValueRefused": "core.errors",
    "ClassChanged": "core.errors",
    "DefinitionChanged": "core.errors",
    "ThreadPaused": "core.errors",
    "NothingToResume": "core.errors",
    "MissingExtra": "core.errors",
    "Snapshot": "core.snapshot",
    "Delta": "core.delta",
    "StepRecord": "core.records",
    "ToolCallRecord": "core.records",
    "Usage": "core.usage",
    "Limits": "core.usage",
    "SharedState": "core.state",
    "BusMessage": "core.bus",
    "Event": "core.events",
    "AdapterFn": "core.roles",
    "AdapterBinding": "core.roles",
    "RoleFn": "core.roles",
    "ThreadContext": "core.roles",
    "field": "core.conditions",
    "Skip": "core.control",
    "Finish": "core.control",
    "WorkflowUnit": "nodes.unit",
    "Resolved": "nodes.termination",
    "StopReason": "nodes.termination",
    "MaxRounds": "nodes.termination",
    "Condition": "nodes.termination",
    "Delegated": "nodes.termination",
    "Limit": "nodes.termination",
    "ToolRuntime": "nodes.tools",
    "step": "graphs.step",
    "SequentialFlow": "graphs.sequential",
    "RouterFlow": "graphs.router",
    "LoopFlow": "graphs.loop",
    "ControlFlow": "graphs.flow",
    "Flow": "graphs.flow",
    "MessageBus": "graphs.bus",
    "react_adapter": "adapters.react",
    "Workflow": "workflow",
    "RunResult": "workflow",
}


if not TYPE_CHECKING:  # a type checker that saw __getattr__ would accept any misspelt name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value  # so that the next look-up is a plain one
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
