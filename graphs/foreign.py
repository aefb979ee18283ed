"""Plait's parts in graphs and programs written by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from ..core.errors import RunError
from ..core.roles import AdapterBinding, AdapterFn
from ..core.usage import Limits
from .binding import Binding, bind
from .compile import Graph, compile_root
from .region import Scheduling

Enter = Callable[[Any], Any]
Leave = Callable[[dict[str, Any]], Any]


def compile_part(
    part: Any,
    *,
    model: Any = None,
    adapter: AdapterFn | None = None,
    overrides: Mapping[str, AdapterFn] | None = None,
    state: Any = None,
    limits: Limits | None = None,
    max_concurrency: int | None = None,
    scheduling: Scheduling = "eager",
    context_schema: type | None = None,
    name: str = "workflow",
    **langgraph_options: Any,
) -> Graph:
    """A unit or flow as a graph that takes `task`, `messages`, `state`.

    Other options (`checkpointer`, `store`, `cache`, `interrupt_before`, `interrupt_after`,
    `debug`) are those of LangGraph's `compile`. Raises DefinitionError with every fault.
    """
    adapters = AdapterBinding(adapter, overrides or {})
    binding = Binding(adapters, model, state, limits, scheduling=scheduling, max_concurrency=max_concurrency)
    return compile_root(bind(part, binding), context_schema, name, **langgraph_options)


def as_node(part: Any, enter: Enter, leave: Leave, **options: Any) -> Callable[..., Awaitable[Any]]:
    """A node function: `leave(await graph.ainvoke(enter(state)))`.

    `enter` makes the task of the outer state (text, content blocks, or the graph's input as a
    mapping), `leave` the outer state's update of the graph's output. Options are those of
    `compile_part`. The node raises RunError when the part fails.
    """
    graph = compile_part(part, **options)
    return node_of(graph, enter, leave)


def node_of(graph: Graph, enter: Enter, leave: Leave) -> Callable[..., Awaitable[Any]]:
    """The node function for a compiled root graph."""

    async def node(state: Any, runtime: Runtime[Any]) -> Any:
        entered = enter(state)
        given = dict(entered) if isinstance(entered, Mapping) else {"task": entered}
        keys = ["output", "outcome", "messages", "steps", "state", "ended"]
        values = await graph.ainvoke(given, context=runtime.context, output_keys=keys)
        ended = values.pop("ended", None) or {}
        if values.get("outcome") == "failed":
            raise RunError(
                ended.get("message", ""), path=ended.get("path", ""), reason=ended.get("reason") or "error"
            )
        return leave(values)

    return node
