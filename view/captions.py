"""The words of a picture: what kind of flow it is, under which conditions, with which tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from ..core.conditions import Comparison, field

SELF_EVIDENT = (
    "sequence",
    "composite",
    "router",
    "loop",
    "reflexion",
    "parallel",
    "map",
    "dag",
    "delegation",
    "broadcast",
)
"""Flows that show by themselves where they begin and end; others get marks for it."""


def caption(flow: Any) -> str:
    """The flow's kind with its numbers, as in `loop ×3`."""
    kind = str(flow.type)
    if kind in ("loop", "reflexion"):
        return f"{kind} ×{flow.max_iterations}"
    if kind == "broadcast":
        return f"{kind} ×{flow.rounds}"
    if kind == "map":
        return f"{kind} over {said(flow.over)}"
    if kind == "dag" and flow.dependencies is None:
        return f"{kind}, as planned"
    return kind


def group_notes(flow: Any) -> tuple[str, ...]:
    """The flow's conditions and options that change what runs."""
    notes = {
        "when": _condition(flow, "when"),
        "until": _condition(flow, "until"),
        "accept": _condition(flow, "accept"),
        "quorum": _number(flow, "quorum"),
        "default": getattr(flow, "default", None) or "",
        "replan": f"×{flow.replan}" if getattr(flow, "replan", 0) else "",
        "depth": f"{flow.max_depth}" if getattr(flow, "max_depth", 1) > 1 else "",
        "at once": _number(flow, "max_concurrency"),
    }
    return tuple(f"{name} {value}" for name, value in notes.items() if value)


def box_notes(part: Any) -> tuple[str, ...]:
    """What a unit gives, its tools, and the condition it runs under."""
    output = getattr(part, "output", str)
    gives = () if output is str else (f"→ {_type_name(output)}",)
    tools = getattr(part, "tools", ())
    names = "chosen at run time" if callable(tools) else ", ".join(map(tool_name, tools))
    when = _condition(part, "when")
    return (*gives, *((f"tools: {names}",) if names else ()), *((f"when {when}",) if when else ()))


def said(condition: Any) -> str:
    """A condition, field or function in a few words."""
    if isinstance(condition, Comparison):
        return f"{condition.name} {condition.operator} {condition.value!r}"
    if isinstance(condition, field):
        return condition.name
    if isinstance(condition, str):
        return condition
    name = getattr(condition, "__name__", type(condition).__name__)
    return "a function" if name == "<lambda>" else str(name)


def tool_name(tool: Any) -> str:
    """The name of a tool in any of its forms."""
    if isinstance(tool, Mapping):
        described = tool.get("function", tool)
        return str(described.get("name") or described.get("type") or "tool")
    found = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return str(found or type(tool).__name__)


def _condition(part: Any, name: str) -> str:
    condition = getattr(part, name, None)
    return "" if condition is None else said(condition)


def _number(flow: Any, name: str) -> str:
    value = getattr(flow, name, None)
    return "" if value is None else str(value)


def _type_name(output: Any) -> str:
    if get_origin(output) is Literal:
        return " | ".join(map(str, get_args(output)))
    is_plain = isinstance(output, type) and not getattr(output, "__args__", None)
    return output.__name__ if is_plain else str(output).replace("typing.", "")
