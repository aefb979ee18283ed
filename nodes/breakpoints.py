"""Breakpoints at any depth.

LangGraph stops a graph at its own nodes only. Here the names that a caller gives travel down with the
config, and each graph below stops at those that mean its own nodes: a bare name (`report`) at whatever depth
it stands, and a name as it is drawn (`deep:steps:report`) at that place. `"*"` keeps LangGraph's meaning,
all nodes of the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

BREAKPOINTS = "__plait_breakpoints"
"""Where the config keeps them; what begins so, LangGraph does not write into checkpoints."""

KINDS = ("interrupt_before", "interrupt_after")


def with_breakpoints(config: RunnableConfig | None, options: Mapping[str, Any]) -> RunnableConfig | None:
    """The config of a run with the breakpoints among its options, for the graphs below."""
    named = {kind: options[kind] for kind in KINDS if options.get(kind) and options[kind] != "*"}
    if not named:
        return config
    given = config or {}
    return {**given, "configurable": {**given.get("configurable", {}), BREAKPOINTS: named}}


def breakpoints() -> dict[str, Any]:
    """Those of the graph that the node which runs now is about to call, as its options."""
    conf = get_config().get("configurable", {})
    named: Mapping[str, Sequence[str]] | None = conf.get(BREAKPOINTS)
    if named is None:
        return {}
    above = "".join(f"{part.split(':')[0]}:" for part in str(conf.get("checkpoint_ns", "")).split("|"))
    return {kind: [name.removeprefix(above) for name in names] for kind, names in named.items()}
