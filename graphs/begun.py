"""Units that have begun, and what they did that may not happen twice: an edit above makes them begin anew.

The journal tells, where a store holds one; else the calls that a stopped unit's messages show as answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

# LangGraph has no public name for these; tests pin them
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINT_NS, RETURN
from langgraph.types import StateSnapshot

from ..core.ports import Journal, JournalEntry
from ..nodes.declared import effect_of
from ..nodes.inline import ROUND
from ..nodes.journal import KEPT
from ..nodes.tools import as_tool
from ..nodes.unitstate import Counters
from .binding import Bound

UNIT = "progress"
"""The channel by which the state of a unit is known. A unit that had begun begins again."""


@dataclass
class Places:
    """The graphs under way below a place: whether what ran there runs again, by their namespaces, the units
    among them, and the ids of the tasks that have finished."""

    open: dict[str, bool] = field(default_factory=dict)
    units: list[StateSnapshot] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)

    def repeats(self, namespace: str) -> bool:
        """Whether what was done under this namespace is done again."""
        above = [place for place in self.open if _is_under(namespace, place)]
        nearest = max(above, key=len, default=None)
        if nearest is None or not self.open[nearest]:
            return False
        parts = namespace[len(nearest) :].split("|")
        return self.finished.isdisjoint(part.partition(":")[2].partition(ROUND)[0] for part in parts)


async def repeated(bound: Bound, saver: Any, journal: Journal | None, state: StateSnapshot) -> str | None:
    """A call that would be made again if what is under way below `state` began anew, in words; None when
    there is none."""
    places = Places()
    await _look(places, saver, state)
    if not places.open:
        return None
    for unit in places.units:
        for name in _answered(unit, _unsafe(bound)):
            return f"{name} in {Counters.from_plain(unit.values[UNIT]).place or 'a unit'} has run"
    entries = await journal.entries(state.config[CONF]["thread_id"]) if journal is not None else {}
    for key, entry in entries.items():
        namespace = key.rpartition("#")[0]
        if _may_have_happened(entry) and places.repeats(namespace):
            told = "has run" if entry.state == "done" else "may have run"
            return f"{_tool(entry)} in {_names(namespace)} {told}"
    return None


async def _look(places: Places, saver: Any, state: StateSnapshot) -> None:
    saved = await saver.aget_tuple(state.config)
    writes = (saved.pending_writes or ()) if saved is not None else ()
    places.finished |= {task for task, channel, _ in writes if channel == RETURN}
    above = str(state.config[CONF].get(CONFIG_KEY_CHECKPOINT_NS) or "")
    for task in state.tasks:
        if task.result is not None or task.id in places.finished:
            continue
        if not isinstance(task.state, StateSnapshot):
            places.open[f"{above}|{task.name}:{task.id}".lstrip("|")] = True
            continue
        is_unit = UNIT in task.state.values
        namespace = str(task.state.config[CONF][CONFIG_KEY_CHECKPOINT_NS])
        places.open[namespace] = is_unit or task.state.created_at is None
        if is_unit:
            places.units.append(task.state)
        else:
            await _look(places, saver, task.state)


def _is_under(namespace: str, place: str) -> bool:
    return namespace == place or namespace.startswith((f"{place}|", f"{place}{ROUND}"))


def _may_have_happened(entry: JournalEntry) -> bool:
    """Whether the call began; one that stopped to ask runs from its beginning in any case."""
    held = entry.result if isinstance(entry.result, Mapping) else {}
    return entry.state != "paused" or bool(held.get("doubted"))


def _tool(entry: JournalEntry) -> str:
    return str(entry.result.get("tool", "a tool")) if isinstance(entry.result, Mapping) else "a tool"


def _names(namespace: str) -> str:
    return "/".join(part.partition(":")[0] for part in namespace.split("|")).removesuffix("/act")


def _unsafe(bound: Bound) -> frozenset[str]:
    """The names of the tools whose effect may not happen twice; tools that a function gives are not known."""
    default = bound.binding.default_effect
    given = (() if callable(unit.tools) else unit.tools for unit in bound.units.values())
    tools = (as_tool(tool) for listed in given for tool in listed)
    return frozenset(tool.name for tool in tools if effect_of(tool, default) in KEPT)


def _answered(unit: StateSnapshot, names: frozenset[str]) -> Iterator[str]:
    """The tools among `names` whose calls of this visit's rounds are answered."""
    messages = unit.values.get("messages", ())
    rounds = Counters.from_plain(unit.values[UNIT]).rounds
    replies = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    since = replies[-rounds] if 0 < rounds <= len(replies) else 0 if rounds else len(messages)
    for message in messages[since:]:
        if isinstance(message, ToolMessage) and message.name in names:
            yield str(message.name)
