"""Executes a role: one with a graph through that graph, any other as the function it is."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from ..core.codec import registry_of
from ..core.errors import PlaitError, RunError, ValueRefused
from ..core.roles import RoleFn, ThreadContext
from ..core.snapshot import Snapshot
from ..core.stored import Stored
from ..core.usage import Usage
from .execution import Execution
from .frame import Frame
from .unit import WorkflowUnit
from .userconfig import in_config, user_config


def thread_context(snapshot: Snapshot) -> ThreadContext:
    """The part of a Snapshot that a role function is promised, with the Snapshot itself."""
    return ThreadContext(
        snapshot.thread_id, snapshot.depth, snapshot.bundle_hash, snapshot.task, snapshot.steps, snapshot
    )


async def execute_function(
    unit: WorkflowUnit[Any], role: RoleFn[Any], frame: Frame, runtime: Runtime[Any]
) -> Execution:
    """Call a role that has no graph. What it raises is the unit's failure."""
    spent = UsageMetadataCallbackHandler()
    config = get_config()
    try:
        given = user_config(config, runtime, frame.snapshot.context)
        given["callbacks"] = _with(config.get("callbacks"), spent)
        output = await in_config(given, role, thread_context(frame.snapshot))
        stored = Stored.of(output, f"output of {frame.snapshot.path}", registry_of(unit.output))
    except (GraphBubbleUp, RunError):
        raise
    except ValueRefused as error:
        return Execution("failed", "refused-value", str(error), usage=_usage(spent))
    except PlaitError:
        raise
    except Exception as error:
        return Execution("failed", "error", f"{type(error).__name__}: {error}", usage=_usage(spent))
    text = output if isinstance(output, str) else ""
    return Execution(stored=stored, text=text, usage=_usage(spent))


def _with(callbacks: Any, handler: UsageMetadataCallbackHandler) -> Any:
    if callbacks is None:
        return [handler]
    if isinstance(callbacks, list):
        return [*callbacks, handler]
    added = callbacks.copy()
    added.add_handler(handler, inherit=True)
    return added


def _usage(spent: UsageMetadataCallbackHandler) -> Usage:
    reported = spent.usage_metadata.values()
    tokens_in = sum(usage.get("input_tokens", 0) for usage in reported)
    tokens_out = sum(usage.get("output_tokens", 0) for usage in reported)
    return Usage(tokens_in, tokens_out)
