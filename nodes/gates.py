"""A tool that needs approval asks for it wherever it is called: from another tool, or by a foreign agent.

A call that a unit makes has been decided on before it gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from .approvals import decided, why_ask
from .asking import current_asker
from .prepared import like
from .toolforms import ToolFailed


def gated(tool: BaseTool) -> BaseTool:
    """The same tool, whose function runs only once a person has let it. Tools that are no functions are
    only asked for where a unit calls them."""
    if not isinstance(tool, StructuredTool):
        return tool
    changed = {
        "func": _gate(tool, tool.func) if tool.func else None,
        "coroutine": _gate_async(tool, tool.coroutine) if tool.coroutine else None,
    }
    return tool.model_copy(update=changed)


def _gate(tool: BaseTool, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **given: Any) -> Any:
        passed = _passed(tool, given)
        return passed if isinstance(passed, str) else function(*args, **passed)

    return like(call, function)


def _gate_async(tool: BaseTool, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **given: Any) -> Any:
        passed = _passed(tool, given)
        return passed if isinstance(passed, str) else await function(*args, **passed)

    return like(call, function)


def _passed(tool: BaseTool, given: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """The arguments to run with, or the text that stands for the result. Raises ToolFailed when the call
    was rejected."""
    asker = current_asker()
    if asker.cleared == tool.name:
        return given
    args = {name: value for name, value in given.items() if name in tool.args}
    why = why_ask(tool, args)
    if not why:
        return given
    decision = decided(tool, args, why, asker)
    if decision.type == "respond":
        return decision.why
    if not decision.runs:
        raise ToolFailed(decision.told(tool.name))
    return given if decision.args is None else {**given, **decision.args}
