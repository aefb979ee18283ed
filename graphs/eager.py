"""The graph of a region that is scheduled eagerly: not run itself, it finds the steps that are paused.

LangGraph looks for the state of a subgraph in the subgraph's own checkpoints, of which there are none
when the steps run as tasks. Theirs lie one level below, under the names of the parts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.runnables import RunnableConfig

# LangGraph has no public name for the key under which a graph hands its saver to those below it.
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINT_NS, CONFIG_KEY_CHECKPOINTER
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import PregelTask, StateSnapshot

BATCH_NAME = "batch "
"""How the tasks are named that call the steps of one batch."""


class RegionGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose state also tells of steps that were called as tasks and are paused."""

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        state = await super().aget_state(config, subgraphs=subgraphs)
        given = config.get(CONF, {})
        if state.created_at or not subgraphs or CONFIG_KEY_CHECKPOINTER not in given:
            return state
        found = [task async for task in self._paused(given, given[CONFIG_KEY_CHECKPOINT_NS])]
        return state._replace(tasks=tuple(found), next=tuple(task.name for task in found))

    async def _paused(self, given: Any, above: str) -> AsyncIterator[PregelTask]:
        graphs = dict(self.get_subgraphs())
        for name, number in await _called(given, above):
            below = f"{above}|{name}:{number}"
            if name.startswith(BATCH_NAME):
                async for task in self._paused(given, below):
                    yield task
            elif name in graphs:
                config: RunnableConfig = {CONF: {**given, CONFIG_KEY_CHECKPOINT_NS: below}}
                state = await graphs[name].aget_state(config, subgraphs=True)
                if state.next:
                    yield PregelTask(number, name, (), None, state.interrupts, state)


async def _called(given: Any, above: str) -> list[tuple[str, str]]:
    """Name and id of every task that has left checkpoints below the namespace `above`."""
    saver, thread = given[CONFIG_KEY_CHECKPOINTER], {"thread_id": given["thread_id"]}
    root = await saver.aget_tuple({CONF: {**thread, CONFIG_KEY_CHECKPOINT_NS: ""}})
    since = root.checkpoint["id"] if root is not None else ""
    found: dict[tuple[str, str], None] = {}
    async for saved in saver.alist({CONF: thread}):
        namespace = saved.config[CONF].get(CONFIG_KEY_CHECKPOINT_NS, "")
        # ids follow time, and what runs now began after the root's last checkpoint
        if saved.checkpoint["id"] > since and namespace.startswith(f"{above}|"):
            name, _, number = namespace[len(above) + 1 :].split("|")[0].partition(":")
            found[name, number] = None
    return sorted(found)
