"""Plait: agent workflows as expressions over typed units, compiled to plain LangGraph graphs.

This is the public face. It is lazy: a name is imported from its module when it is first asked for, so
`import plait` costs next to nothing, and nothing here imports a neighbour while the file itself runs
(pytest runs it under another name when the folder of the checkout is called something else).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.agent import agent_adapter
    from .adapters.journaled import journaled
    from .adapters.langchain import langchain_adapter
    from .adapters.langgraph import langgraph_adapter
    from .adapters.llm import llm_adapter
    from .adapters.react import react_adapter
    from .adapters.text_react import text_react_adapter
    from .core.bus import BusMessage
    from .core.conditions import field
    from .core.control import Finish, Skip
    from .core.delta import Delta
    from .core.errors import (
        ClassChanged,
        DefinitionChanged,
        DefinitionError,
        DurabilityWarning,
        EncryptionMismatch,
        MissingExtra,
        NothingToResume,
        PlaitError,
        RunError,
        StateConflict,
        ThreadBusy,
        ThreadPaused,
        ValueRefused,
    )
    from .core.events import Event
    from .core.failure import Failure
    from .core.plans import Plan, PlanStep
    from .core.records import StepRecord, ToolCallRecord
    from .core.roles import AdapterBinding, AdapterFn, RoleFn, ThreadContext
    from .core.snapshot import Snapshot
    from .core.state import SharedState
    from .core.usage import Limits, Usage
    from .graphs.broadcast import BroadcastFlow
    from .graphs.bus import MessageBus
    from .graphs.compare import Comparison, compare
    from .graphs.composite import CompositeFlow
    from .graphs.dag import DAGFlow
    from .graphs.delegation import DelegationFlow
    from .graphs.draining import draining
    from .graphs.flow import ControlFlow, Flow
    from .graphs.loop import LoopFlow
    from .graphs.parallel import ParallelFlow
    from .graphs.points import ThreadPoint
    from .graphs.reflexion import ReflexionFlow
    from .graphs.rerun import Rerun
    from .graphs.roletable import END, FALLBACK, Role, Transition, WorkflowDefinition
    from .graphs.router import RouterFlow
    from .graphs.run import Run
    from .graphs.sequential import SequentialFlow
    from .graphs.step import step
    from .nodes.asking import ask
    from .nodes.decisions import approve, edit, reject, respond
    from .nodes.declared import tool
    from .nodes.lingering import Lingering
    from .nodes.termination import Condition, Delegated, Limit, MaxRounds, Resolved, StopReason
    from .nodes.toolforms import Observation, ToolDefinition, ToolRegistry, ToolResult
    from .nodes.tools import ToolRuntime
    from .nodes.unit import WorkflowUnit
    from .spec.diagnostics import Diagnostic, SpecError
    from .thread import Thread
    from .view.watch import watch
    from .workflow import RunResult, Workflow, create_workflow

__all__ = [
    "END",
    "FALLBACK",
    "AdapterBinding",
    "AdapterFn",
    "BroadcastFlow",
    "BusMessage",
    "ClassChanged",
    "Comparison",
    "CompositeFlow",
    "Condition",
    "ControlFlow",
    "DAGFlow",
    "DefinitionChanged",
    "DefinitionError",
    "Delegated",
    "DelegationFlow",
    "Delta",
    "Diagnostic",
    "DurabilityWarning",
    "EncryptionMismatch",
    "Event",
    "Failure",
    "Finish",
    "Flow",
    "Limit",
    "Limits",
    "Lingering",
    "LoopFlow",
    "MaxRounds",
    "MessageBus",
    "MissingExtra",
    "NothingToResume",
    "Observation",
    "ParallelFlow",
    "PlaitError",
    "Plan",
    "PlanStep",
    "ReflexionFlow",
    "Rerun",
    "Resolved",
    "Role",
    "RoleFn",
    "RouterFlow",
    "Run",
    "RunError",
    "RunResult",
    "SequentialFlow",
    "SharedState",
    "Skip",
    "Snapshot",
    "SpecError",
    "StateConflict",
    "StepRecord",
    "StopReason",
    "Thread",
    "ThreadBusy",
    "ThreadContext",
    "ThreadPaused",
    "ThreadPoint",
    "ToolCallRecord",
    "ToolDefinition",
    "ToolRegistry",
    "ToolResult",
    "ToolRuntime",
    "Transition",
    "Usage",
    "ValueRefused",
    "Workflow",
    "WorkflowDefinition",
    "WorkflowUnit",
    "agent_adapter",
    "approve",
    "ask",
    "compare",
    "create_workflow",
    "draining",
    "edit",
    "field",
    "journaled",
    "langchain_adapter",
    "langgraph_adapter",
    "llm_adapter",
    "react_adapter",
    "reject",
    "respond",
    "step",
    "text_react_adapter",
    "tool",
    "watch",
]

# Where each name lives. Tools read the imports above; the running program reads this.
_HOMES = {
    "agent_adapter": "adapters.agent",
    "journaled": "adapters.journaled",
    "langchain_adapter": "adapters.langchain",
    "langgraph_adapter": "adapters.langgraph",
    "llm_adapter": "adapters.llm",
    "react_adapter": "adapters.react",
    "text_react_adapter": "adapters.text_react",
    "BusMessage": "core.bus",
    "field": "core.conditions",
    "Finish": "core.control",
    "Skip": "core.control",
    "Delta": "core.delta",
    "ClassChanged": "core.errors",
    "DefinitionChanged": "core.errors",
    "DefinitionError": "core.errors",
    "DurabilityWarning": "core.errors",
    "EncryptionMismatch": "core.errors",
    "MissingExtra": "core.errors",
    "NothingToResume": "core.errors",
    "PlaitError": "core.errors",
    "RunError": "core.errors",
    "StateConflict": "core.errors",
    "ThreadBusy": "core.errors",
    "ThreadPaused": "core.errors",
    "ValueRefused": "core.errors",
    "Event": "core.events",
    "Failure": "core.failure",
    "Plan": "core.plans",
    "PlanStep": "core.plans",
    "StepRecord": "core.records",
    "ToolCallRecord": "core.records",
    "AdapterBinding": "core.roles",
    "AdapterFn": "core.roles",
    "RoleFn": "core.roles",
    "ThreadContext": "core.roles",
    "Snapshot": "core.snapshot",
    "SharedState": "core.state",
    "Limits": "core.usage",
    "Usage": "core.usage",
    "BroadcastFlow": "graphs.broadcast",
    "MessageBus": "graphs.bus",
    "Comparison": "graphs.compare",
    "compare": "graphs.compare",
    "CompositeFlow": "graphs.composite",
    "DAGFlow": "graphs.dag",
    "DelegationFlow": "graphs.delegation",
    "draining": "graphs.draining",
    "ControlFlow": "graphs.flow",
    "Flow": "graphs.flow",
    "LoopFlow": "graphs.loop",
    "ParallelFlow": "graphs.parallel",
    "ThreadPoint": "graphs.points",
    "ReflexionFlow": "graphs.reflexion",
    "Rerun": "graphs.rerun",
    "END": "graphs.roletable",
    "FALLBACK": "graphs.roletable",
    "Role": "graphs.roletable",
    "Transition": "graphs.roletable",
    "WorkflowDefinition": "graphs.roletable",
    "RouterFlow": "graphs.router",
    "Run": "graphs.run",
    "SequentialFlow": "graphs.sequential",
    "step": "graphs.step",
    "ask": "nodes.asking",
    "approve": "nodes.decisions",
    "edit": "nodes.decisions",
    "reject": "nodes.decisions",
    "respond": "nodes.decisions",
    "tool": "nodes.declared",
    "Lingering": "nodes.lingering",
    "Condition": "nodes.termination",
    "Delegated": "nodes.termination",
    "Limit": "nodes.termination",
    "MaxRounds": "nodes.termination",
    "Resolved": "nodes.termination",
    "StopReason": "nodes.termination",
    "Observation": "nodes.toolforms",
    "ToolDefinition": "nodes.toolforms",
    "ToolRegistry": "nodes.toolforms",
    "ToolResult": "nodes.toolforms",
    "ToolRuntime": "nodes.tools",
    "WorkflowUnit": "nodes.unit",
    "Diagnostic": "spec.diagnostics",
    "SpecError": "spec.diagnostics",
    "Thread": "thread",
    "watch": "view.watch",
    "RunResult": "workflow",
    "Workflow": "workflow",
    "create_workflow": "workflow",
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
