"""The state of a unit's graph, and how its growing lists are kept.

`messages` is the transcript. `progress` holds the unit's path and counters, small because it is
checkpointed at every step; `ending` is set once, by the step that ends the unit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel

from ..core.outcome import Reason, StopReason
from ..core.usage import Usage
from .plainmessages import as_messages

DELTA_CHANNELS = os.environ.get("PLAIT_DELTA_CHANNELS", "1") != "0"
"""Keep growing lists as deltas (beta in LangGraph); the variable set to 0 falls back to whole lists."""


SNAPSHOT_EVERY = 1000
"""Updates after which a delta channel is written whole, to bound what a resume has to replay."""


def growing(reducer: Any, kind: type = list) -> Any:
    """A channel for a list or dict that grows, whose checkpoints hold only what was added."""
    if DELTA_CHANNELS:
        return DeltaChannel(reducer, snapshot_frequency=SNAPSHOT_EVERY)
    return BinaryOperatorAggregate(kind, _pairwise(reducer))


def _pairwise(reducer: Any) -> Any:
    def reduce_pair(old: Any, new: Any) -> Any:
        return reducer(old, [new])

    return reduce_pair


def add_messages(old: list[Any], batches: Sequence[Any]) -> list[Any]:
    """`old` with the messages of each batch added; one whose id is there takes its place."""
    added = [message for batch in batches for message in (batch if isinstance(batch, list) else [batch])]
    added = as_messages(added)
    merged, ids = list(old), {message.id for message in added}
    if len(ids) == len(added) and None not in ids and ids.isdisjoint(map(_id_of, merged)):
        return [*merged, *added]  # as in every round; a transcript is long, and is not looked up in Python
    return _replaced(merged, added)


_id_of = attrgetter("id")


def _replaced(merged: list[Any], added: Sequence[Any]) -> list[Any]:
    places = {message.id: place for place, message in enumerate(merged) if message.id}
    for message in added:
        if message.id and message.id in places:
            merged[places[message.id]] = message
        else:
            places[message.id] = len(merged)
            merged.append(message)
    return merged


def add_items(old: list[Any], batches: Sequence[list[Any]]) -> list[Any]:
    """`old` with every batch added."""
    return [*old, *(item for batch in batches for item in batch)]


class UnitProgress(TypedDict, total=False):
    """The part of the state that says what comes next."""

    progress: dict[str, Any]


class UnitState(UnitProgress, total=False):
    messages: Annotated[list[AnyMessage], growing(add_messages)]
    writes: Annotated[list[dict[str, Any]], growing(add_items)]
    bus: Annotated[list[dict[str, Any]], growing(add_items)]
    inner: Annotated[list[dict[str, Any]], growing(add_items)]
    ending: dict[str, Any]


Next = Literal["think", "act", "end"]


@dataclass(frozen=True, slots=True)
class Counters:
    """What a unit has used of its budgets. `faults` says why calls of the last reply cannot run; `idle`:
    its result was taken, and it goes on for a follow-up only."""

    next: Next = "think"
    rounds: int = 0
    invalid: int = 0
    reminders: int = 0
    bad: int = 0
    started: float = 0.0
    usage: Usage = Usage()
    unforced: bool = False
    place: str = ""
    idle: bool = False
    stop_reason: StopReason = "stop"
    faults: dict[str, str] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        plain = {name: value for name, start in _START if (value := getattr(self, name)) != start}
        plain["usage"] = self.usage.to_plain()
        plain["next"] = self.next
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any] | None) -> Counters:
        given = plain or {}
        return cls(**{**given, "usage": Usage.from_plain(given.get("usage"))})

    def but(self, **changes: Any) -> Counters:
        return replace(self, **changes)


_START = [(f.name, getattr(Counters(), f.name)) for f in fields(Counters)]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a unit ended: `value` is the plain form of its typed output."""

    status: Literal["done", "partial", "failed"]
    reason: Reason | None = None
    message: str = ""
    text: str = ""
    has_value: bool = False
    value: Any = None
    stop_reason: StopReason = "stop"

    def to_plain(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
