"""The config that the user's own code gets: LangGraph's, with the user's context in it.

Below the root, the runtime context is a Frame. A graph that a tool or a function calls would
inherit it, so it is taken out before the user's code runs.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context

# LangGraph has no public name for the key under which a config holds its Runtime; a test pins it.
from langgraph._internal._constants import CONF, CONFIG_KEY_RUNTIME
from langgraph.runtime import Runtime

from .lingering import noted


def user_config(config: RunnableConfig, runtime: Runtime[Any], context: Any) -> RunnableConfig:
    """`config` with `context` as the runtime context."""
    own = runtime.override(context=context)
    return {**config, "configurable": {**config.get(CONF, {}), CONFIG_KEY_RUNTIME: own}}


async def in_config(config: RunnableConfig, function: Callable[..., Any], *args: Any) -> Any:
    """Call the user's `function` with `config` around it: awaited when async, else in a thread."""

    async def called() -> Any:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(*args)
        result = await asyncio.to_thread(noted(function), *args)
        return await result if inspect.isawaitable(result) else result

    with set_config_context(config) as context:
        return await asyncio.get_running_loop().create_task(called(), context=context)
