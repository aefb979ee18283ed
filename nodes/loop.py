"""The loop of a unit in one plain node: granularity `"unit"`.

Each round is written to the journal, so a resume goes on after the last one without asking a model or
running an effect again. The unit's graph is not run; it is there to be drawn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.errors import GraphDrained
from langgraph.runtime import Runtime

from .act import act
from .declared import effect_of
from .frame import Frame
from .inline import ROUND, Round, in_root, made
from .journal import KEPT, CallJournal
from .think import think
from .unitstate import UnitState, add_messages

if TYPE_CHECKING:
    from .react import ReactRole

Plain = dict[str, Any]
AHEAD = 32
"""Rounds that are read from the journal at a time."""

REPLACED = ("progress", "ending")


def can_loop(frame: Frame, runtime: Runtime[Any]) -> bool:
    """Whether the loop may run in one node here: what is kept of the run has a journal, or nothing is, and
    no other step may stop the flow around while a call of this unit is paused, which is a task of it."""
    if frame.hold is not None:
        return False
    config = get_config()
    kept = config.get(CONF, {}).get(CONFIG_KEY_CHECKPOINTER)
    return not kept or CallJournal.of(frame.run.live, runtime.store, config) is not None


async def run_loop(role: ReactRole, frame: Frame, runtime: Runtime[Any]) -> Plain:
    """Run the unit's rounds to its end. Returns the final values of its state."""
    config = get_config()
    frame = replace(frame, in_root=in_root(frame))
    own = runtime.override(context=frame)
    journal = CallJournal.of(frame.run.live, runtime.store, config)
    rounds = Rounds(journal and replace(journal, gathered=True, turn=frame.snapshot.turn))
    state: UnitState = role.enter(frame.snapshot)  # type: ignore[assignment]
    for number in count(1):
        held = await rounds.open(number)
        if number == 1 and not held.updates:
            held.opened = _opened(state, frame)
        if not held.is_done:
            if frame.run.is_draining and number > 1:
                raise GraphDrained(frame.run.control.drain_reason or "asked to stop")  # type: ignore[union-attr]
            state = await _run(role, state, frame, own, config, held)
        else:
            _skip(config, len(held.paused))
            for update in held.updates:
                state = applied(state, update)
        if _next(state) == "end":
            return dict(state)
    raise AssertionError("rounds are counted without end")


def _opened(state: UnitState, frame: Frame) -> Plain:
    """Where the unit stands and what it begins with, for a turn that comes after a cut one."""
    snapshot = frame.snapshot
    return {"place": snapshot.path, "turn": snapshot.turn, "messages": list(state["messages"])}


async def _run(
    role: ReactRole,
    state: UnitState,
    frame: Frame,
    runtime: Runtime[Frame],
    config: RunnableConfig,
    held: Round,
) -> UnitState:
    """Run one round, or what is left of it."""
    if not held.updates:
        held.updates.append(await think(role, state, frame, config, runtime.store))
        state = applied(state, held.updates[0])
        if _next(state) == "act":
            await _keep_reply(role, state, frame, held)
    else:
        state = applied(state, held.updates[0])
    if _next(state) == "act":
        journal = held.journal.below(held.key) if held.journal is not None else None
        try:
            held.updates.append(await act(role, state, runtime, partial(made, held, journal)))
        except BaseException:
            if journal is not None:
                await journal.settle()
            raise
        state = applied(state, held.updates[-1])
    held.is_done, held.results = True, {}
    await held.keep()
    return state


async def _keep_reply(role: ReactRole, state: UnitState, frame: Frame, held: Round) -> None:
    """Write the reply down before its calls begin, together with the first of them where that is written."""
    tools = role.tools(frame.snapshot).by_wire
    reply = state["messages"][-1]
    assert isinstance(reply, AIMessage)
    called = [tools[call["name"]] for call in reply.tool_calls if call["name"] in tools]
    if any(effect_of(tool.tool, frame.default_effect) in KEPT for tool in called):
        held.keep_with_next()
    else:
        await held.keep()


def applied(state: UnitState, update: Plain) -> UnitState:
    """The unit's state after `update`, as its graph's channels would have it."""
    merged: Plain = dict(state)
    for channel, value in update.items():
        if channel in REPLACED:
            merged[channel] = value
        elif channel == "messages":
            merged[channel] = add_messages(merged.get(channel, []), [value])
        else:
            merged[channel] = [*merged.get(channel, []), *value]
    return merged  # type: ignore[return-value]


def _next(state: UnitState) -> str:
    found: str = (state.get("progress") or {}).get("next", "think")
    return found


def _skip(config: RunnableConfig, calls: int) -> None:
    """Count tasks that are not called again, since LangGraph tells tasks apart by how many came before."""
    for _ in range(calls):
        config[CONF][CONFIG_KEY_SCRATCHPAD].call_counter()


class Rounds:
    """The rounds of one unit as the journal has them."""

    def __init__(self, journal: CallJournal | None) -> None:
        self._journal = journal
        self._held: dict[int, Round] = {}
        self._read = 0 if journal is not None and journal.resuming else None

    async def open(self, number: int) -> Round:
        """The round with this number: what is known of it, or an empty one."""
        if self._read is not None and number > self._read:
            await self._read_on(self._read + 1)
        return self._held.pop(number, None) or Round(self._journal, self._key(number))

    async def _read_on(self, first: int) -> None:
        journal = self._journal
        assert journal is not None
        keys = {self._key(number): number for number in range(first, first + AHEAD)}
        found = await journal.journal.read(journal.thread_id, list(keys))
        self._held = {keys[key]: Round.read(journal, key, entry) for key, entry in found.items()}
        self._read = first + AHEAD - 1 if len(found) == AHEAD else None

    def _key(self, number: int) -> str:
        return f"{self._journal.namespace}{ROUND}{number}" if self._journal is not None else ""
