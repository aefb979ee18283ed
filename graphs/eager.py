"""The graph of a region that is scheduled eagerly: not run itself, it finds the steps that are paused.

LangGraph looks for the state of a subgraph in the subgraph's own checkpoints, of which there are none
when the steps run as tasks. Theirs lie one level below, under the names of the parts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

# LangGraph has no public name for the key under which a graph hands its saver to those below it.
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINT_NS, CONFIG_KEY_CHECKPOINTER
from langgraph.constants import START
from langgraph.types import PregelTask, StateSnapshot, StateUpdate

from .edits import EditRefused, FlowGraph, Supersteps

READY = "_ready"
"""The node that sends what a plan made at run time has ready."""

BATCH_NAME = "batch "
"""How the tasks are named that call the steps of one batch."""


class RegionGraph(FlowGraph):
    """A compiled graph whose state also tells of steps that were called as tasks and are paused."""

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        state = await super().aget_state(config, subgraphs=subgraphs)
        given = config.get(CONF, {})
        if state.created_at or not subgraphs or CONFIG_KEY_CHECKPOINTER not in given:
            return state
        found = [task async for task in self._paused(given, given[CONFIG_KEY_CHECKPOINT_NS])]
        place = {key: value for key, value in given.items() if key != CONFIG_KEY_CHECKPOINTER}
        return state._replace(
            config={**config, CONF: place}, tasks=tuple(found), next=tuple(task.name for task in found)
        )

    async def _carrying(
        self, config: RunnableConfig, state: StateSnapshot, supersteps: Supersteps
    ) -> Supersteps:
        """The same, as if every step had made the edit that what has not run yet waits for."""
        ways = await self._ways_on(config)
        return [_as_nodes(updates, ways) for updates in await super()._carrying(config, state, supersteps)]

    async def _ways_on(self, config: RunnableConfig) -> list[str]:
        """The nodes that have run and lead to some that have not. Raises EditRefused when none has."""
        saved = await config[CONF][CONFIG_KEY_CHECKPOINTER].aget_tuple(config)
        if saved is None:
            raise EditRefused(
                f"the parts of {self.name} are scheduled eagerly, so there is no state between them; edit "
                f"the thread's own state or a unit's, or compile the workflow with scheduling='superstep'"
            )
        if READY in self.builder.nodes:
            return [next(name for name in self.builder.nodes if name != READY)]  # any leads to it
        ran = {START, *saved.checkpoint["versions_seen"]}
        edges = [((source,), target) for source, target in self.builder.edges]
        waiting = [one for one in (*edges, *self.builder.waiting_edges) if one[1] not in ran]
        return [source for source in self.nodes if source in ran and any(source in to[0] for to in waiting)]

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


def _as_nodes(updates: Sequence[StateUpdate], ways: Sequence[str]) -> list[StateUpdate]:
    """Updates as those of nodes with a way on, and empty ones of the other such nodes."""
    made = (
        [one if one.as_node in ways else one._replace(as_node=ways[0]) for one in updates]
        if ways
        else [*updates]
    )
    told = {one.as_node for one in made}
    return [*made, *(StateUpdate({}, way) for way in ways if way not in told)]


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
