"""Edits of a thread whose run is under way, as people make them in Studio, and breakpoints at any depth.

An edit (`update_state`) makes a new checkpoint, and LangGraph then begins anew whatever was under way at the
former one. Here the records of all that had finished below it go with the edit, so that only what had not
finished runs again. An edit of an earlier checkpoint carries nothing: there, running again is the point.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, get_args

from langchain_core.runnables import RunnableConfig

# as in nodes.userconfig: LangGraph has no public names for these; a test pins them
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER
from langgraph.errors import InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, StateSnapshot, StateUpdate

from ..core.delta import Delta, compose_all
from ..core.errors import PlaitError
from ..core.outcome import Outcome
from ..core.plain import delta_from
from ..core.state import SharedState, fold
from ..nodes.breakpoints import with_breakpoints
from ..nodes.store_journal import StoreJournal
from .begun import UNIT, repeated
from .binding import Bound
from .nodes import Place
from .returned import returned

Supersteps = Sequence[Sequence[StateUpdate]]
"""What `abulk_update_state` takes: updates that are made one after another, each of one or more nodes."""

PLACED = ("checkpoint_id", "checkpoint_map")
"""What in a config names one checkpoint of a thread."""

GOES_ON = "__plait_goes_on"
"""Where the config of an edit says which nodes come next: the route of a nested flow, which depends on what
is above it, cannot tell outside of a run."""

STORE = "__plait_store"
"""Where the config of an edit below hands on the store, in which the journal is."""

OUTCOMES = ("", *get_args(Outcome))


class EditRefused(PlaitError, InvalidUpdateError):
    """An edit that cannot be made; LangGraph's server tells its client why."""


class FlowGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """The compiled graph of a flow. `place` says how what was done is written into its channels."""

    def __init__(self, *, place: Place, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.place = place

    async def abulk_update_state(self, config: RunnableConfig, supersteps: Supersteps) -> RunnableConfig:
        conf = config.get(CONF, {})
        is_for_below = conf.get("checkpoint_ns") and CONFIG_KEY_CHECKPOINTER not in conf
        if is_for_below or not supersteps or not all(map(self._is_edit, supersteps)):
            below = {**config, CONF: {**conf, STORE: self.store}} if is_for_below and self.store else config
            return await super().abulk_update_state(below, supersteps)
        for update in (update for updates in supersteps for update in updates):
            _check_form(update.values or {}, self.place.bound)
        state = await self.aget_state(config, subgraphs=True)
        await self._check_repeats(config, state)
        for updates in await self._carrying(config, state, supersteps):
            told = await self._checked(config, updates)
            made = await super().abulk_update_state(_going_on(config, state), [told])
            config = {**config, CONF: {**config[CONF], **made[CONF]}}
        return made

    def _is_edit(self, updates: Sequence[StateUpdate]) -> bool:
        """Whether values are written as some node's; LangGraph takes other wishes in the same form."""
        nodes = (None, *self.builder.nodes)
        return bool(updates) and all(isinstance(u.values, Mapping) and u.as_node in nodes for u in updates)

    async def _check_repeats(self, config: RunnableConfig, state: StateSnapshot) -> None:
        """Raise EditRefused where a unit that would begin anew did what may not happen twice."""
        if not any(task.result is None for task in state.tasks) or not await self._is_newest(config, state):
            return
        saver = config[CONF].get(CONFIG_KEY_CHECKPOINTER) or self.checkpointer
        store = config[CONF].get(STORE) or self.store
        journal = StoreJournal(store) if store is not None else None
        if (told := await repeated(self.place.bound, saver, journal, state)) is not None:
            raise EditRefused(
                f"an edit here makes what is under way below begin anew, and {told}, which may not happen "
                f"twice; edit the state of the unit itself, or resume first, or edit an earlier checkpoint, "
                f"from which it is meant to run again"
            )

    async def _carrying(
        self, config: RunnableConfig, state: StateSnapshot, supersteps: Supersteps
    ) -> Supersteps:
        """The updates, after one that keeps what had finished of what is under way."""
        saver = config[CONF].get(CONFIG_KEY_CHECKPOINTER) or self.checkpointer
        types = self.place.bound.schema.types
        done = compose_all([delta_from(values, types) async for values in _finished(saver, state)])
        if done == Delta() or not await self._is_newest(config, state):
            return supersteps
        as_node = supersteps[0][0].as_node
        return [[StateUpdate(self.place.update(done, state.values), as_node)], *supersteps]

    async def _checked(self, config: RunnableConfig, updates: Sequence[StateUpdate]) -> Sequence[StateUpdate]:
        """The updates as they may be written. Raises EditRefused."""
        return updates

    async def _is_newest(self, config: RunnableConfig, state: StateSnapshot) -> bool:
        conf = config.get(CONF, {})
        if "checkpoint_id" not in conf:
            return True
        thread = {key: value for key, value in conf.items() if key not in PLACED}
        newest = await self.aget_state({**config, CONF: thread})
        return newest.config[CONF].get("checkpoint_id") == state.config[CONF].get("checkpoint_id")


def _check_form(values: Mapping[str, Any], bound: Bound) -> None:
    """Raise EditRefused for a value that its channel cannot take."""
    given = {name: value.value if isinstance(value, Overwrite) else value for name, value in values.items()}
    for channel in ("state", "transcripts", "scopes", "turn", "ended", "ending"):
        if not isinstance(given.get(channel, {}), Mapping):
            raise EditRefused(f"{channel!r} takes a mapping, got {given[channel]!r:.80}")
    for channel in ("steps", "writes", "bus"):
        items = given.get(channel, ())
        if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
            raise EditRefused(f"{channel!r} takes a list of mappings, got {items!r:.80}")
        for item in items:
            try:
                delta_from({channel: [item]}, bound.schema.types)
            except (KeyError, TypeError, ValueError) as error:
                told = f"lacks {error}" if isinstance(error, KeyError) else f"does not fit: {error}"
                raise EditRefused(f"an item of {channel!r} {told}; got {dict(item)!r:.80}") from error
    if given.get("outcome", "") not in OUTCOMES:
        raise EditRefused(f"'outcome' is one of {', '.join(OUTCOMES[1:])}, got {given['outcome']!r:.80}")


def _going_on(config: RunnableConfig, state: StateSnapshot) -> RunnableConfig:
    """The config of an edit, with where the flow goes on after it."""
    return {**config, CONF: {**config[CONF], GOES_ON: list(state.next)}}


async def _finished(saver: Any, state: StateSnapshot) -> AsyncIterator[Mapping[str, Any]]:
    """What parts gave that a flow waits for: those of the superstep under way, and of every flow below."""
    for value in returned(await saver.aget_tuple(state.config)):
        yield value
    for task in state.tasks:
        if isinstance(task.result, Mapping):
            yield task.result
        elif isinstance(task.state, StateSnapshot) and UNIT not in task.state.values:
            yield task.state.values
            async for value in _finished(saver, task.state):
                yield value


class RootGraph(FlowGraph):
    """The compiled graph of a workflow, whose breakpoints reach the graphs below it."""

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        found: AsyncIterator[Any] = super().astream(input, with_breakpoints(config, options), **options)
        return found

    async def _checked(self, config: RunnableConfig, updates: Sequence[StateUpdate]) -> Sequence[StateUpdate]:
        """The same, with keys of the shared state validated and encoded as a tool's writes are."""
        if not any(map(_state_of, updates)):
            return updates
        place: Any = self.place
        schema = place.bound.schema
        values = place.values((await self.aget_state(config)).values)
        shared = SharedState(values, schema=schema)
        try:
            for key, value in (item for update in updates for item in _state_of(update)):
                shared.set(key, value)
        except PlaitError as error:
            raise EditRefused(str(error)) from error
        state = Overwrite(dict(fold(values, shared.writes, schema).get("workflow", {})))
        return [
            u._replace(values={**(u.values or {}), "state": state}) if _state_of(u) else u for u in updates
        ]


def _state_of(update: StateUpdate) -> list[tuple[str, Any]]:
    """The keys of the shared state that an update sets."""
    given = (update.values or {}).get("state")
    return list(given.items()) if isinstance(given, Mapping) else []
