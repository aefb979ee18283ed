"""Executes a role: one with a graph through that graph, any other as the function it is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..core.codec import registry_of
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.roles import RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..core.stored import Stored
from .execution import Execution, GraphRole
from .frame import Frame
from .spending import Spending, with_spending
from .unit import WorkflowUnit
from .userconfig import in_config, user_config

Graph = CompiledStateGraph[Any, Any, Any, Any]


def thread_context(snapshot: Snapshot) -> ThreadContext:
    """The part of a Snapshot that a role function is promised, with the Snapshot itself."""
    return ThreadContext(
        snapshot.thread_id, snapshot.depth, snapshot.bundle_hash, snapshot.task, snapshot.steps, snapshot
    )


async def execute_graph(unit: WorkflowUnit[Any], role: GraphRole, graph: Graph, frame: Frame) -> Execution:
    """Run a role's graph in the node that shows it. A graph that is not Plait's is counted and
    stopped from outside, and what it raises is the unit's failure."""
    entered, context = role.enter(frame.snapshot), role.context(frame)
    config: RunnableConfig = {"recursion_limit": _supersteps(unit)}
    if context is frame:
        return role.leave(await graph.ainvoke(entered, config, context=context), frame.snapshot)
    spending = Spending(frame)
    config = {"callbacks": with_spending(get_config().get("callbacks"), spending)}

    async def run() -> Execution:
        return role.leave(await graph.ainvoke(entered, config, context=context), frame.snapshot)

    return await _foreign(run(), frame, spending)


async def execute_function(
    unit: WorkflowUnit[Any], role: RoleFn[Any], frame: Frame, runtime: Runtime[Any]
) -> Execution:
    """Call a role that has no graph. What it raises is the unit's failure."""
    spending = Spending(frame)
    config = user_config(get_config(), runtime, frame.snapshot.context)
    config["callbacks"] = with_spending(config.get("callbacks"), spending)

    async def run() -> Execution:
        output = await in_config(config, role, thread_context(frame.snapshot))
        stored = Stored.of(output, f"output of {frame.snapshot.path}", registry_of(unit.output))
        return Execution(stored=stored, text=output if isinstance(output, str) else "")

    return await _foreign(run(), frame, spending)


async def _foreign(work: Any, frame: Frame, spending: Spending) -> Execution:
    try:
        async with asyncio.timeout(frame.meter.seconds_left()) as clock:
            execution: Execution = await work
    except GraphBubbleUp:
        raise
    except RunError as error:
        if error.reason == "store":
            raise
        execution = Execution("failed", error.reason, str(error))
    except ValueRefused as error:
        execution = Execution("failed", "refused-value", str(error))
    except PlaitError:
        raise
    except TimeoutError as error:
        if not clock.expired():
            execution = Execution("failed", "error", f"TimeoutError: {error}")
        else:
            execution = Execution("failed", "limit", str(frame.meter.seconds_breach()))
    except Exception as error:
        execution = Execution("failed", "error", f"{type(error).__name__}: {error}")
    return replace(execution, usage=spending.usage)


def _supersteps(unit: WorkflowUnit[Any]) -> int:
    """Supersteps that a unit's rounds can take at most; its own budgets end it sooner."""
    return 4 * (unit.max_rounds + unit.reply_attempts + 4)
