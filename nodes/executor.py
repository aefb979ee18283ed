"""Executes a role: one with a graph through that graph, any other as the function it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

# LangGraph has no public name for the mark of a node that is taken up again; a test pins it.
from langgraph._internal._constants import CONF, CONFIG_KEY_RESUMING
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import RetryPolicy

from ..core.codec import registry_of
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.roles import RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..core.stored import Stored
from ..core.usage import Usage
from .breakpoints import breakpoints
from .execution import Execution, GraphRole
from .frame import Frame
from .retries import is_transient, pause_s
from .spending import Spending, spent_by, with_spending
from .unit import WorkflowUnit
from .userconfig import in_config, user_config

Graph = CompiledStateGraph[Any, Any, Any, Any]


def thread_context(snapshot: Snapshot) -> ThreadContext:
    """The part of a Snapshot that a role function is promised, with the Snapshot itself."""
    return ThreadContext(
        snapshot.thread_id, snapshot.depth, snapshot.bundle_hash, snapshot.task, snapshot.steps, snapshot
    )


async def execute_graph(
    unit: WorkflowUnit[Any], role: GraphRole, graph: Graph, frame: Frame, runtime: Runtime[Any]
) -> Execution:
    """Run a role's graph in the node that shows it. A graph that is not Plait's is counted and
    stopped from outside, and what it raises is the unit's failure."""
    snapshot, context, entered = frame.snapshot, role.context(frame), role.enter(frame.snapshot)
    if context is frame:
        config: RunnableConfig = {"recursion_limit": _supersteps(unit)}
        control = frame.run.unit_control(snapshot.path)
        values = await graph.ainvoke(entered, config, context=frame.below, control=control, **breakpoints())
        return role.leave(values, snapshot)
    spending = Spending(frame, await _spent_before(graph, entered))
    config = _foreign_config(unit, frame, runtime, spending)
    config.pop("recursion_limit", None)  # a graph may have one of its own

    async def run() -> Execution:
        values = await graph.ainvoke(entered, config, context=context, **breakpoints())
        return role.leave(values, snapshot)

    return await _foreign(run(), frame, spending)


async def execute_function(
    unit: WorkflowUnit[Any], role: RoleFn[Any], frame: Frame, runtime: Runtime[Any]
) -> Execution:
    """Call a role that has no graph. What it raises is the unit's failure."""
    spending = Spending(frame)
    config = _foreign_config(unit, frame, runtime, spending)

    async def run() -> Execution:
        output = await _tried(unit.retry, lambda: in_config(config, role, thread_context(frame.snapshot)))
        stored = Stored.of(output, f"output of {frame.snapshot.path}", registry_of(unit.output))
        return Execution(stored=stored, text=output if isinstance(output, str) else "")

    return await _foreign(run(), frame, spending)


def _foreign_config(
    unit: WorkflowUnit[Any], frame: Frame, runtime: Runtime[Any], spending: Spending
) -> RunnableConfig:
    """The node's config for code that is not Plait's: the user's context, and what it costs is counted."""
    config = user_config(get_config(), runtime, frame.snapshot.context)
    config["callbacks"] = with_spending(config.get("callbacks"), spending)
    own = {"plait_unit": unit.id, "plait_path": frame.snapshot.path}
    config["metadata"] = {**(config.get("metadata") or {}), **own}
    return config


async def _spent_before(graph: Graph, entered: Any) -> Usage | None:
    """What a graph that is taken up again had spent before, as far as its messages tell."""
    config = get_config()
    if not config[CONF].get(CONFIG_KEY_RESUMING):
        return None
    given = {message.id for message in _messages(entered)}
    held = _messages((await graph.aget_state(config)).values)
    return spent_by(held, given)


def _messages(values: Any) -> list[BaseMessage]:
    held = values.get("messages", ()) if isinstance(values, Mapping) else ()
    return [message for message in held if isinstance(message, BaseMessage)]


async def _tried(policy: RetryPolicy | None, call: Callable[[], Awaitable[Any]]) -> Any:
    """What `call` gives, tried again as the unit's retry policy says."""
    attempt = 1
    while True:
        try:
            return await call()
        except (GraphBubbleUp, PlaitError):
            raise
        except Exception as error:
            status = getattr(error, "status_code", None)
            if policy is None or attempt >= policy.max_attempts or not is_transient(error, status, policy):
                raise
            await asyncio.sleep(pause_s(error, policy, attempt))
        attempt += 1


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
    except GraphRecursionError as error:
        execution = Execution("failed", "limit", str(error).splitlines()[0])
    except Exception as error:
        execution = Execution("failed", "error", f"{type(error).__name__}: {error}")
    if spending.breach is not None:  # the foreign runtime may have taken it for a failed call
        execution = replace(execution, status="failed", reason="limit", message=str(spending.breach))
    return replace(execution, usage=spending.usage)


def _supersteps(unit: WorkflowUnit[Any]) -> int:
    """Supersteps that a unit's rounds can take at most; its own budgets end it sooner."""
    return 4 * (unit.max_rounds + unit.reply_attempts + 4)
