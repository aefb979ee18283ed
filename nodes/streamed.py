"""LangGraph's `custom` stream, where it was asked for."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

RUNTIME = "__pregel_runtime"


def custom_stream() -> StreamWriter | None:
    """Writes into the stream of the node that runs here; None when nobody asked for `custom` parts.

    Unlike `get_stream_writer` it may be called outside of a graph too.
    """
    config = var_child_runnable_config.get()
    return None if config is None else asked(config.get("configurable", {}).get(RUNTIME))


def asked(runtime: Runtime[Any] | None) -> StreamWriter | None:
    """A runtime's stream writer, unless it is one of those that write nowhere: they close over nothing."""
    writer = None if runtime is None else runtime.stream_writer
    return None if getattr(writer, "__closure__", writer) is None else writer
