"""Conditional edges that cost no more than their decision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

# LangGraph makes one of these of a plain function too, but as a run of its own in every trace, with a task
# around it: more than all the rest of a decision.
from langgraph._internal._runnable import RunnableCallable

Decide = Callable[..., Awaitable[Any]]


def untraced(decide: Decide) -> Any:
    """`decide(state)` as the path of a conditional edge; it gets the state that its annotation names."""
    return RunnableCallable(None, decide, trace=False, recurse=False)


def untraced_in_config(decide: Decide) -> Any:
    """The same for `decide(state, config)`, with the config around it as it is around a node."""

    async def route(state: dict[str, Any], config: RunnableConfig) -> Any:
        token = var_child_runnable_config.set(config)
        try:
            return await decide(state, config)
        finally:
            var_child_runnable_config.reset(token)

    return untraced(route)
